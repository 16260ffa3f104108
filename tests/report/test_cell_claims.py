"""Claims about numbers in grid cells: rates of false contradictions, and power."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy.stats import binom

from recovery.config import ConfigError, load
from recovery.report.claims.trend import no_lower_p_values
from recovery.report.statistics.samples import Sample
from tests.suites import first

from .grids import fail, judge, wendel_rows

N, D = range(10, 81, 10), range(10, 41, 10)


@pytest.mark.parametrize("total", [1, 5, 40])
@pytest.mark.parametrize("undecided", [0, 3])
def test_the_interval_of_a_proportion_covers_for_every_outcome_of_undecided_trials(total: int, undecided: int) -> None:
    """A count is missed if the interval misses it for some outcome of the undecided trials."""
    ends = [
        Sample(np.repeat([1.0, 0.0], [k, total - k]), True, Counter(undecided=undecided)).interval("mean")
        for k in range(total + 1)
    ]
    for p in np.linspace(0.01, 0.99, 50):
        covered = np.array([end.low <= p <= end.high for end in ends])
        missed = [
            not covered[max(yes - undecided, 0) : min(yes, total) + 1].all() for yes in range(total + undecided + 1)
        ]
        assert binom.pmf(np.flatnonzero(missed), total + undecided, p).sum() <= 0.05


@pytest.mark.parametrize("count", [1, 5, 6, 20, 101])
def test_the_interval_of_a_median_is_the_shortest_that_the_binomial_law_allows(count: int) -> None:
    found = Sample(np.arange(count, dtype=float), False).interval("median")
    low, high = found.low, found.high
    if np.isinf(low):
        assert binom.cdf(0, count, 0.5) > 0.025
    else:
        assert binom.cdf(int(low), count, 0.5) <= 0.025 < binom.cdf(int(low) + 1, count, 0.5)
        assert high == count - 1 - low


BOUND = {"kind": "bound", "of": "recovered", "at_least": "no_all_ones"}


@pytest.mark.parametrize("seeds", first(1, [20, 60]))
def test_a_bound_equal_to_the_law_is_contradicted_at_most_as_often_as_its_level(seeds: int) -> None:
    """The law itself is the most difficult true bound."""
    level = 0.2
    found = [judge(wendel_rows(N, D, seed=seed), BOUND | {"level": level}).verdict for seed in range(seeds)]
    assert found.count("contradicted") <= binom.ppf(1 - 1e-6, seeds, level)
    assert found.count("supported") + found.count("contradicted") == seeds


def test_a_bound_is_judged_on_one_side_only() -> None:
    rows = wendel_rows(N, D, replicates=20)
    assert judge(rows, BOUND | {"at_least": "theorem5"}).verdict == "supported"  # far above it
    assert judge(rows.assign(n=rows["n"] * 2), BOUND).verdict == "contradicted"
    assert judge(rows, {"kind": "bound", "of": "recovered", "at_most": "no_all_ones"}).verdict == "supported"
    assert (
        judge(rows.assign(d=rows["d"] * 2), BOUND | {"at_least": None, "at_most": "wendel"}).verdict == "contradicted"
    )


def test_all_cells_together_detect_what_no_single_cell_shows() -> None:
    rows = wendel_rows(N, D, replicates=6, seed=3)
    rows["recovered"] = np.random.default_rng(0).random(len(rows)) < 0.4
    found = judge(rows, BOUND | {"at_least": 0.6})
    assert found.verdict == "contradicted"
    assert "in all cells together" in found.measured
    assert "all together with enough trials" in judge(rows, BOUND | {"at_least": 0.05}).measured


def test_one_trial_beyond_a_bound_of_every_trial_contradicts_it() -> None:
    rows = wendel_rows(N, D).assign(test_distance=lambda rows: rows["n"] / rows["d"])
    claim = {"kind": "bound", "of": "test_distance", "at_most": 8.0, "statistic": "every"}
    assert judge(rows, claim).verdict == "supported"
    assert judge(rows, claim | {"at_most": 7.999}).verdict == "contradicted"
    assert judge(fail(rows, slice(0, 1)).assign(test_distance=rows["test_distance"]), claim).verdict == "inconclusive"


VALUE = {"kind": "value", "of": "recovered"}


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ({"value": 0.5, "tolerance": 0.1}, "supported"),
        ({"value": 0.5, "factor": 1.3}, "supported"),
        ({"value": 0.5, "tolerance": 0.01}, "inconclusive"),
        ({"value": 0.8, "tolerance": 0.1}, "contradicted"),
        ({"at_least": 0.4}, "supported"),
        ({"at_most": 0.4}, "contradicted"),
        ({"at_least": 0.4, "at_most": 0.45}, "contradicted"),
        ({"at_least": 0.5}, "inconclusive"),
        ({"value": 0.5, "tolerance": 0.1, "where": {"n": 77}}, "inconclusive"),
    ],
)
def test_values_of_a_frequency(claim: dict[str, Any], verdict: str) -> None:
    rows = wendel_rows([20, 60], [10], replicates=400)  # half of the trials recover at n = 2d
    assert judge(rows, VALUE | {"where": {"n": 20}} | claim).verdict == verdict


def test_values_of_a_number_by_mean_and_median() -> None:
    rows = wendel_rows([20], [10], replicates=2000)
    rows["test_distance"] = np.random.default_rng(1).lognormal(0.0, 1.0, len(rows))  # median 1, mean e^0.5
    claim = {"kind": "value", "of": "test_distance", "tolerance": 0.4}
    assert judge(rows, claim | {"value": 1.65}).verdict == "supported"
    assert judge(rows, claim | {"value": 1.0, "statistic": "median"}).verdict == "supported"
    assert judge(rows, claim | {"value": 1.0, "tolerance": 0.05}).verdict == "contradicted"  # of the mean


def test_a_stated_proportion_is_tested_in_all_trials_and_in_each_cell() -> None:
    rows = wendel_rows(N, D, replicates=20)
    rows["recovered"] = pd.array(np.random.default_rng(2).random(len(rows)) < 0.5, dtype="boolean")
    claim = {"kind": "binomial", "of": "recovered", "probability": 0.5}
    assert judge(rows, claim).verdict == "supported"
    assert judge(rows, claim | {"probability": 0.6}).verdict == "contradicted"
    assert judge(rows, claim | {"tolerance": 0.01}).verdict == "inconclusive"
    bent = rows.copy()
    for n, value in ((10, True), (20, False)):
        bent.loc[(bent["n"] == n) & (bent["d"] == 20), "recovered"] = value
    found = judge(bent, claim)
    assert found.verdict == "contradicted"
    assert "contradicted at" in found.measured
    assert judge(fail(rows, slice(0, None, 2)), claim).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("direction", "along", "verdict"),
    [
        ("rises", "n", "supported"),
        ("falls", "n", "contradicted"),
        ("falls", "d", "supported"),
        ("rises", "noise", "inconclusive"),
    ],
)
def test_trends_of_a_frequency(direction: str, along: str, verdict: str) -> None:
    rows = wendel_rows(range(20, 101, 20), D, replicates=30)
    where = {"where": {"n": 60}} if along == "d" else {}
    claim = {"kind": "monotone", "of": "recovered", "along": along, "direction": direction}
    assert judge(rows, claim | where).verdict == verdict


def test_a_trend_that_turns_at_one_value_is_contradicted() -> None:
    rows = wendel_rows(N, D, replicates=20)
    noise = np.random.default_rng(3).normal(0, 0.3, len(rows))
    rows["test_distance"] = noise - rows["n"] / 20
    claim = {"kind": "monotone", "of": "test_distance", "along": "n", "direction": "falls"}
    assert judge(rows, claim).verdict == "supported"
    turned = rows.assign(test_distance=rows["test_distance"] + 3.0 * ((rows["n"] == 80) & (rows["d"] == 20)))
    found = judge(turned, claim)
    assert found.verdict == "contradicted"
    assert " and 80 (d = 20)" in found.measured
    assert judge(rows.assign(test_distance=1.0), claim).verdict == "inconclusive"  # nothing falls


def test_the_opposite_trend_contradicts_where_no_pair_of_cells_can() -> None:
    """With two replicates per cell, the smallest p-value of Mann and Whitney's test is 1/6."""
    rows = wendel_rows(N, D, replicates=2)
    rows["test_distance"] = np.random.default_rng(4).normal(0, 1, len(rows)) - rows["n"] / 20
    claim = {"kind": "monotone", "of": "test_distance", "along": "n", "direction": "rises"}
    found = judge(rows, claim)
    assert found.verdict == "contradicted"
    assert "in the opposite direction in all lines together" in found.measured


def test_without_a_trend_no_direction_is_contradicted_more_often_than_the_level() -> None:
    """20 grids and two directions: more contradictions than the bound have a probability below 1e-3."""
    rows, rng, level = wendel_rows(range(10, 61, 10), [5, 10], replicates=3), np.random.default_rng(5), 0.05
    wrong = 0
    for _ in range(20):
        drawn = rows.assign(test_distance=rng.normal(0, 1, len(rows)))
        for direction in ("rises", "falls"):
            claim = {"kind": "monotone", "of": "test_distance", "along": "n", "direction": direction, "level": level}
            wrong += judge(drawn, claim).verdict == "contradicted"
    assert wrong <= binom.isf(1e-3, 40, level)


def powers(seed: int, noise: float = 0.3) -> pd.DataFrame:
    """Return rows whose test_distance is n^-1/2 d^2 times log-normal noise."""
    rows = wendel_rows([20, 40, 80, 160], [10, 20, 40], replicates=5)
    spread = np.random.default_rng(seed).normal(0, noise, len(rows))
    return rows.assign(test_distance=rows["n"] ** -0.5 * rows["d"] ** 2.0 * np.exp(spread))


POWER = {"kind": "power", "of": "test_distance", "along": "n"}


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [
        ({"value": -0.5, "tolerance": 0.2}, "supported"),
        ({"value": -1.0, "tolerance": 0.1}, "contradicted"),
        ({"at_most": -0.2}, "supported"),
        ({"at_least": -0.5}, "inconclusive"),
        ({"along": "d", "value": 2.0, "tolerance": 0.5}, "supported"),
        ({"along": "d", "at_most": 1.5}, "contradicted"),
        ({"along": "d", "value": 2.0, "tolerance": 0.5, "where": {"n": 40}}, "inconclusive"),  # three points
    ],
)
def test_the_exponent_of_a_number(limits: dict[str, Any], verdict: str) -> None:
    assert judge(powers(1), POWER | limits).verdict == verdict


def test_the_exponent_of_a_number_is_the_slope_of_its_logarithms() -> None:
    found = judge(powers(0, 0.0), POWER | {"value": -0.5, "tolerance": 0.1})
    assert found.measured == "exponent of the median -0.50, 95 % interval -0.50 to -0.50, 12 points in 3 lines"
    two = powers(0).query("n <= 40 and d == 10")
    assert "2 points along n; needs three values" in judge(two, POWER | {"at_most": 0}).measured


def test_the_true_exponent_is_contradicted_at_most_as_often_as_the_level() -> None:
    level, times = 0.05, 30
    claim = POWER | {"value": -0.5, "tolerance": 1e-9, "level": level}
    wrong = sum(judge(powers(seed), claim).verdict == "contradicted" for seed in range(times))
    assert wrong <= binom.isf(1e-3, times, level)


def test_sampled_patterns_give_no_verdict_on_all_patterns() -> None:
    rows = wendel_rows(range(10, 121, 10), D, replicates=20).assign(pattern_count=50)
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.3}
    assert judge(rows, claim).verdict == "supported"
    assert judge(rows, claim | {"patterns": "sampled"}).verdict == "supported"
    found = judge(rows, claim | {"patterns": "all"})
    assert found.verdict == "inconclusive"
    assert "(all patterns)" in found.stated
    assert "supported on sampled patterns, but the statement is about all patterns" in found.measured
    searched = rows.assign(**{"patterns.kind": "searched"})
    found = judge(searched, claim | {"patterns": "searched", "where": {"patterns.kind": "searched"}})
    assert (found.verdict, found.stated.count("searched patterns")) == ("supported", 1)
    assert judge(searched, claim | {"patterns": "all"}).verdict == "inconclusive"
    assert judge(rows.assign(**{"patterns.kind": "exhaustive"}), claim | {"patterns": "all"}).verdict == "supported"
    assert judge(rows, claim | {"patterns": "all"}, patterns={"kind": "exhaustive"}).verdict == "supported"
    assert judge(rows.drop(columns="pattern_count"), claim | {"patterns": "all"}).verdict == "supported"  # none enter


def test_a_threshold_above_the_stated_one_on_fewer_patterns_contradicts_it_for_more() -> None:
    rows = wendel_rows(range(10, 121, 10), D, replicates=20).assign(pattern_count=50)
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "tolerance": 0.2, "patterns": "all"}
    assert judge(rows, claim | {"value": 1.3}).verdict == "contradicted"
    assert judge(rows, claim | {"value": 2.9}).verdict == "inconclusive"  # all patterns may well reach it


def test_a_lower_bound_contradicted_on_fewer_patterns_is_contradicted_on_more() -> None:
    """More patterns only make recovery rarer; an upper bound that is exceeded says nothing about more patterns."""
    rows = wendel_rows(range(10, 121, 10), D, replicates=20).assign(pattern_count=50)
    claim = {"kind": "bound", "of": "recovered", "patterns": "all"}
    found = judge(rows, claim | {"at_least": 0.9})
    assert found.verdict == "contradicted"
    assert "and therefore on all patterns" in found.measured
    for limit in (0.1, 1.0):
        assert judge(rows, claim | {"at_most": limit}).verdict == "inconclusive"


def test_an_upper_bound_supported_on_fewer_patterns_is_supported_on_more() -> None:
    rows = wendel_rows([10], [10, 20], replicates=20).assign(pattern_count=50)
    claim = {"kind": "bound", "of": "recovered", "at_most": 0.5, "patterns": "all"}
    found = judge(rows, claim)
    assert found.verdict == "supported"
    assert "and therefore on all patterns" in found.measured
    far = claim | {"of": "test_distance", "at_most": 2.0, "statistic": "every"}
    assert judge(rows.assign(test_distance=1.0), far).verdict == "inconclusive", "a distance may grow with patterns"
    assert judge(rows.assign(recovered=True), claim | {"of": "recovered<=0"}).verdict == "inconclusive"


BASE: dict[str, Any] = {"name": "one", "n": 20, "d": 5, "data": {"ensemble": "gaussian"}, "planted": "linear"}
BASE |= {"architecture": "relu_skip", "method": "min_norm"}


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("kind: threshold, of: recovered, ratio: n/d", "allowed: one of value or at_least or at_most"),
        ("kind: threshold, of: recovered, ratio: n/d, value: 2", "value and tolerance belong together"),
        ("kind: threshold, of: recovered, ratio: n/d, at_least: 3, at_most: 2", "at_least lies below at_most"),
        ("kind: bound, of: recovered", "allowed: one of at_least or at_most"),
        ("kind: bound, of: recovered, at_least: wendle", "did you mean"),
        (
            "kind: value, of: recovered, value: 1",
            "value and tolerance or factor belong together; allowed: value with one",
        ),
        ("kind: value, of: gap, value: -1, factor: 2", "a factor belongs to a positive value"),
        ("kind: value, of: recovered, at_least: 1, tolerance: 1", "value and tolerance or factor belong together"),
        ("kind: binomial, of: recovered, probability: 1.5", "probability"),
        ("kind: monotone, of: recovered, along: m, direction: rises", "a coordinate"),
        ("kind: bound, of: recovered, at_least: wendel, patterns: some", "'all', 'searched' or 'sampled'"),
    ],
)
def test_errors_in_claims_name_their_place(claim: str, words: str, tmp_path: Any) -> None:
    text = "".join(f"{key}: {value}\n" for key, value in BASE.items() if key != "data")
    path = tmp_path / "one.yaml"
    path.write_text(f"{text}data: {{ensemble: gaussian}}\nclaims:\n  - {{{claim}}}\n")
    with pytest.raises(ConfigError) as caught:
        load(path)
    line = text.count("\n") + 3
    assert f"one.yaml:{line}:" in str(caught.value)
    assert words.replace("'", "") in str(caught.value).replace("'", "")


def test_pairs_tested_in_one_call_have_the_p_values_of_single_calls() -> None:
    """Includes ties, constant samples, unequal sizes and ranks with exact p-values."""
    draw = np.random.default_rng(5)
    sizes = draw.integers(1, 12, (200, 2))
    pairs = [
        tuple(draw.standard_normal(size).round(digits) for size in two)
        for two, digits in zip(sizes, [0, 1, 9] * 67, strict=False)
    ]
    pairs += [(np.ones(4), np.ones(4)), (np.ones(4), np.zeros(4)), (np.zeros(2), np.array([-np.inf, np.inf]))]
    expected = [
        1.0 if np.ptp(np.concatenate(pair)) == 0 else scipy.stats.mannwhitneyu(*pair, alternative="greater").pvalue
        for pair in pairs
    ]
    assert no_lower_p_values(pairs, None) == pytest.approx(expected, rel=1e-12)
    assert min(expected) < 0.01 < 0.99 < max(expected)


def test_a_share_cannot_contradict_a_bound_of_0() -> None:
    rows = wendel_rows(n=[10, 20], d=[5]).assign(frequency=0.5)
    claim = {"kind": "bound", "of": "frequency", "statistic": "every"}
    low, high = (judge(rows, claim | {"at_least": bound}) for bound in (0.0, 0.25))
    assert (low.verdict, high.verdict) == ("inconclusive", "supported")
    assert "2 cells, 0 with enough trials to contradict it" in low.measured
