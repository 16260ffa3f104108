"""Forest plots: one row per threshold, with what is stated, the verdict and the number of trials."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from recovery.report.claims import Analysis
from recovery.report.figures import main_figure, main_kind
from recovery.report.figures.forest import rows_of
from recovery.report.figures.line_plots import MOST_LINES
from recovery.report.page.spec import Chart
from recovery.theory.network import SUFFICIENT_GAUSSIAN

from .grids import analysed, bent_rows, drawn, wendel_rows
from .text_faults import faults

NOISE = [round(0.1 * k, 1) for k in range(12)]
STATED = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.9}


def many(**document: Any) -> Analysis:
    rows = wendel_rows(n=range(10, 81, 10), d=[10, 20], noise=NOISE, replicates=10)
    rows.loc[rows["noise"] == 0.5, "recovered"] = False  # the grid ends before the transition
    return analysed(rows, **document)


def test_a_grid_of_many_panels_is_one_row_for_each() -> None:
    claims = [STATED | {"where": {"noise": 0.1}}, STATED | {"where": {"noise": 0.2}, "value": 6.0}]
    analysis = many(claims=claims)
    assert main_kind(analysis) == "forest"
    assert [some[0].panel for some in rows_of(analysis)] == [f"σ = {noise:g}" for noise in NOISE]
    figure = main_figure(analysis)[1].draw()
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"σ = {noise:g}" for noise in NOISE]
    assert (np.diff(ax.get_yticks()) < 0).all()
    words = [text.get_text() for text in ax.texts]
    assert words[1].endswith("160 trials\n2 ± 0.9: supported")
    assert words[2].endswith("160 trials\n6 ± 0.9: contradicted")
    assert words[5] == "outside the grid, 160 trials"
    dots = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert dots == [one.interval.estimate for one in analysis.pooled if one.interval.known]
    assert faults(figure) == []


def test_a_panel_without_a_trial_is_not_called_unmeasured() -> None:
    rows = wendel_rows(n=range(10, 81, 10), d=[10, 20], noise=NOISE[:-1], replicates=10)
    rows.loc[rows["noise"] == 0.5, ["recovered", "verdict"]] = [pd.NA, None]
    axes = {"n": list(range(10, 81, 10)), "d": [10, 20], "noise": NOISE}
    figure = main_figure(analysed(rows, axes=axes))[1].draw()
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert [one for one in words if "not measured" in one] == ["not measured: σ = 0.5"]


def test_curves_of_a_constant_ratio_are_lines_over_their_rows_and_panels() -> None:
    """A named curve by its level and label; a ratio outside the axis is left out."""
    curves = [
        {"name": "network_recovers", "where": {"noise": 0.1}},
        {"ratio": 2.0, "label": "twice"},
        {"ratio": 90.0},
        "network_recovery",  # depends on d, too
    ]
    report = {"x": "n", "y": "d", "curves": curves, "labels": {"network_recovers": "enough"}}
    figure = main_figure(many(report=report))[1].draw()
    (ax,) = figure.axes
    theory = {label: [line for line in ax.lines if line.get_label() == label] for label in ("enough", "twice")}
    (enough,) = theory["enough"]
    assert set(enough.get_xdata()) == {SUFFICIENT_GAUSSIAN}
    assert min(enough.get_ydata()) < ax.get_yticks()[1] < max(enough.get_ydata())
    assert len(theory["twice"]) == len(NOISE)
    assert faults(figure) == []
    key = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [label for label in key if label in ("enough", "twice", "n = 90d")] == ["twice", "enough"]
    two = wendel_rows(n=range(10, 81, 10), d=[10, 20], noise=[0.0, 0.1], replicates=10)
    panels = main_figure(analysed(two, report=report | {"figure": "ratios"}))[1].draw().axes
    for panel, expected in zip(panels, ([2.0], [SUFFICIENT_GAUSSIAN, 2.0]), strict=True):
        drawn = [line for line in panel.lines if line.get_label() in ("enough", "twice")]
        assert sorted({line.get_xdata()[0] for line in drawn}) == expected
    colours = {line.get_label(): line.get_color() for panel in panels for line in panel.lines}
    assert {name: colours[name] for name in theory} == {name: theory[name][0].get_color() for name in theory}


def test_where_the_threshold_changes_no_pooled_number_and_no_band_is_drawn() -> None:
    pictures = {
        kind: main_figure(analysed(bent_rows(), report={"x": "n", "y": "d", "figure": kind}))[1].draw().axes[0]
        for kind in ("forest", "ratios")
    }
    assert not [line for line in pictures["forest"].lines if line.get_marker() == "o"]
    (span,) = [line for line in pictures["forest"].lines if len(line.get_xdata()) == 2]
    assert np.allclose(span.get_xdata(), [1.58, 2.39], atol=0.05)
    assert not pictures["ratios"].patches


def test_a_value_without_a_threshold_has_a_row_for_each_cell_beside_its_claim() -> None:
    rows = wendel_rows(n=[40], d=[10, 20], method=["one", "two"])
    claim = {"kind": "value", "of": "absolute_distance", "at_most": 0.5, "where": {"method": "two"}}
    report = {"x": "d", "y": "method", "figure": "forest", "labels": {"method=two": "other"}}
    analysis = analysed(rows, "absolute_distance", claims=[claim], report=report)
    lines = [line for (line,) in rows_of(analysis)]
    assert [line.panel for line in lines] == ["one, d = 10", "one, d = 20", "other, d = 10", "other, d = 20"]
    values = analysis.diagram.table.sort_values(["method", "d"])["value"]
    assert [line.found.estimate for line in lines] == values.tolist()
    assert [line.limits for line in lines] == [(-np.inf, np.inf)] * 2 + [(-np.inf, 0.5)] * 2
    figure = main_figure(analysis)[1].draw()
    assert len(figure.axes[0].get_yticklabels()) == 4
    assert faults(figure) == []


def test_values_that_no_row_has_both_of_share_one_column() -> None:
    rows = wendel_rows(method=["min_norm", "isometry"], replicates=20)
    rows["holds"] = rows["recovered"].where(rows["method"] == "isometry")
    rows["recovered"] = rows["recovered"].where(rows["method"] == "min_norm")
    analysis = analysed(rows, report={"value": ["recovered", "holds"], "x": "n", "y": "d", "figure": "forest"})
    figure = main_figure(analysis)[1].draw()
    (ax,) = figure.axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["recovered: minimal norm", "condition holds: isometry"]
    assert faults(figure) == []


def test_a_page_has_the_bands_of_the_picture() -> None:
    for seed in range(2):
        analysis = analysed(
            wendel_rows(d=[10, 20, 40], replicates=20, seed=seed), report={"x": "n", "y": "d", "figure": "ratios"}
        )
        (ax,) = main_figure(analysis)[1].draw().axes
        (panel,) = Chart(analysis, "ratios").views(every=False)[0]["spec"]["concat"]
        bands = [layer for layer in panel["layer"] if layer["mark"]["type"] == "rect"]
        assert len(bands) == len(ax.patches)


def test_other_axes_and_pages_have_panels_in_place_of_rows() -> None:
    analysis = many()
    assert main_kind(analysis, panels=True) == "map"
    assert len(Chart(analysis, "map").views(every=False)[0]["spec"]["concat"]) == len(NOISE)


@pytest.mark.parametrize("count", [MOST_LINES, MOST_LINES + 1])
def test_more_named_lines_than_a_panel_shows_are_rows(count: int) -> None:
    rows = wendel_rows(d=[10], replicates=10, variant=[f"V{i:02}" for i in range(count)])
    shown = [analysed(rows, value, report={"x": "n", "y": "variant"}) for value in (None, "absolute_distance")]
    assert [*map(main_kind, shown)] == (["profile"] * 2 if count == MOST_LINES else ["forest", "map"])
    if count > MOST_LINES:
        assert len(drawn(shown[0]).axes[0].get_yticks()) == count
