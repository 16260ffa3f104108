"""Panels in rows and columns, and several quantities side by side."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from recovery.api import Results
from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures import main_figure
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


def test_the_values_of_the_last_coordinate_are_columns_if_each_row_has_all_of_them() -> None:
    rows = small(noise=[0.0, 0.1, 0.2], ensemble=["gaussian", "haar"])
    figure = drawn(analysed(rows, report=REPORT))
    assert titles(figure, 2) == [r"(a) $\sigma$ = 0, Gaussian", r"(b) $\sigma$ = 0, Haar"]
    panels = figure.axes[:6]
    assert [ax.get_xlabel() for ax in panels] == ["", "", "", "", "$n$", "$n$"]
    assert [ax.get_ylabel() for ax in panels] == ["$d$", ""] * 3
    places = np.array([ax.get_position().bounds[:2] for ax in panels]).reshape(3, 2, 2)
    assert np.ptp(places[:, :, 0], axis=0).max() < 1e-9  # a column has one x
    assert np.ptp(places[:, :, 1], axis=1).max() < 1e-9  # a row has one height
    assert faults(figure) == []
    holes = rows[(rows["noise"] == 0) | (rows["ensemble"] == "gaussian")]
    assert (analysed(rows).diagram.columns, analysed(holes).diagram.columns) == (2, None)


@pytest.mark.parametrize("kind", ["map", "profile"])
def test_quantities_are_side_by_side_with_separate_scales(kind: str) -> None:
    rows = small(ensemble=["gaussian", "haar"])
    analysis = analysed(rows, report=REPORT | {"value": THREE, "figure": kind})
    assert str(analysis.diagram.quantity) == "recovered"
    name, drawing = main_figure(analysis)
    assert name == "quantities"
    assert drawing.words == "Side by side: recovered, absolute distance, seconds"
    figure = drawing.draw()
    names = [
        "(a) recovered, Gaussian",
        "(b) absolute distance, Gaussian",
        "(c) seconds, Gaussian",
        "(d) recovered, Haar",
    ]
    assert [title.replace("\n", " ") for title in titles(figure, 4)] == names
    assert faults(figure) == []
    labels = ["fraction recovered", "median absolute distance, log scale", "median seconds, log scale"]
    if kind == "map":
        assert [bar.get_xlabel().replace("\n", " ") for bar in figure.axes[6:]] == labels
        meshes = [np.ma.getdata(ax.collections[0].get_array()).ravel() for ax in figure.axes[:6]]
        for k, of in enumerate(THREE):
            alone = drawn(analysed(rows, of, report=REPORT)).axes[0].collections[0]
            np.testing.assert_array_equal(meshes[k], np.ma.getdata(alone.get_array()).ravel())
    else:
        assert len(figure.axes) == 6
        assert [ax.get_yscale() for ax in figure.axes[:3]] == ["linear", "log", "log"]
        assert [ax.get_ylabel().replace("\n", " ") for ax in figure.axes[:3]] == [
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
