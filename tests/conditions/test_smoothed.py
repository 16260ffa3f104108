"""The smooth ascent against every cell of small arrangements, and the counterexample to P1's Theorem 5."""

from fractions import Fraction

import numpy as np
import pytest

from recovery.conditions.search import smoothed_search
from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear
from recovery.methods.isometry import Isometry
from recovery.programs.architecture import ARCHITECTURES
from recovery.theory.wendel import theorem5
from tests.conditions.test_oracle import KINDS, drawn


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_that_of_its_pattern_and_never_above_the_largest(kind: str) -> None:
    reached = 0
    for seed in range(6):
        rng = np.random.default_rng([list(KINDS).index(kind), seed, 5])
        X = drawn(kind, rng)
        weights, linear = rng.standard_normal(len(X)), rng.standard_normal(X.shape[1]) * (seed % 2)
        try:
            cells, _ = enumerate_cells(X)
        except ParameterError:  # all zero, or rounding decides which cells there are
            continue
        best = smoothed_search(X, weights, linear, rng, starts=5, known=np.zeros((len(X), 0), dtype=bool))
        assert best is not None
        assert ((X @ best.point >= 0) == best.pattern).all()
        sums = linear[:, None] + X.T @ (weights[:, None] * np.column_stack([best.pattern, cells]))
        norms = np.linalg.norm(sums, axis=0)
        size = float(np.abs(weights) @ np.linalg.norm(X, axis=1)) + float(np.linalg.norm(linear))
        assert best.value == pytest.approx(norms[0], abs=1e-12 * size)
        assert best.value <= norms[1:].max() + 1e-12 * size
        reached += best.value >= norms[1:].max() * (1 - 1e-9)
    assert reached >= 1 or kind == "zero rows"


def test_known_patterns_are_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 1))
    known = np.column_stack([X[:, 0] >= 0, X[:, 0] <= 0])
    assert smoothed_search(X, np.ones(4), None, rng, starts=2, known=known) is None


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


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Isometry(condition="trace", search="smoothed"), "search smoothed works with condition planted"),
        (Isometry(beam=8, search="smoothed"), "two searches"),
    ],
)
def test_searches_that_cannot_run_are_refused(method: Isometry, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        method.check(Setting(6, 2, planted=Linear()), ARCHITECTURES["relu_skip"])
