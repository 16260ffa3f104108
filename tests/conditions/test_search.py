from fractions import Fraction

import numpy as np
import pytest

from recovery.conditions.beam import beam_patterns
from recovery.conditions.oracle import largest_cell
from recovery.conditions.search import circle_points, most_active, smoothed_search
from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear
from recovery.methods.isometry import Isometry
from recovery.programs.architecture import ARCHITECTURES
from recovery.theory.wendel import theorem5
from tests.conditions.isometry import dual, neural_isometry, row_sum
from tests.conditions.test_cells import norms
from tests.conditions.test_oracle import KINDS, arrangements


def test_a_circle_meets_two_cells_a_row_and_has_a_point_in_each() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 6))
    p, v = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    cells = X @ circle_points(X, p, v) >= 0
    assert np.unique(cells, axis=1).shape[1] == 30
    assert np.array_equal(X @ p >= 0, cells[:, np.argmax((cells == (X @ p >= 0)[:, None]).sum(axis=0))])


@pytest.mark.parametrize(("n", "d"), [(16, 3), (24, 3), (14, 5)])
def test_most_active_finds_the_largest_trace(n: int, d: int) -> None:
    for seed in range(2):
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
        found = dual(ARCHITECTURES[architecture], X, W, np.ones(1), linear=linear).searched(rng)
        assert np.array_equal(X @ found.point >= 0, found.pattern)
        assert found.value <= full.value + 1e-9
        exact += found.value >= full.value - 1e-9
    assert exact >= 4


# The smooth ascent against every cell of small arrangements, and the counterexample to P1's Theorem 5.


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_that_of_its_pattern_and_never_above_the_largest(kind: str) -> None:
    reached = 0
    for seed, rng, X, weights, cells in arrangements(kind, 6, 5):
        linear = rng.standard_normal(X.shape[1]) * (seed % 2)
        best = smoothed_search(row_sum(X, weights, linear), rng, starts=5, known=np.zeros((len(X), 0), dtype=bool))
        assert best is not None
        assert ((X @ best.point >= 0) == best.pattern).all()
        own, *others = norms(X, weights, linear, np.column_stack([best.pattern, cells]))
        size = float(np.abs(weights) @ np.linalg.norm(X, axis=1)) + float(np.linalg.norm(linear))
        assert best.value == pytest.approx(own, abs=1e-12 * size)
        assert best.value <= max(others) + 1e-12 * size
        reached += best.value >= max(others) * (1 - 1e-9)
    assert reached >= 1 or kind == "zero rows"


def test_known_patterns_are_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 1))
    known = np.column_stack([X[:, 0] >= 0, X[:, 0] <= 0])
    assert smoothed_search(row_sum(X, np.ones(4)), rng, starts=2, known=known) is None


def test_the_search_refutes_theorem_5_of_p1_in_most_gaussian_draws() -> None:
    """At (200, 80) nearly all draws have a violation that sampled patterns never meet."""
    architecture, found = ARCHITECTURES["relu_skip"], {}
    for kind, method in (("searched", Isometry(search="smoothed", starts=10)), ("sampled", Isometry())):
        setting = Setting(200, 80, planted=Linear(), patterns=Patterns(kind=kind, all_ones="ignore"))  # type: ignore[arg-type]
        draws = [draw(setting, np.random.default_rng([5, seed]), architecture) for seed in range(6)]
        found[kind] = sum(not method(data, architecture).holds for data in draws)
    assert found["searched"] >= 4
    assert found["sampled"] == 0


def test_theorem_5_promises_the_condition_in_nearly_half_of_the_draws_of_its_config() -> None:
    assert theorem5(2000, 720) == pytest.approx(0.458, abs=5e-4)


def test_whole_numbers_refute_theorem_5_of_p1() -> None:
    X = [[1, 0], [0, 1], [-1, 0], [2, 0], [-3, -1]]
    w, h = (Fraction(1), Fraction(-1)), (1, 1)
    products = [a * h[0] + b * h[1] for a, b in X]
    assert 0 not in products
    a, b, c = (sum(row[i] * row[j] for row in X) for i, j in ((0, 0), (0, 1), (1, 1)))
    v = [(c * w[0] - b * w[1]) / (a * c - b * b), (a * w[1] - b * w[0]) / (a * c - b * b)]
    image = [row[0] * v[0] + row[1] * v[1] for row in X]
    value = [sum(row[k] * z for row, z, on in zip(X, image, products, strict=True) if on > 0) for k in (0, 1)]
    assert sum(x * x for x in value) == Fraction(949, 441) > sum(x * x for x in w)
    assert len(X) > 2 * len(w)
    assert not decide_all_ones(np.array(X, dtype=float)).exists
    pattern, neuron = np.array(products)[:, None] > 0, np.array(w, dtype=float)[:, None]
    found = neural_isometry(
        ARCHITECTURES["relu_skip"], np.array(X, dtype=float), neuron, np.ones(1), pattern, linear=True
    )
    assert found.holds is False
    assert found.value**2 == pytest.approx(949 / 441 / 2)


def test_searches_that_cannot_run_are_refused() -> None:
    method = Isometry(condition="trace", search="smoothed")
    with pytest.raises(ParameterError, match="search smoothed works with condition planted"):
        method.check(Setting(6, 2, planted=Linear()), ARCHITECTURES["relu_skip"])


# The beam search against every cell of small arrangements, and against the proofs of larger ones.


@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_wider_than_all_cells_meets_the_best_one(kind: str) -> None:
    looked_at = 0
    for seed, rng, X, weights, cells in arrangements(kind, 8):
        linear = rng.standard_normal(X.shape[1]) * (seed % 2)
        met = beam_patterns(row_sum(X, weights, linear), width=4 * cells.shape[1])
        size = float(np.abs(weights) @ np.linalg.norm(X, axis=1)) + float(np.linalg.norm(linear))
        if not met:
            assert size == 0.0
            continue
        best, looked_at = met[0], looked_at + 1
        live = X.any(axis=1)
        assert ((X @ best.point > 0) == best.pattern).all()
        assert best.value == pytest.approx(norms(X, weights, linear, best.pattern[:, None])[0], abs=1e-12 * size)
        # where rows are 1e-9 apart some cells are too thin for doubles: the value is one from below
        assert best.value <= norms(X, weights, linear, cells & live[:, None]).max() + 1e-12 * size
        if kind != "nearly equal rows":
            assert best.value >= norms(X, weights, linear, cells & live[:, None]).max() - 1e-12 * size
    assert looked_at >= 4


def test_a_narrow_beam_ends_at_the_proved_value_of_larger_arrangements() -> None:
    """In 20 draws at n = 3 d: where it does not, its value is below, never above."""
    reached = 0
    for seed in range(20):
        rng = np.random.default_rng([5, seed])
        X, w = rng.standard_normal((24, 8)), rng.standard_normal(8)
        lam = X @ np.linalg.solve(X.T @ X, w / np.linalg.norm(w))
        true, best = largest_cell(row_sum(X, lam)), beam_patterns(row_sum(X, lam), width=64)[0]
        assert best.value <= true.upper
        reached += best.value >= true.lower - 1e-9
    assert reached >= 18


def test_a_known_cell_is_left_out() -> None:
    rng = np.random.default_rng(3)
    X, weights = rng.standard_normal((8, 3)), rng.standard_normal(8)
    first = beam_patterns(row_sum(X, weights), width=500)[0]
    second = beam_patterns(row_sum(X, weights), width=500, known=first.pattern[:, None])[0]
    assert (second.pattern != first.pattern).any()
    values = np.sort(norms(X, weights, np.zeros(3), enumerate_cells(X)[0]))
    assert [first.value, second.value] == pytest.approx([values[-1], values[-2]], abs=1e-12)
    one = np.ones((1, 1))
    assert beam_patterns(row_sum(one, np.ones(1)), width=1, known=np.ones((1, 1), dtype=np.bool_)) == []
