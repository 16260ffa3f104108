"""The transforms T_g of normalised groups, many at once and compiled: made, multiplied with, and summed as projections.

Made: inverse Cholesky factors of many small matrices. LAPACK factors a matrix of some tens of rows at a small part of
the rate of its products, and a call costs as much again where rows are few. Here matrices lie side by side, `LANES` of
them, and every operation is one on vectors of them. For 320 to 480 patterns it takes 0.1 of the time of LAPACK's dpotrf
and dtrtri, one matrix at a time, for 10 columns, 0.5 for 20, 1.9 for 40 and 7 for 100 (measured; whole solves of 10 to
80 columns take no longer with LAPACK and np.matmul). It stays as other last bits left more hard programs open: of 48
with one row a thousand times the others, 3 for 0.

Multiplied with, over the part of each row that is not zero: most transforms are triangular, and those of groups with
few rows end in columns of zeros. np.matmul copies the transforms of chosen groups first: with some of them it takes 1.1
to 3.6 times as long, with all 0.6 to 1.4 times (measured for 10 to 100 columns).

Summed: sum_g c_g A_g A_g^T, where A_g A_g^T is a projection, kept once it is computed. Newton's method asks for such a
sum at every step, and mostly over the same groups. A projection lives on the rows of its pattern, so that its upper
triangle there is an eighth of n^2, and adding it costs little more than reading it.
"""

import copy
from collections.abc import Callable

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array, Index, Mask

LANES = 16
KEPT = 2**24
"""Entries of projections kept at most, 8 bytes each; those beyond are computed whenever they are asked for."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


def inverse_factors(packed: Array, T: Array, places: Index, least: float) -> Mask:
    """Write the transposed inverses of the Cholesky factors L of G (m, r, r) to T[places] (m of p, r, r).

    packed (m, r (r + 1) / 2): the lower triangles of G, row by row. T: zero below its diagonals. Returns of which G no
    diagonal of L is below `least`, (m,); of the others what is written means nothing.
    """
    return _inverse_factors(packed, T, places, least, LANES)


@_compiled
def _subtract(a: Array, c: Array, b: Array) -> None:
    for q in range(len(a)):
        a[q] -= c[q] * b[q]


@_compiled
def _multiply(a: Array, c: Array) -> None:
    for q in range(len(a)):
        a[q] *= c[q]


@_compiled
def _inverse_factors(packed: Array, T: Array, places: Index, least: float, lanes: int) -> Mask:
    """With L = U^T, row i of L and of X = L^{-1} from the rows above; x is the row of L, y that of X.

    An assignment from array to array would take five seconds to compile, for the words of its error.
    """
    m, r = len(packed), T.shape[1]
    sound = np.ones(m, dtype=np.bool_)
    U, X = np.zeros((r, r, lanes)), np.zeros((r, r, lanes))
    x, inverse = np.empty((r, lanes)), np.empty((r, lanes))
    for first in range(0, m, lanes):
        many, entry = min(lanes, m - first), 0
        for i in range(r):
            for j in range(i + 1):
                for q in range(lanes):
                    # a last block that is not full repeats its last matrix
                    x[j, q] = packed[first + min(q, many - 1), entry]
                entry += 1
            for j in range(i):
                c, column = x[j], U[j]
                # x_j / U_jj is L_ij; what it explains goes off the entries behind it
                _multiply(c, inverse[j])
                for k in range(j + 1, i):
                    _subtract(x[k], c, column[k])
                _subtract(x[i], c, c)
                for q in range(lanes):
                    column[i, q] = c[q]
            for q in range(lanes):
                square = x[i, q]
                # so a negative pivot and NaN count as too small too; 1 lets the other lanes go on
                if not square >= least * least:
                    sound[first + min(q, many - 1)] = False
                    square = 1.0
                inverse[i, q] = 1.0 / np.sqrt(square)
            y = X[i]
            # row i of L^{-1} is (e_i - sum_k L_ik row k of L^{-1}) / L_ii
            y[:] = 0.0
            for k in range(i):
                c, row = x[k], X[k]
                for j in range(k + 1):
                    _subtract(y[j], c, row[j])
            for j in range(i):
                _multiply(y[j], inverse[i])
            for q in range(lanes):
                y[i, q] = inverse[i, q]
        for q in range(many):
            to = T[places[first + q]]
            for j in range(r):
                for i in range(j, r):
                    to[j, i] = X[i, j, q]
    return sound


class Transformed:
    """Products with T (p, r, r): T_g w and T_g^T b for a group a row, of the chosen groups or of all."""

    def __init__(self, transforms: Array, spans: Index | None = None) -> None:
        self.transforms = transforms
        self.spans: Index = _spans(transforms) if spans is None else spans

    def among(self, chosen: Mask) -> "Transformed":
        """The products of some of these groups."""
        return Transformed(self.transforms[chosen], self.spans[chosen])

    def base_weights(self, W: Array, chosen: Index | None) -> Array:
        """T_g w_g, (k, r)."""
        return self._each(_base_weights, W, chosen)

    def group_pulls(self, B: Array, chosen: Index | None) -> Array:
        """T_g^T b_g, (k, r)."""
        return self._each(_group_pulls, B, chosen)

    def _each(self, product: Callable[..., Array], rows: Array, chosen: Index | None) -> Array:
        every = np.arange(len(self.transforms)) if chosen is None else chosen
        return product(self.transforms, self.spans, every, np.ascontiguousarray(rows, dtype=np.float64))


@_compiled
def _spans(T: Array) -> Index:
    """Where each row of T begins and ends to be other than zero, (p, r, 2)."""
    p, r, _ = T.shape
    spans = np.zeros((p, r, 2), dtype=np.intp)
    for g in range(p):
        for k in range(r):
            end = r
            while end > 0 and T[g, k, end - 1] == 0.0:
                end -= 1
            # both products run within these spans
            start = 0
            while start < end and T[g, k, start] == 0.0:
                start += 1
            spans[g, k, 0], spans[g, k, 1] = start, end
    return spans


@_compiled
def _base_weights(T: Array, spans: Index, chosen: Index, W: Array) -> Array:
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
def _group_pulls(T: Array, spans: Index, chosen: Index, B: Array) -> Array:
    Q = np.zeros(B.shape)
    for i in range(len(chosen)):
        g, q = chosen[i], Q[i]
        for k in range(len(q)):
            start, end = spans[g, k]
            row, part, b = T[g, k, start:end], q[start:end], B[i, k]
            # T^T b by rows of T too, as these are what lies side by side in memory
            for j in range(len(row)):
                part[j] += b * row[j]
    return Q


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
