"""Real numbers as balls (midpoint and radius, Arb by python-flint): what holds for the balls holds for the numbers.

A float is a rational, and enters with radius zero. Singular systems end in `Unproved`; a higher precision may help.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from flint import arb, arb_mat, ctx, fmpz_mat

from recovery.instances.arrangements import integer_rows
from recovery.types import Array, Index

PRECISIONS = (128, 384, 1152)
"""Bits tried in turn: for rounding, for data scaled by 1e10 and its squares, and for nearly dependent data."""

T = TypeVar("T")


class Unproved(Exception):  # noqa: N818  # no error: an answer
    """Why a proof was not found."""


def at_rising_precision(prove: Callable[[], T]) -> T:
    """The first proof that some precision finds; else `Unproved` as the highest one raised it."""
    for bits in PRECISIONS[:-1]:
        try:
            with ctx.workprec(bits):
                return prove()
        except Unproved:
            continue
    with ctx.workprec(PRECISIONS[-1]):
        return prove()


def matrix(A: Array) -> arb_mat:
    """A float matrix (n, d), exactly."""
    n, d = A.shape
    return arb_mat(n, d, [arb(a) for a in np.asarray(A, dtype=np.float64).ravel().tolist()])


def column(entries: Iterable[arb]) -> arb_mat:
    """A column of balls."""
    values = list(entries)
    return arb_mat(len(values), 1, values)


def dot(x: Sequence[arb], y: Sequence[arb]) -> arb:
    """sum x_i y_i."""
    return sum((a * b for a, b in zip(x, y, strict=True)), arb(0))


def length(square: arb) -> arb:
    """The root of a ball that is known not to be negative; its upper end, where the ball reaches zero."""
    return square.sqrt() if square > 0 else arb(square.upper()).sqrt()


def solve(A: arb_mat, b: arb_mat, what: str) -> arb_mat:
    """The solution of A x = b; that there is one is proved too. Raises `Unproved` with `what` is dependent."""
    try:
        return A.solve(b)
    except ZeroDivisionError:
        raise Unproved(f"{what} are dependent, or nearly so") from None


def nearest_solution(A: arb_mat, b: arb_mat, start: arb_mat, what: str) -> arb_mat:
    """The x nearest to `start` with A x = b exactly: start + A^T (A A^T)^{-1} (b - A start), in balls.

    Raises `Unproved` with `what` is dependent: the rows of A.
    """
    return start + A.transpose() * solve(A * A.transpose(), b - A * start, what)


def independent_columns(A: Array) -> Index:
    """The first columns of A (n, d) that span its range, in whole numbers."""
    if A.shape[0] == 0:
        return np.zeros(0, dtype=np.intp)
    reduced, _, rank = fmpz_mat([list(row) for row in integer_rows(A)]).rref()
    rows = reduced.tolist()[:rank]
    return np.array([next(j for j, a in enumerate(row) if a != 0) for row in rows], dtype=np.intp)


def beside(blocks: Iterable[list[list[arb]]]) -> list[list[arb]]:
    """The rows of blocks side by side."""
    return [[a for row in rows for a in row] for rows in zip(*blocks, strict=True)]


def largest(values: Iterable[arb]) -> float:
    """An upper bound on the balls, rounded up; 0 where there are none."""
    return max((math.nextafter(float(value.upper()), math.inf) for value in values), default=0.0)
