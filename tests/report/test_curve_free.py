from itertools import product

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.special import xlogy
from scipy.stats import binom, binomtest

from recovery.report.statistics.curve_free import RISE_OF_RISING, common, crossing, exact
from recovery.types import Array


def log_likelihood(yes: Array, no: Array, chance: Array) -> float:
    return float(np.sum(xlogy(yes, chance) + xlogy(no, 1 - chance)))


def rising(yes: Array, no: Array) -> Array:
    if not len(yes):
        return yes
    fitted: Array = np.clip(isotonic_regression(yes / (yes + no), weights=yes + no).x, 0.0, 1.0)
    return fitted


def kept_by_definition(x: Array, yes: Array, no: Array) -> tuple[float, float]:
    """Every gap between cells by itself: scipy's isotonic fits of either side, cut off at one half."""
    free = log_likelihood(yes, no, rising(yes, no))
    gaps = []
    for k in range(len(x) + 1):
        left, right = np.minimum(rising(yes[:k], no[:k]), 0.5), np.maximum(rising(yes[k:], no[k:]), 0.5)
        bound = log_likelihood(yes[:k], no[:k], left) + log_likelihood(yes[k:], no[k:], right)
        if 2 * (free - bound) <= RISE_OF_RISING:
            gaps.append(k)
    ends = [-np.inf, *x, np.inf]
    return ends[gaps[0]], ends[gaps[-1] + 1]


def test_the_set_is_that_of_isotonic_fits_one_gap_at_a_time() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = np.sort(rng.random(rng.integers(1, 12)))
        total = rng.integers(1, 9, len(x)).astype(float)
        yes = rng.binomial(total.astype(int), rng.random(len(x))).astype(float)
        found = crossing(x, yes, total - yes)
        assert (found.low, found.high) == kept_by_definition(x, yes, total - yes)


def test_the_estimate_lies_in_both_intervals_whatever_the_counts() -> None:
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(500):
        x = np.sort(rng.random(12))
        total = rng.integers(0, 40, 12).astype(float)
        yes = rng.binomial(total.astype(int), np.where(rng.random(12) < 0.2, 1 - x, x)).astype(float)
        found, (low, high) = crossing(x, yes, total - yes), exact(x, yes, total - yes)
        if np.isfinite(found.estimate):
            seen += 1
            assert found.low <= found.estimate <= found.high
            assert low <= found.estimate <= high
    assert seen > 400


@pytest.mark.parametrize("trials", [6, 8])
def test_the_exact_interval_misses_with_no_more_than_its_share(trials: int) -> None:
    """All outcomes of four cells at the least favourable law, one half throughout, counted with their probabilities."""
    x, missed_low, missed_high = np.arange(1.0, 5.0), 0.0, 0.0
    for outcome in product(range(trials + 1), repeat=4):
        yes = np.array(outcome, dtype=float)
        low, high = exact(x, yes, trials - yes)
        chance = float(np.prod(binom.pmf(yes, trials, 0.5)))
        missed_low += chance * (low >= 1.0)
        missed_high += chance * (high <= 4.0)
    assert 0 < missed_low <= 0.025
    assert missed_high == pytest.approx(missed_low, rel=1e-9)


def test_mirrored_counts_have_the_mirrored_interval() -> None:
    rng = np.random.default_rng(2)
    x = np.arange(1.0, 21.0)
    yes = rng.binomial(10, x / 21).astype(float)
    one, other = crossing(x, yes, 10 - yes), crossing(-x, 10 - yes, yes)
    assert (one.low, one.high) == (-other.high, -other.low)
    assert one.estimate == pytest.approx(-other.estimate)
    low, high = exact(x, yes, 10 - yes)
    assert exact(-x, 10 - yes, yes) == (-high, -low)


def test_order_units_ties_and_empty_cells_change_nothing() -> None:
    x, yes, no = (np.array(a, dtype=float) for a in ([10, 20, 30, 40], [0, 3, 8, 9], [9, 6, 1, 0]))
    whole = crossing(x, yes, no)
    shuffled = [3, 1, 0, 2, 2]
    half = np.array([1, 1, 1, 0.5, 0.5])
    again = crossing(1e-3 * x[shuffled], half * yes[shuffled], half * no[shuffled])
    assert (again.estimate, again.low, again.high) == pytest.approx(
        (whole.estimate / 1e3, whole.low / 1e3, whole.high / 1e3)
    )
    empty = crossing(np.append(x, 25.0), np.append(yes, 0), np.append(no, 0))
    assert empty == whole


@pytest.mark.parametrize(("won", "low", "high"), [(0, 40.0, np.inf), (9, -np.inf, 10.0)])
def test_cells_that_all_end_alike_leave_one_side_open(won: int, low: float, high: float) -> None:
    x, yes = np.array([10.0, 20.0, 30.0, 40.0]), np.full(4, float(won))
    found = crossing(x, yes, 9 - yes)
    assert np.isnan(found.estimate)
    assert (found.low, found.high) == exact(x, yes, 9 - yes) == (low, high)


def test_without_trials_nothing_is_known() -> None:
    nothing = np.zeros(3)
    assert exact(np.arange(3.0), nothing, nothing) == (-np.inf, np.inf)
    assert np.isnan(crossing(np.arange(3.0), nothing, nothing).estimate)


TRUTHS = {
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "skew": lambda z: 1 - 2 ** -np.exp(z),
    "flat": lambda z: 0.5 + 0.05 * np.clip(z, -8, 8),
    "step": lambda z: np.where(z < 0, 0.0, 1.0),
}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("replicates", [5, 40])
def test_intervals_cover_the_median_of_any_rising_curve(name: str, replicates: int) -> None:
    rng = np.random.default_rng(3)
    x = np.arange(10.0, 401.0, 10.0)
    chance = np.clip(TRUTHS[name]((x - 203) / 20), 0, 1)
    found, certain = 0, 0
    for _ in range(200):
        yes = rng.binomial(replicates, chance).astype(float)
        one, (low, high) = crossing(x, yes, replicates - yes), exact(x, yes, replicates - yes)
        found += one.low <= 203 <= one.high
        certain += low <= 203 <= high
    assert binomtest(found, 200, 0.93, alternative="less").pvalue > 1e-3
    assert binomtest(certain, 200, 0.95, alternative="less").pvalue > 1e-3


def test_a_long_stretch_just_below_one_half_is_left_to_the_exact_interval() -> None:
    """The likelihood set supposes a slope at n50; without one it covers in 6 to 8 of 10, the exact one as it says."""
    rng = np.random.default_rng(4)
    x = np.arange(10.0, 401.0, 10.0)
    chance = np.where(x < 203, 0.48, 1.0)
    covered = 0
    for _ in range(200):
        yes = rng.binomial(5, chance).astype(float)
        low, high = exact(x, yes, 5 - yes)
        covered += low <= 203 <= high
    assert binomtest(covered, 200, 0.95, alternative="less").pvalue > 1e-3


def test_slices_share_one_ratio_whatever_their_curves() -> None:
    """Each size has a curve of another shape; only the median of n/d is common."""
    rng = np.random.default_rng(5)
    n, covered, lengths = np.arange(10.0, 301.0, 10.0), 0, []
    shapes = list(TRUTHS.values())
    for _ in range(100):
        slices = []
        for k, d in enumerate((10.0, 25.0, 45.0, 80.0)):
            chance = np.clip(shapes[k]((n - 2.1 * d) / np.sqrt(n)), 0, 1)
            yes = rng.binomial(10, chance).astype(float)
            slices.append((n / d, yes, 10 - yes))
        found = common(slices)
        covered += found.low <= 2.1 <= found.high
        lengths.append(found.high - found.low)
    assert binomtest(covered, 100, 0.95, alternative="less").pvalue > 1e-3
    assert np.median(lengths) < 0.5


def test_one_slice_alone_has_its_own_set_at_the_wider_quantile() -> None:
    rng = np.random.default_rng(6)
    x = np.arange(1.0, 21.0)
    yes = rng.binomial(10, x / 21).astype(float)
    one, several = crossing(x, yes, 10 - yes), common([(x, yes, 10 - yes)])
    assert several.low <= one.low < one.high <= several.high
    twice = common([(x, yes, 10 - yes), (x, yes, 10 - yes)])
    assert several.low <= twice.low < twice.high <= several.high
