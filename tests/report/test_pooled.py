"""The pooled threshold of a panel: coverage of its interval, invariances, and its words."""

import re
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import binomtest, norm

from benchmarks.truths import draw, judged
from recovery.report.claims import Analysis, Line
from recovery.report.diagram import Diagram, Panel
from recovery.report.statistics.crossings import hidden_step
from recovery.report.statistics.curve_free import crossing
from recovery.report.statistics.pooled import pooled
from recovery.report.statistics.slices import Slices, crossed
from tests.suites import first

from .grids import analysed, fail, grid, wendel_rows

CLAIM = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.1}


def panel_of(**options: Any) -> Panel:
    return Diagram.of(grid(wendel_rows(**options))).panels[0]


def test_sizes_that_are_not_pooled_are_named() -> None:
    """At d = 30 the grid begins after the transition, and at d = 100 it ends inside it: neither is part of n/d."""
    found = pooled(panel_of(n=range(100, 201, 10), d=[30, 60, 70, 80, 100], replicates=40))
    words = Line.of(found).words
    assert "; without d = 30, 100, whose grid cells do not span the transition" in words
    assert [one.y for one in found.each] == [60, 70, 80]
    assert "without" not in Line.of(pooled(panel_of(n=range(60, 241, 10), d=[60, 70, 80], replicates=40))).words


def test_crossings_of_many_samples_agree_with_isotonic_fits() -> None:
    """Compare `crossed` with scipy's fit of each sample, with ties and rows of different lengths."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        cells = int(rng.integers(2, 9))
        n = np.sort(rng.choice(100, cells, replace=False)).astype(float)
        total = rng.integers(1, 5, cells).astype(float)
        yes = rng.binomial(total.astype(int), np.linspace(0.1, 0.9, cells), (7, cells)).astype(float)
        padded = [np.append(a, [0.0, 0.0])[None] for a in (n, yes[0], total)]
        slices = Slices(*padded, np.array([cells]))
        filled = np.concatenate([yes, np.zeros((7, 2))], axis=1)[:, None]
        half, _, (below, above) = crossed(slices, filled)
        for k in range(7):
            fitted = np.clip(isotonic_regression(yes[k] / total, weights=total).x, 0, 1)
            assert below[k, 0] == (not (fitted < 0.5 - 1e-9).any())
            assert above[k, 0] == (not (fitted > 0.5 + 1e-9).any())
            if not below[k, 0] and not above[k, 0]:
                assert half[k, 0] == pytest.approx(crossing(n, yes[k], total - yes[k]).estimate)


@pytest.mark.parametrize("truth", first(2, ["wendel", "correlated", "gompertz", "skewed", "missing"]))
def test_the_interval_covers_for_ratios_off_the_grid_and_decides(truth: str) -> None:
    """Fewer grids of the benchmark: ratios 1.93 to 2.07, values of d on and off the multiples of 10."""
    table = pd.DataFrame([judged(truth, 5, seed) for seed in range(60)])
    assert binomtest(int(table["covers"].sum()), 60, 0.95, alternative="less").pvalue > 1e-3
    assert table["false_held"].mean() <= 0.02
    assert table["true_contradicted"].mean() <= 0.02
    if truth in ("wendel", "gompertz"):
        assert binomtest(int(table["decided"].sum()), 60, 0.9, alternative="less").pvalue > 1e-3


def test_steps_between_two_n_are_bounded_by_the_cells_of_all_d_and_show_no_drift() -> None:
    """The cells at n/d = 1.9, 2 and 2.1 of all d enclose the ratio; d = 10 alone encloses it to a whole."""
    for seed in range(16):
        panel, ratio, _ = draw("step", 20, seed)
        found = pooled(panel)
        assert found.constant
        assert found.interval.low <= ratio <= found.interval.high
        assert found.interval.high - found.interval.low <= 0.2 + 1e-9
        if ratio != 2.0:
            assert found.assumption == "bounds"
            assert found.interval.high - found.interval.low <= 0.1 + 1e-9


def test_a_step_to_a_plateau_below_one_lies_anywhere_between_two_n() -> None:
    """The chance is 0 below 2.03 d and 0.776 above; each interval missed, as if the step were smooth."""
    n, d = (a.ravel() for a in np.meshgrid(np.arange(10, 401, 10), np.arange(10, 101, 10)))
    for seed in range(4):
        yes = np.random.default_rng(seed).binomial(20, np.where(n < 2.03 * d, 0, 0.776))
        counts = {"n": n, "d": d, "yes": yes, "no": 20 - yes}
        counts |= dict.fromkeys(("missing", "failed", "undecided", "undefined"), 0)
        found = pooled(Panel("", {}, pd.DataFrame(counts), sorted(set(n)), sorted(set(d)))).interval
        assert found.low <= 2.03 <= found.high <= found.low + 0.2


@pytest.mark.parametrize(("first", "hidden"), [(0.0, 1.0), (0.1, 6 / 7), (0.14, 0.4), (0.175, 0.0)])
def test_a_rise_to_a_plateau_hides_more_the_more_of_it_lies_between_two_n(first: float, hidden: float) -> None:
    """The chance rises from 0 to 0.7, by the part `first` one cell before and one after the crossing: for a share s of
    the rise between two cells, 4 s - 2 of the step is hidden, so nothing if one half lies there or less."""
    chance = np.repeat([0, first, 0.7 - first, 0.7], [4, 1, 1, 4])
    total = np.full((6, 10), 40.0)
    slices = Slices(np.tile(np.arange(1.0, 11), (6, 1)), 40 * np.tile(chance, (6, 1)), total, np.full(6, 10))
    assert hidden_step(slices, np.full(6, 5.5)) == pytest.approx(np.full(6, hidden), abs=1e-9)


def test_one_curve_gives_a_shorter_interval_unless_a_test_rejects_it(monkeypatch: pytest.MonkeyPatch) -> None:
    panels = [draw("wendel", 100, seed)[0] for seed in range(8)]
    curves = [pooled(panel) for panel in panels]
    assert sum(found.assumption == "curve" for found in curves) >= 5
    assert {pooled(draw("drifting", 100, seed)[0]).assumption for seed in range(8)} == {"slices"}
    assert sum(pooled(draw("two steps", 100, seed)[0]).assumption in ("slices", "jump") for seed in range(8)) >= 6
    monkeypatch.setitem(pooled.__globals__, "HIDDEN", np.inf)
    pairs = [(one.interval, pooled(panel).interval) for panel, one in zip(panels, curves, strict=True)]
    assert all(one.high - one.low <= mean.high - mean.low for one, mean in pairs)
    assert np.mean([(one.high - one.low) / (mean.high - mean.low) for one, mean in pairs]) < 0.8


def test_the_jump_of_all_slices_shortens_an_interval_from_one_trial_per_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit at one d jumps from 0 to 1 with one trial per cell. Over all d, the fraction rises by about .4 a step."""
    panels = [draw("wendel", 1, seed)[0] for seed in range(12)]
    found = [(panel, pooled(panel)) for panel in panels]
    jumps = [(panel, one.interval) for panel, one in found if one.assumption == "jump"]
    assert len(jumps) >= 5
    monkeypatch.setitem(pooled.__globals__, "HIDDEN", np.inf)
    means = [pooled(panel).interval for panel, _ in jumps]
    shares = [(one.high - one.low) / (mean.high - mean.low) for (_, one), mean in zip(jumps, means, strict=True)]
    assert max(shares) <= 1
    assert np.mean(shares) < 0.75


def test_an_adaptive_sweep_uses_one_curve_also_where_the_grid_hides_little() -> None:
    panels = [draw("logistic", 20, seed)[0] for seed in range(4)]
    assert {pooled(panel).assumption for panel in panels} == {"slices"}
    pairs = [(pooled(panel, adaptive=True), pooled(panel).interval) for panel in panels]
    curves = [(one.interval, mean) for one, mean in pairs if one.assumption == "curve"]
    assert len(curves) >= 2
    assert all(one.high - one.low < mean.high - mean.low for one, mean in curves)


@pytest.mark.parametrize(("truth", "replicates"), [("correlated logistic", 1), ("beta-binomial", 100)])
def test_n50_at_one_d_covers_with_correlated_trials(truth: str, replicates: int) -> None:
    """From the trials at that d alone it would cover .38 and .85 of the time; the scatter over d widens it."""
    inside = round(sum(judged(truth, replicates, seed)["sizes"] for seed in range(30)) * 10)
    assert binomtest(inside, 300, 0.93, alternative="less").pvalue > 1e-3


def test_a_higher_level_is_a_wider_interval_about_the_same_estimate() -> None:
    for options in ({}, {"d": [20]}):
        panel = panel_of(**options)
        usual, higher = pooled(panel), pooled(panel, 0.99)
        assert higher.interval.estimate == usual.interval.estimate
        assert astuple(higher.interval) == pytest.approx(astuple(usual.outer_interval))
        nested = [usual.interval, higher.interval, higher.outer_interval]
        ends = [*(found.low for found in reversed(nested)), *(found.high for found in nested)]
        assert ends == sorted(ends)
        assert [found.level for found in nested] == pytest.approx([0.95, 0.99, 0.998])


@pytest.mark.parametrize("options", [{}, {"d": [20]}, {"n": range(10, 31, 10)}])
def test_each_d_has_the_same_threshold_with_and_without_pooling(options: dict) -> None:
    """Tables of cells use n50 without the pooled ratio."""
    asked = analysed(wendel_rows(**options))
    sizes = asked.slices
    assert "pooled" not in vars(asked)
    assert str(sizes) == str([one.slices for one in asked.pooled])  # as text, for NaN
    assert str(sizes) == str([pooled(panel).slices for panel in asked.diagram.panels])


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
    whole = pooled(Diagram.of(grid(rows)).panels[0])
    assert whole.missing_shift == (0.0, 0.0)
    some = pooled(Diagram.of(grid(rows.drop(rows.index[::5]), replicates=10)).panels[0])
    assert some.missing_shift == (0.0, 0.0)
    assert np.isfinite(some.interval.estimate)
    failed = pooled(Diagram.of(grid(fail(rows, slice(0, len(rows), 9)))).panels[0])
    assert failed.missing_shift[0] < 0 < failed.missing_shift[1]
    far = rows.index[(rows["n"] > 5 * rows["d"])]
    away = pooled(Diagram.of(grid(fail(rows, list(far)[::4]))).panels[0])
    assert away.missing_shift == (0.0, pytest.approx(0.0, abs=0.02))


def test_a_ratio_that_changes_with_d_is_reported_in_one_sentence() -> None:
    rows = wendel_rows(n=range(5, 121, 5), d=range(10, 51, 10), replicates=40)
    rng = np.random.default_rng(3)
    flat = rows.assign(recovered=pd.array(rng.random(len(rows)) < norm.cdf((rows["n"] - 55) / 8), dtype="boolean"))
    straight, constant = (analysed(frame, claims=[CLAIM]) for frame in (rows, flat))
    (found,) = constant.pooled
    assert found.drift is not None
    assert found.drift.change.high < 0
    factor = r"0 to 0\.\d+ times as large at d = 50 as at d = 10"
    assert re.fullmatch(rf"n/d at 50 % = 5\.\d+ to 1\.\d+; {factor}", Line.of(found).words)
    assert Line.of(found).interval == ""
    assert Line.of(straight.pooled[0]).remark == ""
    assert straight.caption(0).endswith("(95 %)")
    near = {**CLAIM, "value": found.interval.estimate, "tolerance": 0.3}
    assert analysed(flat, claims=[near]).claims[0].verdict == "inconclusive"  # not at every d


def test_a_small_change_is_reported_with_the_mean_and_claims_are_judged_at_each_d() -> None:
    """n50 = 2 d (d / 20)^0.12: the ratio rises by about a fifth from d = 10 to d = 50."""
    rows = wendel_rows(n=range(5, 151, 5), d=range(10, 51, 10), replicates=200)
    half = 2 * rows["d"] * (rows["d"] / 20) ** 0.12
    chance = norm.cdf((rows["n"] - half) / (0.3 * np.sqrt(rows["n"])))
    rows["recovered"] = np.random.default_rng(4).random(len(rows)) < chance
    claims = [CLAIM | {"value": 2.05, "tolerance": tolerance} for tolerance in (0.25, 0.9)]
    analysis = analysed(rows, claims=claims)
    (found,) = analysis.pooled
    assert found.drift is not None
    assert (found.drift.shown, found.drift.large, found.constant) == (True, False, False)
    assert re.fullmatch(r"1\.\d+ to 2\.\d+", analysis.lines[0].estimate)
    assert re.fullmatch(r"1\.\d+ to 1\.\d+ times as large at d = 50 as at d = 10", Line.of(found).remark)
    narrow, wide = analysis.claims
    assert narrow.verdict != "supported"  # at d = 50 the ratio is 2.23
    assert wide.verdict == "supported"


def test_a_large_change_that_is_not_excluded_is_named_beside_the_number() -> None:
    """Few trials at two sizes: the number is printed, and a claim about it is judged on the same number."""
    rows = wendel_rows(n=range(10, 61, 10), d=[10, 20], replicates=6)
    analysis = analysed(rows, claims=[CLAIM | {"tolerance": 1.5}])
    (found,), (claim,) = analysis.pooled, analysis.claims
    assert found.drift is not None
    assert (found.drift.shown, found.drift.large, found.constant) == (False, True, True)
    number = f"n/d at 50 % = {found.interval.estimate:.3f}"
    change = r"may be 0\.\d+ to \d\.\d+ times as large at d = 20 as at d = 10"
    assert re.fullmatch(rf"{number}, .* to .* \(95 %\); {change}", Line.of(found).words)
    assert analysis.caption(0).startswith(number)
    assert claim.verdict == "supported"
    assert claim.measured == Line.of(found).words


def test_disjoint_intervals_of_three_sizes_reject_one_number_that_their_line_does_not() -> None:
    """n50 of 32, 61 and 160 at d = 10, 20, 40: a line through three points excludes nothing, the intervals do."""
    rows = wendel_rows(n=range(4, 241, 4), d=[10, 20, 40], replicates=40)
    half = rows["d"].map({10: 32, 20: 61, 40: 160})
    rows["recovered"] = np.random.default_rng(5).random(len(rows)) < norm.cdf((rows["n"] - half) / 3)
    analysis = analysed(rows, claims=[CLAIM | {"value": 3.4, "tolerance": 0.3}])
    (found,), (claim,) = analysis.pooled, analysis.claims
    assert found.drift is not None
    assert (found.drift.shown, found.constant) == (False, False)
    assert Line.of(found).remark == "changes between d = 10 and d = 40"
    assert claim.verdict != "supported"


@pytest.mark.parametrize(("value", "words"), [(True, "begins beyond the transition"), (False, "ends before")])
def test_a_grid_beside_the_transition_reports_the_side(value: bool, words: str) -> None:
    rows = wendel_rows(n=range(10, 41, 10), d=[20, 40])
    rows["recovered"] = value
    analysis = analysed(rows, claims=[CLAIM])
    assert words in analysis.lines[0].remark
    assert analysis.claims[0].verdict == "inconclusive"
    assert analysis.caption(0) == ""


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
    rows, told = wendel_rows(n=range(10, 201, 10), d=range(10, 51, 10), replicates=10), 0
    for seed in range(40):
        rows["recovered"] = np.random.default_rng(seed).random(len(rows)) < chance
        told += np.isfinite(pooled(Diagram.of(grid(rows)).panels[0]).interval.estimate)
    assert binomtest(told, 40, 0.06, alternative="greater").pvalue > 1e-3


def test_one_number_and_one_interval_and_those_of_its_slices() -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=range(10, 51, 10), replicates=10)
    analysis = analysed(rows)
    record, *slices = analysis.thresholds()
    assert len(record) <= 14
    assert [one["where"] for one in slices] == [{"d": d} for d in range(10, 51, 10)]
    assert {(one["along"], one["pooled"], one["probability"]) for one in slices} == {("n", False, 0.5)}
    span = f"{record['estimate']:.3f}, {record['low']:.3f} to {record['high']:.3f} (95 %)"
    assert analysis.lines[0].sentence == record["words"] == f"n/d at 50 % = {span}"
