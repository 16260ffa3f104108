"""A quantity along one coordinate, with the theory of it: for grids whose curves are functions of that coordinate.

A theory curve over other axes than (n, d) has no line in the plane of n and d. Where a config asks for one, or its
rows carry their own prediction (columns `predicted`, `bound`), the quantity is drawn along x, a line for each y.
"""

from collections.abc import Mapping
from math import ceil
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.diagram import Diagram, Panel
from recovery.report.figure import axis_label, heading, letters, plain
from recovery.report.intervals import wilson
from recovery.report.style import DASHES, LINES, ONE_COLUMN, RC, TWO_COLUMNS
from recovery.theory import CURVES
from recovery.theory.curve import Curve
from recovery.types import Array

MESH = 400
OWN = ("predicted", "bound")
"""Columns of the rows that are theory themselves."""


def is_profile(diagram: Diagram) -> bool:
    """Whether this diagram is one: the coordinate across is an axis of a curve it asks for, or rows predict it."""
    x = diagram.layout.x
    if any(x in curve.axes and curve.axes != ("n", "d") for curve in _curves(diagram)):
        return True
    return str(diagram.quantity) == "frequency" and x not in ("n", "d")


def draw_profile(diagram: Diagram) -> Figure:
    """The figure: panels as in the map, points joined a line for each y, theory dashed in the same colour."""
    panels = diagram.panels
    across = min(len(panels), 2 if len(panels) in (1, 2, 4) else 3)
    width = ONE_COLUMN if across == 1 else TWO_COLUMNS
    up = ceil(len(panels) / across)
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width, width / across * 0.74 * up + 0.8), layout="constrained")
        axes = figure.subplots(up, across, sharey=True, squeeze=False)
        for i, (panel, ax) in enumerate(zip(panels, axes.flat, strict=False)):
            _panel(ax, diagram, panel)
            ax.set_title(f"({letters(i)}) {plain(panel.title)}" if len(panels) > 1 else "", loc="left")
            ax.set_xlabel(axis_label(diagram.layout.x))
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_axis_off()
        for ax in axes[:, 0]:
            ax.set_ylabel(_measured_label(diagram))
        figure.suptitle(heading(diagram.title, across), fontsize=9)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2 if across == 1 else 4)
    return figure


def _measured_label(diagram: Diagram) -> str:
    return f"fraction {diagram.quantity.label}" if diagram.proportion else diagram.quantity.label


def _panel(ax: Axes, diagram: Diagram, panel: Panel) -> None:
    for i, y in enumerate(panel.y):
        cells = panel.cells[panel.cells["iy"] == i].sort_values("ix")
        x = np.array([panel.x[j] for j in cells["ix"]], dtype=float)
        colour = LINES[i % len(LINES)]
        label = _measured_label(diagram) if y is None else f"{axis_label(diagram.layout.y)} = {y:g}"
        value = cells["value"].to_numpy(dtype=float)
        ax.plot(x, value, "o", ms=2.5, color=colour, label=label)
        if diagram.proportion:
            ax.vlines(x, *wilson(cells["yes"], cells["no"]), color=colour, lw=0.5, alpha=0.6)
        if len(x) < 2:
            continue
        rows = _rows(diagram, panel, y)
        for name, dash in zip(OWN, DASHES[1:], strict=False):
            if str(diagram.quantity) == "frequency" and name in rows and rows[name].notna().any():
                means = rows.groupby(diagram.layout.x)[name].mean()
                ax.plot(means.index, means, linestyle=dash, lw=0.9, color=colour, label=name if i == 0 else None)
        for curve in _curves(diagram):
            values = _along(curve, diagram, rows, np.linspace(x[0], x[-1], MESH))
            if values is not None:
                at, line = values
                ax.plot(at, line, linestyle="-", lw=0.9, color="black", label=curve.label if i == 0 else None)


def _rows(diagram: Diagram, panel: Panel, y: Any) -> pd.DataFrame:
    rows = diagram.frame
    where = dict(panel.where) if diagram.layout.y is None or y is None else {**panel.where, diagram.layout.y: y}
    for name, value in where.items():
        rows = rows[rows[name].isna() if pd.isna(value) else rows[name] == value]
    return rows


def _along(curve: Curve, diagram: Diagram, rows: pd.DataFrame, x: Array) -> tuple[Array, Array] | None:
    """The curve's values along x; None where another of its axes varies within the line, or is nowhere given."""
    if diagram.layout.x not in curve.axes:
        return None
    arguments: list[Any] = []
    for axis in curve.axes:
        if axis == diagram.layout.x:
            arguments.append(x)
            continue
        found = rows[axis].unique() if axis in rows else [_given(diagram.document, axis)]
        if len(found) != 1 or found[0] is None:
            return None
        arguments.append(float(found[0]))
    return x, np.broadcast_to(np.asarray(curve.function(*arguments), dtype=float), x.shape)


def _given(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _curves(diagram: Diagram) -> list[Curve]:
    specs = (diagram.document.get("report") or {}).get("curves") or []
    names = [spec.get("name") if isinstance(spec, Mapping) else spec for spec in specs]
    return [CURVES[name] for name in names if name in CURVES]
