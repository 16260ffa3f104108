"""The estimator of a threshold from counts: its bracket, its smooth curve, its tests and finite-size scaling."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.special import expit, xlogy
from scipy.stats import binom, chi2, norm

from benchmarks.laws import CHANGING, CHOOSING, FOLDED, RATIOS, Law, counts_of, draw, scaled
from benchmarks.truths import LAWS, draw as threshold
from recovery.config.header import IntervalShape as Shape
from recovery.report.statistics.bracket import Bracket
from recovery.report.statistics.counts import Counts, Draws
from recovery.report.statistics.curve import SmoothCurve, near_threshold, rates
from recovery.report.statistics.estimator import Estimated, estimate
from recovery.report.statistics.panels import trend
from recovery.report.statistics.scaling import scaling
from recovery.report.statistics.shape import monotone
from recovery.types import Array
from tests.suites import first

LEAST = {grids: int(binom.ppf(1e-4, grids, 0.95)) for grids in (25, 40)}
"""Fewest 95 % intervals that hold the truth, by the number of grids."""


def law(name: str, laws: tuple[Law, ...] = CHOOSING) -> Law:
    return next(one for one in laws if one.name == name)


def found_in(one: Law, sizes: int, replicates: int, seed: int, shape: Shape = "smooth") -> tuple[Estimated, Array]:
    grid = draw(one, sizes, replicates, np.random.default_rng([3, sizes, replicates, seed]), seed)
    return estimate(counts_of(grid), shape=shape), grid.thresholds


def log_likelihood(k: Array, n: Array, most: float) -> float:
    """The log likelihood of scipy's isotonic fit, capped."""
    if not len(k):
        return 0.0
    p = np.minimum(np.clip(isotonic_regression(k / n, weights=n).x, 0, 1), most)
    return float(np.sum(xlogy(k, p) + xlogy(n - k, 1 - p)))


def test_the_bracket_agrees_with_isotonic_fits_gap_by_gap() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        cells = int(rng.integers(2, 9))
        n = rng.integers(1, 9, cells).astype(float)
        k = rng.binomial(n.astype(int), np.linspace(0.1, 0.9, cells)).astype(float)
        v = np.sort(rng.choice(99, cells, replace=False)).astype(float)
        gaps = [
            log_likelihood(k[:i], n[:i], 0.5) + log_likelihood((n - k)[i:][::-1], n[i:][::-1], 0.5)
            for i in range(cells + 1)
        ]
        lost = 2 * (max(gaps) - np.array(gaps))
        ends = np.array([-np.inf, *v, np.inf])
        kept = np.flatnonzero(lost <= chi2.ppf(0.95, 2))
        found = Bracket.of(Counts.make(np.zeros(cells), v, k, n), 0.5)
        assert found.lost == pytest.approx(lost, abs=1e-9)
        assert found.reach(0.95) == (ends[kept[0]], ends[kept[-1] + 1])


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_bracket_ends_where_equal_outcomes_become_as_rare_as_its_errors(level: float) -> None:
    """At one trial per cell, the best gap is between 0 and 1; m further successes at p <= 1/2 have 2^-m at most."""
    v = np.arange(40.0)
    low, high = Bracket.of(Counts.make(0 * v, v, (v > 19).astype(float), 0 * v + 1), 0.5).reach(level)
    passed = high - 20
    assert 0.5**passed > 1 - level > 0.5 ** (passed + 1)
    assert low == 39 - high


@pytest.mark.parametrize(
    ("name", "sizes", "replicates"),
    first(
        6,
        [
            *[("gompertz, wider", 0, 1), ("probit", 1, 20), ("logistic", 3, 5), ("jump .4", 3, 20)],
            *[("beta-binomial", 6, 20), ("shared draws", 6, 20)],
            *[("gompertz", 6, 20), ("plateau .9", 3, 100), ("two steps", 6, 5), ("step", 6, 5)],
        ],
    ),
)
def test_the_interval_covers(name: str, sizes: int, replicates: int) -> None:
    covered = 0
    for seed in range(25):
        found, truth = found_in(law(name), sizes, replicates, seed)
        interval = found.interval()
        covered += interval.low <= truth[0] <= interval.high
    assert covered >= LEAST[25]


@pytest.mark.parametrize("shape", ["smooth", "probit", "free"])
def test_fewer_assumptions_give_a_longer_interval_and_the_method_is_named(shape: Shape) -> None:
    name: dict[Shape, str] = {"smooth": "smooth curve", "probit": "probit", "free": "bracket by the cells"}
    found = [found_in(law("logistic"), 3, 20, seed, shape)[0] for seed in range(10)]
    assert {one.method for one in found} == {name[shape]}
    lengths = {
        kind: np.mean([np.diff([(end := found_in(law("logistic"), 3, 20, seed, kind)[0].interval()).low, end.high])])
        for seed in range(3)
        for kind in name
    }
    assert lengths["probit"] < lengths["smooth"] < lengths["free"]


def test_shared_draws_lengthen_the_bracket_and_one_draw_bounds_nothing() -> None:
    for seed in range(5):
        one = found_in(law("shared draws"), 1, 1, seed)[0].interval()
        assert not np.isfinite([one.low, one.high]).any()
        counts = counts_of(draw(law("shared draws"), 3, 20, np.random.default_rng(seed), seed))
        alike, apart = (estimate(part, shape="free").interval() for part in (counts, replace(counts, draws=None)))
        assert alike.low <= apart.low < apart.high <= alike.high
        assert estimate(counts).dispersion.factor >= estimate(replace(counts, draws=None)).dispersion.factor == 1.0


def test_cells_of_shared_draws_bound_a_threshold_by_their_own_trials() -> None:
    v, won = np.array([1, 2, 5, 10, 20, 30, 50, 60, 80, 100.0]), np.array([0, 12, *[20] * 7, 4])
    cell, draw_of = np.repeat(np.arange(10), 20), np.tile(np.arange(20), 10)
    shared = Draws(cell, (draw_of < won[cell]).astype(float), draw_of)
    counts = Counts.make(0 * v, v, won.astype(float), np.full(10, 20.0), shared)
    rising = counts.where(counts.v < 100)
    found = estimate(rising, shape="free")
    assert (found.interval().low, found.interval().high) == (1, 5)
    assert found.monotone
    assert not estimate(counts, shape="free").monotone


def test_monotone_success_of_shared_draws_is_rarely_rejected() -> None:
    laws = [replace(law(name), shared=True) for name in ("shared draws", "plateau .9")]
    found = [found_in(one, 1, 20, seed, "free")[0].monotone for one in laws for seed in range(100)]
    assert found.count(False) <= binom.ppf(1 - 1e-4, len(found), 0.01)


def test_a_step_is_bracketed_by_its_cells() -> None:
    v = np.arange(1.0, 4.0, 0.1)
    counts = Counts.make(0 * v, v, 20.0 * (v > 2.05), np.full(len(v), 20.0))
    found = estimate(counts)
    assert found.method == "bracket by the cells"
    assert (found.interval().low, found.interval().high) == pytest.approx((2.0, 2.1))


@pytest.mark.parametrize("one", CHANGING[2:4], ids=lambda one: one.name)
def test_a_change_is_found_that_a_line_or_a_scatter_hides(one: Law) -> None:
    assert sum(not found_in(one, 6, 20, seed)[0].constant for seed in range(20)) >= 14


def test_a_constant_is_rarely_rejected_at_any_number_of_replicates() -> None:
    rejected = [
        not found_in(law("wendel"), 6, replicates, seed)[0].constant for seed in range(20) for replicates in (5, 100)
    ]
    assert sum(rejected) <= 3


def a_curve(seed: int) -> tuple[SmoothCurve, float]:
    grid = draw(law("probit"), 3, 20, np.random.default_rng(seed), seed)
    found = near_threshold(counts_of(grid), np.linspace(1.5, 2.5, 24), 0.5, bent=True)
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_is_the_likeliest_at_every_t_and_does_not_depend_on_earlier_fits(seed: int) -> None:
    curve, t = a_curve(seed)
    first = curve.fit(t).value
    for by in (-30.0, -3.0, -0.3, 0.0, 0.3, 3.0, 30.0):
        fit = curve.fit(t + by)
        up, down = rates(fit.eta)
        score = fit.columns.T @ (curve.counts.k * up - (curve.counts.n - curve.counts.k) * down)
        prior = fit.coefficients - np.eye(len(score))[0]
        np.testing.assert_allclose(score, prior, atol=1e-6 * (1 + np.abs(fit.columns).max()))
    assert curve.fit(t).value == pytest.approx(first, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_an_interval_ends_where_its_likelihood_does_however_far_that_is(seed: int) -> None:
    curve, t = a_curve(seed)
    lost = curve.fit(t).value - curve.fit(curve.end(t, 1, 12.7, 38.0)).value
    assert np.sqrt(2 * lost) == pytest.approx(12.7, abs=0.02)


@pytest.mark.parametrize("seed", [69, 133])
def test_few_independent_draws_give_a_long_interval_and_no_error(seed: int) -> None:
    """A far fit from which later ones started left the likelihood at the estimate smaller than before."""
    found = threshold(LAWS["beta-binomial"], 20, seed)[0].interval
    assert found.low < RATIOS[seed % len(RATIOS)] < found.high


def test_success_that_is_not_monotone_is_found_and_monotone_success_is_not() -> None:
    designs = ((3, 5), (6, 1))
    assert all(not found_in(FOLDED[0], *design, seed)[0].monotone for design in designs for seed in range(10))
    constant = np.random.default_rng(3).binomial(5, 0.5, (400, 30)).astype(float)
    rejected = [monotone(Counts.make(np.ones(30), np.arange(30.0), k, np.full(30, 5.0))) < 0.01 for k in constant]
    assert sum(rejected) <= binom.ppf(1 - 1e-4, 400, 0.01)
    assert all(found_in(law(name), 3, 5, seed)[0].monotone for seed in range(10) for name in ("step", "plateau .9"))


def test_a_dip_between_few_cells_is_found() -> None:
    v, k = np.array([0.6, 0.8, 1, 1.2, 1.4, 1.6]), np.array([16.0, 2, 0, 0, 12, 20])
    assert not estimate(Counts.make(0 * v, v, k, np.full(len(v), 20.0))).monotone


def test_mirrored_counts_have_the_mirrored_interval() -> None:
    v = np.linspace(0, 4, 21)
    k = np.random.default_rng(2).binomial(20, expit((v - 2.2) / 0.4)).astype(float)
    n = np.full(21, 20.0)
    one, other = estimate(Counts.make(0 * v, v, k, n)), estimate(Counts.make(0 * v, -v, n - k, n))
    ends, mirrored = one.interval(), other.interval()
    assert (ends.low, ends.estimate, ends.high) == pytest.approx(
        (-mirrored.high, -mirrored.estimate, -mirrored.low), rel=0.02
    )


def test_equal_outcomes_bound_one_side() -> None:
    v, n = np.arange(1.0, 6.0), np.full(5, 10.0)
    none, every = (estimate(Counts.make(0 * v, v, k * n, n)).interval() for k in (0.0, 1.0))
    assert np.isnan(none.estimate)
    assert np.isinf(none.high)
    assert none.low >= 4
    assert np.isnan(every.estimate)
    assert np.isinf(every.low)
    assert every.high <= 2


def test_the_interval_of_the_probit_is_nearly_the_likelihoods() -> None:
    v = np.linspace(1, 3, 21)
    n, p = np.full(21, 50.0), norm.cdf((v - 2) / 0.3)
    found = estimate(Counts.make(0 * v, v, np.round(n * p), n), shape="probit").interval()
    weight = n * norm.pdf(norm.ppf(p)) ** 2 / (p * (1 - p))
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * 0.3 / np.sqrt(weight.sum()), rel=0.1)


@pytest.mark.parametrize(("count", "power"), [(4, 1.0), (8, 0.5)])
def test_the_limit_and_the_exponent_of_a_power_law_are_covered(count: int, power: float) -> None:
    rows = [scaled(2.0, 0.5, power, count, seed) for seed in range(40)]
    assert sum(row["limit"] for row in rows) >= LEAST[40]
    assert sum(row["exponent"] for row in rows) >= LEAST[40]


def test_two_sizes_have_no_scaling_and_three_have_no_test_of_it() -> None:
    y, x, error = np.array([10.0, 20.0, 40.0]), np.array([2.4, 2.2, 2.1]), np.full(3, 0.01)
    assert scaling(y[:2], x[:2], error[:2]) is None
    found = scaling(y, x, error)
    assert found is not None
    assert np.isnan(found.p)
    assert found.limit.estimate == pytest.approx(2.0, abs=0.02)
    assert found.exponent.estimate == pytest.approx(1.0, abs=0.02)


def test_slices_whose_own_curves_exclude_one_another_have_no_common_threshold() -> None:
    """Learning rate times width at which a network of 10, 30 or 100 neurons diverges, counted in a sweep."""
    counted = {
        10: ([5, 6.5, 8, 9, 10, 15, 20], [0, 0, 19, 5, 45, 7, 8], [35, 8, 37, 8, 57, 8, 8]),
        30: ([6.5, 8, 9, 10, 11, 12], [0, 1, 8, 10, 6, 8], [8, 8, 20, 24, 8, 8]),
        100: ([9.25, 9.5, 9.75, 10, 10.25, 10.5, 10.75, 11, 12], [0, 3, 1, 3, 2, 4, 26, 7, 8], [8] * 6 + [50, 8, 8]),
    }
    cells = [(y, *cell) for y, columns in counted.items() for cell in zip(*columns, strict=True)]
    found = estimate(Counts.make(*np.array(cells, dtype=float).T))
    assert (found.method, found.constant) == ("bracket by the cells", False)
    assert estimate(Counts.make(*np.array(cells[7:13], dtype=float).T)).constant


@pytest.mark.parametrize("v", [[83 / 60], [20 / 60], [83 / 60] * 2])
def test_cells_at_one_place_show_no_trend(v: list[float]) -> None:
    ones = np.ones(len(v))
    assert trend(Counts(np.array([60.0]), np.zeros(len(v), int), np.array(v), 70 * ones, 100 * ones)) == 0
