"""Sweeps that sample until a threshold is known to a given precision, or claims about it are decided."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.until import goes_on
from recovery.config import ConfigError, load
from recovery.config.sampling import Until
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.diagram.summary import summary as summary_of
from recovery.report.expected import expected
from recovery.report.statistics.estimates import interim_level
from recovery.runner.placement import Slice, sharpen
from recovery.runner.run import Summary
from recovery.runner.sweep_status import sweep_status
from recovery.store import read
from recovery.types import Array
from tests.suites import first

from .sweeps import rounds, rows, sweep, until_config as config

AXES = {"n": {"start": 2, "stop": 40, "step": 2}, "d": [4, 6, 8, 10, 12]}
FIRST = 20 * 5 * 2
CLAIM = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.8}
RULE = "threshold +-0.2"


def until(path: Path, out: Path, rule: str | None = RULE, overrides: tuple[str, ...] = (), **options: Any) -> Summary:
    """Run a sweep as `recover sweep --until` does, by default without `refine`."""
    return sweep(path, out, rule=rule, overrides=overrides, **options)


def threshold(out: Path) -> Any:
    (found,) = Analysis(Diagram.of(read(out))).pooled
    return found


def test_it_stops_when_the_interval_is_narrow_enough_and_reports_it(tmp_path: Path) -> None:
    summary = until(config(tmp_path), tmp_path / "out")
    found, last = threshold(tmp_path / "out"), rounds(tmp_path / "out")[-1]["until"]
    (panel,) = last["panels"]
    assert (summary.stopped, summary.unmet, last["ended"], panel["known"]) == (None, "", True, True)
    assert FIRST < summary.planned == sum(summary.stored.values()) < 50 * FIRST
    assert (found.interval.high - found.interval.low) / 2 <= 0.2
    assert (found.interval.low, found.interval.high) == pytest.approx((panel["low"], panel["high"]))
    assert found.interval.level == interim_level(panel["tests"]) > 0.95
    assert summary.interim[0].endswith("; target: half width 0.2, met")
    assert f"'{RULE}' is met after {panel['tests']} test" in summary_of(Diagram.of(read(tmp_path / "out")))
    assert sweep_status(tmp_path / "out").missing == 0
    again = until(config(tmp_path), tmp_path / "out")
    assert (sum(again.ran.values()), again.interim) == (0, summary.interim)


def test_a_stricter_rule_continues_and_counts_the_earlier_tests(tmp_path: Path) -> None:
    path, out = config(tmp_path), tmp_path / "out"
    until(path, out)
    before = rounds(out)
    until(path, out, "threshold +/- 0.12")
    after = rounds(out)
    assert after[: len(before)] == before
    assert after[-1]["until"]["panels"][0]["tests"] > before[-1]["until"]["panels"][0]["tests"]
    assert threshold(out).interval.high - threshold(out).interval.low <= 0.24


def test_the_ceiling_ends_it_and_says_so(tmp_path: Path) -> None:
    path, out = config(tmp_path), tmp_path / "out"
    summary = until(path, out, "threshold +-0.01", ("sampling.ceiling=3",))
    assert summary.planned == sum(summary.stored.values()) == 3 * FIRST
    assert summary.unmet == (
        "the ceiling of 3 times the first round is reached; "
        "more sizes, more cells near the threshold or --set sampling.ceiling=N would help"
    )
    assert " is not met after " in summary_of(Diagram.of(read(out)))
    assert until(path, out, "threshold +-0.01", ("sampling.ceiling=4",)).planned == 4 * FIRST


def test_the_ceiling_follows_the_rule_and_not_the_first_round(tmp_path: Path) -> None:
    path = config(tmp_path)

    def most(rule: str, *overrides: str) -> int:
        return load(path, overrides, rule).size

    assert most("threshold +-0.02") == pytest.approx(4 * most("threshold +-0.04"), rel=0.02)
    assert most("threshold +-0.02", "replicates=20") == pytest.approx(most("threshold +-0.02"), rel=0.1)
    assert most("width +-0.02") == pytest.approx(2 * most("threshold +-0.02"), rel=0.02)
    assert most("threshold +-0.02", "sampling.ceiling=3") == 3 * FIRST


def test_a_width_is_known_from_trials_at_its_quarters(tmp_path: Path) -> None:
    """Success is Phi((n - 2d) / sqrt n), and at d = 12 a quarter is 3.3 from the middle."""
    out = tmp_path / "out"
    summary = until(config(tmp_path), out, "width +-0.4")
    last = rounds(out)[-1]["until"]["panels"]
    assert [(panel["probability"], panel["known"]) for panel in last] == [(0.25, True), (0.75, True)]
    assert summary.unmet == ""
    assert np.hypot(*((panel["high"] - panel["low"]) / 2 for panel in last)) <= 0.4
    trials = rows(out).query("d == 12 and replicate >= 2")
    assert trials["n"].between(16, 32).mean() > 0.9
    assert (abs(trials["n"] - 24) >= 2).mean() > 0.5
    (line,) = Analysis(Diagram.of(read(out))).widths
    assert line.what == "n/d from 25 % to 75 %"
    assert line.found.low < 2 * 3.3 / 12 < line.found.high
    assert (line.found.high - line.found.low) / 2 <= 0.4


def test_no_round_is_small(tmp_path: Path) -> None:
    """A round takes time to start, so that each has a share of the trials before it."""
    out = tmp_path / "out"
    axes = {"n": {"start": 8, "stop": 200, "step": 24}, "d": [40]}
    assert until(config(tmp_path, axes=axes), out, "threshold +-2.4", refine=True).unmet == ""
    trials = [2 * 9, *(one["trials"] for one in rounds(out) if not one["until"]["ended"])]
    assert len(trials) > 3
    assert min(np.diff(trials)) >= 6
    assert min(np.diff(trials) / trials[:-1]) > 0.1


def test_the_expected_number_of_trials_is_that_of_the_sweep(tmp_path: Path) -> None:
    """Simulated from a theory curve, and from the rows of the first round."""
    path, out = config(tmp_path, report={"value": "recovered", "curves": ["wendel"]}), tmp_path / "out"
    planned = load(path, ["sampling.refine=false"], RULE)
    before = expected(planned, out)
    assert before.endswith("from the curve no_all_ones)")
    trials = until(path, out).planned
    after = expected(planned, out)
    assert after.endswith("from the stored rows)")
    for text in (before, after):
        assert trials / 2 < int(text.split()[1]) < 2 * trials
        assert "5 of which meet the rule" in text


def test_a_panel_that_is_known_gets_no_more_trials(tmp_path: Path) -> None:
    axes = {**AXES, "architecture": ["relu", "relu_skip"]}
    hard = {**CLAIM, "tolerance": 0.2, "where": {"architecture": "relu"}}
    easy = {**CLAIM, "at_least": 0.5, "where": {"architecture": "relu_skip"}}
    del easy["value"], easy["tolerance"]
    out = tmp_path / "out"
    summary = until(config(tmp_path, axes=axes, claims=[hard, easy]), out, "decided")
    known = [[panel["known"] for panel in one["until"]["panels"]] for one in rounds(out)]
    assert known[0] == [False, True]
    assert known[-1] == [True, True]
    counts = rows(out).groupby("architecture").size()
    assert counts["relu_skip"] == FIRST < counts["relu"]
    verdicts = [claim.verdict for claim in Analysis(Diagram.of(read(out))).claims]
    assert verdicts == ["supported", "supported"]
    assert "target: whether 2 ± 0.2, met" in summary.interim[0]


def test_a_stored_grid_goes_on_until_it_tells(tmp_path: Path) -> None:
    path, out = config(tmp_path), tmp_path / "out"
    until(path, out, None)
    assert threshold(out).interval.level == 0.95
    summary = until(path, out)
    assert sum(summary.ran.values()) == summary.planned - FIRST


def test_a_grid_without_a_transition_ends_after_the_first_round(tmp_path: Path) -> None:
    out = tmp_path / "out"
    summary = until(config(tmp_path, axes={"n": [2, 3, 4], "d": [20, 30]}), out)
    assert (summary.planned, summary.unmet) == (12, "further trials would not decide it")
    assert "the grid ends before the transition" in summary.interim[0]


@pytest.mark.parametrize(
    ("rule", "fields", "words"),
    [
        (RULE, {"axes": {"delta": [1, 2], "d": [4, 8], "n": "delta * d"}}, "along n, which has one value here"),
        (RULE, {"report": {"value": "recovered", "x": "d", "y": "replicate"}}, "report.y: found 'replicate'"),
        (
            "threshold +-0",
            {},
            "--until 'threshold +-0': sampling: found 'threshold +-0'; allowed: half a width above 0",
        ),
        ("claims", {}, "sampling.rule: found 'claims'; allowed: 'threshold +-NUMBER', 'width +-NUMBER' or 'decided'"),
    ],
)
def test_a_rule_that_can_never_be_met_is_refused_with_its_place(
    tmp_path: Path, rule: str, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load(config(tmp_path, **fields), (), rule)
    assert words in str(refused.value)


def test_errors_of_all_tests_together_are_a_twentieth() -> None:
    errors = [1 - interim_level(test) for test in range(1, 40)]
    assert errors[1:] == sorted(errors[1:], reverse=True)
    assert sum(errors) == pytest.approx(0.05)


def test_more_trials_go_where_the_sum_of_n50_gains_most() -> None:
    n = np.arange(2.0, 61.0, 2.0)
    certain = [Slice(n, 9.0 * (n > half), 9.0 * (n < half)) for half in (11, 41)]
    nothing = Slice(n, 0 * n, 9 + 0 * n)
    placed = [sum(added) for _, added in sharpen([*certain, nothing], 2.0, 500)]
    assert 0 < placed[0] < placed[1] <= 500 - placed[0]  # n50 = 41 is known worse
    assert placed[2] == 0


def test_a_slice_whose_n50_is_outside_its_n_gets_no_trials_unless_all_are() -> None:
    n = np.arange(40.0, 401.0, 40.0)
    cut = Slice(n, np.where(n == 40, 3.0, 4.0), np.where(n == 40, 1.0, 0.0))
    inside = Slice(n, 4.0 * (n > 100), 4.0 * (n < 100))
    estimated = [part.transition for part in (cut, inside)]
    assert [found is not None and found.half > 40 for found in estimated] == [False, True]
    assert [sum(added) > 0 for _, added in sharpen([cut, inside], 2.0, 500)] == [False, True]
    assert sum(sharpen([cut], 2.0, 500)[0][1]) > 0


def skewed(n: Array, d: Array) -> Array:
    """The chance of a yes at n and d."""
    return 1 - 2.0 ** -((n / (2.03 * d)) ** 6)


@pytest.mark.parametrize("refine", first(1, [True, False]))
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 200), marks=pytest.mark.soak)], ids=str)
def test_the_interval_at_which_it_stops_covers(refine: bool, seeds: range) -> None:
    """Sweeps of a narrow, steep, skewed truth; `benchmarks/until.md` has more of them."""
    sizes, rule = np.array([10.0, 20.0, 30.0, 40.0, 50.0]), Until("threshold +-0.15", 50, refine)
    n = np.arange(40.0, 401.0, 40.0) if refine else np.arange(10.0, 401.0, 10.0)

    ends = [goes_on(np.random.default_rng(seed), n, sizes, skewed, rule, 2) for seed in seeds]
    inside = sum(end["low"] <= 2.03 <= end["high"] for end in ends)  # an unmet sweep without an interval excludes none
    assert binomtest(inside, len(seeds), 0.95, alternative="less").pvalue > 1e-3
    met = [end for end in ends if end["met"]]
    # a constant threshold is rejected by error in one of a hundred tests
    assert binomtest(len(met), len(seeds), 0.98, alternative="less").pvalue > 1e-3
    assert all(end["high"] - end["low"] <= 0.3 for end in met)


@pytest.mark.parametrize("seed", [40, 54])
def test_a_refined_sweep_does_not_stop_where_finer_values_of_x_or_more_trials_fit(seed: int) -> None:
    """At d = 20 the transition is at the first n of the grid, so a strict interval of this slice is unbounded."""
    sizes, n = np.array([10.0, 20.0, 30.0, 40.0, 50.0]), np.arange(40.0, 401.0, 40.0)
    rule = Until("threshold +-0.15", 50, refine=True)
    end = goes_on(np.random.default_rng(seed), n, sizes, skewed, rule, 2)
    assert end["met"]
