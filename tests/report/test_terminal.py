"""The terminal's map without colours, its labels, and its table of thresholds."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.texts.terminal import print_diagram

from .grids import grid, wendel_rows


def shown(diagram: Diagram, width: int = 120, colour: bool = False) -> str:
    buffer = StringIO()
    console = Console(file=buffer, width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    print_diagram(Analysis(diagram), console)
    return buffer.getvalue()


def test_no_color_prints_characters_in_place_of_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = wendel_rows(n=[10, 50, 90], d=[5, 30], replicates=2)
    rows["recovered"] = pd.array(rows["n"] > 2 * rows["d"], dtype="boolean")
    monkeypatch.setenv("NO_COLOR", "1")
    text = shown(Diagram.of(grid(rows)), colour=True)
    top = next(line for line in text.splitlines() if line.strip().startswith("30 "))
    assert top.split() == ["30", ".", ".", "#"]
    assert "[38;" not in text  # no colour of letters
    assert "[48;" not in text  # and no background colour


@pytest.mark.parametrize("n", [[10, 20], [5, 100, 2000]])
def test_every_value_of_a_short_axis_is_labelled(n: list[int]) -> None:
    text = shown(Diagram.of(grid(wendel_rows(n=n, d=[5, 10, 15], ensemble=["gaussian", "haar"]))))
    labels = [line.split() for line in text.splitlines() if line.split()[:1] == ["d"]]
    assert labels == [["d", *map(str, n), "n"]] * 2


def test_many_sparse_panels_are_one_table_of_thresholds() -> None:
    ratios = np.linspace(1.5, 2.5, 6)
    parts = [
        wendel_rows(n=[round(d * r) for r in ratios], d=[d], ensemble=list("abcdef"), replicates=10)
        for d in (20, 31, 43, 57)
    ]
    claim = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.4}
    text = shown(Diagram.of(grid(pd.concat(parts, ignore_index=True), claims=[claim])), 160)
    rows = [line for line in text.splitlines() if line.startswith(" recovered") and "2 ± 0.4" in line]
    assert [row.split()[1] for row in rows] == list("abcdef")
    assert "n/d at 50 %" in text
    assert "#" not in text  # no maps
