"""P-values of likelihood ratios against a theory curve, by exact convolution."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm

from recovery.report.statistics.tail import tail
from recovery.theory import CURVES
from recovery.types import Array


def every_outcome(total: Array, chance: Array) -> list[tuple[Array, float]]:
    outcomes = [np.array(o, dtype=float) for o in product(*(range(int(n) + 1) for n in total))]
    return [(yes, float(np.prod(binom.pmf(yes, total, chance)))) for yes in outcomes]


def test_the_tails_of_both_statistics_are_sums_over_all_outcomes() -> None:
    total, chance = np.array([5.0, 4.0, 6.0]), np.array([0.1, 0.55, 0.9])
    outcomes = every_outcome(total, chance)
    ratios = np.array([tail(yes, total, chance).ratio for yes, _ in outcomes])
    scores = np.array([float(yes @ norm.ppf(chance)) for yes, _ in outcomes])
    weights = np.array([weight for _, weight in outcomes])
    mean = float(total @ (chance * norm.ppf(chance)))
    for at in np.random.default_rng(0).choice(len(outcomes), 25, replace=False):
        found = tail(outcomes[at][0], total, chance)
        exact = float(weights[ratios >= ratios[at] - 1e-9].sum())
        error = max((found.most - found.p) / 3, 1e-12)
        assert abs(found.p - exact) <= 4.5 * error + 1e-9 * exact
        beyond = scores >= scores[at] - 1e-9 if scores[at] > mean else scores <= scores[at] + 1e-9
        steep = min(2 * float(weights[beyond].sum()), 1.0)
        assert 0.99 * steep <= found.steep <= 1.3 * steep + 1e-12
    assert tail(outcomes[0][0], total, chance).least == pytest.approx(weights[ratios >= ratios.max() - 1e-9].sum())


def test_a_tiny_p_value_has_the_right_size() -> None:
    """One cell: P(yes >= 60 of 100 | 0.2) by the binomial law; outcomes below have no such ratio."""
    found = tail(np.array([60.0]), np.array([100.0]), np.array([0.2]))
    assert found.p == pytest.approx(binom.sf(59, 100, 0.2), rel=0.2)
    assert found.p < 1e-15


def test_impossible_counts_have_p_0_and_certain_counts_p_1() -> None:
    total, chance = np.array([5.0, 5.0]), np.array([0.0, 1.0])
    assert tail(np.array([1.0, 5.0]), total, chance).p == 0
    assert tail(np.array([0.0, 4.0]), total, chance).p == 0
    assert tail(np.array([0.0, 5.0]), total, chance).p == 1


def test_p_values_are_no_smaller_than_they_should_be() -> None:
    n, d = (a.ravel().astype(float) for a in np.meshgrid(np.arange(10, 101, 10), np.arange(10, 41, 10)))
    chance, total = np.clip(CURVES["wendel"].function(n, d), 0, 1), np.full(len(n), 10.0)
    rng = np.random.default_rng(1)
    p = [tail(rng.binomial(10, chance).astype(float), total, chance).p for _ in range(200)]
    for level in (0.05, 0.2, 0.5):
        assert binomtest(int(np.sum(np.array(p) < level)), 200, level).pvalue > 1e-3


def test_a_step_has_no_place_on_a_smooth_curve() -> None:
    n, d = (a.ravel().astype(float) for a in np.meshgrid(np.arange(10, 401, 10), np.arange(10, 101, 10)))
    chance, total = np.clip(CURVES["wendel"].function(n, d), 0, 1), np.full(len(n), 20.0)
    found = tail(np.where(n < 2 * d, 20.0, np.where(n == 2 * d, 10.0, 0.0)), total, chance)
    assert found.most < 1e-9


def test_a_step_of_few_trials_is_steeper_than_the_curve_and_even_chances_are_flatter() -> None:
    n, d = (a.ravel().astype(float) for a in np.meshgrid(np.arange(10, 201, 10), np.arange(10, 51, 10)))
    chance, total = np.clip(CURVES["wendel"].function(n, d), 0, 1), np.full(len(n), 8.0)
    step = tail(np.where(n < 2 * d, 8.0, np.where(n == 2 * d, 4.0, 0.0)), total, chance)
    assert step.p > 0.05  # the cells are no further away than noise brings them
    assert step.steeper
    assert step.steep < 1e-3
    halved = np.round(8 * (chance + (0.5 - chance) * (abs(chance - 0.5) < 0.45)))
    assert not tail(halved, total, chance).steeper
