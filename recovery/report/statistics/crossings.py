"""Where a fraction crosses one half along any number, row by row: for diagrams over other axes than n and d.

No curve is fitted (`curve_free`): a panel's fractions are taken to rise, or to fall, along x.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from recovery.report.diagram import Axis, Diagram, Panel
from recovery.report.statistics.curve_free import Crossing, crossing
from recovery.report.statistics.transition import numbers
from recovery.types import Array


@dataclass(frozen=True)
class CrossedRow:
    """One value of y, None without one, and where its fractions cross one half along x."""

    y: Any
    half: Crossing


def has_rows(diagram: Diagram) -> bool:
    """Whether the diagram is a proportion along numbers."""
    return diagram.proportion and all(Axis(panel.x).kind != "even" for panel in diagram.panels)


def rows(panel: Panel) -> list[CrossedRow]:
    """The crossing at each y; on a log axis, fractions are joined by lines along log x."""
    axis, cells = Axis(panel.x), panel.cells
    at = np.log(axis.at) if axis.kind == "log" else axis.at
    yes, no = numbers(cells, "yes"), numbers(cells, "no")
    falling = _trend(at[cells["ix"]], yes, no) < 0
    won, lost = (no, yes) if falling else (yes, no)
    found = []
    for i, y in enumerate(panel.y):
        here = (cells["iy"] == i).to_numpy()
        half = crossing(at[cells["ix"][here]], won[here], lost[here])
        found.append(CrossedRow(y, _back(half) if axis.kind == "log" else half))
    return found


def _trend(at: Array, yes: Array, no: Array) -> float:
    """Positive where yes becomes more frequent along x: the covariance of x and outcome."""
    total = yes + no
    share = float(yes.sum() / total.sum()) if total.sum() else 0.0
    return float(np.sum((at - at.mean()) * (yes - share * total)))


def _back(half: Crossing) -> Crossing:
    """From log x to x; what lies beyond the cells stays infinite."""
    low = np.exp(half.low) if np.isfinite(half.low) else half.low
    return Crossing(float(np.exp(half.estimate)), float(low), float(np.exp(half.high)))
