"""Sums over the active rows of a pattern, and the planes of an arrangement, for the largest such sum over its cells."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.groups import Groups
from recovery.types import Array, Codes, Index, Mask


@dataclass(frozen=True)
class RowSum:
    """The sum c + sum_{i in D} t_i x_i as a function of a pattern D: rows (n, d), weights t (n,), linear c (d,)."""

    rows: Array
    weights: Array
    linear: Array

    @classmethod
    def of(cls, groups: Groups, lam: Array) -> "RowSum":
        """Return A_D^T lam. Raises `ParameterError` for groups whose columns are orthonormal."""
        if groups.orthonormal:
            raise ParameterError("the dual norm of normalised neurons is not a sum over rows")
        return cls(groups.base, (1.0 - groups.slope) * lam, groups.slope * (groups.base.T @ lam))

    @cached_property
    def sizes(self) -> Array:
        """|t_i| ||x_i||, (n,)."""
        return np.abs(self.weights) * np.linalg.norm(self.rows, axis=1)

    @cached_property
    def scale(self) -> float:
        """The sum of `sizes` and of ||c||, which bounds the norm over all patterns; 1 if it is 0."""
        return float(self.sizes.sum()) + float(np.linalg.norm(self.linear)) or 1.0

    def norms(self, patterns: Mask) -> Array:
        """Return the norms of the sum over patterns (n, p), (p,)."""
        sums = self.linear[:, None] + self.rows.T @ (self.weights[:, None] * patterns)
        return np.asarray(np.linalg.norm(sums, axis=0))


@dataclass(frozen=True)
class Planes:
    """Unit normals (m, d) of the rows `order` (m,), which are not zero, the largest t_i x_i first.

    A cell's sum is scale (start + sum_k +-halves_k), halves t_i x_i / 2. vectors (m + 1, d, d), values (m + 1, d):
    eigenvectors, as rows, and eigenvalues, rounded up, of the matrix Q of the planes from each depth on
    (`recovery.conditions.cell_search`). excluded (k, m): signs of excluded cells. Of two parallel rows each has a
    plane: a cell between them is thinner than `THIN`, and counts as empty.
    """

    order: Index
    normals: Array
    halves: Array
    start: Array
    vectors: Array
    values: Array
    excluded: Codes
    scale: float


def planes_of(total: RowSum, known: Mask | None = None) -> Planes:
    """Return the planes of a sum. known (n, k): patterns of excluded cells."""
    rows, lengths, scale = total.rows, np.linalg.norm(total.rows, axis=1), total.scale
    # decide the largest first: the undecided planes then contribute little, and bounds fall early
    order = np.argsort(-total.sizes, kind="stable")
    order = order[lengths[order] > 0]
    halves = rows[order] * (total.weights[order, None] / (2 * scale))
    normals = rows[order] / lengths[order, None]
    on = np.empty((0, len(order)), dtype=np.bool_) if known is None else known[order].T
    excluded = np.ascontiguousarray(np.where(on, 1, -1), dtype=np.int8)
    return Planes(order, normals, halves, total.linear / scale + halves.sum(axis=0), *spreads(halves), excluded, scale)


def spreads(halves: Array) -> tuple[Array, Array]:
    """Return eigenvectors (m + 1, d, d), as rows, and rounded-up eigenvalues (m + 1, d) of Q at each depth.

    Q of depth k contains the planes k, ..., m - 1, which are not decided there.
    """
    m, d = halves.shape
    vectors, values = np.zeros((m + 1, d, d)), np.zeros((m + 1, d))
    vectors[m] = np.eye(d)
    Q, total = np.zeros((d, d)), 0.0
    for k in reversed(range(m)):
        # total * Q bounds the undecided planes by Cauchy-Schwarz: (sum |z_k.u|)^2 <= (sum w_k) sum (z_k.u)^2 / w_k,
        # w_k = ||z_k||. Depth k adds plane k to the sums of depth k + 1
        size = float(np.linalg.norm(halves[k]))
        if size > 0.0:
            Q += np.outer(halves[k], halves[k]) / size
            total += size
        # the rounding error of an eigenvalue is a small multiple of 1e-16 of the largest one, so adding 1e-13 of the
        # largest gives upper bounds
        q, V = np.linalg.eigh(total * Q)
        vectors[k], values[k] = V.T, np.maximum(q, 0.0) + 1e-13 * max(float(q[-1]), 0.0)
    return vectors, values
