"""The beam search against every cell of small arrangements, and against the proofs of larger ones."""

import numpy as np
import pytest

from recovery.conditions.beam import beam_search
from recovery.conditions.oracle import largest_cell
from recovery.errors import ParameterError
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Setting, Streams, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear
from recovery.methods.isometry import Isometry
from recovery.programs.architecture import ARCHITECTURES
from tests.conditions.test_cells import norms
from tests.conditions.test_oracle import KINDS, arrangements


@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_wider_than_all_cells_meets_the_best_one(kind: str) -> None:
    looked_at = 0
    for seed, rng, X, weights, cells in arrangements(kind, 8):
        linear = rng.standard_normal(X.shape[1]) * (seed % 2)
        best = beam_search(X, weights, linear, width=4 * cells.shape[1])
        size = float(np.abs(weights) @ np.linalg.norm(X, axis=1)) + float(np.linalg.norm(linear))
        if best is None:
            assert size == 0.0
            continue
        looked_at += 1
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
        true, best = largest_cell(X, lam), beam_search(X, lam, width=64)
        assert best is not None
        assert best.value <= true.upper
        reached += best.value >= true.lower - 1e-9
    assert reached >= 18


def test_a_known_cell_is_left_out() -> None:
    rng = np.random.default_rng(3)
    X, weights = rng.standard_normal((8, 3)), rng.standard_normal(8)
    first = beam_search(X, weights, width=500)
    assert first is not None
    second = beam_search(X, weights, width=500, known=first.pattern[:, None])
    assert second is not None
    assert (second.pattern != first.pattern).any()
    values = np.sort(norms(X, weights, np.zeros(3), enumerate_cells(X)[0]))
    assert [first.value, second.value] == pytest.approx([values[-1], values[-2]], abs=1e-12)
    one = np.ones((1, 1))
    assert beam_search(one, np.ones(1), width=1, known=np.ones((1, 1), dtype=np.bool_)) is None
    assert beam_search(one, np.zeros(1), width=1) is None


def test_the_isometry_condition_over_patterns_that_a_beam_finds() -> None:
    skip, verdicts = ARCHITECTURES["relu_skip"], []
    for seed in range(12):
        found = []
        for kind, beam in (("searched", 64), ("all", None)):
            setting = Setting(24, 8, patterns=Patterns(kind=kind))  # type: ignore[arg-type]
            instance = draw(setting, Streams.spawn(np.random.default_rng([8, seed])), skip)
            found.append(Isometry(beam=beam)(instance, skip))
        assert found[0].isometry_value == pytest.approx(found[1].isometry_value, abs=1e-9)
        verdicts.append(found[0].holds)
    assert {True, False} == set(verdicts)
    with pytest.raises(ParameterError, match="beam"):
        Isometry(condition="trace", beam=4).check(Setting(8, 2, planted=Linear()), skip)
