"""Norms of the weights of a group, as values: what programs, certificates and proofs of uniqueness need of each.

A user's norm is an instance of a subclass of `Norm`; a config refers to it as `norm: module:NAME`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from recovery.errors import ParameterError
from recovery.text import did_you_mean
from recovery.types import Array
from recovery.user import is_user_name, resolve

NEAR = 1e-6
"""An entry this close to where a face of the unit ball ends counts as being there, which makes proofs harder only."""


@dataclass(frozen=True)
class Norm(ABC):
    """A norm of vectors (r,), symmetric: ||w|| = ||-w||. Subclasses with all methods are values for configs.

    linear: whether its unit ball is a polytope, so that interpolation is a linear program.
    """

    linear: ClassVar[bool] = False

    @abstractmethod
    def values(self, W: Array) -> Array:
        """Return ||w|| of each row of W (k, r), shape (k,)."""

    @abstractmethod
    def dual_values(self, Z: Array) -> Array:
        """Return the dual norm of each row of Z (k, r), shape (k,): the largest z.w over ||w|| <= 1."""

    @abstractmethod
    def expression(self, w: Any) -> Any:
        """Return ||w|| of a cvxpy expression w (r,), as a cvxpy expression."""

    def face(self, z: Array) -> Array:
        """Return columns (r, m) that span each w with z.w = ||w||, for z (r,) of dual norm 1; by default all w."""
        return np.eye(len(z))

    def largest(self, r: int) -> float:
        """Return a bound on ||w|| over vectors w (r,) of Euclidean length 1."""
        return float(np.linalg.norm(self.values(np.eye(r))))


class _L2(Norm):
    def values(self, W: Array) -> Array:
        return np.sqrt(np.einsum("gr,gr->g", W, W))

    def dual_values(self, Z: Array) -> Array:
        return self.values(Z)

    def expression(self, w: Any) -> Any:
        import cvxpy as cp

        return cp.norm2(w)

    def face(self, z: Array) -> Array:
        return z[:, None]

    def largest(self, r: int) -> float:
        return 1.0


class _L1(Norm):
    linear = True

    def values(self, W: Array) -> Array:
        return np.abs(W).sum(axis=1)

    def dual_values(self, Z: Array) -> Array:
        return np.abs(Z).max(axis=1, initial=0.0)

    def expression(self, w: Any) -> Any:
        import cvxpy as cp

        return cp.norm1(w)

    def face(self, z: Array) -> Array:
        return np.eye(len(z))[:, np.abs(z) >= 1.0 - NEAR]


class _LInf(Norm):
    linear = True

    def values(self, W: Array) -> Array:
        return np.abs(W).max(axis=1, initial=0.0)

    def dual_values(self, Z: Array) -> Array:
        return np.abs(Z).sum(axis=1)

    def expression(self, w: Any) -> Any:
        import cvxpy as cp

        return cp.norm_inf(w)

    def face(self, z: Array) -> Array:
        free = np.abs(z) <= NEAR
        return np.column_stack([np.where(free, 0.0, np.sign(z)), np.eye(len(z))[:, free]])

    def largest(self, r: int) -> float:
        return 1.0


L2 = _L2()
NORMS: dict[str, Norm] = {"l2": L2, "l1": _L1(), "linf": _LInf()}
"""Norms by name."""


def find_norm(name: str) -> Norm:
    """Return the norm of this name, or the user's as `module:NAME`. Raises `ParameterError` if there is none."""
    if is_user_name(name):
        norm = resolve(name)
        if not isinstance(norm, Norm):
            raise ParameterError(f"{name} is not a value of recovery.Norm")
        return norm
    if name not in NORMS:
        raise ParameterError(
            f"found {name!r}; allowed: {', '.join(NORMS)}, or your own as module:NAME{did_you_mean(name, NORMS)}"
        )
    return NORMS[name]
