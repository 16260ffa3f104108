"""Architectures as lists of group operators A_g, applied all at once and never formed.

Every architecture of the papers is A_g = D_g B T_g: a base matrix B (n, r), a pattern D_g, and for `relu_norm` a
transform T_g (r, r) that makes the columns of A_g orthonormal. Then
    sum_g A_g w_g = rowsum(D o (B V^T)),  V_g = T_g w_g,        A_g^T lam = T_g^T (column g of B^T (D o lam)),
two matrix products of size n x r x p. Source: P1, (11)-(17), (24).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.orthonormal import orthonormal_base, orthonormal_transforms
from recovery.programs.projection_sums import ProjectionSums
from recovery.types import Array, Index, Mask


@dataclass(frozen=True)
class Groups:
    """The operators A_g, g < p. Weights are arrays W (p, r), a row a group.

    base: B (n, r). patterns: (n, p) boolean. transforms: (p, r, r) or None for identities; zero columns stand for the
    coordinates that a group of lower rank does not have. coordinates: (r, d), a raw weight w in R^d enters B as
    coordinates @ w. linear: group 0 is the skip connection, whose pattern is all ones.
    """

    base: Array
    patterns: Mask
    coordinates: Array
    transforms: Array | None = None
    linear: bool = False

    @property
    def n(self) -> int:
        return self.base.shape[0]

    @property
    def rank(self) -> int:
        return self.base.shape[1]

    @property
    def count(self) -> int:
        return self.patterns.shape[1]

    @cached_property
    def D(self) -> Array:
        """The patterns as float64 (n, p), for BLAS."""
        return self.patterns.astype(np.float64)

    @cached_property
    def base_gram(self) -> Array:
        """B B^T, (n, n)."""
        return self.base @ self.base.T

    @cached_property
    def _projections(self) -> ProjectionSums:
        assert self.transforms is not None
        return ProjectionSums(self.base, self.patterns, self.transforms)

    @cached_property
    def largest_norm(self) -> float:
        """A bound on every ||A_g||: the Frobenius norm of B, or 1 where the columns of A_g are orthonormal."""
        return float(np.linalg.norm(self.base)) if self.transforms is None else 1.0

    def forward(self, W: Array) -> Array:
        """sum_g A_g w_g for W (p, r); shape (n,). Costs 2 n r p flops, over non-zero rows only."""
        active = np.flatnonzero(W.any(axis=1))
        V = self.base_weights(W[active], active)
        return np.einsum("ng,ng->n", self.D[:, active], self.base @ V.T)

    def base_weights(self, W: Array, chosen: Index | slice = slice(None)) -> Array:
        """V_g = T_g w_g for the chosen groups: what multiplies B."""
        return W if self.transforms is None else np.matmul(self.transforms[chosen], W[:, :, None])[:, :, 0]

    def adjoint(self, lam: Array) -> Array:
        """A_g^T lam for every g; shape (p, r). Costs 2 n r p flops."""
        G = ((self.base * lam[:, None]).T @ self.D).T
        return G if self.transforms is None else np.matmul(G[:, None, :], self.transforms)[:, 0]

    def block(self, g: int) -> Array:
        """A_g itself, (n, r)."""
        A = np.where(self.patterns[:, g, None], self.base, 0.0)
        return A if self.transforms is None else A @ self.transforms[g]

    def columns(self, chosen: Index) -> Array:
        """The chosen blocks side by side, (n, len(chosen) r)."""
        return np.hstack([self.block(int(g)) for g in chosen]) if len(chosen) else np.empty((self.n, 0))

    def weighted_gram(self, chosen: Index, c: Array) -> Array:
        """sum_g c_g A_g A_g^T over the chosen groups, c >= 0; shape (n, n).

        Without transforms this is (B B^T) o (D diag(c) D^T), at n^2 flops a group whatever r is.
        """
        if self.transforms is None:
            E = self.D[:, chosen]
            return self.base_gram * ((E * c) @ E.T)
        return self._projections.weighted(chosen, c)

    def dimensions(self, chosen: Index) -> Mask:
        """Which coordinates of the chosen groups exist, (len(chosen), r)."""
        if self.transforms is None:
            return np.ones((len(chosen), self.rank), dtype=np.bool_)
        return np.any(self.transforms[chosen], axis=1)

    def duplicates_of(self, g: int) -> Index:
        """Other groups whose operator is that of g: equal patterns, the skip connection counting as all ones."""
        same = (self.patterns == self.patterns[:, g, None]).all(axis=0)
        same[g] = False
        return np.flatnonzero(same)


def _relu(X: Array, patterns: Mask) -> Groups:
    return Groups(X, patterns, np.eye(X.shape[1]))


def _relu_skip(X: Array, patterns: Mask) -> Groups:
    return Groups(X, _with_skip(patterns), np.eye(X.shape[1]), linear=True)


def _relu_norm(X: Array, patterns: Mask) -> Groups:
    U, coordinates = orthonormal_base(X)
    return Groups(U, patterns, coordinates, transforms=orthonormal_transforms(U, patterns))


def _relu_norm_skip(X: Array, patterns: Mask) -> Groups:
    U, coordinates = orthonormal_base(X)
    return Groups(U, _with_skip(patterns), coordinates, linear=True)


def _with_skip(patterns: Mask) -> Mask:
    return np.hstack([np.ones((patterns.shape[0], 1), dtype=np.bool_), patterns])


ARCHITECTURES: dict[str, Callable[[Array, Mask], Groups]] = {
    "relu": _relu,
    "relu_skip": _relu_skip,
    "relu_norm": _relu_norm,
    "relu_norm_skip": _relu_norm_skip,
}
"""Name -> the groups of data X (n, d) and patterns (n, p)."""

WITH_SKIP = tuple(name for name in ARCHITECTURES if name.endswith("_skip"))


def groups_of(architecture: str, X: Array, patterns: Mask) -> Groups:
    """The groups of an architecture by name."""
    if architecture not in ARCHITECTURES:
        raise ParameterError(f"unknown architecture {architecture!r}; there are {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[architecture](X, patterns)
