"""sum_g c_g A_g A_g^T of groups with orthonormal columns: A_g A_g^T is a projection, kept once it is computed.

Newton's method asks for such a sum at every step, and mostly over the same groups. A projection lives on the rows of
its pattern, so that its upper triangle there is an eighth of n^2, and adding it costs little more than reading it.
"""

import copy

import numpy as np

from recovery.compiled import compiled
from recovery.types import Array, Index, Mask

KEPT = 2**24
"""Entries kept at most, 8 bytes each; projections beyond are computed whenever they are asked for."""


# compiled: np.ix_ with a sum of whole blocks takes 15 to 26 times as long, for 50 to 400 rows (measured)
@compiled()
def add_block(K: Array, rows: Index, block: Array, weight: float) -> None:
    """Add the upper triangle of `block` (m, m), times `weight`, to K (n, n) at `rows` (m,), which ascend."""
    for i in range(len(rows)):
        row, part, places = K[rows[i]], block[i, i:], rows[i:]
        for j in range(len(places)):
            row[places[j]] += weight * part[j]


class ProjectionSums:
    """Weighted sums of the projections on range(D_g B T_g), for B (n, r), patterns (n, p) and T (p, r, r)."""

    def __init__(self, base: Array, patterns: Mask, transforms: Array) -> None:
        n, p = patterns.shape
        self._base, self._patterns, self._transforms = base, patterns, transforms
        self._kept: dict[int, tuple[Index, Array | None]] = {}
        self._names, self._room = np.arange(p), [KEPT]
        self._held, self._sum = np.zeros(p), np.zeros((n, n))

    def among(self, some: Index) -> "ProjectionSums":
        """The sums over some of these groups, numbered anew; what either computes, both have."""
        part = copy.copy(self)
        part._names = self._names[some]
        return part

    def weighted(self, chosen: Index, c: Array, close: float = 0.0) -> Array:
        """sum_g c_g A_g A_g^T over the chosen groups, c > 0; shape (n, n).

        Weights within the share `close` of those of the sum before may stay what they were there.
        """
        wanted = np.zeros(len(self._held))
        wanted[self._names[chosen]] = c
        other = np.abs(wanted - self._held) > close * np.maximum(wanted, self._held)
        if np.count_nonzero(other) >= len(chosen):
            # more changes than groups: a sum from nothing costs less, and drops what rounding the changes have left
            self._held[:], self._sum[:] = 0.0, 0.0
            other = wanted > 0
        changes = np.flatnonzero(other)
        for g, change in zip(changes.tolist(), (wanted - self._held)[changes].tolist(), strict=True):
            rows, P = self._kept.get(g) or self._projection(g)
            if P is None:
                self._sum[rows, rows] += change
            else:
                add_block(self._sum, rows, P, change)
        self._held[changes] = wanted[changes]
        # only upper triangles are added up; the sum with the transpose counts the diagonal twice
        H = self._sum + self._sum.T
        H[np.diag_indices_from(H)] *= 0.5
        return H

    def _projection(self, g: int) -> tuple[Index, Array | None]:
        """The rows of pattern g and A_g A_g^T on them; None for the identity."""
        rows = np.flatnonzero(self._patterns[:, g])
        # as many independent columns as rows: their range is all of R^rows
        whole = len(rows) <= self._base.shape[1] and np.any(self._transforms[g], axis=0).sum() == len(rows)
        Q = self._base[rows] @ self._transforms[g]
        projection = rows, None if whole else Q @ Q.T
        size = 0 if whole else len(rows) ** 2
        if size <= self._room[0]:
            self._kept[g] = projection
            self._room[0] -= size
        return projection
