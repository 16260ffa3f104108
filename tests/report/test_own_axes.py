"""Diagrams over user-defined axes, and over expressions of coordinates."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from recovery.errors import ReportError
from recovery.report.diagram import Diagram
from recovery.store import Grid

from .grids import grid, wendel_rows

RATIOS, SIZES = (1.0, 1.5, 2.0, 2.5), (10, 20)


def over_ratio(report: dict[str, Any], ratios: tuple[float, ...] = RATIOS) -> Grid:
    """A grid whose n is computed from a user-defined ratio and d; the config has all `RATIOS`."""
    parts = [
        wendel_rows([int(ratio * d)], [d], seed=int(100 * ratio + d)).assign(ratio=ratio)
        for ratio in ratios
        for d in SIZES
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    axes = {"ratio": [*RATIOS], "d": [*SIZES], "n": "ratio * d"}
    return grid(rows, axes=axes, report={"value": "recovered", **report})


@pytest.mark.parametrize("report", [{}, {"x": "ratio"}, {"x": "ratio", "y": "d"}, {"x": "n/d", "y": "d"}, {"x": "n/d"}])
def test_computed_coordinates_make_no_panels(report: dict[str, Any]) -> None:
    diagram = Diagram.of(over_ratio(report))
    assert (diagram.layout.x, diagram.layout.y) in {("d", "ratio"), ("ratio", "d"), ("n/d", "d")}
    assert diagram.layout.panels == ()
    assert not np.isnan(diagram.panels[0].matrix("value")).any()


def test_n_and_d_can_still_be_the_axes() -> None:
    diagram = Diagram.of(over_ratio({"x": "n", "y": "d"}))
    assert diagram.layout.over_n_and_d
    assert diagram.panels[0].x == [10, 15, 20, 25, 30, 40, 50]


def test_expressions_have_the_values_of_planned_trials() -> None:
    diagram = Diagram.of(over_ratio({"x": "n/d", "y": "d"}, RATIOS[:2]))
    assert diagram.panels[0].x == [*RATIOS]


def test_cells_of_an_expression_have_the_same_trials() -> None:
    by_ratio, by_name = (Diagram.of(over_ratio({"x": x, "y": "d"})) for x in ("n/d", "ratio"))
    assert np.array_equal(by_ratio.panels[0].matrix("yes"), by_name.panels[0].matrix("yes"))


def test_other_coordinates_still_make_panels() -> None:
    diagram = Diagram.of(over_ratio({"x": "n/d", "y": "noise"}))
    assert diagram.layout.panels == ("d",)


def test_expressions_of_words_are_refused() -> None:
    with pytest.raises(ReportError, match="arithmetic"):
        Diagram.of(over_ratio({"x": "n / ensemble"}))
