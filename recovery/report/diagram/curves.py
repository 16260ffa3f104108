"""Theory in the plane of a diagram: a config's `curves` as lines with a label, over whichever way n and d run."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from contourpy import contour_generator

from recovery.config import NamedCurve, RatioCurve
from recovery.errors import ReportError
from recovery.report.diagram.diagram import Diagram
from recovery.theory import CURVES
from recovery.types import Array

MESH = 400
"""Points of a curve, and each way of the mesh on which its level is traced."""


@dataclass(frozen=True)
class Line:
    """A polyline in the diagram's coordinates, shape (k, 2): across, up. Secondary lines bracket a main one."""

    label: str
    points: Array
    secondary: bool = False


def lines(diagram: Diagram) -> list[Line]:
    """The lines that the config's `report.curves` asks for; none unless the diagram is over n and d."""
    layout = diagram.layout
    if not layout.over_n_and_d:
        return []
    panel = diagram.panels[0]
    n, d = (panel.x, panel.y) if layout.x == "n" else (panel.y, panel.x)
    result: list[Line] = []
    for spec in diagram.sweep.report.lines:
        result += _traced(spec, _reach(n), _reach(d))
    if layout.x == "d":
        result = [Line(line.label, line.points[:, ::-1], line.secondary) for line in result]
    return result


def ratio_label(spec: RatioCurve) -> str:
    """`n = 2d`."""
    return "n = d" if spec.ratio == 1 else f"n = {spec.ratio:g}d"


def _reach(values: Any) -> tuple[float, float]:
    """The range of an axis and half a step on either side."""
    low, high = float(min(values)), float(max(values))
    step = (high - low) / (len(values) - 1) if len(values) > 1 else 1.0
    return max(low - step / 2, 1e-9), high + step / 2


def _traced(spec: NamedCurve | RatioCurve, n: tuple[float, float], d: tuple[float, float]) -> list[Line]:
    if isinstance(spec, RatioCurve):
        ends = np.array([[spec.ratio * d[0], d[0]], [spec.ratio * d[1], d[1]]])
        return [Line(ratio_label(spec), ends)]
    if spec.name not in CURVES:
        raise ReportError(f"report.curves names {spec.name!r}; there are {', '.join(CURVES)}, or {{ratio: NUMBER}}")
    curve = CURVES[spec.name]
    if curve.axes != ("n", "d"):
        return []
    grid_n, grid_d = np.linspace(*n, MESH), np.linspace(*d, MESH)
    with np.errstate(all="ignore"):
        values = np.asarray(curve.function(grid_n[None, :], grid_d[:, None]), dtype=float)
    contours: Any = contour_generator(grid_n, grid_d, np.ma.masked_invalid(values))
    main = curve.level if spec.level is None else spec.level
    probability = np.nanmin(values) >= 0 and np.nanmax(values) <= 1
    label = f"{curve.label}, {main * 100:g} %" if probability else curve.label
    found = [Line(label, points) for points in contours.lines(main)]
    if probability and spec.level is None and main == 0.5:
        found += [Line(f"{curve.label}, 5 % and 95 %", p, True) for q in (0.05, 0.95) for p in contours.lines(q)]
    return found
