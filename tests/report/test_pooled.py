"""The pooled threshold of a panel: coverage of its interval, invariances, and its words."""

import re
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, norm

from recovery.report.claims import Analysis, Line
from recovery.report.diagram import Diagram, Panel, ThresholdAxis
from recovery.report.statistics.estimates import shared_draws
from recovery.report.statistics.panels import Threshold, threshold_of
from tests.suites import first

from .grids import analysed, fail, grid, wendel_rows

CLAIM = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.1}


def pooled(panel: Panel, level: float = 0.95) -> Threshold:
    return threshold_of(panel, ThresholdAxis(), level)


def test_a_higher_level_is_a_wider_interval_about_the_same_estimate() -> None:
    for options in ({}, {"d": [20]}):
        panel = Diagram.of(grid(wendel_rows(**options))).panels[0]
        usual, higher = pooled(panel), pooled(panel, 0.99)
        assert higher.interval.estimate == usual.interval.estimate
        (_, _, outer), (_, _, outermost) = *usual.tested, *higher.tested
        assert astuple(higher.interval) == pytest.approx(astuple(outer))
        nested = [usual.interval, higher.interval, outermost]
        ends = [*(found.low for found in reversed(nested)), *(found.high for found in nested)]
        assert ends == sorted(ends)
        assert [found.level for found in nested] == pytest.approx([0.95, 0.99, 0.998])


@pytest.mark.parametrize("options", [{}, {"d": [20]}, {"n": range(10, 31, 10)}])
def test_each_d_has_the_same_threshold_with_and_without_pooling(options: dict) -> None:
    asked = analysed(wendel_rows(**options))
    sizes = [[one.along_x for one in some] for some in asked.slices]
    found = [[one.along_x for one in pooled(panel).slices] for panel in asked.diagram.panels]
    assert str(sizes) == str(found)  # as text, for NaN


def test_the_threshold_does_not_depend_on_units_order_or_direction() -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=range(10, 61, 10), replicates=8, seed=4)
    panel = Diagram.of(grid(rows)).panels[0]
    found = pooled(panel)
    shuffled = Panel(panel.title, panel.where, panel.cells.sample(frac=1, random_state=1), panel.x, panel.y)
    assert pooled(shuffled).interval.estimate == pytest.approx(found.interval.estimate)
    turned = rows.assign(recovered=~rows["recovered"])
    other = pooled(Diagram.of(grid(turned)).panels[0])
    assert other.interval == found.interval
    assert (found.falling, other.falling) == (False, True)
    assert "falling with n" in Line.of(other).remark
    scaled = pooled(Diagram.of(grid(rows.assign(n=rows["n"] * 3))).panels[0])
    assert scaled.interval.estimate == pytest.approx(3 * found.interval.estimate)
    assert pooled(panel).interval == found.interval


def test_planned_trials_are_left_out_and_failed_trials_count_either_way() -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=[20, 40, 60], replicates=10, seed=6)
    assert pooled(Diagram.of(grid(rows)).panels[0]).missing_shift == (0.0, 0.0)
    some = pooled(Diagram.of(grid(rows.drop(rows.index[::5]), replicates=10)).panels[0])
    assert some.missing_shift == (0.0, 0.0)
    assert np.isfinite(some.interval.estimate)
    failed = pooled(Diagram.of(grid(fail(rows, slice(0, len(rows), 9)))).panels[0])
    assert failed.missing_shift[0] < 0 < failed.missing_shift[1]
    far = rows.index[(rows["n"] > 5 * rows["d"])]
    away = pooled(Diagram.of(grid(fail(rows, list(far)[::4]))).panels[0])
    assert away.missing_shift == pytest.approx((0.0, 0.0), abs=0.02)


@pytest.mark.parametrize(("value", "words"), [(True, "begins beyond the transition"), (False, "ends before")])
def test_a_grid_beside_the_transition_reports_the_side(value: bool, words: str) -> None:
    rows = wendel_rows(n=range(10, 41, 10), d=[20, 40])
    rows["recovered"] = value
    analysis = analysed(rows, claims=[CLAIM])
    assert words in analysis.lines[0].remark
    assert analysis.claims[0].verdict == "inconclusive"
    assert analysis.caption(0) == "n/d at 50 %: outside the grid"


AXES = {"n": list(range(10, 41, 10)), "d": [20, 40], "noise": [0.0, 0.1]}


def test_a_partial_sweep_states_no_threshold_and_no_lack_of_one() -> None:
    """The first panel holds 3 of its 8 grid cells, the second none."""
    rows = wendel_rows(n=[40], d=[20, 40], noise=[0.0]).assign(recovered=True)
    rows = pd.concat([rows, rows[rows["d"] == 20].assign(n=30)], ignore_index=True)
    report = {"value": "recovered", "x": "n", "y": "d"}
    analysis = Analysis(Diagram.of(grid(rows, trials=80, axes=AXES, report=report, claims=[CLAIM])))
    lines = [Line.of(found) for found in analysis.pooled]
    assert [one.remark for one in lines] == ["3 of 8 grid cells have trials", "no trials yet (0 of 8 grid cells)"]
    assert lines[1].estimate == "undetermined"
    assert "needs the remaining trials" in analysis.claims[0].measured


@pytest.mark.parametrize("chance", first(1, [0.5, 0.3]))
def test_odds_that_do_not_change_with_n_give_no_threshold(chance: float) -> None:
    rows, told = wendel_rows(n=range(10, 201, 10), d=[10, 30, 50], replicates=10), 0
    for seed in range(40):
        rows["recovered"] = np.random.default_rng(seed).random(len(rows)) < chance
        told += np.isfinite(pooled(Diagram.of(grid(rows)).panels[0]).interval.estimate)
    assert binomtest(told, 40, 0.06, alternative="greater").pvalue > 1e-3


def test_one_number_and_one_interval_and_those_of_its_slices() -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=range(10, 51, 10), replicates=10)
    analysis = analysed(rows)
    record, *slices = analysis.thresholds()
    assert len(record) <= 16
    assert [one["where"] for one in slices] == [{"d": d} for d in range(10, 51, 10)]
    assert {(one["along"], one["pooled"], one["probability"]) for one in slices} == {("n", False, 0.5)}
    span = f"{record['estimate']:.3f}, {record['low']:.3f} to {record['high']:.3f} (95 %); smooth curve"
    assert (
        analysis.lines[0].sentence
        == record["words"]
        == f"n/d at 50 % = {span}" + (f"; {analysis.lines[0].remark}" if analysis.lines[0].remark else "")
    )


def changing(half: Any, d: Any, replicates: int = 40) -> pd.DataFrame:
    """Rows with 50 % at the n that `half` gives for each d."""
    rows = wendel_rows(n=range(4, 241, 4), d=d, replicates=replicates)
    at = rows["d"].map(half)
    rows["recovered"] = np.random.default_rng(5).random(len(rows)) < norm.cdf((rows["n"] - at) / (0.4 * np.sqrt(at)))
    return rows


def test_a_threshold_that_changes_has_a_range_and_no_pooled_number_anywhere() -> None:
    """n/d is 2 except at d = 20, where it is 3: no line through the sizes shows that."""
    half = {d: (3 if d == 20 else 2) * d for d in (10, 20, 30, 40)}
    analysis = analysed(changing(half, list(half)), claims=[CLAIM | {"tolerance": 0.3}])
    (found,), (line, *slices) = analysis.pooled, analysis.lines
    assert (found.constant, found.changes, found.interval.known) == (False, True, False)
    assert re.fullmatch(r"(1\.[89]|2\.0)\d* to [23]\.\d+", line.estimate)
    assert (line.interval, line.method) == ("", "")
    assert re.search(r"changes with d: from d = \d+ to 20 by a factor of 1\.\d+ \(95 % interval", line.remark)
    assert len(slices) == len(half)
    assert "(95 %)" not in analysis.caption(0)
    assert np.isnan(analysis.thresholds()[0]["estimate"])
    (claim,) = analysis.claims
    assert claim.verdict == "contradicted"
    assert claim.measured.startswith("d = 20: ")
    assert "the deciding one of 4" in claim.measured


def test_a_claim_about_a_threshold_that_changes_is_supported_if_every_slice_agrees() -> None:
    half = {d: 2.0 * d * (d / 20) ** 0.12 for d in (10, 20, 30, 40)}
    rows = changing(half, list(half), 200)
    narrow, wide = analysed(rows, claims=[CLAIM | {"value": 2.05, "tolerance": by} for by in (0.15, 0.9)]).claims
    assert narrow.verdict != "supported"
    assert wide.verdict == "supported"


def test_a_large_change_of_a_slice_is_named_beside_the_number_unless_it_is_excluded() -> None:
    """Few trials at two sizes: the number is printed, and a claim about it is judged on the same number."""
    rows = wendel_rows(n=range(4, 61, 2), d=[10, 20], replicates=1, seed=2)
    analysis = analysed(rows, claims=[CLAIM | {"tolerance": 1.5}])
    (found,), (claim,) = analysis.pooled, analysis.claims
    assert found.constant
    low, high = found.factors
    assert 0 < low < 1 < high
    named = re.search(r"a value of d may have .* times as much", Line.of(found).remark)
    assert (named is not None) == (low < 1 / 1.5 or high > 1.5)
    assert claim.verdict == "supported"
    assert claim.measured == Line.of(found).words


def test_success_that_is_not_monotone_has_crossings_and_no_threshold() -> None:
    rows = wendel_rows(n=range(4, 161, 4), d=[20, 30], replicates=20)
    ratio = rows["n"] / rows["d"]
    chance = np.where(ratio < 3, norm.cdf((ratio - 1.5) / 0.2), norm.cdf((ratio - 4.2) / 0.2))
    rows["recovered"] = np.random.default_rng(1).random(len(rows)) < chance
    analysis = analysed(rows, claims=[CLAIM])
    (found,) = analysis.pooled
    assert not found.monotone
    assert not found.interval.known
    assert [len(one.crossings) for one in found.slices] == [3, 3]
    assert "success is not monotone in n: 50 % is passed at n = " in analysis.lines[0].remark
    assert analysis.claims[0].verdict == "inconclusive"


def test_more_replicates_do_not_make_the_intervals_of_changing_slices_longer() -> None:
    half = {d: (2 + 0.4 * (d == 20)) * d for d in (10, 20, 30, 40)}
    lengths = []
    for replicates in (10, 80):
        (found,) = analysed(changing(half, list(half), replicates)).pooled
        lengths.append([one.along_x.high - one.along_x.low for one in found.slices])
    assert (np.array(lengths[1]) <= np.array(lengths[0])).all()


@pytest.mark.parametrize(("shape", "method"), [("probit", "probit"), ("free", "bracket by the cells")])
def test_the_config_chooses_what_the_interval_assumes(shape: str, method: str) -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=range(10, 51, 10), replicates=10)
    report = {"value": "recovered", "x": "n", "y": "d", "interval": shape}
    assert analysed(rows, report=report).lines[0].method == method


def test_trials_that_share_their_draws_are_known_from_the_design() -> None:
    """Along the noise, all values of a replicate have the same X; along n, none has."""
    rows = wendel_rows(n=[40], d=[20], noise=[0.1, 0.2, 0.3, 0.4, 0.5], replicates=30)
    shared = analysed(rows, report={"value": "recovered", "x": "noise"}, axes={"noise": [0.1, 0.2, 0.3, 0.4, 0.5]})
    assert shared_draws(shared.diagram) is not None
    assert shared_draws(analysed(wendel_rows(), axes={"n": [10], "d": [5]}).diagram) is None
