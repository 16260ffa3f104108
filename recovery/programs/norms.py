"""Norms of the weights of a group, as values: what programs, certificates and proofs of uniqueness need of each."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recovery.types import Array

NormName = Literal["l2", "l1"]
NEAR = 1e-6
"""An entry this close to where a face of the unit ball ends counts as being there, which makes proofs harder only."""


@dataclass(frozen=True)
class Norm:
    """The Euclidean norm of vectors (r,)."""

    def values(self, W: Array) -> Array:
        """Return ||w|| of each row of W (k, r), shape (k,)."""
        return np.sqrt(np.einsum("gr,gr->g", W, W))

    def dual_values(self, Z: Array) -> Array:
        """Return the dual norm of each row of Z (k, r), shape (k,): the largest z.w over ||w|| <= 1."""
        return self.values(Z)

    def expression(self, w: Any) -> Any:
        """Return ||w|| of a cvxpy expression w (r,), as a cvxpy expression."""
        import cvxpy as cp

        return cp.norm2(w)

    def face(self, z: Array) -> Array:
        """Return columns (r, m) that span each w with z.w = ||w||, for z (r,) of dual norm 1."""
        return z[:, None]

    def largest(self, r: int) -> float:
        """Return the largest ||w|| over vectors w (r,) of Euclidean length 1."""
        return 1.0


class _L1(Norm):
    """The l1 norm, with which interpolation is a linear program."""

    def values(self, W: Array) -> Array:
        return np.abs(W).sum(axis=1)

    def dual_values(self, Z: Array) -> Array:
        return np.abs(Z).max(axis=1, initial=0.0)

    def expression(self, w: Any) -> Any:
        import cvxpy as cp

        return cp.norm1(w)

    def face(self, z: Array) -> Array:
        return np.eye(len(z))[:, np.abs(z) >= 1.0 - NEAR]

    def largest(self, r: int) -> float:
        return math.sqrt(r)


L2 = Norm()
NORMS: dict[NormName, Norm] = {"l2": L2, "l1": _L1()}
"""Norms by name."""
