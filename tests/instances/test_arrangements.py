import itertools

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.arrangements import cell_count, enumerate_cells


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


def test_sampling_meets_no_other_pattern() -> None:
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
    """Six cells around the axis that the three share, each cut by a fourth plane: 12, two fewer than in general."""
    X = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert enumerate_cells(X)[0].shape[1] == 12
    assert cell_count(4, 3) == 14


def test_too_many_cells_are_refused_with_their_number() -> None:
    with pytest.raises(ParameterError, match="up to 5214913020 patterns"):
        enumerate_cells(np.random.default_rng(0).standard_normal((50, 10)))
