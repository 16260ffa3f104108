"""A second enumeration of the cells of a central arrangement, in integers: every cell has an extreme ray.

The extreme rays are the null vectors of independent rows, one fewer than the rank. The cells around a ray have its
signs on the rows that it does not meet. On the rows that it meets, they are the cells of the smaller arrangement.
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from flint import fmpq_mat, fmpz_mat

from recovery.types import Array

Signs = tuple[int, ...]


def integers(A: Array) -> fmpz_mat:
    """Return A times a power of two."""
    ratios = [[x.as_integer_ratio() for x in row] for row in A.tolist()]
    scale = max((q for row in ratios for _, q in row), default=1)
    return fmpz_mat(*A.shape, [p * (scale // q) for row in ratios for p, q in row])


def signs(F: Array, h: Array) -> Array:
    """Return the exact signs of F h."""
    return np.array([(z > 0) - (z < 0) for z in (integers(F) * integers(h[:, None])).entries()])


def pivots(M: fmpz_mat) -> list[int]:
    """Return the first columns that span the range of M."""
    reduced, rank = fmpq_mat(M).rref()
    return [next(j for j in range(M.ncols()) if reduced[i, j] != 0) for i in range(rank)]


def cells(F: Array) -> set[tuple[bool, ...]]:
    """Return the patterns of all cells of F (n, d), with zero rows active."""
    live = np.flatnonzero(F.any(axis=1))
    pattern, found = np.ones(len(F), dtype=np.bool_), set()
    for cell in _cells([list(map(int, row)) for row in integers(F[live]).tolist()]):
        pattern[live] = np.array(cell) > 0
        found.add(tuple(map(bool, pattern)))
    return found


def _cells(rows: list[list[int]]) -> set[Signs]:
    """Return the sign vectors of all cells of rows that are not zero."""
    columns = pivots(fmpz_mat(rows))
    rows, rank = [[row[j] for j in columns] for row in rows], len(columns)
    found: set[Signs] = set()
    met: set[tuple[int, ...]] = set()
    for chosen in combinations(_planes(rows), rank - 1):
        ray = [1]
        if chosen:
            kernel, nullity = fmpz_mat([rows[i] for i in chosen]).nullspace()
            if nullity != 1:
                continue
            ray = [int(kernel[i, 0]) for i in range(rank)]
        values = [sum(a * b for a, b in zip(row, ray, strict=True)) for row in rows]
        zeros = tuple(i for i, value in enumerate(values) if value == 0)
        if zeros in met:
            continue
        met.add(zeros)
        # independent hyperplanes have cells of all signs
        free = len(zeros) == rank - 1
        inner = product((1, -1), repeat=rank - 1) if free else _cells([rows[i] for i in zeros])
        for side, around in product((1, -1), list(inner)):
            cell = [side * ((value > 0) - (value < 0)) for value in values]
            for i, sign in zip(zeros, around, strict=True):
                cell[i] = sign
            found.add(tuple(cell))
    return found


def _planes(rows: Iterable[list[int]]) -> list[int]:
    """Return the index of the first row of each distinct hyperplane."""
    first: dict[tuple[Fraction, ...], int] = {}
    for i, row in enumerate(rows):
        lead = next(a for a in row if a)
        first.setdefault(tuple(Fraction(a, lead) for a in row), i)
    return list(first.values())
