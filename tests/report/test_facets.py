"""Panels in rows and columns, and several quantities side by side."""

import re
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from recovery.api import Results
from recovery.config import ConfigError, load
from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures import main_figure
from recovery.report.texts.terminal import maps
from recovery.store import read
from tests.invoke import refused, said

from .grids import analysed, drawn, grid, store, wendel_rows
from .test_command import run
from .text_faults import faults

REPORT: dict[str, Any] = {"value": "recovered", "x": "n", "y": "d", "curves": [{"ratio": 2.0}]}
THREE = ["recovered", "absolute_distance", "seconds"]


def small(**axes: Any) -> Any:
    return wendel_rows(n=[10, 20, 30, 40], d=[5, 10], replicates=2, **axes)


def titles(figure: Figure, count: int) -> list[str]:
    return [ax.get_title(loc="left").strip() for ax in figure.axes[:count]]


def row_names(figure: Figure) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_rows_and_columns_are_named_once_and_every_panel_has_its_letter() -> None:
    rows = small(noise=[0.0, 0.1, 0.2], ensemble=["gaussian", "haar"])
    figure = drawn(analysed(rows, report=REPORT | {"rows": "noise", "columns": "ensemble"}))
    assert titles(figure, 6) == ["(a) Gaussian", "(b) Haar", "(c)", "(d)", "(e)", "(f)"]
    assert row_names(figure) == [r"$\sigma$ = 0", r"$\sigma$ = 0.1", r"$\sigma$ = 0.2"]
    panels = figure.axes[:6]
    assert [ax.get_xlabel() for ax in panels] == ["", "", "", "", "$n$", "$n$"]
    assert [ax.get_ylabel() for ax in panels] == ["$d$", ""] * 3
    places = np.array([ax.get_position().bounds[:2] for ax in panels]).reshape(3, 2, 2)
    assert np.ptp(places[:, :, 0], axis=0).max() < 1e-9  # a column has one x
    assert np.ptp(places[:, :, 1], axis=1).max() < 1e-9  # a row has one height
    assert faults(figure) == []


def test_one_column_of_panels_has_room_for_its_labels() -> None:
    figure = drawn(analysed(small(ensemble=["gaussian", "haar", "rademacher"]), report=REPORT | {"rows": "ensemble"}))
    assert titles(figure, 3) == ["(a)", "(b)", "(c)"]
    assert row_names(figure) == ["Gaussian", "Haar", "Rademacher"]
    assert faults(figure) == []


def test_rows_or_columns_alone_take_the_remaining_axes() -> None:
    rows = small(noise=[0.0, 0.1], ensemble=["gaussian", "haar"], method=["min_norm", "isometry"])
    layout = Diagram.of(grid(rows, report=REPORT | {"rows": "noise"})).layout
    assert (layout.panels, layout.columns) == (("noise", "ensemble", "method"), 2)
    layout = Diagram.of(grid(rows, report=REPORT | {"columns": "noise"})).layout
    assert (layout.panels, layout.columns) == (("ensemble", "method", "noise"), 1)
    assert Diagram.of(grid(rows, report=REPORT)).layout.columns is None


def test_a_grid_with_holes_keeps_its_places_and_labels() -> None:
    rows = small(noise=[0.0, 0.1], ensemble=["gaussian", "haar"])
    rows = rows[(rows["noise"] == 0) | (rows["ensemble"] == "gaussian")]
    analysis = analysed(rows, report=REPORT | {"rows": "noise", "columns": "ensemble"})
    assert len(analysis.diagram.panels) == 3
    figure = drawn(analysis)
    shown = [ax for ax in figure.axes[:4] if ax.axison]
    assert [ax.get_title(loc="left").strip() for ax in shown] == ["(a) Gaussian", "(b) Haar", "(c)"]
    assert [ax.get_xlabel() for ax in shown] == ["", "$n$", "$n$"]
    assert row_names(figure) == [r"$\sigma$ = 0", r"$\sigma$ = 0.1"]
    assert faults(figure) == []


@pytest.mark.parametrize(("per_row", "places"), [((4, 1, 1), [3, 1, 1, 1]), ((1, 1, 4), [1, 1, 3, 1])])
def test_rows_of_a_grid_with_many_holes_have_no_gaps(per_row: tuple[int, ...], places: list[int]) -> None:
    """A lattice would have twelve places, six of them empty. Each panel has the name of its column."""
    names = ["gaussian", "haar", "rademacher", "cubic_gaussian"]
    rows = small(noise=[0.0, 0.1, 0.2], ensemble=names)
    kept = [names.index(e) < per_row[round(10 * s)] for e, s in zip(rows["ensemble"], rows["noise"], strict=True)]
    report = REPORT | {"rows": "noise", "columns": "ensemble"}
    figure = drawn(analysed(rows[kept], report=report))
    panels = [ax for ax in figure.axes[:12] if ax.axison]
    heights = [round(ax.get_position().y0, 6) for ax in panels]
    assert [heights.count(y) for y in dict.fromkeys(heights)] == places
    assert all(ax.get_title(loc="left").strip().partition(") ")[2] for ax in panels)
    first = panels[0].get_position().x0
    assert sum(abs(ax.get_position().x0 - first) < 1e-9 for ax in panels) == 4
    assert row_names(figure) == [rf"$\sigma$ = {0.1 * i:g}" for i, k in enumerate(per_row) for _ in range(-(-k // 3))]
    assert faults(figure) == []


def test_a_facet_that_does_not_vary_leaves_one_row() -> None:
    figure = drawn(analysed(small(ensemble=["gaussian", "haar"]), report=REPORT | {"rows": "noise"}))
    assert titles(figure, 2) == ["(a) Gaussian", "(b) Haar"]
    assert "".join(row_names(figure)) == ""


@pytest.mark.parametrize("key", ["rows", "columns"])
@pytest.mark.parametrize(("name", "message"), [("n", "shows already"), ("colour", "allowed: a coordinate")])
def test_mistakes_in_rows_and_columns_are_named(tmp_path: Path, key: str, name: str, message: str) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"name: x\naxes: {{n: [8, 9], d: [2, 3]}}\nreport: {{x: n, y: d, {key}: {name}}}\n")
    with pytest.raises(ConfigError, match=message):
        load(config)


@pytest.mark.parametrize("kind", ["map", "profile"])
def test_quantities_are_side_by_side_with_separate_scales(kind: str) -> None:
    rows = small(ensemble=["gaussian", "haar"])
    analysis = analysed(rows, report=REPORT | {"value": THREE, "figure": kind})
    assert str(analysis.diagram.quantity) == "recovered"
    name, drawing = main_figure(analysis)
    assert name == "quantities"
    assert drawing.words == "Side by side: recovered, absolute distance, seconds"
    figure = drawing.draw()
    assert titles(figure, 6) == ["(a) recovered", "(b) absolute distance", "(c) seconds", "(d)", "(e)", "(f)"]
    assert row_names(figure) == ["Gaussian", "Haar"]
    assert faults(figure) == []
    labels = ["fraction recovered", "median absolute distance, log scale", "median seconds, log scale"]
    if kind == "map":
        bars = figure.axes[6:]
        assert [bar.get_xlabel().replace("\n", " ") for bar in bars] == labels
        meshes = [np.ma.getdata(ax.collections[0].get_array()).ravel() for ax in figure.axes[:6]]
        for k, of in enumerate(THREE):
            alone = drawn(analysed(rows, of, report=REPORT)).axes[0].collections[0]
            np.testing.assert_array_equal(meshes[k], np.ma.getdata(alone.get_array()).ravel())
    else:
        assert len(figure.axes) == 6
        assert [ax.get_yscale() for ax in figure.axes[:3]] == ["linear", "log", "log"]
        assert [ax.get_ylabel() for ax in figure.axes[:3]] == [
            "fraction recovered",
            "median absolute distance",
            "median seconds",
        ]


def test_the_command_and_the_notebook_take_several_values(tmp_path: Path) -> None:
    results = store(small(), tmp_path / "drawn")
    said("report", results, "--value", "recovered", "--value", "seconds", "--format", "svg")
    (picture,) = (results / "report").iterdir()
    assert picture.name == "drawn-recovered-seconds.svg"
    assert {"fraction recovered", "median seconds, log scale"} <= set(_texts(picture.read_text()))
    text = run(results, "--value", "recovered", "--value", "seconds", "--format", "terminal").stdout
    assert text.index("fraction recovered: 0") < text.index("median seconds, log scale: 0")
    wrong = refused("report", results, "--value", "recovered", "--value", "colour")
    assert "colour is not a column of this grid" in wrong
    figure = Figure()
    Results(grid(small())).plot(["recovered", "seconds"], ax=figure.subplots())  # one panel: of the first
    assert [ax.get_ylabel() for ax in figure.axes] == ["$d$", "fraction recovered"]


def _texts(svg: str) -> list[str]:
    found = re.findall(r"<text[^>]*>(.*?)</text>", svg, flags=re.DOTALL)
    return [re.sub(r"<[^>]+>", "", text).strip() for text in found]


def test_the_same_value_twice_is_one() -> None:
    assert Diagram.of(grid(small()), ["recovered", "recovered"]).beside == ()


def test_the_terminal_shows_a_map_for_each_value() -> None:
    lines = maps(Diagram.of(grid(small()), THREE), Console(file=StringIO(), width=100))
    assert sum("no trial finished" in line.plain for line in lines) == 3


def test_ratios_of_a_number_are_refused() -> None:
    analysis = analysed(small(), "seconds", report=REPORT | {"figure": "ratios"})
    with pytest.raises(ReportError, match="use 'map' or 'profile'"):
        main_figure(analysis)
    assert main_figure(analysed(small(), report=REPORT | {"figure": "ratios"}))[0] == "ratios"


def test_ticks_on_each_other_and_panels_too_small_to_read_are_found() -> None:
    """The stored diagram of P4, whose cells are no lattice, has neither."""
    assert faults(main_figure(Analysis(Diagram.of(read(Path("results/papers/p4-diagram")))))[1].draw()) == []
    dense = Figure(figsize=(3, 2))
    dense.add_axes((0.2, 0.2, 0.7, 0.7), yticks=[]).set_xticks(range(12), [str(10**i) for i in range(12)])
    assert any(one.startswith("overlap") for one in faults(dense))
    figure = Figure(figsize=(4, 3))
    figure.add_axes((0.1, 0.1, 0.8, 0.05), xticks=[], yticks=[])
    assert faults(figure) == ["sliver: a panel of 3.20 x 0.15 inches"]
