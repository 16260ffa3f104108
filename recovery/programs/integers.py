"""Floats are rationals: matrices as integers, up to positive factors of their rows, and their exact rank."""

from collections.abc import Sequence

import numpy as np

from recovery.types import Array, Index, Mask

Whole = tuple[int, ...]
"""A row, up to a positive factor: integers."""
MOST_ENTRIES = 20_000
"""Entries of a matrix whose rank may be computed in integers, which takes up to a tenth of a second."""


def integer_rows(X: Array) -> list[Whole]:
    """Return each row of floats times a power of two, as integers: exactly the same half-spaces."""
    mantissa, exponent = np.frexp(X)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = np.where(whole != 0, exponent, np.iinfo(np.int32).max).min(axis=1, keepdims=True)
    shift = np.where(whole != 0, exponent - lowest, 0)
    return [tuple(int(w) << int(s) for w, s in zip(*row, strict=True)) for row in zip(whole, shift, strict=True)]


def gated_integers(X: Array, patterns: Mask, slope: float) -> list[Whole]:
    """Return, in integers, the rows of the matrices D_g X side by side, each times some c > 0, for patterns (n, k).

    D_g is 1 on active rows and the slope on the others.
    """
    num, den = slope.as_integer_ratio()  # all entries are multiplied by den
    on = np.where(patterns, den, num).tolist()
    return [tuple(a * f for f in factors for a in row) for row, factors in zip(integer_rows(X), on, strict=True)]


def exact_rank(rows: Sequence[Whole]) -> int:
    """Return the rank of rows of integers, such as `integer_rows` of a matrix of floats."""
    from flint import fmpz_mat

    return int(fmpz_mat([list(row) for row in rows]).rank()) if len(rows) else 0


def independent_columns_of(rows: Sequence[Sequence[int]]) -> Index:
    """Return the indices of the first columns of an integer matrix, given by rows, that span its range."""
    from flint import fmpz_mat

    if not rows:
        return np.zeros(0, dtype=np.intp)
    reduced, _, rank = fmpz_mat([list(row) for row in rows]).rref()
    return np.array([next(j for j, a in enumerate(row) if a != 0) for row in reduced.tolist()[:rank]], dtype=np.intp)


def quick_rank(A: Array) -> int | None:
    """Return the exact rank of a matrix of floats; None where that would take long."""
    return exact_rank(integer_rows(A)) if A.size <= MOST_ENTRIES else None
