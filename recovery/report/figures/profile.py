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
from matplotlib.lines import Line2D

from recovery.config import NamedCurve
from recovery.report.diagram import Diagram, Panel, scale_of
from recovery.report.figures.figure import axis_label, heading, legend_columns, letters, plain, positions
from recovery.report.figures.style import DASHES, LINES, ONE_COLUMN, RC, TWO_COLUMNS
from recovery.report.statistics import wilson
from recovery.theory import CURVES
from recovery.theory.curve import Curve
from recovery.types import Array

MESH = 400
DECADES = 100
"""A coordinate that spans such a factor, most of it at the low end, stands on a log axis."""
SIDE = 0.012
"""Words that stand at one place are drawn so far apart, of the axis's length."""
OWN = ("predicted", "bound")
"""Columns of the rows that are theory themselves."""


def is_profile(diagram: Diagram) -> bool:
    """Whether lines say more than a map: a curve over the coordinate across is asked for, rows bring their own theory,
    or what goes up is a single value or words."""
    x, y = diagram.layout.x, diagram.layout.y
    if any(x in curve.axes and curve.axes != ("n", "d") for curve in _curves(diagram)):
        return True
    if str(diagram.quantity) == "frequency" and x not in ("n", "d"):
        return True
    return len(diagram.panels[0].y) == 1 or (_words(diagram, y) and not _words(diagram, x))


def _words(diagram: Diagram, name: str | None) -> bool:
    return name is not None and not pd.api.types.is_numeric_dtype(diagram.frame[name].dtype)


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
        if scale_of(diagram).logarithmic and (diagram.table["value"].dropna() > 0).all():
            axes[0, 0].set_yscale("log")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        bars = "95 % interval" if diagram.proportion else "lowest to highest"
        handles.append(Line2D([], [], marker="|", linestyle="none", color="black", ms=7, mew=0.5))
        columns = legend_columns([*labels, bars], width)
        figure.legend(handles, [*labels, bars], loc="outside lower center", ncols=columns)
    return figure


def _spans_decades(at: Array) -> bool:
    low, high = float(at.min()), float(at.max())
    return low > 0 and high >= DECADES * low and float(np.median(at)) < low + 0.1 * (high - low)


def _measured_label(diagram: Diagram) -> str:
    return f"fraction {diagram.quantity.label}" if diagram.proportion else diagram.quantity.label


def _panel(ax: Axes, diagram: Diagram, panel: Panel) -> None:
    at = positions(panel.x)
    if not np.array_equal(at, np.asarray(panel.x, dtype=object)):
        ax.set_xticks(at, [plain(str(value)) for value in panel.x])
    elif _spans_decades(at):
        ax.set_xscale("log")
    for i, y in enumerate(panel.y):
        cells = panel.cells[panel.cells["iy"] == i].sort_values("ix")
        x, colour = at[cells["ix"]], LINES[i % len(LINES)]
        if isinstance(y, str) and ax.get_xscale() == "linear":
            x = x + (i - (len(panel.y) - 1) / 2) * SIDE * float(np.ptp(at))
        up = axis_label(diagram.layout.y)
        label = _measured_label(diagram) if len(panel.y) == 1 else f"{up} = {y:g}" if not isinstance(y, str) else y
        value = cells["value"].to_numpy(dtype=float)
        ax.plot(x, value, "o", ms=2.5, color=colour, label=plain(label))
        low, high = wilson(cells["yes"], cells["no"]) if diagram.proportion else (cells["lowest"], cells["highest"])
        ax.vlines(x, low, high, color=colour, lw=0.5, alpha=0.6)
        rows = _rows(diagram, panel, y)
        if len(x) < 2 or _words(diagram, diagram.layout.x):
            continue
        for name, dash in zip(OWN, DASHES[1:], strict=False):
            if str(diagram.quantity) == "frequency" and name in rows and rows[name].notna().any():
                means = rows.groupby(diagram.layout.x)[name].mean()
                ax.plot(means.index, means, linestyle=dash, lw=0.9, color=colour, label=name if i == 0 else None)
        for curve in _curves(diagram):
            values = _along(curve, diagram, rows, np.linspace(x[0], x[-1], MESH))
            if values is not None:
                along, line = values
                ax.plot(along, line, linestyle="-", lw=0.9, color="black", label=curve.label if i == 0 else None)


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
        found = rows[axis].unique() if axis in rows else [_given(diagram.sweep.document, axis)]
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
    names = [spec.name for spec in diagram.sweep.report.lines if isinstance(spec, NamedCurve)]
    return [CURVES[name] for name in names if name in CURVES]
