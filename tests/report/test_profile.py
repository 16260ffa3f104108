"""Diagrams drawn as lines: theory over other axes, predictions, and ragged grids."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.markers import CARETUP

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures import main_figure, render
from recovery.report.figures.line_plots import PROFILE, RATIOS, is_profile, is_ragged
from recovery.report.figures.style import MOST_NAMED
from recovery.report.page import report_page
from recovery.theory import CURVES

from .grids import analysed, grid, leave_undecided, wendel_rows
from .text_faults import BAR


def along_degrees(**document: object) -> Diagram:
    rows = wendel_rows(n=[100, 1000], d=[3], replicates=2, **{"method.degrees": [0.0, 60.0, 120.0, 180.0]})
    rows["isometry_value"] = CURVES["g"].function(rows["method.degrees"])
    report = {"value": "isometry_value", "x": "method.degrees", "y": "n", "curves": ["g"]}
    return Diagram.of(grid(rows, report=report, **document))


def test_a_curve_over_another_axis_makes_a_profile_and_one_over_n_and_d_does_not() -> None:
    assert is_profile(along_degrees())
    assert not is_profile(Diagram.of(grid(wendel_rows())))


def test_the_points_lie_on_the_curve_that_is_drawn() -> None:
    ax = PROFILE.draw(Analysis(along_degrees())).axes[0]
    points = [line for line in ax.lines if line.get_marker() != "None"]
    curves = [line for line in ax.lines if line.get_marker() == "None"]
    assert [line.get_label() for line in points] == ["$n$ = 100", "$n$ = 1000"]
    assert curves[0].get_label() == CURVES["g"].label
    x, y = (np.asarray(v, dtype=float) for v in curves[0].get_data())
    for line in points:
        at, value = (np.asarray(v, dtype=float) for v in line.get_data())
        np.testing.assert_allclose(np.interp(at, x, y), value, atol=1e-4)


def test_frequencies_are_drawn_with_their_prediction_and_bound(tmp_path: Path) -> None:
    rows = wendel_rows(n=[100], d=[20, 40], replicates=1, **{"data.sigma": [1.0, 2.0, 3.0]})
    rows["frequency"], rows["predicted"] = 0.5, 0.4
    rows["bound"] = pd.Series([0.1] * len(rows))
    diagram = Diagram.of(grid(rows, report={"value": "frequency", "x": "data.sigma", "y": "d", "curves": []}))
    assert is_profile(diagram)
    figure = PROFILE.draw(Analysis(diagram))
    heights = {float(np.asarray(line.get_ydata(), dtype=float)[0]) for line in figure.axes[0].lines}
    assert heights == {0.5, 0.4, 0.1}
    assert render(figure, "png").startswith(b"\x89PNG")


@pytest.mark.parametrize("figure", ["profile", "ratios"])
def test_lines_show_the_range_that_undecided_trials_leave(figure: str) -> None:
    """4 of 10 trials are undecided: with 2 successes the fraction is 0.2 to 0.6."""
    rows = wendel_rows(n=[20, 40], d=[10], replicates=10)
    rows["recovered"] = pd.array([True, True, *[False] * 8] * 2, dtype="boolean")
    rows = leave_undecided(rows, rows["replicate"] >= 6)
    diagram = Diagram.of(grid(rows, report={"x": "n", "y": "d"}))
    drawn = PROFILE.draw(Analysis(diagram)) if figure == "profile" else RATIOS.draw(Analysis(diagram))
    bars = [one for one in drawn.axes[0].collections if str(one.get_label()).startswith("range over")]
    assert [one.get_label() for one in bars] == ["range over trials undecided (8)"]
    ends = [segment[:, 1].tolist() for segment in bars[0].get_segments()]
    assert ends == [pytest.approx([0.2, 0.6])] * 2


def test_one_row_and_rows_of_words_are_lines_and_ragged_grids_have_the_axis_n_over_d() -> None:
    row = Diagram.of(grid(wendel_rows(d=[10], noise=[0.1, 0.2], n=[20]), report={"x": "noise", "y": "d"}))
    words = Diagram.of(grid(wendel_rows(d=[10], patterns=["sampled", "searched"]), report={"x": "n", "y": "patterns"}))
    assert is_profile(row)
    assert is_profile(words)
    rows = pd.concat([wendel_rows(n=range(d, 4 * d, d // 5), d=[d], seed=d) for d in (10, 25, 40)], ignore_index=True)
    analysis = analysed(rows)
    assert is_ragged(analysis.diagram)
    assert not is_ragged(Diagram.of(grid(wendel_rows())))
    ax = main_figure(analysis)[1].draw().axes[0]
    assert ax.get_xlabel() == "$n/d$"
    points = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in ax.lines if len(line.get_xdata())])
    assert points.min() == pytest.approx(1.0)
    assert points.max() == pytest.approx(3.8)


def test_points_of_many_lines_stay_inside_and_values_above_the_limits_are_arrows_at_the_edge() -> None:
    rows = wendel_rows(n=[100, 1000, 10_000], d=[5], method=[f"tensor rank={k}" for k in range(12)])
    rows["absolute_distance"] = np.where(rows["method"].eq("tensor rank=3"), 1e12, 0.5)
    report = {"value": "absolute_distance", "x": "n", "y": "method", "scale": "log", "limits": [0.1, 10]}
    figure = main_figure(analysed(rows, report=report))[1].draw()
    (ax,) = figure.axes
    low, high = ax.get_xlim()
    assert all(low < x < high for line in ax.lines for x in line.get_xdata())
    assert ax.get_ylim() == (0.1, 10)
    arrows = [line for line in ax.lines if line.get_marker() == CARETUP and set(line.get_ydata()) == {10}]
    assert [len(line.get_xdata()) for line in arrows] == [3]
    beyond = next(line for line in ax.lines if line.get_label() == "rank = 3")
    assert np.isnan(np.asarray(beyond.get_ydata(), dtype=float)).all()  # no line leads to an arrow
    numbers = {x for line in ax.lines if line.get_label() == "rank = 1" for x in line.get_xdata()}
    assert numbers == {100, 1000, 10_000}  # a mark stays at its number


def test_a_probability_that_is_0_or_1_at_every_cell_is_drawn_as_a_line() -> None:
    """Wendel's law is 1 at n <= d, and was drawn as a band over these n."""
    rows = wendel_rows(n=[20, 40, 60], d=[400], replicates=2)
    figure = main_figure(analysed(rows, report={"value": "recovered", "curves": ["wendel"]}))[1].draw()
    (ax,) = figure.axes
    assert not ax.patches
    assert "black" in [line.get_color() for line in ax.lines if len(line.get_xdata()) > 3]


def test_an_interval_is_shaded() -> None:
    rows = wendel_rows(n=[40], d=[10], noise=[0.0], **{"method.beta": [0.1, 0.5, 0.9, 1.3, 1.7]})
    report = {"value": "recovered", "x": "method.beta", "curves": ["theorem10"]}
    figure = main_figure(analysed(rows, report=report))[1].draw()
    (ax,) = figure.axes
    (span,) = ax.patches
    assert span.get_x() + span.get_width() == pytest.approx(1.0, abs=0.01)
    assert figure.legends[0].get_texts()[0].get_text() == "inside Theorem 10's interval"


def test_a_curve_over_n_and_d_is_drawn_for_each_d_along_their_ratio() -> None:
    rows = pd.concat([wendel_rows(n=range(d, 4 * d, d // 5), d=[d], seed=d) for d in (10, 25, 40)], ignore_index=True)
    report = {"value": "recovered", "x": "n", "y": "d", "figure": "ratios", "curves": ["wendel", {"ratio": 2.0}]}
    figure = RATIOS.draw(analysed(rows, report=report))
    curves = [line for line in figure.axes[0].lines if line.get_linestyle() == "--" and len(line.get_xdata()) > 2]
    for d, line in zip((10, 25, 40), curves, strict=True):
        x, y = (np.asarray(v, dtype=float) for v in line.get_data())
        np.testing.assert_allclose(y, CURVES["no_all_ones"].function(x * d, d))
    assert len({line.get_color() for line in curves}) == 3
    assert CURVES["no_all_ones"].label in {text.get_text() for text in figure.legends[0].get_texts()}


@pytest.mark.parametrize("figure", ["map", "profile", "ratios", "forest"])
def test_a_curve_that_a_figure_cannot_show_is_named_under_it(figure: str) -> None:
    report = {"value": "recovered", "x": "n", "y": "d", "figure": figure, "curves": ["g", {"ratio": 2.0}]}
    _, drawing = main_figure(analysed(wendel_rows(), report=report))
    remarks = [text.get_text() for text in drawing.draw().legends[0].get_texts() if "not drawn" in text.get_text()]
    assert [" ".join(text.split()) for text in remarks] == [f"not drawn: {CURVES['g'].label}"]


def test_a_value_of_the_shown_column_is_a_level_line() -> None:
    report = {
        "value": "recovered",
        "x": "n",
        "y": "d",
        "figure": "profile",
        "curves": [{"name": "recovered", "level": 0.9}],
    }
    figure = main_figure(analysed(wendel_rows(), report=report))[1].draw()
    assert [0.9] in [sorted(set(np.asarray(line.get_ydata(), dtype=float))) for line in figure.axes[0].lines]
    entries = [text.get_text() for text in figure.legends[0].get_texts()]
    assert entries.count("fraction recovered = 0.9") == 1
    assert not any("not drawn" in entry for entry in entries)


@pytest.mark.parametrize("x", ["n", "d"])
def test_a_line_without_the_other_dimension_has_no_ratio(x: str) -> None:
    rows = wendel_rows(n=[16, 32, 64], d=[16]).drop(columns="d").rename(columns={"n": x})
    analysis = analysed(rows, report={"x": x, "curves": [{"ratio": 2.0}]})
    figure = main_figure(analysis)[1].draw()
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == [3]
    assert "<html" in report_page([analysis])


@pytest.mark.parametrize("words", [3, 30])
def test_marks_are_nearer_to_their_own_word_than_to_the_next(words: int) -> None:
    names = {"word": [f"w{i:02}" for i in range(words)], "language": ["English", "French", "Norwegian"]}
    analysis = analysed(wendel_rows(n=[20], d=[5], **names), report={"x": "word", "y": "language", "figure": "profile"})
    ax = main_figure(analysis)[1].draw().axes[0]
    marks = [np.asarray(line.get_xdata(), dtype=float) for line in ax.lines if line.get_marker() not in ("None", "")]
    assert len(marks) >= 3
    assert all(np.array_equal(np.round(x), np.arange(words)) for x in marks)


@pytest.mark.parametrize("count", [MOST_NAMED, MOST_NAMED + 1])
def test_a_colour_bar_stands_for_more_lines_of_numbers_than_a_key_names(count: int) -> None:
    rows = wendel_rows(d=[5], replicates=2, **{"method.beta": [2.0**k for k in range(count)]})
    figure = main_figure(analysed(rows, report={"x": "n", "y": "method.beta", "figure": "profile"}))[1].draw()
    named = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert sum("beta$ = " in text for text in named) == (count if count == MOST_NAMED else 0)
    bars = [ax for ax in figure.axes if ax.get_label() == BAR]
    assert [ax.get_yscale() for ax in bars] == ["log"] * (count > MOST_NAMED)
    assert all("beta" in ax.get_ylabel() for ax in bars)
