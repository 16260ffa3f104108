"""sum_g c_g A_g A_g^T of groups with orthonormal columns: A_g A_g^T is a projection, kept once it is computed.

Newton's method asks for such a sum at every step, and mostly over the same groups. A projection lives on the rows of
its pattern, so its lower triangle there is an eighth of n^2, and adding it costs little more than reading it.
"""

import copy

import numpy as np
from scipy.sparse._sparsetools import csc_matvec

from recovery.types import Array, Index, Mask

KEPT = 2**24
"""Entries kept at most, 12 bytes each; projections beyond are computed whenever they are asked for."""


class ProjectionSums:
    """Weighted sums of the projections on range(D_g B T_g), for B (n, r), patterns (n, p) and T (p, r, r)."""

    def __init__(self, base: Array, patterns: Mask, transforms: Array) -> None:
        self._base, self._patterns, self._transforms = base, patterns, transforms
        self._kept: dict[int, tuple[Index, Array]] = {}
        self._names = np.arange(patterns.shape[1])

    def among(self, some: Index) -> "ProjectionSums":
        """The sums over some of these groups, numbered anew; what either computes, both have."""
        part = copy.copy(self)
        part._names = self._names[some]
        return part

    def weighted(self, chosen: Index, c: Array) -> Array:
        """sum_g c_g A_g A_g^T over the chosen groups; shape (n, n)."""
        n = self._base.shape[0]
        h, ends = np.zeros(n * n), np.zeros(2, dtype=np.int32)
        for i, g in enumerate(self._names[chosen].tolist()):
            places, values = self._kept.get(g) or self._half(g)
            ends[1] = len(values)
            csc_matvec(
                n * n, 1, ends, places, values, c[i : i + 1], h
            )  # h[places] += c_i values, twice as fast as np.add.at
        H = h.reshape(n, n)
        return H + H.T

    def _half(self, g: int) -> tuple[Index, Array]:
        """Flat places and values of the lower triangle of A_g A_g^T, its diagonal halved: the mirror adds the rest."""
        n = self._base.shape[0]
        rows = np.flatnonzero(self._patterns[:, g]).astype(np.int32)
        k = len(rows)
        Q = self._base[rows] @ self._transforms[g]
        if k <= Q.shape[1] and np.any(self._transforms[g], axis=0).sum() == k:  # the whole space of its rows
            found = rows * (n + 1), np.full(k, 0.5)
        else:
            lower = np.tri(k, dtype=np.bool_)
            P = Q @ Q.T
            P[np.arange(k), np.arange(k)] *= 0.5
            found = np.add.outer(rows * n, rows)[lower], P[lower]
        if sum(len(values) for _, values in self._kept.values()) + len(found[0]) <= KEPT:
            self._kept[g] = found
        return found
