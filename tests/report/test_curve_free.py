"""The crossing of one half without a curve, against scipy's isotonic fits."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.special import xlogy
from scipy.stats import binomtest

from recovery.report.statistics.curve_free import RISE_OF_RISING, SURE, crossing, rise
from recovery.report.statistics.transition import rising_blocks
from recovery.types import Array


def log_likelihood(yes: Array, no: Array, chance: Array) -> float:
    return float(np.sum(xlogy(yes, chance) + xlogy(no, 1 - chance)))


def rising(yes: Array, no: Array) -> Array:
    if not len(yes):
        return yes
    fitted: Array = np.clip(isotonic_regression(yes / (yes + no), weights=yes + no).x, 0.0, 1.0)
    return fitted


def kept_by_definition(x: Array, yes: Array, no: Array) -> tuple[float, float]:
    """Compute the interval gap by gap, with scipy's isotonic fits on each side, capped at one half."""
    free = log_likelihood(yes, no, rising(yes, no))
    gaps = []
    for k in range(len(x) + 1):
        left, right = np.minimum(rising(yes[:k], no[:k]), 0.5), np.maximum(rising(yes[k:], no[k:]), 0.5)
        bound = log_likelihood(yes[:k], no[:k], left) + log_likelihood(yes[k:], no[k:], right)
        if 2 * (free - bound) <= RISE_OF_RISING:
            gaps.append(k)
    ends = [-np.inf, *x, np.inf]
    return ends[gaps[0]], ends[gaps[-1] + 1]


def test_the_interval_agrees_with_isotonic_fits_gap_by_gap() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = np.sort(rng.random(rng.integers(1, 12)))
        total = rng.integers(1, 9, len(x)).astype(float)
        yes = rng.binomial(total.astype(int), rng.random(len(x))).astype(float)
        found = crossing(x, yes, total - yes)
        assert (found.low, found.high) == kept_by_definition(x, yes, total - yes)


def test_the_estimate_lies_in_the_interval_whatever_the_counts() -> None:
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(500):
        x = np.sort(rng.random(12))
        total = rng.integers(0, 40, 12).astype(float)
        yes = rng.binomial(total.astype(int), np.where(rng.random(12) < 0.2, 1 - x, x)).astype(float)
        found, sure = crossing(x, yes, total - yes), crossing(x, yes, total - yes, 0.99)
        if np.isfinite(found.estimate):
            seen += 1
            assert found.low <= found.estimate <= found.high
            assert sure.low <= found.low <= found.high <= sure.high
    assert seen > 400


def test_mirrored_counts_have_the_mirrored_interval() -> None:
    rng = np.random.default_rng(2)
    x = np.arange(1.0, 21.0)
    yes = rng.binomial(10, x / 21).astype(float)
    one, other = crossing(x, yes, 10 - yes), crossing(-x, 10 - yes, yes)
    assert (one.low, one.high) == (-other.high, -other.low)
    assert one.estimate == pytest.approx(-other.estimate)


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
def test_equal_outcomes_bound_one_side_and_no_trials_bound_none(won: int, low: float, high: float) -> None:
    x, yes, nothing = np.array([10.0, 20.0, 30.0, 40.0]), np.full(4, float(won)), np.zeros(4)
    found, unknown = crossing(x, yes, 9 - yes), crossing(x, nothing, nothing)
    assert np.isnan([found.estimate, unknown.estimate]).all()
    assert (found.low, found.high) == (low, high)
    assert (unknown.low, unknown.high) == (-np.inf, np.inf)


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
    found, sure = 0, 0
    for _ in range(200):
        yes = rng.binomial(replicates, chance).astype(float)
        one, other = crossing(x, yes, replicates - yes), crossing(x, yes, replicates - yes, 0.99)
        found += one.low <= 203 <= one.high
        sure += other.low <= 203 <= other.high
    assert binomtest(found, 200, 0.93, alternative="less").pvalue > 1e-3
    assert binomtest(sure, 200, 0.98, alternative="less").pvalue > 1e-3


def test_quantiles_are_those_of_the_limit() -> None:
    """The ratio at the true crossing, one trial a cell and 600 cells, by SciPy's isotonic fits.

    10 000 draws tell 0.05 to 0.002, 0.01 to 0.001 and 0.005 to 0.0007 (one standard error); 600 cells are near the
    limit.
    """
    rng, ratios, draws = np.random.default_rng(5), [], 10_000
    for _ in range(draws):
        at = np.sort(rng.random(600))
        yes = (rng.random(600) < at).astype(float)
        first, ones = int(np.searchsorted(at, 0.5)), np.ones(600)
        left, right = rising(yes[:first], (ones - yes)[:first]), rising(yes[first:], (ones - yes)[first:])
        bound = np.concatenate([np.minimum(left, 0.5), np.maximum(right, 0.5)])
        ratios.append(2 * (log_likelihood(yes, 1 - yes, rising(yes, 1 - yes)) - log_likelihood(yes, 1 - yes, bound)))
    assert (rise(0.95), rise(0.99)) == pytest.approx((RISE_OF_RISING, SURE))
    for level in (0.95, 0.9775, 0.99, 0.995):
        assert binomtest(int(np.sum(np.array(ratios) > rise(level))), draws, 1 - level).pvalue > 1e-3


def test_blocks_of_the_isotonic_fit_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    for size in rng.integers(1, 30, 2_000):
        total = np.maximum(rng.integers(0, 8, size).astype(float), 1e-9)
        values = np.minimum(np.floor(total * rng.random(size) * 1.2), total) / total
        assert rising_blocks(values, total) == isotonic_regression(values, weights=total).blocks.tolist()
    assert rising_blocks(np.array([]), np.array([])) == [0]
    assert rising_blocks(np.ones(4), np.ones(4)) == [0, 4]
