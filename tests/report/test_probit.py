"""The probit model: its fit, its profile interval, and data that determine no threshold."""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.stats import binomtest, chi2, norm

from recovery.report.statistics.probit import Counts, fit
from recovery.report.statistics.proportions import wilson
from recovery.theory import CURVES


def wendel_counts(seed: int, sizes: list[int], replicates: int, step: int = 10) -> Counts:
    n, d = (a.ravel().astype(float) for a in np.meshgrid(np.arange(step, 301, step), sizes))
    yes = np.random.default_rng(seed).binomial(replicates, 1 - CURVES["wendel"].function(n, d))
    return Counts.of(np.sqrt(n), d / np.sqrt(n), yes, replicates - yes)


def direct_deviance(counts: Counts, slope: float, theta: float) -> float:
    """Compute the deviance from the binomial log likelihood, without the code of the module."""
    p = np.clip(norm.cdf(slope * (counts.u - theta * counts.v)), 1e-15, 1 - 1e-15)
    free = counts.yes / (counts.yes + counts.no)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.nansum(counts.yes * np.log(free)) + np.nansum(counts.no * np.log(1 - free))
    return float(2 * (best - np.sum(counts.yes * np.log(p) + counts.no * np.log(1 - p))))


def test_fit_agrees_with_a_general_minimiser() -> None:
    counts = wendel_counts(1, [20, 40, 60], 5)
    found = fit(counts)
    least = minimize(lambda x: direct_deviance(counts, x[0], x[1]), [1.5, 2.2], method="Nelder-Mead", tol=1e-9)
    assert found.estimate == pytest.approx(least.x[1], rel=1e-4)
    assert found.slope == pytest.approx(least.x[0], rel=1e-3)
    assert found.deviance == pytest.approx(least.fun, rel=1e-6)


def test_interval_ends_where_the_profile_has_risen_by_the_chi_squared_quantile() -> None:
    counts = wendel_counts(2, [20, 40], 5)
    found = fit(counts)
    for end in (found.low, found.high):
        profile = minimize(lambda s, end=end: direct_deviance(counts, s[0], end), [1.0], method="Nelder-Mead")
        assert profile.fun - found.deviance == pytest.approx(chi2.ppf(0.95, 1), abs=1e-2)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_fit_is_the_maximum_in_any_unit_and_from_any_guess(unit: float) -> None:
    """Second opinion: statsmodels, for steep and for flat curves, few cells and many, one trial a cell and hundreds."""
    rng, tried = np.random.default_rng(5), 0
    probit = sm.families.Binomial(link=sm.families.links.Probit())
    for _ in range(80):
        u = np.sort(rng.uniform(1, 400, rng.integers(2, 40)))
        total = rng.integers(1, rng.choice([3, 300]), len(u))
        slope = rng.choice([-1, 1]) * 10 ** rng.uniform(-2, 2) / np.ptp(u)
        yes = rng.binomial(total, norm.cdf(slope * (u - np.median(u))))
        counts = Counts.of(unit * u, 1.0, yes, total - yes)
        found = fit(counts, intervals=False)
        if found.separated:
            continue
        tried += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that meet every cell exactly
            other = sm.GLM(np.column_stack([yes, total - yes]), np.column_stack([u, -np.ones(len(u))]), probit).fit(
                maxiter=200, tol=1e-12, rtol=1e-12
            )
        assert found.deviance <= other.deviance + 1e-9 * (1 + other.deviance)
        guesses = [(found.estimate * 3, 10 * found.slope), (0.0, -found.slope), (-found.estimate, 1e3 * found.slope)]
        for near in guesses:
            again = fit(counts, intervals=False, near=near)
            assert (again.estimate, again.slope) == pytest.approx((found.estimate, found.slope), rel=1e-5)
    assert tried > 40


def test_falling_success_is_the_mirror_of_rising() -> None:
    counts = wendel_counts(3, [30], 10)
    up, down = fit(counts), fit(counts.flipped())
    assert (down.estimate, down.low, down.high) == pytest.approx((up.estimate, up.low, up.high), rel=1e-6)
    assert down.slope == pytest.approx(-up.slope, rel=1e-6)


def slice_at(d: float, n: list[float], yes: list[float], no: list[float]) -> Counts:
    x = np.array(n, dtype=float)
    return Counts.of(np.sqrt(x), d / np.sqrt(x), yes, no)


def test_separated_data_give_a_bracket_and_no_slope() -> None:
    found = fit(slice_at(10, [10, 15, 25, 30], [0, 0, 5, 5], [5, 5, 0, 0]))
    assert found.separated
    assert found.between == pytest.approx((1.5, 2.5))
    assert found.estimate == pytest.approx(2.0)
    assert found.low <= 1.5
    assert found.high >= 2.5
    assert np.isinf(found.slope)


def test_few_trials_leave_a_separated_interval_wider_than_its_bracket() -> None:
    one = fit(slice_at(10, [10, 15, 25, 30], [0, 0, 1, 1], [1, 1, 0, 0]))
    many = fit(slice_at(10, [10, 15, 25, 30], [0, 0, 50, 50], [50, 50, 0, 0]))
    assert one.low < 1.5
    assert one.high > 2.5
    assert (many.low, many.high) == pytest.approx((1.5, 2.5), abs=1e-3)


def test_one_mixed_cell_between_pure_ones_leaves_a_finite_interval() -> None:
    found = fit(slice_at(10, [10, 20, 30], [0, 2, 5], [5, 3, 0]))
    assert found.separated
    assert found.estimate == pytest.approx(2.0)
    assert 1.0 < found.low <= 2.0 <= found.high < 3.0


@pytest.mark.parametrize(("yes", "no", "ends"), [([5, 5], [0, 0], (-np.inf, None)), ([0, 0], [5, 5], (None, np.inf))])
def test_all_alike_bounds_the_threshold_on_one_side_only(
    yes: list[float], no: list[float], ends: tuple[float | None, float | None]
) -> None:
    found = fit(slice_at(10, [20, 30], yes, no))
    assert np.isnan(found.estimate)
    for value, expected in zip((found.low, found.high), ends, strict=True):
        assert np.isfinite(value) if expected is None else value == expected


def test_data_without_a_trend_have_no_finite_interval() -> None:
    found = fit(slice_at(10, [10, 20, 30, 40], [2, 3, 2, 3], [3, 2, 3, 2]))
    assert np.isinf(found.high - found.low)


EVEN = [Counts.of(slope * np.arange(1.0, 8.0), 1.0, yes, 10 - yes) for slope in (1.0, 20.0) for yes in (5, 9, 1)]
"""The same odds in every cell."""
OF_V = Counts.of([-1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 2.0, 2.0], [3, 3, 4, 4], [2, 2, 1, 1])
"""Odds that do not depend on u."""


@pytest.mark.parametrize("counts", [*EVEN, OF_V, slice_at(10, [10, 20], [0, 0], [0, 0])])
def test_odds_that_do_not_change_with_u_and_no_trials_give_no_threshold(counts: Counts) -> None:
    found = fit(counts)
    assert np.isnan(found.estimate)
    assert (found.low, found.high) == (-np.inf, np.inf)
    if counts is not OF_V and len(counts):
        assert np.isnan(found.slope)
        assert found.deviance == pytest.approx(0, abs=1e-9)


def test_interval_covers_two_as_often_as_its_level_says() -> None:
    drawn = [fit(wendel_counts(seed, [20, 50, 80], 5)) for seed in range(120)]
    hits = sum(found.low <= 2 <= found.high for found in drawn)
    assert binomtest(hits, 120, 0.95).pvalue > 1e-3
    bias = np.mean([found.estimate for found in drawn]) / 2 - 1
    spread = np.std([found.estimate for found in drawn]) / 2 / np.sqrt(120)
    assert abs(bias) < 0.002 + 4 * spread


def test_wilson_agrees_with_scipy() -> None:
    for yes, no in [(0, 5), (5, 0), (3, 2), (40, 60)]:
        expected = binomtest(yes, yes + no).proportion_ci(method="wilson")
        low, high = wilson([yes], [no])
        assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert np.isnan(wilson([0], [0])).all()


def test_a_few_successes_at_the_end_of_the_grid_put_even_odds_beyond_it() -> None:
    n, yes = np.array([50.0, 100.0, 150.0]), np.array([0.0, 0.0, 1.0])
    found = fit(Counts.of(np.sqrt(n), 100 / np.sqrt(n), yes, 20 - yes))
    assert np.isnan(found.estimate)
    assert found.between == (pytest.approx(1.5), np.inf)
    assert found.high == np.inf
    turned = fit(Counts.of(np.sqrt(n), 100 / np.sqrt(n), 20 - yes[::-1], yes[::-1]))
    assert np.isnan(turned.estimate)
    assert turned.low == -np.inf
    half = fit(Counts.of(np.sqrt(n), 100 / np.sqrt(n), 19 * yes, 20 - 19 * yes))
    assert half.estimate == pytest.approx(1.5)
