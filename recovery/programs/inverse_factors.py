"""Inverse Cholesky factors of many small matrices at once, compiled.

LAPACK factors a matrix of some tens of rows at a small part of the rate of its products, and a call costs as much again
where rows are few. Here matrices lie side by side, `LANES` of them, and every operation is one on vectors of them. For
320 to 480 patterns it takes 0.1 of the time of LAPACK's dpotrf and dtrtri, one matrix at a time, for 10 columns, 0.5
for 20, 1.9 for 40 and 7 for 100 (measured; whole solves of 10 to 80 columns take no longer with LAPACK and np.matmul).
It stays as other last bits left more hard programs open: of 48 with one row a thousand times the others, 3 for 0.
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array, Index, Mask

LANES = 16

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
