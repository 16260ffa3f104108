from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import binom, norm

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Mixture
from recovery.methods.arrangement import Arrangement
from recovery.programs.architecture import ARCHITECTURES
from recovery.types import Array, Rng

RELU = ARCHITECTURES["relu"]

LEVEL = abs(norm.ppf(0.5e-3))
"""Two-sided level 1e-3."""


@pytest.mark.parametrize(("means", "sigma"), [("opposite", 1.6), ("normal", 1.2), ("sphere", 0.25)])
def test_split_frequency_is_on_its_exact_law_above_the_bound(means: str, sigma: float) -> None:
    setting = Setting(40, 10, Mixture(means=means, sigma=sigma))  # type: ignore[arg-type]
    measured = Arrangement("split", draws=1500)(draw(setting, np.random.default_rng(3)), RELU)
    assert measured.frequency is not None
    assert measured.predicted is not None
    assert measured.bound is not None
    assert measured.z_score is not None
    assert 0.02 < measured.frequency < 0.98
    assert abs(measured.z_score) < LEVEL
    assert measured.bound <= measured.predicted


def test_one_draw_is_the_instances_own() -> None:
    for seed in range(6):
        instance = draw(Setting(10, 5), np.random.default_rng(seed))
        measured = Arrangement()(instance, RELU)
        assert instance.all_ones is not None
        assert measured.holds == measured.all_ones == instance.all_ones.exists
        assert measured.frequency == float(instance.all_ones.exists)


def test_a_split_needs_two_classes() -> None:
    with pytest.raises(ParameterError, match="mixture"):
        Arrangement("split")(draw(Setting(8, 3), np.random.default_rng(0)), RELU)


@pytest.mark.parametrize(("sigma", "kept"), [(0.01, True), (20.0, False)])
def test_the_direction_of_a_class_keeps_its_bound_only_below_the_size_of_the_mean(sigma: float, kept: bool) -> None:
    setting = Setting(10_000, 2, Mixture(sigma=sigma, share=1.0))
    measured = Arrangement("direction", draws=60)(draw(setting, np.random.default_rng(4)), RELU)
    assert measured.predicted is measured.z_score is None
    assert measured.bound == pytest.approx(0.9)
    assert measured.frequency is not None
    assert measured.frequency == 1 if kept else binom.cdf(60 * measured.frequency, 60, 0.9) < 1e-6


@pytest.mark.parametrize(("sigma", "bound"), [(0.001, 0.95), (3.0, 0.0)])
def test_the_eigenvector_of_a_class_splits_both_where_theorem_13_says_so(sigma: float, bound: float) -> None:
    setting = Setting(30, 3, Mixture(sigma=sigma))
    measured = Arrangement("eigenvector", draws=40, delta=0.05)(draw(setting, np.random.default_rng(5)), RELU)
    assert measured.bound == pytest.approx(bound)
    assert measured.frequency == (1 if bound else 0)


@dataclass(frozen=True)
class Fixed(Mixture):
    """These rows, whose means are (1, 0) and (-1, 0)."""

    rows: tuple[tuple[float, float], ...] = ()

    def draw_means(self, rng: Rng, d: int) -> Array:
        return np.array([[1.0, 0.0], [-1.0, 0.0]])

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return np.array(self.rows)


@pytest.mark.parametrize(
    ("event", "rows", "holds"),
    [
        ("eigenvector", ((1.0, 0.0), (2.0, 0.0), (-1.0, 1.0), (-1.0, -1.0)), True),
        ("eigenvector", ((1.0, 1.0), (1.0, -1.0), (-1.0, 2.0), (-1.0, -2.0)), None),  # every direction is leading
        ("eigenvector", ((3.0, 0.1), (3.0, -0.1), (0.0, 2.0), (-1.0, 0.0)), None),  # the third row is orthogonal to it
        ("eigenvector", ((3.0, 0.1), (3.0, -0.1), (0.0, 2.0), (1.0, 0.0)), False),  # the last one decides
        ("direction", ((1.0, 1.0), (1.0, -1.0), (-1.0, 0.0), (-1.0, 0.0)), None),
        ("split", ((1.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0)), None),
    ],
)
def test_an_event_that_rounding_decides_is_unknown(
    event: str, rows: tuple[tuple[float, float], ...], holds: bool | None
):
    for draws in (1, 3):
        instance = draw(Setting(4, 2, Fixed(sigma=0.1, rows=rows)), np.random.default_rng(0))
        row = Arrangement(event, draws=draws)(instance, RELU)  # type: ignore[arg-type]
        assert row.holds is (holds if draws == 1 else None)
        assert row.frequency == (None if holds is None else float(holds))
        assert ("frequency" in row.unmeasured) == (holds is None)


@pytest.mark.parametrize("event", ["direction", "eigenvector"])
def test_a_direction_needs_rows_of_its_class(event: str) -> None:
    with pytest.raises(ParameterError, match="first class"):
        Arrangement(event)(draw(Setting(8, 3, Mixture(share=0.0)), np.random.default_rng(0)), RELU)  # type: ignore[arg-type]
