import itertools
from fractions import Fraction

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.arrangements import cell_count, count_cells, enumerate_cells


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 1), (7, 2), (12, 3), (30, 3), (12, 4), (11, 6), (5, 8)])
def test_count_in_general_position(n: int, d: int) -> None:
    X = np.random.default_rng(n + d).standard_normal((n, d))
    patterns, points = enumerate_cells(X)
    assert np.array_equal(patterns, X @ points >= 0)
    assert patterns.shape[1] == np.unique(patterns, axis=1).shape[1] == cell_count(n, min(n, d))
    assert np.abs(X @ points).min() > 0


@pytest.mark.parametrize(("n", "d"), [(7, 3), (6, 2), (7, 4)])
def test_cells_are_those_sign_vectors_that_some_direction_attains(n: int, d: int) -> None:
    X = np.random.default_rng(0).standard_normal((n, d))
    found = {tuple(column) for column in enumerate_cells(X)[0].T}
    for signs in itertools.product([False, True], repeat=n):
        attained = decide_all_ones(np.where(signs, 1.0, -1.0)[:, None] * X).exists
        assert attained == (signs in found)


def test_sampling_finds_no_other_pattern() -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((15, 3))
    cells = {column.tobytes() for column in enumerate_cells(X)[0].T}
    sampled = {column.tobytes() for column in (X @ rng.standard_normal((3, 20_000)) >= 0).T}
    assert sampled <= cells
    assert len(sampled) > 0.8 * len(cells)


def test_parallel_zero_and_dependent_rows() -> None:
    X = np.random.default_rng(1).standard_normal((5, 3))
    degenerate = np.vstack([X, 2 * X[0], -X[1], np.zeros(3)])
    patterns, _ = enumerate_cells(degenerate)
    assert patterns.shape[1] == cell_count(5, 3)
    assert patterns[-1].all()
    assert (patterns[0] == patterns[5]).all()
    assert (patterns[1] != patterns[6]).all()
    flat = np.column_stack([X[:, :2], X[:, 0] + X[:, 1]])
    assert enumerate_cells(flat)[0].shape[1] == cell_count(5, 2)


def test_three_lines_in_one_plane_of_space() -> None:
    """Three planes share an axis and make six cells; a fourth plane cuts each: 12, two fewer than in general."""
    X = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert enumerate_cells(X)[0].shape[1] == 12
    assert cell_count(4, 3) == 14


def test_too_many_cells_are_refused_with_their_number() -> None:
    with pytest.raises(ParameterError, match="up to 5214913020 patterns"):
        enumerate_cells(np.random.default_rng(0).standard_normal((50, 10)))


def determinant(rows: list[list[Fraction]]) -> Fraction:
    """Expand by the first row."""
    if not rows:
        return Fraction(1)
    minors = (determinant([r[:j] + r[j + 1 :] for r in rows[1:]]) for j in range(len(rows)))
    return sum(((-1) ** j * a * m for j, (a, m) in enumerate(zip(rows[0], minors, strict=True))), Fraction(0))


def topes(X: np.ndarray) -> set[tuple[int, ...]]:
    """All sign vectors of X h without zeros, for X of full column rank: exact compositions of cocircuits.

    A cocircuit has the signs of X h for an h determined up to sign by d - 1 independent rows. Every sign vector is a
    composition of cocircuits, and conversely.
    """
    rows = [[Fraction(float(a)) for a in row] for row in X]
    d = X.shape[1]
    cocircuits = set()
    for chosen in itertools.combinations(rows, d - 1):
        h = [(-1) ** j * determinant([row[:j] + row[j + 1 :] for row in chosen]) for j in range(d)]
        values = [sum(a * b for a, b in zip(row, h, strict=True)) for row in rows]
        signs = tuple((value > 0) - (value < 0) for value in values)
        if any(signs):
            cocircuits |= {signs, tuple(-s for s in signs)}
    reached, frontier = set(cocircuits), cocircuits
    while frontier:
        frontier = {
            tuple(a or b for a, b in zip(one, other, strict=True)) for one in frontier for other in cocircuits
        } - reached
        reached |= frontier
    return {signs for signs in reached if 0 not in signs}


def degenerate(kind: str, rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.integers(-1, 2, (n, d)).astype(float)
    if kind == "rademacher":
        X = rng.choice([-1.0, 1.0], (n, d)) / np.sqrt(n)
    elif kind == "binary":
        X = rng.integers(0, 2, (n, d)).astype(float)
    elif kind == "parallel":
        X[n // 2 :] = -3 * X[: n - n // 2]
    elif kind == "scaled":
        X = X * 2.0 ** rng.integers(-33, 34, (n, 1)) * 2.0 ** rng.integers(-20, 21, d)
    elif kind == "tenths":
        X = np.round(0.1 * rng.integers(-9, 10, (n, d)), 1)
    return X


@pytest.mark.parametrize("kind", ["ternary", "rademacher", "binary", "parallel", "scaled"])
def test_degenerate_data_have_the_cells_that_exact_arithmetic_gives(kind: str) -> None:
    rng = np.random.default_rng(sum(map(ord, kind)))
    checked = 0
    while checked < 25:
        d = int(rng.integers(2, 5))
        X = degenerate(kind, rng, int(rng.integers(d, 8 if d < 4 else 7)), d)
        live = X.any(axis=1)
        if np.linalg.matrix_rank(X / np.abs(X).max(axis=1, initial=1e-300, keepdims=True)) < d:
            continue
        patterns, points = enumerate_cells(X)
        assert patterns[~live].all()
        found = {tuple(column) for column in np.where(patterns[live], 1, -1).T}
        assert len(found) == patterns.shape[1] == count_cells(X)
        assert found == topes(X[live])
        assert (np.sign(X[live] @ points) == np.where(patterns[live], 1, -1)).all()
        checked += 1


def rank(rows: list[list[Fraction]]) -> int:
    """Eliminate with exact rationals."""
    rows, found = [list(row) for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            share = rows[i][column] / rows[found][column]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def whitney(X: np.ndarray) -> int:
    """sum over sets S of rows of (-1)^(|S| - rank S), in exact rationals (Whitney 1932)."""
    rows = [[Fraction(float(x)) for x in row] for row in X if row.any()]
    sets = (list(chosen) for size in range(len(rows) + 1) for chosen in itertools.combinations(rows, size))
    return sum((-1) ** (len(chosen) - rank(chosen)) for chosen in sets)


@pytest.mark.parametrize("kind", ["ternary", "rademacher", "binary", "parallel", "scaled", "tenths", "sums", "near"])
def test_counts_of_degenerate_data_are_those_of_exact_rationals(kind: str) -> None:
    """20 matrices per kind, also with zero rows: `sums` has a rounded sum as column, `near` repeats rows to 1e-9."""
    rng = np.random.default_rng(sum(map(ord, kind)) + 1)
    checked = 0
    while checked < 20:
        n, d = int(rng.integers(2, 8)), int(rng.integers(1, 5))
        X = degenerate("tenths" if kind in ("sums", "near") else kind, rng, n, d)
        if kind == "sums" and d > 2:
            X[:, 2] = X[:, 0] + X[:, 1]
        if kind == "near":
            X[n // 2 :] = X[: n - n // 2] + 1e-9 * rng.integers(-1, 2, (n - n // 2, d))
        if X.any():
            assert count_cells(X) == whitney(X)
            checked += 1


def test_two_matrices_that_floats_alone_got_wrong() -> None:
    X = np.array([[0.0, -1, -1], [-1, -1, 1], [1, 1, 0], [-1, -1, 1]])
    patterns, _ = enumerate_cells(X)
    assert np.unique(patterns, axis=1).shape[1] == patterns.shape[1] == 8
    X = np.array([[1.0, 1, -1], [-1, 0, 1], [0, 0, 1], [1, 0, 1], [-1, -1, -1]])
    assert [0, 1, 1, 0, 1] in enumerate_cells(X)[0].T.astype(int).tolist()


def test_cells_of_rounding_are_left_out() -> None:
    """Decimals that are dependent up to eps: cells of width eps are artefacts, not patterns of the data."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        X = degenerate("tenths", rng, 6, 3)
        if X.any():
            whole, tenths = enumerate_cells(np.rint(10 * X))[0], enumerate_cells(X)[0]
            assert {c.tobytes() for c in whole.T} == {c.tobytes() for c in tenths.T}
    third = rng.standard_normal((7, 3)) / 3
    assert enumerate_cells(np.vstack([third, 3 * third]))[0].shape[1] == cell_count(7, 3)


def test_more_columns_than_rank_and_a_column_of_zeros() -> None:
    X = np.array([[1.0, 0, 1, 0], [0, 1, 1, 0], [1, 1, 2, 0], [0, 0, 0, 0]])
    patterns, points = enumerate_cells(X)
    assert patterns.shape[1] == count_cells(X) == 6
    assert (patterns == (X @ points >= 0)).all()
    with pytest.raises(ParameterError, match="a row that is not zero"):
        enumerate_cells(np.zeros((2, 2)))


def test_cells_that_rounding_made_are_counted_and_not_enumerated() -> None:
    """A column is the sum of two others up to eps. Times 2^70 the rows are integers, and all cells count."""
    rng, slivers = np.random.default_rng(0), 0
    for _ in range(20):
        X = np.round(0.1 * rng.integers(-9, 10, (6, 3)), 1)
        X[:, 2] = X[:, 0] + X[:, 1]
        count, clear = count_cells(X), enumerate_cells(X)[0].shape[1]
        assert count == enumerate_cells(np.ldexp(X, 70))[0].shape[1]
        assert count >= clear
        slivers += count > clear
    assert slivers
