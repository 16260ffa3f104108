"""Gordan's alternative in exact arithmetic: some h has x_i.h > 0 for all rows, or some u >= 0, u != 0 has X^T u = 0.

Wolfe's method (Mathematical Programming 11, 1976) finds the point of least norm of the convex hull of the rows, in
integers: 0, with its weights u, or a direction h. Each step lowers the norm, so the method ends.
"""

import numpy as np
from flint import fmpq, fmpz, fmpz_mat

from recovery.errors import ParameterError
from recovery.programs.integers import integer_rows
from recovery.types import Array, Index

SHARE = 4
"""A direction is accepted if its squared length is at most this multiple of its least product: optimal within this
factor for rows of equal length."""
MOST_STEPS = 60
"""Limit of steps, per column; 2 or 3 are usual."""


def separate(rows: Array, start: Index) -> tuple[bool, Array]:
    """Return whether some h has x_i.h > 0 for all rows (n, d), none of them zero; and h (d,), or u (n,), rounded.

    The answer is about the rational numbers that the floats are; a rounded h may lie outside a thin cell. start: rows
    that u is expected to have. Raises `ParameterError` if the limit of steps is reached.
    """
    (n, d), whole = rows.shape, integer_rows(rows)
    sizes = [max(abs(a).bit_length() for a in row) for row in whole]
    P = fmpz_mat([[a << (max(sizes) - size) for a in row] for row, size in zip(whole, sizes, strict=True)])
    gram = P * P.transpose()
    chosen, weights = _begin(gram, start.tolist())
    for _ in range(MOST_STEPS * (d + 1)):
        total, parts = _integers(weights)
        point = fmpz_mat(1, len(chosen), parts) * fmpz_mat([[P[i, k] for k in range(d)] for i in chosen])
        square = (point * point.transpose())[0, 0]
        if square == 0:
            u = np.zeros(n)
            u[chosen] = [int(w) / int(total) for w in parts]
            powers = np.frexp(np.abs(rows).max(axis=1))[1]
            return False, np.ldexp(u, powers[chosen].min() - powers)
        products = (P * point.transpose()).entries()
        least = min(range(n), key=products.__getitem__)
        if SHARE * products[least] * total >= square:
            size = int(max(abs(a) for a in point.entries()))
            return True, np.array([int(a) / size for a in point.entries()])
        chosen, weights = _nearest(gram, [*chosen, least], [*weights, fmpq(0)])
    raise ParameterError("the data are too ill-conditioned to decide whether the all-ones pattern exists")


def _begin(gram: fmpz_mat, start: list[int]) -> tuple[list[int], list[fmpq]]:
    """Return the rows `start` with weights to begin with; only the first row if these rows are dependent."""
    try:
        return _nearest(gram, start, [fmpq(1, len(start))] * len(start))
    except ZeroDivisionError:
        return start[:1], [fmpq(1)]


def _integers(weights: list[fmpq]) -> tuple[fmpz, list[fmpz]]:
    """Return weights of sum 1 as integers, and their sum."""
    total = fmpz(1)
    for w in weights:
        total = total.lcm(w.q)
    return total, [w.p * (total // w.q) for w in weights]


def _nearest(gram: fmpz_mat, chosen: list[int], weights: list[fmpq]) -> tuple[list[int], list[fmpq]]:
    """Move from a point of the hull to the least-norm points of affine hulls; return the last one's rows, weights."""
    while True:
        # y minimises ||sum y_a x_a|| over sum y_a = 1: (G + 1 1^T) y is a multiple of 1
        m = len(chosen)
        bordered = fmpz_mat([[gram[i, j] + 1 for j in chosen] for i in chosen])
        y = bordered.solve(fmpz_mat(m, 1, [1] * m)).entries()
        size = sum(y, fmpq(0))
        y = [a / size for a in y]
        if all(a > 0 for a in y):
            return chosen, y
        step = min(w / (w - a) for w, a in zip(weights, y, strict=True) if a <= 0)
        moved = [w + step * (a - w) for w, a in zip(weights, y, strict=True)]
        chosen = [i for i, w in zip(chosen, moved, strict=True) if w > 0]
        weights = [w for w in moved if w > 0]
