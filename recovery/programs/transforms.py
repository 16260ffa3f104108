"""The transforms T_g of normalised groups: applied, and summed as projections; compiled.

Applying uses only the non-zero span of each row: most transforms are triangular, and those of groups with few rows end
in zero columns. np.matmul would first copy the chosen transforms; it takes 1.1 to 3.6 times as long for a subset, and
0.6 to 1.4 times for all groups (measured at 10 to 100 columns).

Summing computes sum_g c_g A_g A_g^T, in which A_g A_g^T is a projection that is stored after its first use. Newton's
method needs such a sum in each step, mostly over the same groups. A projection is zero outside the rows of its pattern,
so its upper triangle has about n^2 / 8 entries, and adding it costs little more than reading it.
"""

from collections.abc import Callable

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array, Index, Mask

KEPT = 2**24
"""Maximum number of stored entries of projections, 128 MiB; further projections are computed again in each sum."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


class Transforms:
    """Transforms T (p, r, r), applied row by row: T_g w and T_g^T b for the chosen groups, or for all."""

    def __init__(self, transforms: Array) -> None:
        self.values, self.spans = transforms, _spans(transforms)

    def apply(self, W: Array, chosen: Index | None) -> Array:
        """Return T_g w_g of the chosen groups, (k, r)."""
        return self._each(_apply, W, chosen)

    def apply_transposed(self, B: Array, chosen: Index | None) -> Array:
        """Return T_g^T b_g of the chosen groups, (k, r)."""
        return self._each(_apply_transposed, B, chosen)

    def _each(self, product: Callable[..., Array], rows: Array, chosen: Index | None) -> Array:
        every = np.arange(len(self.values)) if chosen is None else chosen
        return product(self.values, self.spans, every, np.ascontiguousarray(rows, dtype=np.float64))


def _spans(T: Array) -> Index:
    """Return the first and one past the last non-zero column of each row of T, (p, r, 2); equal for rows of zeros."""
    if not T.size:  # a base of rank 0 has no columns, and argmax fails on empty rows
        return np.zeros((*T.shape[:2], 2), dtype=np.intp)
    filled = T != 0.0
    end = np.where(filled.any(axis=2), T.shape[2] - np.argmax(filled[:, :, ::-1], axis=2), 0)
    return np.stack([np.argmax(filled, axis=2), end], axis=2).astype(np.intp)


@_compiled
def _apply(T: Array, spans: Index, chosen: Index, W: Array) -> Array:
    V = np.zeros(W.shape)
    for i in range(len(chosen)):
        g, w = chosen[i], W[i]
        for k in range(len(w)):
            start, end = spans[g, k]
            row, part, total = T[g, k, start:end], w[start:end], 0.0
            for j in range(len(row)):
                total += row[j] * part[j]
            V[i, k] = total
    return V


@_compiled
def _apply_transposed(T: Array, spans: Index, chosen: Index, B: Array) -> Array:
    Q = np.zeros(B.shape)
    for i in range(len(chosen)):
        g, q = chosen[i], Q[i]
        for k in range(len(q)):
            start, end = spans[g, k]
            row, part, b = T[g, k, start:end], q[start:end], B[i, k]
            # the outer loop is over rows of T, which are contiguous in memory
            for j in range(len(row)):
                part[j] += b * row[j]
    return Q


# compiled because indexing with np.ix_ and adding the whole block takes 15 to 26 times as long, at 50 to 400 rows
# (measured)
@compiled()
def add_block(K: Array, rows: Index, block: Array, weight: float) -> None:
    """Add `weight` times the upper triangle of `block` (m, m) to K (n, n) at the ascending `rows` (m,)."""
    for i in range(len(rows)):
        row, part, places = K[rows[i]], block[i, i:], rows[i:]
        for j in range(len(places)):
            row[places[j]] += weight * part[j]


class ProjectionSums:
    """Weighted sums of the projections on range(D_g B T_g), for B (n, r), patterns (n, p) and T (p, r, r).

    Holds the last sum, and updates it by the weights that changed.
    """

    def __init__(self, base: Array, patterns: Mask, transforms: Array, room: int = KEPT) -> None:
        n, p = patterns.shape
        self._base, self._patterns, self._transforms = base, patterns, transforms
        self._stored: dict[int, tuple[Index, Array | None]] = {}
        self._room = room
        self._weights, self._sum = np.zeros(p), np.zeros((n, n))

    def weighted(self, chosen: Index, c: Array, close: float = 0.0) -> Array:
        """Return sum_g c_g A_g A_g^T over the chosen groups, c >= 0; shape (n, n).

        A weight that differs from its last value by at most the fraction `close` may keep that value.
        """
        wanted = np.zeros(len(self._weights))
        wanted[chosen] = c
        other = np.abs(wanted - self._weights) > close * np.maximum(wanted, self._weights)
        if np.count_nonzero(other) >= len(chosen):
            # if at least as many weights changed as groups are chosen, sum again: that costs less and drops accumulated
            # rounding errors
            self._weights[:], self._sum[:] = 0.0, 0.0
            other = wanted > 0
        changes = np.flatnonzero(other)
        for g, change in zip(changes.tolist(), (wanted - self._weights)[changes].tolist(), strict=True):
            rows, P = self._stored.get(g) or self._projection(g)
            if P is None:
                self._sum[rows, rows] += change
            else:
                add_block(self._sum, rows, P, change)
        self._weights[changes] = wanted[changes]
        # `_sum` holds upper triangles only. Adding the transpose counts the diagonal twice, so halve the diagonal
        H = self._sum + self._sum.T
        H[np.diag_indices_from(H)] *= 0.5
        return H

    def _projection(self, g: int) -> tuple[Index, Array | None]:
        """Return the rows of pattern g and A_g A_g^T on them; None instead of the identity."""
        rows = np.flatnonzero(self._patterns[:, g])
        # with as many independent columns as rows, the range of A_g is all of R^rows and the projection is the identity
        whole = len(rows) <= self._base.shape[1] and np.any(self._transforms[g], axis=0).sum() == len(rows)
        Q = self._base[rows] @ self._transforms[g]
        projection = rows, None if whole else Q @ Q.T
        size = 0 if whole else len(rows) ** 2
        if size <= self._room:
            self._stored[g] = projection
            self._room -= size
        return projection
