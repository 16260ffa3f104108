"""User-defined curves: files, functions and expressions; stored as points, and refused where they cannot be drawn."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recovery.config import ConfigError, Sweep, from_document, load
from recovery.errors import RecoverError
from recovery.report.claims import Analysis
from recovery.report.diagram import PLAIN, Diagram, greek, lines, theory_along
from recovery.report.figures import main_figure, render
from recovery.theory import donoho_tanner
from recovery.theory.l1 import l1_dimension

from ..config.sweeps import write
from .grids import grid, wendel_rows

MODULE = """
def half(n):
    return n / 2

def bad(n):
    return 1 / (n - n)

def both(n, d):
    return n - d

def word(n):
    return "many"

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "curves_of_mine.py").write_text(MODULE)
    (tmp_path / "line.csv").write_text("d,n\n5,10\n\n10,20\n")
    (tmp_path / "bad.csv").write_text("d,n\n5,ten\n")
    (tmp_path / "names.csv").write_text("dd,n\n5,10\n")
    (tmp_path / "short.csv").write_text("d,n\n5,10\n")
    before = sys.path[:]
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop("curves_of_mine", None)


def sweep(folder: Path, *curves: Any, n: tuple[int, ...] = (10, 20, 30), **report: Any) -> Sweep:
    axes = {"n": n, "d": [5, 10], "noise": [0, 0.1]}
    shown = {"x": "n", "y": "d", "curves": curves, **report}
    return load(write(folder / "config.yaml", axes=axes, report=shown, n=None, d=None))


def drawn(*curves: Any, **report: Any) -> list[Any]:
    shown = {"x": "n", "y": "d", "curves": list(curves), **report}
    return lines(Diagram.of(grid(wendel_rows([10, 20, 30], [5, 10]), report=shown)))


@pytest.mark.parametrize("curve", [{"file": "line.csv"}, "curves_of_mine:half"])
def test_files_and_functions_are_stored_as_points(folder: Path, curve: Any) -> None:
    document = json.loads(json.dumps(sweep(folder, curve).document))
    (kept,) = document["report"]["curves"]
    assert {kept["x"], kept["y"]} == {"n", "d"}
    shutil.rmtree(folder)
    sys.modules.pop("curves_of_mine", None)
    assert from_document(document).report.lines[0].points == tuple(map(tuple, kept["points"]))  # type: ignore[union-attr]
    for x, y in (("n", "d"), ("d", "n")):
        (line,) = drawn(kept, x=x, y=y)
        points = line.points if x == "n" else line.points[:, ::-1]
        np.testing.assert_allclose(points[:, 1], points[:, 0] / 2)
    assert drawn(kept, x="n", y="noise") == []


@pytest.mark.parametrize(
    ("text", "slope"), [("2 * d", 2.0), ("n / 2", 2.0), ("n - 3 * d", 3.0), ("d + d * (1 + noise)", 2.0)]
)
def test_expressions_of_either_axis_or_both(text: str, slope: float) -> None:
    for x, y in (("n", "d"), ("d", "n")):
        (line,) = drawn({"expression": text}, x=x, y=y)
        n, d = line.points.T if x == "n" else line.points.T[::-1]
        np.testing.assert_allclose(n, slope * d, rtol=1e-9)


@pytest.mark.parametrize(
    "curve", [{"expression": "2 * d"}, {"expression": "n / 2"}, {"expression": "n - 2 * d"}, {"ratio": 2.0}]
)
def test_a_curve_reaches_the_border_of_a_log_axis(curve: dict[str, Any]) -> None:
    """The borders of its first and last cell are half a step away, by ratio: a linear half step is less at the top."""
    sizes = [10, 100, 1000, 10_000]
    for x, y in (("n", "d"), ("d", "n")):
        stored = grid(wendel_rows(sizes, sizes), report={"x": x, "y": y, "curves": [curve]})
        (line,) = lines(Diagram.of(stored))
        n, d = line.points.T if x == "n" else line.points.T[::-1]
        np.testing.assert_allclose(n, 2 * d, rtol=1e-6)
        border = 1000 * 10**1.5
        assert max(n.max(), d.max()) >= border * (1 - 1e-9)
        assert min(n.min(), d.min()) <= 10**0.5 * (1 + 1e-9)
        assert np.diff(np.log(np.sort(d))).max() < 0.2


def test_the_points_of_a_function_reach_the_border_of_a_log_axis(folder: Path) -> None:
    (curve,) = sweep(folder, "curves_of_mine:half", n=(10, 100, 1000)).report.lines
    points = np.array(curve.points)  # type: ignore[union-attr]
    np.testing.assert_allclose(points[[0, -1], 0], [10**0.5, 10**3.5])
    np.testing.assert_allclose(points[:, 1], points[:, 0] / 2)


def test_labels_of_expressions() -> None:
    labels = [
        line.label
        for line in drawn({"expression": "2 * d"}, {"expression": "n - d"}, {"expression": "d", "label": "me"})
    ]
    assert labels == ["n = 2 * d", "n - d = 0", "me"]


@pytest.mark.parametrize(
    ("curve", "report", "words"),
    [
        ({"file": "none.csv"}, {}, "cannot read 'none.csv'"),
        ({"file": "bad.csv"}, {}, "bad.csv:2: found '5,ten'"),
        ({"file": "names.csv"}, {}, "'dd,n'; it names two coordinates.*did you mean 'd'"),
        ({"file": "short.csv"}, {}, "has 1 points"),
        ("curves_of_mine:bad", {}, "raises ZeroDivisionError"),
        ("curves_of_mine:both", {}, "a function of one axis"),
        ("curves_of_mine:word", {}, "raises ValueError"),
        ("curves_of_mine:number", {}, "is no function"),
        ("curves_of_mine:halt", {}, "did you mean 'half'"),
        ("curves_of_mine:half", {"x": "noise"}, "a function of one axis of the diagram, d or noise"),
        ({"expression": "__import__('os')"}, {}, "functions are"),
        ({"expression": "2d"}, {}, r"2 \* d"),
        ({"expression": "2 * e"}, {}, "has the name 'e'"),
        ({"expression": "2 * noise"}, {}, "takes several values"),
        ({"expression": "3"}, {}, "names neither d nor n"),
        ("l1", {}, "of which a map needs a level"),
        ("wendel", {"x": "noise"}, "over n and d; this report is over d and noise"),
        ("wendle", {}, "did you mean 'wendel'"),
        ({"ratio": 2, "lable": "x"}, {}, "allowed"),
    ],
)
def test_curves_that_cannot_be_drawn_are_refused(folder: Path, curve: Any, report: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        sweep(folder, curve, **report)


def test_a_curve_of_numbers_is_drawn_at_the_given_level(folder: Path) -> None:
    assert sweep(folder, {"name": "l1", "level": 0.2}).report.lines
    assert all("%" not in line.label and line.label.endswith("= 0.2") for line in drawn({"name": "l1", "level": 0.2}))


CONFIG = """
name: lines
replicates: 2
d: 20
data: {{ensemble: gaussian}}
planted: {{kind: linear, direction: random}}
architecture: relu_skip
method: {{kind: min_norm}}
axes:
  delta: [1, 2, 3]
  rho: [0.1, 0.2]
  n: delta * d + 0 * rho
report: {{x: delta, y: rho, value: recovered, curves: [{curve}]}}
"""


def kept(tmp_path: Path, curve: str) -> Any:
    (tmp_path / "lines.yaml").write_text(CONFIG.format(curve=curve))
    return load(tmp_path / "lines.yaml").report.curves[0]


def diagram(curves: list[Any]) -> Diagram:
    rows = wendel_rows(n=[20, 40, 60], d=[10], delta=[0.1, 0.2, 0.3], replicates=20)
    report = {"value": "recovered", "x": "n", "y": "delta", "curves": curves}
    return Diagram.of(grid(rows, report=report))


def test_a_line_at_a_constant_crosses_the_diagram() -> None:
    shown = diagram([{"at": {"n": 40}}, {"at": {"delta": 0.25}, "label": "a quarter"}])
    up, across = lines(shown)
    assert (up.label, across.label) == ("n = 40", "a quarter")
    assert up.points[:, 0].tolist() == [40, 40]
    assert up.points[:, 1] == pytest.approx([0.05, 0.35])
    assert across.points[:, 1].tolist() == [0.25, 0.25]
    assert b"a quarter" in render(main_figure(Analysis(shown))[1].draw(), "svg")


def test_a_line_at_a_constant_is_marked_along_x_too() -> None:
    shown = diagram([{"at": {"n": 40}, "label": "n = 4d"}])
    (mark,) = theory_along(shown, shown.panels[0], 0.1, np.array([20.0, 40.0, 60.0]), False)
    assert (mark.label, mark.source, mark.points[0, 0]) == ("n = 4d", "ratio", 40)


def test_a_function_has_a_label_and_is_kept_as_points(tmp_path: Path) -> None:
    """Its values solve psi(k/d) = n/d, by another route than the function's."""
    curve = kept(tmp_path, "{function: recovery.theory:donoho_tanner, label: exact}")
    assert (curve.label, curve.x, curve.y) == ("exact", "delta", "rho")
    delta, rho = np.array(curve.points).T
    inside = delta < 1
    assert l1_dimension(delta[inside] * rho[inside]) == pytest.approx(delta[inside], abs=1e-9)
    assert donoho_tanner(0.5) == pytest.approx(2 * 0.1928448, abs=1e-6)
    assert kept(tmp_path, "recovery.theory:donoho_tanner").label == "donoho tanner"


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        ("{at: {dleta: 2}}", "at: dleta is no axis of the diagram; allowed: delta and rho; did you mean 'delta'?"),
        ("{at: {delta: 2, rho: 1}}", "found {at: {delta:"),
        ("{function: donoho_tanner}", "function: found 'donoho_tanner', which is no module:NAME"),
    ],
)
def test_lines_that_cannot_be_drawn_are_refused(tmp_path: Path, curve: str, words: str) -> None:
    with pytest.raises(RecoverError) as refused:
        kept(tmp_path, curve)
    assert words in str(refused.value)
    assert "lines.yaml:13:" in str(refused.value)


def test_names_of_greek_letters_become_letters() -> None:
    assert (
        greek("rho = 2 * delta at tau, deltas, planted.tau, beta(2)") == "ρ = 2 * δ at τ, deltas, planted.tau, beta(2)"
    )
    assert PLAIN.axis("delta") == "δ"
    assert PLAIN.pair("model.omega", 2) == "ω = 2"
    words = Analysis(diagram([])).panel_words(0)
    assert words.startswith("50 % at δ = 0.1: n ")
    shown = diagram([{"expression": "20 + 100 * delta"}])
    assert [line.label for line in lines(shown)] == ["n = 20 + 100 * δ"]
    assert "δ".encode() in render(main_figure(Analysis(shown))[1].draw(), "svg")
