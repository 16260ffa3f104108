"""Thresholds of numbers that jump along n."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from benchmarks.jumps import diagram
from recovery.report.claims import caption, in_words
from recovery.report.claims.result import ClaimResult
from recovery.report.page import report_page
from recovery.report.statistics import Estimates, Threshold
from recovery.report.statistics.estimates import split
from recovery.report.texts import as_csv, as_json, as_markdown

from . import grids
from .grids import analysed, fail, wendel_rows

SEEDS = 24
AT = 2.3
"""n/d of the step, which lies on no cell."""
REPORT = {"value": "test_distance", "x": "n", "y": "d"}
CLAIM = {"kind": "threshold", "of": "test_distance", "ratio": "n/d", "value": 2.3, "tolerance": 0.25}


def stepped(values: Any = None, seed: int = 0, **axes: Any) -> pd.DataFrame:
    """Rows whose test distance falls from 1 to 0.2 at n = 2.3 d, under noise."""
    rows = wendel_rows(**{"n": range(8, 161, 8), "d": range(10, 41, 10), "replicates": 8, "seed": seed, **axes})
    noise = np.random.default_rng(seed).lognormal(0, 0.2, len(rows))
    level = np.where(rows["n"] < AT * rows["d"], 1.0, 0.2) * noise
    return rows.assign(test_distance=level if values is None else values(rows, level))


def measured(rows: pd.DataFrame) -> Threshold:
    return analysed(rows, report=REPORT).pooled[0]


def judge(rows: pd.DataFrame, **change: Any) -> ClaimResult:
    return grids.judge(rows, CLAIM | change, report=REPORT)


def test_a_step_is_found_between_its_two_levels() -> None:
    found = measured(stepped())
    assert found.jump is not None
    assert found.jump.before == pytest.approx(1.0, rel=0.1)
    assert found.jump.after == pytest.approx(0.2, rel=0.1)
    assert found.interval.low <= AT <= found.interval.high
    assert all(size.interval.low <= AT * size.y <= size.interval.high for size in found.slices)
    assert "falls from" in in_words(found)
    assert caption(found).startswith("jump: n/d = 2.")


@pytest.mark.parametrize(
    "change",
    [
        lambda rows, level: 1e6 * level,  # different units
        lambda rows, level: np.round(10 * level).astype(int),  # integers
        lambda rows, level: 3.0 - level,  # a rise
        lambda rows, level: level + np.where(rows["n"] > 5 * rows["d"], 0.7, 0.0),  # a second step back
        lambda rows, level: np.where(np.arange(len(rows)) % 50 == 7, 1e9, level),  # outliers
    ],
)
def test_the_place_of_a_step_does_not_depend_on_units_and_outliers(change: Any) -> None:
    found = measured(stepped(change))
    assert found.interval.low <= AT <= found.interval.high


@pytest.mark.parametrize(
    "values",
    [lambda rows, level: np.ones(len(rows)), lambda rows, level: np.random.default_rng(1).normal(size=len(rows))],
)
def test_values_without_a_jump_are_reported_as_such(values: Any) -> None:
    rows = stepped(values)
    found = measured(rows)
    assert np.isnan(found.interval.estimate)
    assert in_words(found) == "does not jump along n"
    assert judge(rows).verdict == "inconclusive"


@pytest.mark.parametrize(
    "rows",
    [
        stepped(n=[20, 40, 60, 80], d=[5, 10, 15], replicates=4),
        stepped(lambda rows, level: np.where(np.arange(len(rows)) == 3, 1.0, np.nan)),
    ],
)
def test_too_few_trials_do_not_deny_a_jump(rows: pd.DataFrame) -> None:
    assert in_words(measured(rows)) == "too few trials to see a jump along n"
    assert "needs more replicates, or more values of n" in judge(rows).text


@pytest.mark.parametrize("curve", [lambda x: 1 / x, lambda x: np.exp(-x), lambda x: expit(2 * (AT - x))])
def test_a_smooth_change_is_no_jump(curve: Any) -> None:
    """Each of these curves falls between levels that it reaches far away only."""
    noise = np.random.default_rng(3).lognormal(0, 0.2, 20 * 4 * 40)
    rows = stepped(lambda rows, _: curve(rows["n"] / rows["d"]) * noise, replicates=40)
    assert in_words(measured(rows)) == "does not jump along n"


@pytest.mark.parametrize("curve", [lambda x: 1 / x, lambda x: np.exp(-x)])
def test_few_trials_of_a_smooth_change_establish_no_jump(curve: Any) -> None:
    """Jumps were reported for two of these twelve panels, because few trials do not reject two plateaus."""
    axes = {"n": range(10, 401, 10), "d": range(10, 101, 10), "replicates": 5}
    for seed in range(6):
        noise = np.random.default_rng(seed).lognormal(0, 0.3, 40 * 10 * 5)
        rows = stepped(lambda rows, _, noise=noise: curve(rows["n"] / rows["d"]) * noise, **axes)
        assert np.isnan(measured(rows).interval.estimate)


def test_the_interval_of_a_midpoint_allows_for_the_change_of_the_values_beside_the_jump() -> None:
    """A logistic fall of half width 0.5 at n = 2 d changes by 17 % of it beside; a third of the panels are given."""
    found = [Estimates(diagram("logistic, w = 0.5", 10, seed)).pooled[0] for seed in range(SEEDS)]
    given = [one.interval for one in found if one.jump is not None and np.isfinite(one.jump.before)]
    assert len(given) >= 5
    assert all(one.low <= 2 <= one.high for one in given)


def test_noise_rarely_has_a_step() -> None:
    """At level 1e-3 a panel, 200 panels have one with probability 0.18, and three or more with 0.001."""
    ratio = np.repeat(np.arange(1, 13) / 2, 20)
    draws = [np.random.default_rng(seed).lognormal(0, 1, len(ratio)) for seed in range(200)]
    assert sum(split(ratio, draw) is not None for draw in draws) <= 2


def test_claims_about_a_jump() -> None:
    rows = stepped()
    assert judge(rows).verdict == "supported"
    assert judge(rows, value=4.0).verdict == "contradicted"
    assert judge(rows, value=2.0).verdict == "inconclusive"
    assert judge(fail(rows, slice(0, None, 3))).verdict == "inconclusive"


def test_a_slow_fall_is_inconclusive() -> None:
    """The midpoint lies within the tolerance, and the quarters do not."""
    rows = stepped(lambda rows, level: 1 / (1 + (rows["n"] / rows["d"] / AT) ** 2) * level / level)
    assert judge(rows, tolerance=0.4).verdict == "inconclusive"


def test_steps_at_different_ratios_are_not_pooled_into_support() -> None:
    rows = stepped()
    parts = [
        rows[rows["d"] == 10].assign(n=lambda part: part["n"] * 0.8),
        rows[rows["d"] == 40].assign(n=lambda part: part["n"] * 1.3),
    ]
    assert judge(pd.concat(parts, ignore_index=True)).verdict != "supported"


def test_a_jump_is_in_every_format() -> None:
    analysis = analysed(stepped(), report=REPORT, claims=[CLAIM])
    record = analysis.thresholds()[0]
    assert record["before"] > record["after"]
    assert len(record) <= 16
    assert "three quarters of the way" in as_json([analysis])
    assert "n50_low" in as_csv([analysis], ["all"]).splitlines()[0]
    assert f"{record['estimate']:.3f}" in as_markdown([analysis])
    assert "the midpoint at n/d" in report_page([analysis])
