"""Diagrams as data: counts of cells, panels, values and events."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures.map import MAP
from recovery.report.statistics.samples import Sample
from recovery.store import Grid

from .grids import fail, grid, text_of, wendel_rows


def test_counts_agree_with_counting_by_hand() -> None:
    rows = fail(wendel_rows(), slice(0, 7))
    rows.loc[20:22, "recovered"] = pd.NA
    table = Diagram.of(grid(rows)).table.set_index(["n", "d"])
    for (n, d), cell in rows.groupby(["n", "d"]):
        ok = cell[cell["status"] == "ok"]
        expected = {
            "trials": len(cell),
            "ok": len(ok),
            "failed": (cell["status"] == "failed").sum(),
            "yes": (ok["recovered"] == True).sum(),  # noqa: E712
            "no": (ok["recovered"] == False).sum(),  # noqa: E712
            "unmeasured": ok["recovered"].isna().sum(),
        }
        assert table.loc[(n, d), list(expected)].to_dict() == expected


def test_failed_trial_changes_neither_numerator_nor_denominator() -> None:
    rows = wendel_rows(n=[60], d=[10], replicates=4)
    rows["recovered"] = pd.array([True, True, False, True], dtype="boolean")
    cell = Diagram.of(grid(fail(rows, [3]))).table.iloc[0]
    assert cell["value"] == pytest.approx(2 / 3)
    assert (cell["worst"], cell["best"]) == (2 / 4, 3 / 4)


def test_status_decides_even_if_a_failed_row_carries_a_value() -> None:
    rows = wendel_rows(n=[60], d=[10], replicates=3)
    rows["recovered"] = pd.array([True, True, False], dtype="boolean")
    rows.loc[2, "status"] = "timeout"
    cell = Diagram.of(grid(rows)).table.iloc[0]
    assert (cell["yes"], cell["no"], cell["failed"]) == (2, 0, 1)


def test_cells_without_trials_are_blank_and_counted() -> None:
    rows = wendel_rows()
    partial = rows[~((rows["n"] == 10) & (rows["d"] == 5))]
    diagram = Diagram.of(grid(partial, trials=len(rows)))
    assert np.isnan(diagram.panels[0].matrix("value")[0, 0])
    assert diagram.totals["missing"] == 5


def test_one_panel_for_each_combination_of_the_other_axes_in_the_order_of_the_config() -> None:
    rows = wendel_rows(n=[20, 40], d=[10], noise=[0.1, 0.0], ensemble=["haar", "gaussian"])
    axes = {"data.ensemble": ["haar", "gaussian"], "noise": [0, 0.1]}
    titles = [panel.title for panel in Diagram.of(grid(rows, axes=axes, n=20, d=10)).panels]
    assert titles == ["σ = 0, Haar", "σ = 0, Gaussian", "σ = 0.1, Haar", "σ = 0.1, Gaussian"]


def test_an_axis_that_repeats_another_makes_no_further_panels() -> None:
    rows = wendel_rows(n=[20, 40], d=[10], planted=["linear", "relu"])
    rows["planted.k"] = np.where(rows["planted"] == "relu", 2, 1)
    assert Diagram.of(grid(rows)).layout.panels == ("planted",)


def test_an_event_that_was_not_measured_is_unknown_unless_a_recovery_implies_it() -> None:
    """Planted weights that are not optimal say nothing of how far away the optimum is."""
    rows = wendel_rows(n=[60], d=[10], replicates=5)
    rows["max_deviation"] = [np.nan, np.nan, np.nan, np.nan, 1e-2]
    rows["verdict"] = ["recovered", "recovered", "not_unique", "undecided", "not_optimal"]
    rows["certificate"] = ["dual", "none", "dual", "none", "gap"]
    for bound, yes, no in ((1e-1, 3, 0), (1e-4, 2, 1), (1e-9, 1, 1)):
        cell = Diagram.of(grid(rows), f"max_deviation<={bound}").table.iloc[0]
        assert (cell["yes"], cell["no"], cell["undecided"]) == (yes, no, 1)
        assert cell["unmeasured"] == 4 - yes - no


def test_a_trial_without_the_value_by_definition_is_no_trial_of_it() -> None:
    rows = wendel_rows(n=[60], d=[10], replicates=4)
    rows["absolute_distance"] = [1.0, np.nan, np.nan, np.nan]
    rows["verdict"], rows["certificate"] = "not_optimal", "dual"
    rows["unmeasured"] = ["{}", '{"gap":"off"}', '{"absolute_distance":"off"}', None]
    diagram = Diagram.of(grid(rows), "absolute_distance")
    assert diagram.table.iloc[0][["count", "unmeasured"]].tolist() == [1, 2]
    assert Diagram.of(grid(rows), "absolute_distance<=0.5").table.iloc[0][["yes", "no", "unmeasured"]].tolist() == [
        0,
        1,
        2,
    ]
    sample = Sample.of(diagram, diagram.quantity, np.ones(4, bool))
    assert (len(sample.values), sample.unknown) == (1, {"unmeasured": 2})


@pytest.mark.parametrize("value", ["recovred", "verdict", "recovered<=", "a b"])
def test_unknown_values_are_refused_with_a_reason(value: str) -> None:
    with pytest.raises(ReportError, match=r"is not a column|no trial|cannot read"):
        Diagram.of(grid(wendel_rows()), value)


def test_panels_follow_an_axis_of_mappings() -> None:
    labels = ["relu k=3", "linear", "relu k=2"]
    rows = wendel_rows(n=[20, 40], d=[10], planted=labels)
    axes = {"planted": [{"kind": "relu", "k": 3}, {"kind": "linear"}, {"kind": "relu", "k": 2}]}
    assert [panel.where["planted"] for panel in Diagram.of(grid(rows, axes=axes, n=20, d=10)).panels] == labels


def two_methods() -> pd.DataFrame:
    """The isometry condition measures `holds`; the program does not."""
    rows = wendel_rows(method=["isometry", "min_norm"])
    rows["holds"] = rows["recovered"].where(rows["method"] == "isometry")
    return rows


def test_a_value_that_a_method_does_not_measure_is_not_called_undecided() -> None:
    diagram = Diagram.of(grid(two_methods()), "holds")
    assert sorted(panel.undefined for panel in diagram.panels) == [False, True]
    assert diagram.totals["undecided"] == 0
    words = text_of(diagram)
    assert "undecided" not in words
    assert words.count("not measured") == 1  # in place of the map
    assert len(MAP.draw(Analysis(diagram)).axes) == 3  # both panels, one of them empty, and the bar of colours


def test_undecided_verdicts_are_counted_as_undecided() -> None:
    rows = two_methods()
    rows.loc[rows["method"] == "min_norm", "verdict"] = "undecided"
    diagram = Diagram.of(grid(rows), "holds")
    assert not any(panel.undefined for panel in diagram.panels)
    assert diagram.totals["undecided"] == (rows["method"] == "min_norm").sum()


RATIOS, SIZES = (1.0, 1.5, 2.0, 2.5), (10, 20)


def over_ratio(report: dict[str, Any], ratios: tuple[float, ...] = RATIOS) -> Grid:
    """A grid whose n is computed from a user-defined ratio and d; the config has all `RATIOS`."""
    parts = [
        wendel_rows([int(ratio * d)], [d], seed=int(100 * ratio + d)).assign(ratio=ratio)
        for ratio in ratios
        for d in SIZES
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    axes = {"ratio": [*RATIOS], "d": [*SIZES], "n": "ratio * d"}
    return grid(rows, axes=axes, report={"value": "recovered", **report})


@pytest.mark.parametrize("report", [{}, {"x": "ratio"}, {"x": "ratio", "y": "d"}, {"x": "n/d", "y": "d"}, {"x": "n/d"}])
def test_computed_coordinates_make_no_panels(report: dict[str, Any]) -> None:
    diagram = Diagram.of(over_ratio(report))
    assert (diagram.layout.x, diagram.layout.y) in {("d", "ratio"), ("ratio", "d"), ("n/d", "d")}
    assert diagram.layout.panels == ()
    assert not np.isnan(diagram.panels[0].matrix("value")).any()


def test_n_and_d_can_still_be_the_axes() -> None:
    diagram = Diagram.of(over_ratio({"x": "n", "y": "d"}))
    assert diagram.layout.over_n_and_d
    assert diagram.panels[0].x == [10, 15, 20, 25, 30, 40, 50]


def test_expressions_have_the_values_of_planned_trials() -> None:
    assert Diagram.of(over_ratio({"x": "n/d", "y": "d"}, RATIOS[:2])).panels[0].x == [*RATIOS]


def test_cells_of_an_expression_have_the_same_trials() -> None:
    by_ratio, by_name = (Diagram.of(over_ratio({"x": x, "y": "d"})) for x in ("n/d", "ratio"))
    assert np.array_equal(by_ratio.panels[0].matrix("yes"), by_name.panels[0].matrix("yes"))


def test_other_coordinates_still_make_panels() -> None:
    assert Diagram.of(over_ratio({"x": "n/d", "y": "noise"})).layout.panels == ("d",)


def test_expressions_of_words_are_refused() -> None:
    with pytest.raises(ReportError, match="arithmetic"):
        Diagram.of(over_ratio({"x": "n / ensemble"}))
