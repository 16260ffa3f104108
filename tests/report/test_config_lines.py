"""Lines of a config's report: constants, expressions and functions with labels, and Greek letters."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recovery.config import load
from recovery.errors import RecoverError
from recovery.report.claims import Analysis
from recovery.report.diagram import PLAIN, Diagram, greek, lines, theory_along
from recovery.report.figures import main_figure, render
from recovery.theory import donoho_tanner
from recovery.theory.l1 import l1_dimension

from .grids import grid, wendel_rows

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
def test_curves_that_cannot_be_drawn_are_refused(tmp_path: Path, curve: str, words: str) -> None:
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
