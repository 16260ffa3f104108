"""The chart of a notebook: a valid Vega-Lite specification with the grid's numbers, shown without magic commands."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert

from recovery.api import Results
from recovery.report.diagram import NOT_MEASURED
from recovery.report.page.spec import Chart
from recovery.report.statistics import exact_interval
from tests.suites import first

from .grids import fail, grid, wendel_rows
from .test_page import HOSTILE

DASHES = r'stroke-dasharray="(.*?)"'
NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"


def made(rows: Any, value: str | None = None, **document: Any) -> tuple[Results, Any]:
    results = Results(grid(rows, **document))
    return results, results.chart(value)


def cells(chart: Any, panel: int = 0) -> list[Any]:
    """The rows of a panel's grid cells."""
    return [row for row in json.loads(chart.to_dict()["datasets"]["cells"]) if row["panel"] == panel]


def drawn(chart: Any) -> str:
    return str(vl_convert.vegalite_to_svg(chart.to_json()))


@pytest.mark.deep
def test_a_notebook_shows_the_chart_without_any_magic(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not [cell for cell in notebook.cells if cell.cell_type == "code" and "%" in cell.source]
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    first, second, last = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    for outputs in (first, second):
        (shown,) = [output for output in outputs if output.output_type == "execute_result"]
        assert "vegaEmbed" in shown.data["text/html"]
    assert "What a trial took" in second[0].data["text/html"]
    assert "<table" in last[0].data["text/html"]


def test_a_map_has_a_rectangle_for_each_cell_with_its_fraction_and_interval() -> None:
    results, chart = made(wendel_rows(ensemble=["gaussian", "haar"]))
    panel = results.analysis().diagram.panels[1].cells
    low, high = exact_interval(panel["yes"], panel["no"])
    rows = cells(chart, 1)
    assert [row["v"] for row in rows] == pytest.approx(panel["value"].tolist(), abs=1e-4)
    assert [row["low"] for row in rows] == pytest.approx(low.tolist(), abs=1e-4)
    assert [row["high"] for row in rows] == pytest.approx(high.tolist(), abs=1e-4)
    assert [(row["x"] + row["x2"]) / 2 for row in rows] == pytest.approx(panel["n"].tolist())
    svg = drawn(chart)
    for words in ("(a) Gaussian", "(b) Haar", "fraction recovered", "n = 2d", "50 % at each d, with 95 % interval"):
        assert words in svg
    assert "failed" not in svg


def test_the_halo_of_a_line_has_its_dashes() -> None:
    """A solid halo is as dark as the page in dark colours, and would show between the dashes."""
    curves = [{"ratio": 2.0}, {"ratio": 3.0}]
    _, chart = made(wendel_rows(), report={"value": "recovered", "x": "n", "y": "d", "curves": curves})
    paths = re.findall(r"<path[^>]*>", drawn(chart))
    dashes = {
        width: {dash for path in paths if f'stroke-width="{width}"' in path for dash in re.findall(DASHES, path)}
        for width in (2, 4)
    }
    assert len(dashes[4]) > 1
    assert dashes[4] <= dashes[2]


@pytest.mark.parametrize("i", first(1, [1, 0]))
def test_a_curve_about_one_panel_is_drawn_in_this_panel_only(i: int) -> None:
    curves = [{"ratio": 2.0, "where": {"ensemble": ["gaussian", "haar"][i]}}]
    report = {"value": "recovered", "x": "n", "y": "d", "curves": curves}
    _, chart = made(wendel_rows(ensemble=["gaussian", "haar"]), report=report)
    assert {row["panel"] for row in json.loads(chart.to_dict()["datasets"]["lines"])} == {i}
    svg = drawn(chart)
    assert "n = 2d" in svg
    (key, line) = sorted(re.findall(r'<path[^>]*stroke-width="2"[^>]*>', svg), key=len)
    assert "transform" in key
    assert "transform" not in line


def test_a_value_that_a_panel_lacks_hides_no_other_value_of_it() -> None:
    rows = wendel_rows(ensemble=["gaussian", "haar"])
    rows.loc[rows["ensemble"] == "haar", ["recovered", "verdict"]] = [pd.NA, None]
    first, *others = Chart(Results(grid(rows)).analysis(), "map").views()
    assert NOT_MEASURED in json.dumps(first["spec"]["concat"][1])
    assert others
    assert not any(NOT_MEASURED in json.dumps(other["spec"]) for other in others)


@pytest.mark.parametrize(
    ("rows", "value", "words"),
    [
        (wendel_rows(d=[10]), None, "P(no all-ones pattern), exact"),
        (wendel_rows(), "absolute_distance", "median absolute distance"),
        (wendel_rows(), "max_deviation<=1e-7", "largest deviation ≤ 10⁻⁷"),
        (fail(wendel_rows(), slice(0, 60, 2)), None, "trials failed (30)"),
        (wendel_rows(**{"method.beta": [1e-3, 1.0, 1e3]}), None, "β = 0.001"),
        (fail(wendel_rows(n=[10, 20], d=[5, 10]), slice(None)), None, "no trial finished"),
    ],
)
def test_every_shape_of_grid_is_a_valid_specification(rows: Any, value: str | None, words: str) -> None:
    _, chart = made(rows, value)
    assert words in drawn(chart)


@pytest.mark.deep
def test_titles_and_names_are_text() -> None:
    rows = wendel_rows(ensemble=["gaussian", HOSTILE.replace(" ", "_")])
    _, chart = made(rows, title=HOSTILE)
    tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            tags.append(tag)

    for html in (chart.to_html(), chart._repr_mimebundle_()["text/html"]):
        tags.clear()
        Reader().feed(html)
        assert "script" in tags
        assert "img" not in tags
    assert np.isfinite(cells(chart)[0]["v"])


def test_the_chart_has_the_means_and_the_numbers_that_the_source_prints() -> None:
    rows = wendel_rows([20, 40], [10, 20], replicates=4, seed=1, method=["min_norm", "train"])
    table = {"min_norm": [0.5, 0.25], "train": [2.0, 1.0]}
    claim = {"kind": "table", "of": "seconds", "axis": "method", "across": "n", "at": [20, 40], "values": table}
    report = {"value": "seconds", "x": "n", "y": "method", "panel": "d"}
    _, chart = made(rows, report=report, claims=[claim | {"error": 0.1, "where": {"d": 20}}])
    tables = [layer["data"].get("values", []) for layer in chart.to_dict()["concat"][1]["layer"]]
    crosses = next(one for one in tables if one and one[0].get("label") == "number printed in the source")
    assert [(one["x"], one["y"]) for one in crosses] == [(20, 0.5), (40, 0.25), (20, 2.0), (40, 1.0)]
    where = (rows["d"] == 20) & (rows["n"] == 20) & (rows["method"] == "min_norm")
    values = rows.loc[where, "seconds"]
    first = next(one for one in cells(chart, 1) if one["x"] == 20)
    assert first["v"] == pytest.approx(values.mean(), rel=1e-3)
    assert first["high"] - first["v"] == pytest.approx(values.std() / np.sqrt(len(values)), rel=1e-2)
    for one in ("mean, standard error", "number printed in the source"):
        assert one in drawn(chart)
    assert "printed" not in json.dumps(chart.to_dict()["concat"][0])
