import numpy as np
import pytest

from recovery.conditions.maximal import is_maximal, sufficient_condition
from recovery.conditions.neural_isometry import neural_isometry
from recovery.conditions.ties import exact_signs, reaches, twins
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES


def leading(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Power iteration on X^T D X, D following the vector: a fixed point satisfies the eigenvector assumption."""
    for _ in range(500):
        pattern = X @ w >= 0
        w = X[pattern].T @ (X[pattern] @ w)
        w = w / np.linalg.norm(w)
    return w


def contained_in(pattern: np.ndarray, patterns: np.ndarray) -> int | None:
    """The index of a pattern that is active on these rows and on more (P1, Definition 7)."""
    covering = (patterns | ~pattern[:, None]).all(axis=0) & (patterns != pattern[:, None]).any(axis=0)
    return int(np.argmax(covering)) if covering.any() else None


@pytest.mark.parametrize("n", [6, 10, 16])
@pytest.mark.parametrize("d", [2, 3])
def test_the_cone_condition_decides_as_the_search_over_all_patterns(n: int, d: int) -> None:
    X = np.random.default_rng(n + d).standard_normal((n, d))
    patterns, _ = enumerate_cells(X)
    maximal = [contained_in(patterns[:, j], patterns) is None for j in range(patterns.shape[1])]
    for j in range(0, patterns.shape[1], 5):
        assert is_maximal(X, patterns[:, j]) == maximal[j]
    assert 0 < sum(maximal) < len(maximal)


def test_lemma_9_a_pattern_inside_another_breaks_nic_1() -> None:
    X = np.random.default_rng(1).standard_normal((10, 2))
    patterns, points = enumerate_cells(X)
    checked = 0
    for j in range(patterns.shape[1]):
        j2 = contained_in(patterns[:, j], patterns)
        if j2 is None or patterns[:, j].sum() < 2:
            continue
        assert (patterns[:, j2] >= patterns[:, j]).all()
        assert not neural_isometry(ARCHITECTURES["relu"], X, points[:, [j]], np.ones(1), patterns, linear=False).holds
        checked += 1
    assert checked > 0


def test_proposition_22_implies_nic_1_over_all_patterns() -> None:
    """On mixtures of two opposite, narrow classes, where its assumptions are met."""
    met = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = 12
        labels = np.arange(n) < 6
        X = np.where(labels[:, None], 1.0, -1.0) * np.array([1.0, 1.0]) + 0.4 * rng.standard_normal((n, 2))
        w = leading(X, np.ones(2))
        if not sufficient_condition(X, w).holds:
            continue
        met += 1
        patterns, _ = enumerate_cells(X)
        assert neural_isometry(ARCHITECTURES["relu"], X, w[:, None], np.ones(1), patterns, linear=False).holds
    assert met >= 3


def test_each_assumption_of_proposition_22_is_reported() -> None:
    X = np.array([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.0]])
    good = sufficient_condition(X, np.array([1.0, 0.0]))
    assert good.eigen_gap == pytest.approx(0, abs=1e-12)
    assert good.smallest_activation == pytest.approx(1.0)
    assert sufficient_condition(X, np.array([1.0, 5.0])).eigen_gap > 0.01
    assert not sufficient_condition(np.vstack([X, [0.0, 1.0]]), np.array([1.0, 0.0])).holds  # a row on the boundary


@pytest.mark.parametrize("e", [3e-10, 1e-13, 1e-15])
def test_a_row_next_to_the_border_of_the_cone_is_decided_exactly(e: float) -> None:
    """(1, e) = (1, 0) + e (0, 1) is inside the cone of the active rows, however small e is; (1, -e) is outside."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -e], [-0.2, -0.3]])
    w = np.array([0.6, 0.8])
    assert is_maximal(X, X @ w >= 0)
    X[2, 1] = e
    assert not is_maximal(X, X @ w >= 0)


def test_a_neuron_next_to_an_eigenvector_is_not_guaranteed_what_fails() -> None:
    """The angle is 9e-5 and (NIC-1) is 5: X^T D X has condition number 1e10."""
    X, w = np.array([[1.0, 1e-5], [1.0, -1e-5], [-1.0, 0.0]]), np.array([1.0, 9e-5])
    found = sufficient_condition(X, w)
    values = [np.linalg.norm(X.T @ (d * X.T).T @ np.linalg.solve(X[:2].T @ X[:2], w)) for d in np.eye(3)[:2]]
    assert max(values) > 4
    assert found.eigen_gap < 1e-8
    assert found.holds is False
    assert sufficient_condition(X, np.array([1.0, 0.0])).holds
    assert sufficient_condition(X, np.array([1.0, 1e-12])).holds


def test_the_bound_of_proposition_22_is_one() -> None:
    tried = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = np.where(np.arange(10)[:, None] < 5, 1.0, -1.0) * np.array([1.0, 1.0]) + 0.3 * rng.standard_normal((10, 2))
        w = leading(X, np.ones(2)) + 10.0 ** rng.integers(-9, -1) * rng.standard_normal(2)
        found = sufficient_condition(X, w)
        if not found.maximal or not np.isfinite(found.value):
            continue
        nic = neural_isometry(ARCHITECTURES["relu"], X, w[:, None], np.ones(1), enumerate_cells(X)[0], linear=False)
        assert nic.value <= found.value + 1e-12
        tried += 1
    assert tried > 5


def test_zero_rows_and_the_sizes_of_rows_decide_nothing() -> None:
    X = np.array([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.0]])
    w = np.array([1.0, 0.0])
    plain, zero = sufficient_condition(X, w), sufficient_condition(np.vstack([X, [0.0, 0.0]]), w)
    assert plain.holds
    assert zero == plain
    for unit in (1e-100, 1e100):
        assert sufficient_condition(unit * X, w).holds
        assert sufficient_condition(unit * X, np.array([1.0, 0.1])).eigen_gap == pytest.approx(
            sufficient_condition(X, np.array([1.0, 0.1])).eigen_gap
        )
    assert is_maximal(np.vstack([X, [0.0, 0.0]]), np.array([True, True, False, False]))
    assert is_maximal(X * [[1.0], [1e-20], [1e20]], X @ w >= 0)
    assert not is_maximal(X, np.zeros(3, dtype=bool))


# Other groups that can be a planted neuron at the same cost.


def test_signs_are_exact():
    F = np.array([[0.1, 0.2, -0.3], [1.0, -1.0, 0.0], [0.1, 0.2, -0.30000000000000004]])
    signs = exact_signs(F, np.ones(3))
    assert signs.tolist() == [1.0, 0.0, -1.0]  # 0.1 + 0.2 is more than 0.3 and less than the float after it


def test_twins_differ_on_rows_at_zero_only():
    F = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 1.0]])
    patterns = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]], dtype=bool)
    e1 = np.array([1.0, 0.0])
    assert twins(F, patterns, e1, 0, alone=True, free=True).tolist() == [1, 2]
    assert twins(F, patterns, e1, 0, alone=False, free=True).tolist() == [2]
    assert twins(F, patterns, np.array([1.0, 1.0]), 0, alone=True, free=True).tolist() == [2]
    assert twins(F, patterns, np.array([1.0, -1.0]), 0, alone=True, free=False).tolist() == []


def test_a_normalised_neuron_is_reached_by_independent_rows():
    """v = (1, 0, a) has the image of w on the first two rows; the cone asks a < 0, and the last row more."""
    patterns = np.array([[1, 1], [0, 1], [0, 0], [0, 0]], dtype=bool)
    w = np.array([1.0, -1.0, -1.0])
    for last, inside in (([-1.0, -1.0, -1.0], True), ([1.0, 3.0, -1.0], False)):  # a > -1, and a > 1
        F = np.vstack([np.eye(3), last])
        assert reaches(F, patterns, w, 0, cones=False)
        assert reaches(F, patterns, w, 0, cones=True) == inside
        assert not reaches(F, patterns[:, :1], w, 0, cones=False)
