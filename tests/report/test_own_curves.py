"""User-defined curves: functions, stored as points, and refused where they cannot be drawn."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recovery.config import ConfigError, Sweep, from_document, load
from recovery.report.diagram import PLAIN, Diagram, greek, lines
from recovery.theory import donoho_tanner

from ..config.sweeps import load_fields, write
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
    return lines(Diagram.of(grid(wendel_rows([10, 20, 30], [5, 10]), report=shown)), 0)


def test_functions_are_stored_as_points(folder: Path) -> None:
    document = json.loads(json.dumps(sweep(folder, {"function": "curves_of_mine:half"}).document))
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


def test_a_curve_reaches_the_border_of_a_log_axis() -> None:
    """The borders of its first and last cell are half a step away, by ratio: a linear half step is less at the top."""
    sizes = [10, 100, 1000, 10_000]
    for x, y in (("n", "d"), ("d", "n")):
        stored = grid(wendel_rows(sizes, sizes), report={"x": x, "y": y, "curves": [{"ratio": 2.0}]})
        (line,) = lines(Diagram.of(stored), 0)
        n, d = line.points.T if x == "n" else line.points.T[::-1]
        np.testing.assert_allclose(n, 2 * d, rtol=1e-6)
        assert max(n.max(), d.max()) >= 1000 * 10**1.5 * (1 - 1e-9)
        assert min(n.min(), d.min()) <= 10**0.5 * (1 + 1e-9)
        assert np.diff(np.log(np.sort(d))).max() < 0.2


def test_the_points_of_a_function_reach_the_border_of_a_log_axis(folder: Path) -> None:
    (curve,) = sweep(folder, {"function": "curves_of_mine:half"}, n=(10, 100, 1000)).report.lines
    points = np.array(curve.points)  # type: ignore[union-attr]
    np.testing.assert_allclose(points[[0, -1], 0], [10**0.5, 10**3.5])
    np.testing.assert_allclose(points[:, 1], points[:, 0] / 2)


@pytest.mark.parametrize(
    ("curve", "report", "words"),
    [
        ({"function": "curves_of_mine:bad"}, {}, "fails: ZeroDivisionError"),
        ({"function": "curves_of_mine:both"}, {}, "a function of one axis"),
        ({"function": "curves_of_mine:word"}, {}, "fails: ValueError"),
        ({"function": "curves_of_mine:number"}, {}, "is no function"),
        ({"function": "curves_of_mine:halt"}, {}, "did you mean 'half'"),
        ({"function": "curves_of_mine:half"}, {"x": "noise"}, "a function of one axis of the diagram, d or noise"),
        ({"function": "half"}, {}, "function: found 'half', which is no module:NAME"),
        ({"expression": "2 * d"}, {}, "allowed: a theory curve's name"),
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


def test_a_function_has_a_label_and_is_kept_as_points() -> None:
    def kept(**label: str) -> Any:
        axes = {"delta": [1, 2, 3], "rho": [0.1, 0.2], "n": "delta * d + 0 * rho"}
        report = {"x": "delta", "y": "rho", "curves": [{"function": "recovery.theory:donoho_tanner", **label}]}
        return load_fields(axes=axes, report=report, n=None, d=20).report.curves[0]

    curve = kept(label="exact")
    assert (curve.label, curve.x, curve.y) == ("exact", "delta", "rho")
    delta, rho = np.array(curve.points).T
    inside = delta < 1
    assert [donoho_tanner(value) for value in delta[inside]] == pytest.approx(rho[inside])
    assert kept().label == "donoho tanner"


def test_names_of_greek_letters_become_letters() -> None:
    assert (
        greek("rho = 2 * delta at tau, deltas, planted.tau, beta(2)") == "ρ = 2 * δ at τ, deltas, planted.tau, beta(2)"
    )
    assert PLAIN.axis("delta") == "δ"
    assert PLAIN.axis("method.batch_size") == "batch size"
    assert PLAIN.axis("2.5*log(method.rate)*method.width") == "2.5*log(rate)*width"
    assert PLAIN.pair("model.omega", 2) == "ω = 2"
