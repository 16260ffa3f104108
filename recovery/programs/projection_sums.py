"""sum_g c_g A_g A_g^T of groups with orthonormal columns: A_g A_g^T is a projection, kept once it is computed.

Newton's method asks for such a sum at every step, and mostly over the same groups. A projection lives on the rows of
its pattern, so its lower triangle there is an eighth of n^2, and adding it costs little more than reading it.
"""

import numpy as np

from recovery.types import Array, Index, Mask

KEPT = 2**24
"""Entries kept at most, 16 bytes each; projections beyond are computed whenever they are asked for."""


class ProjectionSums:
    """Weighted sums of the projections on range(D_g B T_g), for B (n, r), patterns (n, p) and T (p, r, r)."""

    def __init__(self, base: Array, patterns: Mask, transforms: Array) -> None:
        self._base, self._patterns, self._transforms = base, patterns, transforms
        self._kept: dict[int, tuple[Index, Array]] = {}
        self._room = KEPT

    def weighted(self, chosen: Index, c: Array) -> Array:
        """sum_g c_g A_g A_g^T over the chosen groups; shape (n, n)."""
        n = self._base.shape[0]
        h = np.zeros(n * n)
        for g, weight in zip(chosen.tolist(), c, strict=True):
            places, values = self._kept.get(g) or self._projection(g)
            np.add.at(h, places, weight * values)
        H = h.reshape(n, n)
        H += np.tril(H, -1).T
        return H

    def _projection(self, g: int) -> tuple[Index, Array]:
        """Flat positions and values of the lower triangle of A_g A_g^T."""
        n = self._base.shape[0]
        rows = np.flatnonzero(self._patterns[:, g])
        k = len(rows)
        Q = self._base[rows] @ self._transforms[g]
        if k <= Q.shape[1] and np.any(self._transforms[g], axis=0).sum() == k:  # the whole space of its rows
            found = rows * (n + 1), np.ones(k)
        else:
            lower = np.tri(k, dtype=np.bool_)
            found = np.add.outer(rows * n, rows)[lower], (Q @ Q.T)[lower]
        if len(found[0]) <= self._room:
            self._room -= len(found[0])
            self._kept[g] = found
        return found
