import numpy as np
import pytest

from recovery.conditions.neural_isometry import neural_isometry, search_isometry
from recovery.conditions.search import circle_points, most_active
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES


def test_a_circle_meets_two_cells_a_row_and_has_a_point_in_each() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 6))
    p, v = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    cells = X @ circle_points(X, p, v) >= 0
    assert np.unique(cells, axis=1).shape[1] == 30
    assert np.array_equal(X @ p >= 0, cells[:, np.argmax((cells == (X @ p >= 0)[:, None]).sum(axis=0))])


@pytest.mark.parametrize(("n", "d"), [(16, 3), (24, 3), (14, 5)])
def test_most_active_finds_the_largest_trace(n: int, d: int) -> None:
    for seed in range(4):
        X = np.random.default_rng(seed).standard_normal((n, d))
        found = most_active(X, np.random.default_rng(9), restarts=16)
        assert np.array_equal(X @ found.point >= 0, found.pattern)
        assert found.value == found.pattern.sum() == enumerate_cells(X)[0].sum(axis=0).max()


@pytest.mark.parametrize(("architecture", "linear"), [("relu", False), ("relu_norm", False), ("relu_skip", True)])
def test_searched_value_is_certified_and_mostly_the_exhaustive_one(architecture: str, linear: bool) -> None:
    exact = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((20, 3))
        W = rng.standard_normal((3, 1))
        full = neural_isometry(ARCHITECTURES[architecture], X, W, np.ones(1), enumerate_cells(X)[0], linear=linear)
        found = search_isometry(ARCHITECTURES[architecture], X, W, np.ones(1), rng, linear=linear)
        assert np.array_equal(X @ found.point >= 0, found.pattern)
        assert found.value <= full.value + 1e-9
        exact += found.value >= full.value - 1e-9
    assert exact >= 4
