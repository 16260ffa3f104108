"""P1's maximal condition, necessary for (NIC-1), the sufficient one of Proposition 22, and tied groups."""

import numpy as np
import pytest

from recovery.conditions.ties import exact_signs, reaches, twins
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES
from tests.conditions.isometry import neural_isometry


def is_maximal(X: np.ndarray, pattern: np.ndarray) -> bool:
    """No h has x.h > 0 on the active rows and on one more (P1, Proposition 24 with open conditions)."""
    return not any(decide_all_ones(np.vstack([X[pattern], x])).exists for x in X[~pattern])


def assumed(X: np.ndarray, w: np.ndarray) -> bool:
    """The assumptions of Proposition 22: D is maximal, w a leading eigenvector of X^T D X, its activations positive."""
    pattern = X @ w >= 0
    G = X[pattern].T @ X[pattern]
    leads = np.linalg.norm(G @ w) >= (1 - 1e-12) * np.linalg.norm(G, 2) * np.linalg.norm(w)
    return bool(leads and (X[pattern] @ w > 0).all() and is_maximal(X, pattern))


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
        if not assumed(X, w):
            continue
        met += 1
        patterns, _ = enumerate_cells(X)
        assert neural_isometry(ARCHITECTURES["relu"], X, w[:, None], np.ones(1), patterns, linear=False).holds
    assert met >= 3


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


@pytest.mark.parametrize("e", [1e-3, 1e-6, 0.0, -1e-12, -1e-9])
def test_other_weights_in_a_thin_cone_are_found_and_none_outside_it(e: float) -> None:
    """v = (1, 0, a) has the image of w; the rows below ask a < 0 and a > -e."""
    patterns = np.array([[1, 1], [0, 1], [0, 0], [0, 0]], dtype=bool)
    F = np.vstack([np.eye(3), [-e, 0.0, -1.0]])
    assert reaches(F, patterns, np.array([1.0, -1.0, -1.0]), 0, cones=True) == (e > 0)
