import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.arrangements import cell_count, enumerate_cells
from tests.attack.cells import cells


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 1), (7, 2), (12, 3), (30, 3), (12, 4), (11, 6), (5, 8)])
def test_count_in_general_position(n: int, d: int) -> None:
    X = np.random.default_rng(n + d).standard_normal((n, d))
    patterns, points = enumerate_cells(X)
    assert np.array_equal(patterns, X @ points >= 0)
    assert patterns.shape[1] == np.unique(patterns, axis=1).shape[1] == cell_count(n, min(n, d))
    assert np.abs(X @ points).min() > 0


def test_too_many_cells_are_refused_with_their_number() -> None:
    with pytest.raises(ParameterError, match="up to 5214913020 patterns"):
        enumerate_cells(np.random.default_rng(0).standard_normal((50, 10)))


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
        found = {tuple(map(bool, column)) for column in patterns.T}
        assert len(found) == patterns.shape[1] == enumerate_cells(X, artefacts=True)[0].shape[1]
        assert found == cells(X)
        assert (np.sign(X[live] @ points) == np.where(patterns[live], 1, -1)).all()
        checked += 1


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
            assert enumerate_cells(X, artefacts=True)[0].shape[1] == len(cells(X))
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
    assert patterns.shape[1] == enumerate_cells(X, artefacts=True)[0].shape[1] == 6
    assert (patterns == (X @ points >= 0)).all()
    with pytest.raises(ParameterError, match="a row that is not zero"):
        enumerate_cells(np.zeros((2, 2)))


def test_cells_that_rounding_made_are_counted_and_not_enumerated() -> None:
    """A column is the sum of two others up to eps. Times 2^70 the rows are integers, and all cells count."""
    rng, slivers = np.random.default_rng(0), 0
    for _ in range(20):
        X = np.round(0.1 * rng.integers(-9, 10, (6, 3)), 1)
        X[:, 2] = X[:, 0] + X[:, 1]
        count, clear = (enumerate_cells(X, artefacts=each)[0].shape[1] for each in (True, False))
        assert count == enumerate_cells(np.ldexp(X, 70))[0].shape[1]
        assert count >= clear
        slivers += count > clear
    assert slivers
