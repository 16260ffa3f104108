"""Ball arithmetic: real numbers as midpoint and radius (Arb by python-flint). A proved statement about balls is true of
all numbers in them.

A float is rational and has radius zero. Singular systems raise `Unproved`; a higher precision may solve them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from flint import arb, arb_mat, ctx

from recovery.programs.integers import independent_columns_of, integer_rows
from recovery.types import Array, Index

PRECISIONS = (128, 384, 1152)
"""Precisions in bits, tried in turn: for rounding, for data scaled by 1e10 and their squares, and for nearly dependent
data."""

T = TypeVar("T")


class Unproved(Exception):  # noqa: N818  # not an error but an answer
    """The reason why a proof was not found."""


def at_rising_precision(prove: Callable[[], T]) -> T:
    """Return the first proof found at some precision; otherwise raise the `Unproved` of the highest one."""
    for bits in PRECISIONS[:-1]:
        try:
            with ctx.workprec(bits):
                return prove()
        except Unproved:
            continue
    with ctx.workprec(PRECISIONS[-1]):
        return prove()


def matrix(A: Array) -> arb_mat:
    """Convert a float matrix (n, d) exactly."""
    n, d = A.shape
    return arb_mat(n, d, [arb(a) for a in np.asarray(A, dtype=np.float64).ravel().tolist()])


def column(entries: Iterable[arb]) -> arb_mat:
    """Return balls as a matrix of one column, (n, 1)."""
    values = list(entries)
    return arb_mat(len(values), 1, values)


def dot(x: Sequence[arb], y: Sequence[arb]) -> arb:
    """Return sum x_i y_i."""
    return sum((a * b for a, b in zip(x, y, strict=True)), arb(0))


def middle(values: Iterable[arb]) -> Array:
    """Return the midpoints of balls as floats."""
    return np.array([float(a.mid()) for a in values])


def length(square: arb) -> arb:
    """Return the root of a ball of a non-negative number; if the ball reaches zero, the root of its upper end."""
    return square.sqrt() if square > 0 else arb(square.upper()).sqrt()


def solve(A: arb_mat, b: arb_mat, what: str) -> arb_mat:
    """Solve A x = b, with a proof that A is invertible. Raises `Unproved`, which names `what`, without a proof."""
    try:
        return A.solve(b)
    except ZeroDivisionError:
        raise Unproved(f"{what} are dependent, or nearly so") from None


def cholesky(A: arb_mat) -> arb_mat:
    """Return L with A = L L^T. Raises `Unproved` if A is not certainly positive definite."""
    n = A.nrows()
    L = arb_mat(n, n)
    for j in range(n):
        pivot = A[j, j] - sum((L[j, k] * L[j, k] for k in range(j)), arb(0))
        if not pivot > 0:
            raise Unproved("a matrix is not certainly positive definite")
        L[j, j] = pivot.sqrt()
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum((L[i, k] * L[j, k] for k in range(j)), arb(0))) / L[j, j]
    return L


def nearest_solution(A: arb_mat, b: arb_mat, start: arb_mat, what: str) -> arb_mat:
    """Return the x nearest to `start` with A x = b exactly: start + A^T (A A^T)^{-1} (b - A start), in ball arithmetic.

    Raises `Unproved` if the rows of A, described by `what`, are dependent.
    """
    return start + A.transpose() * solve(A * A.transpose(), b - A * start, what)


def independent_columns(A: Array) -> Index:
    """Return the indices of the first columns of A (n, d) that span its range, computed in integers."""
    return independent_columns_of(integer_rows(A))


def beside(blocks: Iterable[list[list[arb]]]) -> list[list[arb]]:
    """Place blocks with equal numbers of rows side by side."""
    return [[a for row in rows for a in row] for rows in zip(*blocks, strict=True)]


def below_one(bound: float) -> float:
    """Return `bound`, a bound on the dual norms over all patterns. Raises `Unproved` unless it is below 1."""
    if not bound < 1:
        raise Unproved(f"the bound on the dual norm over all patterns is {bound:.8g}, not below 1")
    return bound


def largest(values: Iterable[arb]) -> float:
    """Return an upper bound on the balls, rounded up; 0 if there are none, infinite if one is not a number."""
    upper = (float(value.upper()) if value.is_finite() else math.inf for value in values)
    return max((math.nextafter(value, math.inf) for value in upper), default=0.0)
