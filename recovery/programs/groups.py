"""Group operators A_g of an architecture on data, applied all at once and never formed.

In every architecture A_g = D_g B T_g: a base matrix B (n, r), a diagonal D_g that is 1 where pattern g is active and
`slope` elsewhere (0 for the ReLU), and a transform T_g (r, r) that makes the columns of A_g orthonormal, or the
identity. Two matrix products of n x r x p operations then serve all groups:
    sum_g A_g w_g = rowsum(D o (B V^T)),  V_g = T_g w_g,        A_g^T lam = T_g^T (column g of B^T (D o lam)).
Source: P1, (11)-(17), (24).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.orthonormal import (
    UNEVEN,
    confined_transforms,
    orthonormal_transforms,
    projection_norms,
    ranks_are_sure,
)
from recovery.programs.transforms import ProjectionSums, Transforms
from recovery.types import Array, Index, Mask


def leaky_relu(Z: Array, slope: float) -> Array:
    """Return max(z, 0), or `slope` times z where z is negative."""
    return np.maximum(Z, 0.0) if slope == 0.0 else np.where(Z >= 0.0, Z, slope * Z)


class DualImages(NamedTuple):
    """The images A_g^T lam (p, r) of a dual lam, and their norms (p,)."""

    values: Array
    norms: Array


@dataclass(eq=False)
class Groups:
    """The operators A_g, g < p, of one architecture on one data set. Weights are arrays W (p, r), one row per group.

    base: B (n, r). patterns: (n, p), boolean. coordinates: (r, d); a weight w in R^d on the data has base weights
    coordinates @ w. linear: group 0 is the skip connection, whose pattern is all ones. orthonormal: T_g makes the
    columns of A_g orthonormal (B must have orthonormal columns, and slope must be 0). slope: slope of the activation
    for negative arguments. confined: whether orthonormal groups hold only neurons in the row space of D_g X, as in P1,
    (16); exact programs of such groups depend on it, and refuse None.

    Do not change the arrays: derived ones are computed once. Raises `ParameterError` for inconsistent shapes.
    """

    base: Array
    patterns: Mask
    coordinates: Array
    linear: bool = False
    orthonormal: bool = False
    slope: float = 0.0
    confined: bool | None = None

    def __post_init__(self) -> None:
        (n, r), shape = self.base.shape, self.patterns.shape
        if len(shape) != 2 or shape[0] != n or self.patterns.dtype != np.bool_:
            raise ParameterError(f"patterns must be boolean, of shape ({n}, p); found {self.patterns.dtype} {shape}")
        if self.coordinates.shape[0] != r:
            raise ParameterError(f"coordinates must have shape ({r}, d), found {self.coordinates.shape}")
        if self.orthonormal and self.slope != 0.0:
            raise ParameterError("groups with orthonormal columns are known for slope 0 only")
        if self.linear and not self.patterns[:, :1].all():
            raise ParameterError("a skip connection is group 0, whose pattern is all ones")

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
        """The diagonals D_g as columns, (n, p), in float64 for BLAS."""
        return self._diagonals(self.patterns)

    def is_free(self, chosen: Index) -> Mask:
        """Return which of the chosen groups have no cone in exact programs: the skip connection."""
        free: Mask = (chosen == 0) & self.linear
        return free

    def orientations(self, chosen: Index) -> Array:
        """Return the diagonals of 2 D_g - I, one row per chosen group, (k, n); zero for the skip connection."""
        S = 2.0 * self.patterns[:, chosen].T - 1.0
        S[self.is_free(chosen)] = 0.0
        return S

    @cached_property
    def scales(self) -> Array:
        """Units in which to measure residuals, (n,): norms of the rows of B if these are uneven, otherwise 1."""
        squares = self.row_squares
        if (squares >= UNEVEN**2 * squares.max(initial=0.0)).all():
            return np.ones(self.n)
        sizes = np.sqrt(squares)
        live = sizes > 0
        return np.where(live, sizes, 1.0) if sizes[live].min() < UNEVEN * sizes.max() else np.ones(self.n)

    @cached_property
    def row_squares(self) -> Array:
        """The squared norms of the rows of B, (n,)."""
        return np.einsum("nr,nr->n", self.base, self.base)

    @cached_property
    def base_gram(self) -> Array:
        """The matrix B B^T, (n, n)."""
        return self.base @ self.base.T

    @cached_property
    def _orthonormal(self) -> tuple[Array, Mask]:
        return orthonormal_transforms(self.base, self.patterns)

    def ranks_are_sure(self, features: Array) -> bool:
        """Return whether the ranges of normalised groups on their features (n, d') are determined beyond rounding."""
        return ranks_are_sure(features, self.patterns, self._orthonormal[1] if self.orthonormal else None)

    @cached_property
    def _products(self) -> Transforms | None:
        if not self.orthonormal:
            return None
        T = self._orthonormal[0]
        return Transforms(confined_transforms(T, self.base, self.patterns, self.coordinates) if self.confined else T)

    @property
    def transforms(self) -> Array | None:
        """The transforms T_g (p, r, r), with zero columns if a group has lower rank; None if all are the identity."""
        return None if self._products is None else self._products.values

    @cached_property
    def _nonzero_columns(self) -> Mask:
        return np.any(self.transforms, axis=1)

    @cached_property
    def _projections(self) -> ProjectionSums:
        assert self.transforms is not None
        return ProjectionSums(self.base, self.patterns, self.transforms)

    @cached_property
    def largest_norm(self) -> float:
        """An upper bound on every ||A_g||: 1 for orthonormal columns, otherwise from the Frobenius norm of B."""
        return 1.0 if self.orthonormal else max(1.0, abs(self.slope)) * float(np.linalg.norm(self.base))

    def over(self, patterns: Mask) -> "Groups":
        """Return the operators of this architecture and data over other patterns (n, p), without a skip connection."""
        return Groups(self.base, patterns, self.coordinates, False, self.orthonormal, self.slope)

    def forward(self, W: Array) -> Array:
        """Return sum_g A_g w_g for W (p, r); shape (n,). Costs 2 n r flops per group with weights."""
        active = np.flatnonzero(W.any(axis=1))
        return self.images(W[active], active).sum(axis=1)

    def images(self, W: Array, chosen: Index) -> Array:
        """Return A_g w_g of the chosen groups as columns, (n, k), for W (k, r)."""
        images = self.base @ self.base_weights(W, chosen).T
        images *= self.diagonals(chosen)
        return images

    def diagonals(self, chosen: Index) -> Array:
        """Return D_g of the chosen groups as columns, (n, k), from the patterns, which take an eighth of D's memory."""
        return self._diagonals(self.patterns[:, chosen])

    def _diagonals(self, patterns: Mask) -> Array:
        D = patterns.astype(np.float64)
        return D if self.slope == 0.0 else D + self.slope * ~patterns

    def base_weights(self, W: Array, chosen: Index | None = None) -> Array:
        """Return V_g = T_g w_g of the chosen groups, or of all; (k, r)."""
        return W if self._products is None else self._products.apply(W, chosen)

    def group_gradients(self, B: Array, chosen: Index | None = None) -> Array:
        """Return T_g^T b_g, (k, r): gradients with respect to w_g from gradients b_g with respect to V_g = T_g w_g."""
        return B if self._products is None else self._products.apply_transposed(B, chosen)

    def adjoint(self, lam: Array, chosen: Index | None = None, diagonals: Array | None = None) -> Array:
        """Return A_g^T lam of the chosen groups, or of all, (k, r). Costs 2 n r flops per group.

        diagonals: those of the chosen groups, (n, k), where they are known.
        """
        D = diagonals if diagonals is not None else self.D if chosen is None else self.diagonals(chosen)
        return self.group_gradients(((self.base * lam[:, None]).T @ D).T, chosen)

    def dual_images(self, lam: Array) -> DualImages:
        """Return A_g^T lam and its norm for every g."""
        values = self.adjoint(lam)
        return DualImages(values, np.sqrt(np.einsum("gr,gr->g", values, values)))

    def dual_norms(self, lam: Array) -> Array:
        """Return ||A_g^T lam|| for every g, (p,), without forming any transform."""
        return projection_norms(self.base, self.patterns, lam) if self.orthonormal else self.dual_images(lam).norms

    def row_gains(self, pattern: Mask, lam: Array) -> Array:
        """Estimate how much activating each row raises ||A^T lam||^2, A of this pattern (n,), up to a common factor.

        Return one value per row, (n,).
        """
        if self.orthonormal:
            rows = self.base[pattern]
            fitted = self.base @ np.linalg.lstsq(rows, lam[pattern], rcond=None)[0]
            # activating row i adds about lam_i^2 - (lam_i - fitted_i)^2, because ||P lam||^2 is ||D lam||^2 minus the
            # squared least-squares residual
            gains: Array = 2 * lam * fitted - fitted**2
            return gains
        d = np.where(pattern, 1.0, self.slope)
        # half the derivative of ||A^T lam||^2 = ||B^T (d o lam)||^2 with respect to d_i
        return lam * (self.base @ (self.base.T @ (d * lam)))

    def block(self, g: int) -> Array:
        """Return the matrix A_g, (n, r)."""
        return self.columns(np.array([g]))

    def columns(self, chosen: Index) -> Array:
        """Return the chosen blocks A_g side by side, (n, k r)."""
        bases = self.base[:, None, :]
        if self.transforms is not None:
            bases = np.matmul(self.base, self.transforms[chosen]).transpose(1, 0, 2)
        return (self.diagonals(chosen)[:, :, None] * bases).reshape(self.n, -1)

    def weighted_gram(self, chosen: Index, c: Array, close: float = 0.0) -> Array:
        """Return sum_g c_g A_g A_g^T over the chosen groups, c >= 0; shape (n, n). For `close`, see `ProjectionSums`.

        Without transforms it is (B B^T) o (D diag(c) D^T), at n^2 flops per group for any r.
        """
        if self.transforms is not None:
            return self._projections.weighted(chosen, c, close)
        return self._hadamard(chosen, c)

    def rough_gram(self, chosen: Index, c: Array) -> Array:
        """Return an estimate of `weighted_gram` that replaces each projection A_g A_g^T by a D_g B B^T D_g + b D_g.

        a and b are the best on average over random B with orthonormal columns, from the traces of products of free
        projections: tr(PQ) = n p q and tr(PQPQ) = n p q (p + q - p q) for projections P, Q of rank n p, n q. Without
        transforms the result is exact.
        """
        if self.transforms is None:
            return self._hadamard(chosen, c)
        E = self.diagonals(chosen)
        p, q = E.mean(axis=0), self.rank / self.n
        a = np.maximum(p - q, 0.0) / (p**2 * max(1.0 - q, 1.0 / self.n))
        H = self._hadamard(chosen, c * a)
        # correct the diagonal: on active rows a projection has the mean diagonal q / p, or 1 with at most r active
        # rows, while a B B^T has a q
        np.einsum("ii->i", H)[:] += E @ (c * (np.minimum(q / p, 1.0) - a * q))
        return H

    def _hadamard(self, chosen: Index, c: Array) -> Array:
        E = self.diagonals(chosen) * np.sqrt(c)
        return self.base_gram * (E @ E.T)

    def dimensions(self, chosen: Index) -> Mask:
        """Return which coordinates of the chosen groups exist, (k, r): all of them, or the non-zero columns of T_g."""
        if self.transforms is None:
            return np.ones((len(chosen), self.rank), dtype=np.bool_)
        present: Mask = self._nonzero_columns[chosen]
        return present

    @cached_property
    def narrowed(self) -> Mask:
        """Which confined groups have less than full rank, (p,): these hold only part of their pattern's neurons."""
        if not self.confined or not self.orthonormal:
            return np.zeros(self.count, dtype=np.bool_)
        partial: Mask = np.asarray(~self.dimensions(np.arange(self.count)).all(axis=1))
        return partial

    def duplicates_of(self, g: int) -> Index:
        """Return the other groups with the operator of g: equal patterns; the skip connection counts as all ones."""
        same = (self.patterns == self.patterns[:, g, None]).all(axis=0)
        same[g] = False
        return np.flatnonzero(same)

    def find(self, pattern: Mask) -> int:
        """Return the first group of this pattern (n,), except the skip connection; raises `KeyError` without one."""
        same = (self.patterns == pattern[:, None]).all(axis=0)
        same[: int(self.linear)] = False
        if not same.any():
            raise KeyError("no group has this pattern")
        return int(np.argmax(same))

    def neuron(self, g: int, w: Array, X: Array) -> Array:
        """Return the weight w_g (r,) of group g for the neuron w (d,) on X (n, d): A_g w_g = activation(X w)."""
        if self.transforms is None:
            return self.coordinates @ w
        return self.block(g).T @ leaky_relu(X @ w, self.slope)
