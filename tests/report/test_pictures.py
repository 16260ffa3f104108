"""The look of all kinds of figures: no text cut or overlapping, axes from the config, names as in the papers."""

from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from coloraide import Color
from hypothesis import given, strategies as st
from matplotlib.figure import Figure
from PIL import Image

from recovery.config.header import StyleSpec
from recovery.report.diagram import Axis
from recovery.report.figures import render
from recovery.report.figures.sheet import sheet
from recovery.report.figures.style import Style, log_ticks, set_axis, ticks_of
from recovery.report.page.spec import Chart
from tests.suites import first

from .grids import analysed, drawn, fail, wendel_rows
from .text_faults import faults

TENS = range(20, 101, 20)
FOUR = ["gaussian", "cubic_gaussian", "haar", "whitened_cubic"]
BETAS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
LONG = "Recovery of a linear neuron by gradient descent and by the convex program, on data of every kind that there is"


def several_panels() -> Figure:
    rows = fail(wendel_rows(n=TENS, d=[10, 20, 30], ensemble=FOUR, method=["min_norm", "trained"]), slice(0, 7))
    return drawn(analysed(rows, trials=len(rows) + 5, title=LONG))


def log_axis() -> Figure:
    rows = wendel_rows(d=[20], noise=[0.0, 0.1], **{"method.beta": BETAS})
    return drawn(analysed(rows, "absolute_distance", report={"x": "n", "y": "method.beta"}, title=LONG))


def one_axis() -> Figure:
    return drawn(analysed(wendel_rows(d=[10], ensemble=["gaussian", "haar"])))


def ragged() -> Figure:
    parts = [wendel_rows(n=range(d, 4 * d, d // 5), d=[d], ensemble=FOUR[:3]) for d in (10, 25, 40)]
    return drawn(analysed(pd.concat(parts, ignore_index=True)))


def slide() -> Figure:
    style = {"width": "slide", "fonts": "latex", "colours": "viridis"}
    report = {"value": "recovered", "x": "n", "y": "d", "curves": ["wendel", {"ratio": 2.0}], "style": style}
    return drawn(analysed(wendel_rows(ensemble=FOUR), report=report))


LONGER = [pytest.param(draw, marks=pytest.mark.deep) for draw in (ragged, slide)]


@pytest.mark.parametrize("draw", [several_panels, log_axis, one_axis, *LONGER])
def test_no_text_is_cut_or_lies_over_another(draw: Callable[[], Figure]) -> None:
    assert faults(draw()) == []


def test_labels_of_narrow_panels_with_large_text_stand_clear_of_each_other() -> None:
    style = {"width": "86mm", "font_size": 9}
    rows = wendel_rows(n=range(10, 401, 10), d=[5, 30], ensemble=FOUR)
    assert faults(drawn(analysed(rows, report={"style": style}))) == []


@pytest.mark.parametrize("count", first(2, [1, 12, 4]))
def test_a_slide_is_16_to_9_and_its_thresholds_can_be_left_out(count: int) -> None:
    rows = wendel_rows(n=TENS, d=[10, 20], noise=[0.01 * i for i in range(count)], replicates=2)
    style = {"width": "slide", "caption": False, "title": False}
    figures = [drawn(analysed(rows, report={"figure": of, "style": style})) for of in ("map", "forest")]
    for figure in figures:
        assert figure.get_figwidth() * 9 == pytest.approx(figure.get_figheight() * 16)
        assert count == 12 or figure.get_figwidth() == pytest.approx(10)
    assert {ax.get_title(loc="right") for ax in figures[0].axes} == {""}
    assert faults(figures[0]) == []
    with_captions = drawn(analysed(rows, report={"figure": "map", "style": style | {"caption": True}}))
    assert any(ax.get_title(loc="right") for ax in with_captions.axes)


def key_of(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


COLUMN = {"width": "column"}
NAMES = [f"method of the {i}th kind" for i in range(40)]


@pytest.mark.parametrize("labels", [{}, dict.fromkeys(("recovered", "n", "d", "noise=0.05"), f"{LONG[:60]}, over all")])
@pytest.mark.parametrize("count", first(2, [2, 5, 3, 4, 6]))
def test_panels_in_a_column_stand_clear_of_each_other(count: int, labels: dict[str, str]) -> None:
    rows = wendel_rows(n=range(10, 101, 10), d=[5, 10], noise=[0.05 * i for i in range(count)], replicates=2)
    report = {"x": "n", "y": "d", "figure": "map", "style": COLUMN, "labels": labels}
    figure = drawn(analysed(rows, report=report))
    assert len([ax for ax in figure.axes if ax.axison]) == count + 1
    assert faults(figure) == []


@pytest.mark.parametrize(
    ("x", "y", "figure", "count"),
    [("method", "d", "map", 30), ("n", "method", "map", 30), ("n", "method", "profile", 40)],
)
def test_many_names_in_a_column_stand_clear_of_each_other(x: str, y: str, figure: str, count: int) -> None:
    n = [1000, 3000, 10_000, 30_000, 100_000, 1_000_000] if x == "n" else [20]
    rows = wendel_rows(n=n, d=[5, 10] if y == "d" else [5], method=NAMES[:count])
    labels = dict.fromkeys(("recovered", "n", "d"), "recovery of one linear neuron, planted in data of any kind")
    report = {"x": x, "y": y, "figure": figure, "labels": labels, "style": COLUMN}
    picture = drawn(analysed(rows, report=report))
    assert figure != "profile" or len(picture.axes[0].lines) >= count
    ticks = [*picture.axes[0].get_xticklabels(), *picture.axes[0].get_yticklabels()]
    named = f"method: {sum(text.get_text() in NAMES for text in ticks)} of 30 values named"
    assert (named if figure == "map" else "40 lines: a map (figure: map) shows each") in key_of(picture)
    assert faults(picture) == []


def test_titles_beside_long_names_stand_clear_of_each_other() -> None:
    kinds = [f"{kind} start from the largest penalty" for kind in ("warm", "cold")]
    rows = wendel_rows(d=[5], law=[f"{name} of a long name that says all" for name in NAMES[:3]], path=kinds)
    assert faults(drawn(analysed(rows, report={"x": "n", "y": "law", "panel": "path", "figure": "map"}))) == []


def test_the_measure_of_texts_can_fail() -> None:
    figure = one_axis()
    figure.text(0.99, 0.5, "cut off at the right")
    figure.text(0.3, 0.99, "in the way of the title")
    found = faults(figure)
    assert any(text.startswith("cut: 'cut off") for text in found)
    assert any(text.startswith("overlap: ") for text in found)


def test_the_kind_of_an_axis_follows_from_its_values() -> None:
    axis = Axis(BETAS)
    assert axis.kind == "log"
    np.testing.assert_allclose(np.diff(np.log10(axis.edges)), 1.0)
    assert log_axis().axes[0].get_yscale() == "log"
    assert Axis([0.0, 1e-3, 1e-2, 0.1, 1.0]).kind == "even"
    steps: list[Any] = [[10, 20, 30, 40], [1, 2, 3], range(10, 401, 10), [200, 210, 220], [2, 4]]
    assert {Axis(list(values)).kind for values in steps} == {"linear"}
    ratios: list[Any] = [[2, 4, 8], [16, 25, 40, 63, 100, 160, 250], [10_000, 40_000, 160_000]]
    assert {Axis(list(values)).kind for values in ratios} == {"log"}


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([5, 10, 15, 20, 25, 30], [5, 10, 15, 20, 25, 30]),
        ([0.0, 0.05, 0.1], [0.0, 0.05, 0.1]),
        (range(10, 401, 10), [100, 200, 300, 400]),
        (range(1, 9), [2, 4, 6, 8]),
        ([2.0**k for k in range(11)], [1, 10, 100, 1000]),
        ([float(k) for k in np.geomspace(100, 900, 9)], [100, 200, 500]),
    ],
)
def test_a_short_axis_has_a_tick_at_each_value_and_others_at_round_numbers(values: Any, ticks: list[float]) -> None:
    np.testing.assert_allclose([at for at, _ in ticks_of(Axis(list(values)))], ticks)


@given(low=st.floats(1e-9, 1e6), span=st.floats(1.0, 1e12))
def test_log_ticks_are_few_and_inside(low: float, span: float) -> None:
    ticks = log_ticks(low, low * span)
    assert 1 <= len(ticks) <= 8
    assert all(low * (1 - 1e-6) <= tick <= low * span * (1 + 1e-6) for tick in ticks)


def test_a_half_run_sweep_keeps_its_axes_and_panels_and_says_how_much_there_is() -> None:
    rows = wendel_rows(ensemble=FOUR, replicates=2)
    axes = {"data.ensemble": FOUR, "n": {"start": 10, "stop": 100, "step": 10}, "d": [5, 10, 15, 20, 25, 30]}
    rows["data.ensemble"] = rows["ensemble"]
    half = rows[(rows["n"] >= 50) & rows["ensemble"].isin(FOUR[:2]) & (rows["d"] < 25)]
    analysis = analysed(half, trials=len(rows), axes=axes, data={"ensemble": "gaussian"}, replicates=2)
    panels = analysis.diagram.panels
    assert len(panels) == 4
    assert [len(panel.cells) for panel in panels] == [24, 24, 0, 0]
    assert list(panels[0].x) == list(range(10, 101, 10))
    assert list(panels[0].y) == [5, 10, 15, 20, 25, 30]
    figure = drawn(analysis)
    assert [[text.get_text() for text in ax.texts] for ax in figure.axes[:4]] == [[], [], *[["no trials yet"]] * 2]
    assert figure.axes[0].get_xlim() == pytest.approx((5, 105))
    assert f"({len(half) / len(rows):.0%} of the trials)" in figure.get_suptitle()
    assert faults(figure) == []


def test_one_axis_is_a_curve_with_intervals_against_that_axis() -> None:
    rows = wendel_rows(d=[10], n=range(5, 45, 5))
    figure = drawn(analysed(rows))
    ax = figure.axes[0]
    curve = next(line for line in ax.lines if line.get_marker() == "o")
    x, y = (np.asarray(part, dtype=float) for part in curve.get_data())
    assert x.tolist() == list(range(5, 45, 5))
    np.testing.assert_allclose(y, rows.groupby("n")["recovered"].mean().astype(float))
    law = next(line for line in ax.lines if line.get_marker() != "o" and len(line.get_xdata()) > 100)
    rising = np.asarray(law.get_ydata(), dtype=float)
    assert rising[0] < 0.01  # the probability of recovery, not of the all-ones pattern
    assert rising[-1] > 0.99
    at_twice = [np.asarray(line.get_xdata(), dtype=float) for line in ax.lines if line.get_label() == "n = 2d"]
    assert [set(x) for x in at_twice] == [{20.0}]
    assert ax.get_xlabel() == "$n$"


def test_bright_is_good_for_recovery_and_for_distance() -> None:
    rows = wendel_rows(n=TENS, d=[10, 20])
    meshes = [drawn(analysed(rows, value)).axes[0].collections[0] for value in ("recovered", "absolute_distance")]
    assert [mesh.get_cmap().name for mesh in meshes] == ["cividis", "cividis_r"]


def test_every_panel_has_a_letter_and_its_name_on_whole_lines() -> None:
    rows = wendel_rows(n=TENS, d=[10, 20], **{"planted.count": [5, 10, 20], "patterns.count": [100, 200]})
    figure = drawn(analysed(rows))
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert [title[:4] for title in titles] == [f"({letter}) " for letter in "abcdef"]
    assert all(not line.rstrip().endswith("=") for title in titles for line in title.splitlines())


def test_marks_are_in_the_key_only_where_they_are_drawn() -> None:
    axes = {"n": {"start": 10, "stop": 100, "step": 10}, "d": [5, 10, 15, 20, 25, 30]}
    rows = wendel_rows()
    part = rows[rows["n"] > 50]
    key = key_of(drawn(analysed(part, trials=len(rows), axes=axes)))
    assert not any("missing" in text or "no trial finished" in text for text in key)


def test_a_figure_of_failed_trials_only_says_so_once() -> None:
    rows = fail(wendel_rows(n=[10, 20], d=[5, 10]), slice(None))
    assert key_of(drawn(analysed(rows, report={"x": "n", "y": "d"}))) == ["no trial finished"]
    profile = drawn(analysed(rows, report={"x": "n", "y": "d", "figure": "profile"}))
    assert [text.get_text() for text in profile.axes[0].texts] == ["no trial finished"]
    assert key_of(profile) == []


@pytest.mark.parametrize("values", [[0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.1], [1, 2, 3, 1000, 1001]])
def test_labels_under_an_axis_stand_clear_of_each_other(values: list[float]) -> None:
    axis = Axis(values)
    with sheet(2, "", Style(StyleSpec())) as page:
        ax = page.axes[0]
        ax.set_xlim(*axis.reach)
        set_axis(ax, "x", axis)
        ax.set_xlim(*axis.reach)
        page.figure.canvas.draw()
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) >= 2
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    assert labels[0].get_text() == f"{values[0]:g}"


def test_panels_that_are_compared_have_one_scale_of_colours() -> None:
    rows = wendel_rows(n=[10, 20, 30], d=[5, 10], noise=[0.0, 0.1, 0.2], replicates=1)
    rows["absolute_distance"] = rows["noise"].map({0.0: 1e-6, 0.1: 0.5, 0.2: 1.0})
    report = {"value": "absolute_distance", "x": "n", "y": "d", "panel": "noise"}
    analysis = analysed(rows, "absolute_distance", report=report)
    figure = drawn(analysis)
    panels, bars = figure.axes[:3], figure.axes[3:]
    assert len(bars) == 1
    assert {panel.collections[0].get_clim() for panel in panels} == {(1e-6, 1.0)}
    (view,) = Chart(analysis, "map").views(every=False)
    on_page = [panel["layer"][0]["encoding"]["fill"]["scale"]["domain"][::16] for panel in view["spec"]["concat"]]
    assert on_page == [[1e-6, 1.0]] * 3


@pytest.mark.parametrize("colours", get_args(get_type_hints(StyleSpec)["colours"]))
def test_a_colour_bar_becomes_lighter_all_the_way_in_the_file(colours: str) -> None:
    rows = wendel_rows(n=TENS, d=[10, 20])
    figure = drawn(analysed(rows, report={"x": "n", "y": "d", "style": {"colours": colours}}))
    picture = np.asarray(Image.open(BytesIO(render(figure, "png", 110))).convert("RGB"))
    height, width, _ = picture.shape
    box = figure.axes[1].get_position()
    column = picture[round((1 - box.y1) * height) + 3 : round((1 - box.y0) * height) - 3, round(box.x0 * width) + 3]
    lightness = [Color("srgb", pixel / 255).convert("lab")["lightness"] for pixel in column[::2]]
    assert np.diff(lightness).max() <= 0.5  # from the top down
    assert lightness[0] - lightness[-1] > 60


def test_one_trial_has_no_median_and_no_quartiles() -> None:
    rows = wendel_rows(n=range(10, 50, 10), d=[5], replicates=1)
    for value, words in (("absolute_distance", "absolute distance"), ("recovered", "fraction recovered")):
        analysis = analysed(rows, value, report={"x": "n", "figure": "profile"})
        figure = drawn(analysis)
        assert figure.axes[0].get_ylabel() == words
        assert "interquartile range" not in key_of(figure)
        assert ("95 % interval" in key_of(figure)) == (value == "recovered")
        (view,) = Chart(analysis, "profile").views(every=False)
        assert "median" not in str(view)
    twice = analysed(wendel_rows(n=[10, 20], d=[5], replicates=2), "absolute_distance", report={"x": "n"})
    assert twice.diagram.measured_label == "median absolute distance"


def test_panels_that_nothing_measured_are_drawn_and_say_so() -> None:
    rows = wendel_rows(n=[10, 20, 30], d=[5, 10], method=["min_norm", "isometry"])
    rows.loc[rows["method"] == "isometry", ["recovered", "verdict"]] = None  # the first panel
    for figure in ("map", "profile", "ratios"):
        analysis = analysed(rows, report={"x": "n", "y": "d", "figure": figure})
        first, second = drawn(analysis).axes[:2]
        assert [[text.get_text() for text in ax.texts] for ax in (first, second)] == [["not measured"], []]
        assert first.get_title(loc="left").startswith("(a) ")
        (view,) = Chart(analysis, figure).views(every=False)
        assert ["not measured" in str(panel) for panel in view["spec"]["concat"]] == [True, False]
