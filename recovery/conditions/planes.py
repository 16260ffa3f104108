"""Planes of an arrangement, from rows and a dual point, for the maximum of ||c + sum_{i in D} t_i x_i|| over cells D.

Parallel rows form one plane. A plane adds `ahead` to the sum on its positive side and `behind` on the other side: their
mean, plus or minus half of their difference.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recovery.conditions.cell_search import THIN
from recovery.errors import ParameterError
from recovery.programs.groups import Groups
from recovery.types import Array, Index, Mask


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
        """The sum of these sizes and of ||c||, which bounds the norm over all patterns."""
        return float(self.sizes.sum()) + float(np.linalg.norm(self.linear))

    def norms(self, patterns: Mask) -> Array:
        """Return the norms of the sum over patterns (n, p), (p,)."""
        sums = self.linear[:, None] + self.rows.T @ (self.weights[:, None] * patterns)
        return np.asarray(np.linalg.norm(sums, axis=0))


@dataclass(frozen=True)
class Planes:
    """Unit normals (m, d) of distinct planes, largest ||half|| first. A cell's sum is scale (start + sum_k +-halves_k).

    vectors (m + 1, d, d), values (m + 1, d): eigenvectors, as rows, and eigenvalues, rounded up, of the matrix Q of the
    planes from each depth on (`recovery.conditions.cell_search`). excluded (k, m): signs of excluded cells.
    """

    normals: Array
    halves: Array
    start: Array
    vectors: Array
    values: Array
    excluded: Array
    scale: float


def planes_of(total: RowSum, known: Mask | None = None) -> Planes | None:
    """Return the planes of a sum; None if c and all t_i x_i are zero. known (n, k): patterns of excluded cells."""
    rows, scale = total.rows, total.scale
    if scale == 0.0:
        return None
    normals, plane, side = distinct_planes(rows)
    worth = total.weights[:, None] * rows / scale
    ahead, behind = (_sums(np.where(side[:, None] == one, worth, 0.0), plane, len(normals)) for one in (1.0, -1.0))
    if known is None:
        known = np.empty((len(rows), 0), dtype=np.bool_)
    centres, halves = (ahead + behind) / 2, (ahead - behind) / 2
    # sort the planes by the length of their half difference, the largest first: undecided planes then contribute
    # little, and bounds fall early
    order = np.argsort(-np.linalg.norm(halves, axis=1), kind="stable")
    centres, halves, normals = centres[order], halves[order], normals[order]
    vectors, values = spreads(halves)
    excluded = np.ascontiguousarray(_signs(known, plane, side, len(normals))[:, order])
    return Planes(normals, halves, total.linear / scale + centres.sum(axis=0), vectors, values, excluded, scale)


def distinct_planes(rows: Array) -> tuple[Array, Index, Array]:
    """Return unit normals (m, d) of the planes of rows (n, d), and each row's plane and side: 1, -1, or 0 if x = 0."""
    lengths = np.linalg.norm(rows, axis=1)
    plane, side = np.zeros(len(rows), dtype=np.intp), np.zeros(len(rows))
    left = [int(i) for i in np.flatnonzero(lengths)]
    normals: list[Array] = []
    while left:
        units = rows[left] / lengths[left, None]
        same = np.linalg.norm(units - units[0], axis=1) <= THIN
        opposite = np.linalg.norm(units + units[0], axis=1) <= THIN
        members = np.array(left)
        plane[members[same | opposite]] = len(normals)
        side[members[same]], side[members[opposite]] = 1.0, -1.0
        normals.append(units[0])
        left = [int(j) for j in members[~(same | opposite)]]
    return np.array(normals), plane, side


def _sums(parts: Array, plane: Index, count: int) -> Array:
    sums = np.zeros((count, parts.shape[1]))
    np.add.at(sums, plane, parts)
    return sums


def _signs(known: Mask, plane: Index, side: Array, count: int) -> Array:
    """Return the signs of known patterns (n, k) on each plane, one row per pattern and `count` columns.

    A pattern that puts rows of one plane on contradictory sides belongs to no cell and is left out.
    """
    live = side != 0
    meant = np.where(known.T, side, -side)[:, live]
    signs = np.zeros((known.shape[1], count), np.int8)
    signs[:, plane[live]] = meant
    return signs[(signs[:, plane[live]] == meant).all(axis=1)]


def spreads(halves: Array) -> tuple[Array, Array]:
    """Return eigenvectors (m + 1, d, d), as rows, and rounded-up eigenvalues (m + 1, d) of Q at each depth.

    Q of depth k contains the planes k, ..., m - 1, which are not decided there.
    """
    m, d = halves.shape
    vectors, values = np.zeros((m + 1, d, d)), np.zeros((m + 1, d))
    vectors[m] = np.eye(d)
    Q, total = np.zeros((d, d)), 0.0
    for k in reversed(range(m)):
        # Q bounds the undecided planes by Cauchy-Schwarz: (sum |z_k.u|)^2 <= (sum w_k) sum (z_k.u)^2 / w_k = u.Q u, w_k
        # = ||z_k||. Depth k adds plane k to the sums of depth k + 1
        size = float(np.linalg.norm(halves[k]))
        if size > 0.0:
            Q += np.outer(halves[k], halves[k]) / size
            total += size
        # the rounding error of an eigenvalue is a small multiple of 1e-16 of the largest one, so adding 1e-13 of the
        # largest gives upper bounds
        q, V = np.linalg.eigh(total * Q)
        vectors[k], values[k] = V.T, np.maximum(q, 0.0) + 1e-13 * max(float(q[-1]), 0.0)
    return vectors, values
