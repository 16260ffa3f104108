"""Crossings of one half over axes other than n and d: the scale of the axis, words, records and pictures."""

import json

import numpy as np
import pytest
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP

from recovery.report.claims import Analysis
from recovery.report.claims.analysis import contour
from recovery.report.diagram import Diagram
from recovery.report.figures.map import MAP
from recovery.report.page import report_page
from recovery.report.page.spec import Chart
from recovery.report.texts import as_json, as_latex

from .grids import analysed, text_of, wendel_rows

SIZES = [100, 1000, 10_000, 100_000]
SHARES = {0: [0, 0, 10, 10], 1: [0, 0, 0, 10], 2: [10, 10, 10, 10], 3: [0, 0, 0, 0], 4: [0, 2, 8, 10]}


def drawn(shares: dict[int, list[int]], x: list[float], falling: bool = False) -> Analysis:
    """Rows m = 0, 1, ... whose counts of yes among 10 along n are given."""
    rows = wendel_rows(n=x, d=[5], m=list(shares), replicates=10)
    yes = [shares[m][x.index(n)] for m, n in zip(rows["m"], rows["n"], strict=True)]
    rows["recovered"] = (rows["replicate"] < yes) != falling
    return analysed(rows, report={"value": "recovered", "x": "n", "y": "m"})


@pytest.mark.parametrize("falling", [False, True])
def test_each_row_crosses_between_its_cells(falling):
    found = drawn(SHARES, SIZES, falling).slices[0]
    assert [row.y for row in found] == list(SHARES)
    halves = [row.interval.estimate for row in found]
    np.testing.assert_allclose(halves[:2], [10**3.5, 10**4.5])  # in the middle of the log axis
    assert np.isnan(halves[2:4]).all()
    assert halves[4] == pytest.approx(10**3.5)
    ends = [(row.interval.low, row.interval.high) for row in found]
    np.testing.assert_allclose(ends[:2], [(1e3, 1e4), (1e4, 1e5)])
    assert ends[2] == (-np.inf, pytest.approx(100))
    assert ends[3] == (pytest.approx(1e5), np.inf)


def test_fractions_on_a_linear_axis_are_interpolated_linearly():
    assert drawn({0: [0, 10, 10], 1: [0, 0, 10]}, [10, 20, 30]).slices[0][0].interval.estimate == pytest.approx(15)


def arrows(analysis: Analysis) -> dict[str, list[tuple[float, float]]]:
    """Where the arrows of the first panel stand, by their direction."""
    names = {CARETLEFT: "left", CARETRIGHT: "right", CARETDOWN: "down", CARETUP: "up"}
    drawn = [line for line in MAP.draw(analysis).axes[0].lines if line.get_marker() in names]
    return {names[line.get_marker()]: [tuple(point) for point in line.get_xydata()] for line in drawn}


def test_an_interval_beyond_the_axis_ends_in_an_arrow() -> None:
    found = drawn({0: [0, 0, 10, 10], 1: [4, 10, 10, 10], 2: [0, 0, 0, 6]}, [10, 20, 30, 40])
    assert [np.isfinite([row.interval.low, row.interval.high]).tolist() for row in found.slices[0]] == [
        [True, True],
        [False, True],
        [True, False],
    ]
    assert arrows(found) == {"left": [(5, 1)], "right": [(45, 2)]}  # at the ends of the axis


@pytest.mark.parametrize("x", ["n", "d"])
def test_an_interval_of_one_d_beyond_the_axis_ends_in_an_arrow(x: str) -> None:
    """At the least d the fraction is only just below one half at the first n."""
    rows = wendel_rows(n=range(10, 81, 10), d=[5, 20, 35], replicates=40, seed=1)
    first = (rows["n"] == 10) & (rows["d"] == 5)
    rows["recovered"] = rows["recovered"].mask(first, rows["replicate"] < 18)
    found = analysed(rows, report={"value": "recovered", "x": x, "y": "d" if x == "n" else "n"})
    open_ends = [size.y for size in found.slices[0] if size.along_x.low == -np.inf]
    assert open_ends == [5]
    assert arrows(found) == ({"left": [(5, 5)]} if x == "n" else {"down": [(5, 5)]})


def test_crossings_are_in_text_json_and_picture():
    analysis = drawn(SHARES, SIZES)
    text = text_of(analysis, 400)
    assert "m = 0: n at 50 % = 3162.28, 1000 to 10000 (95 %)" in text
    assert "m = 2: n at 50 %: outside the grid, below 100 (95 %)" in text
    assert "m = 3: n at 50 %: outside the grid, above 100000 (95 %)" in text
    document = json.loads(as_json([analysis]))[0]
    records = document["thresholds"]
    assert [records[1][name] for name in ("estimate", "low", "high", "level")] == pytest.approx(
        [10**4.5, 1e4, 1e5, 0.95]
    )
    assert [record["where"] for record in records] == [{"m": m} for m in SHARES]
    assert [records[k][end] for k, end in ((2, "low"), (3, "high"))] == ["-inf", "inf"]
    np.testing.assert_allclose(marked(analysis), [0, 1, 4])


def test_a_number_has_no_crossings_and_the_page_says_so() -> None:
    analysis = drawn(SHARES, SIZES)
    other = Analysis(Diagram.of(analysis.diagram.grid, "seconds"))
    assert "need a success fraction" in report_page([other])
    assert "crossings" not in as_latex([other])


def test_a_contour_joins_neighbouring_rows_only() -> None:
    (part,) = contour(drawn(SHARES, SIZES), 0)
    np.testing.assert_allclose(part, [[10**3.5, 0], [10**4.5, 1]])
    assert contour(drawn({0: SHARES[0], 1: SHARES[2], 2: SHARES[1]}, SIZES), 0) == []


def test_a_contour_over_d_and_n_joins_the_crossings_of_each_d() -> None:
    report = {"value": "recovered", "x": "d", "y": "n", "pool": "none"}
    analysis = analysed(wendel_rows(d=[10, 20, 30], replicates=20), report=report)
    (part,) = contour(analysis, 0)
    np.testing.assert_array_equal(part, [(one.y, one.along_x.estimate) for one in analysis.slices[0]])


def test_the_contour_is_in_picture_and_page() -> None:
    analysis = drawn(SHARES, SIZES)
    lines = [
        line for line in MAP.draw(analysis).axes[0].lines if line.get_marker() == "None" and line.get_linewidth() > 1
    ]
    np.testing.assert_allclose(lines[0].get_xydata(), contour(analysis, 0)[0])
    assert [(row["x"], row["y"]) for row in charted(analysis, "line")] == [tuple(at) for at in contour(analysis, 0)[0]]


def charted(analysis: Analysis, mark: str) -> list[dict[str, float]]:
    """The rows of the layers of the map's chart with this mark and a table of their own."""
    (view,) = Chart(analysis, "map").views(every=False)
    layers = [layer for layer in view["spec"]["concat"][0]["layer"] if layer["mark"]["type"] == mark]
    halo, line = (layer["data"]["values"] for layer in layers if "values" in layer["data"])
    assert halo == line
    return line


def marked(analysis: Analysis):
    """The rows that have a mark on the figure."""
    (points,) = [
        line for line in MAP.draw(analysis).axes[0].lines if line.get_marker() == "o" and len(line.get_ydata())
    ]
    return points.get_ydata()


def test_a_page_marks_the_rows_that_the_figure_marks():
    """An unbounded end is drawn at the end of the axis; an interval without ends has no mark."""
    analysis = drawn({0: [0, 10, 10], 1: [4, 10, 10], 2: [4, 6, 5]}, [10, 20, 30])
    ends = [(row.interval.low, row.interval.high) for row in analysis.slices[0]]
    assert ends == [(10, 20), (-np.inf, 20), (-np.inf, np.inf)]
    assert charted(analysis, "rule") == [{"x": 10, "x2": 20, "y": m, "y2": m} for m in (0, 1)]
    assert list(marked(analysis)) == [0, 1]


@pytest.mark.parametrize(("trend", "x"), [([0, 0, 10, 10], 15), ([10, 10, 0, 0], 35)])
def test_crossings_along_the_trend_without_an_interval_are_diamonds(trend: list[int], x: float) -> None:
    found = drawn({0: [0, 10, 10, 0], 1: trend}, [10, 20, 30, 40])
    assert found.by_panel[0].slices[0].crossings == (pytest.approx(15), pytest.approx(35))
    (line,) = [line for line in MAP.draw(found).axes[0].lines if line.get_marker() == "d"]
    at = [{"x": x, "y": y} for x, y in line.get_xydata().tolist()]
    assert at == [{"x": pytest.approx(x), "y": 0}]
    assert [{"x": one["x"], "y": one["y"]} for one in charted(found, "point") if one["mark"] == line.get_label()] == at


def test_an_axis_of_words_and_other_quantities_have_no_crossings():
    rows = wendel_rows(n=[10, 20], d=[5], m=[0, 1])
    assert not analysed(rows, report={"value": "seconds", "x": "n", "y": "m"}).slices
    assert not analysed(rows, report={"value": "recovered", "x": "ensemble", "y": "m"}).slices
