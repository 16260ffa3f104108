"""A quantity along one coordinate, with the theory of it: for grids whose curves are functions of that coordinate.

A theory curve over other axes than (n, d) has no line in the plane of n and d. Where a config asks for one, where its
rows carry their own prediction (columns `predicted`, `bound`), or where only one axis varies, the quantity is drawn
along x, a line for each y.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.diagram import (
    INTERVAL,
    RANGE,
    Axis,
    Diagram,
    Panel,
    is_number,
    named_curves,
    scale_of,
    taken,
    theory_along,
)
from recovery.report.figures.sheet import interval_handle, label_log, not_measured, panel_sheet, set_axis
from recovery.report.figures.style import CURVES as CURVE_COLOURS
from recovery.report.figures.style import DASHES, MATH, line_style
from recovery.report.statistics import wilson
from recovery.types import Array

SIDE = 0.012
"""Lines of words stand so far apart where they share a place, as a part of the axis."""


def is_profile(diagram: Diagram) -> bool:
    """Whether lines say more than a map: a curve over the coordinate across is asked for, rows bring their own theory,
    or what goes up is a single value or words."""
    x, y = diagram.layout.x, diagram.layout.y
    if any(x in curve.axes and curve.axes != ("n", "d") for curve in named_curves(diagram)):
        return True
    if str(diagram.quantity) == "frequency" and x not in ("n", "d"):
        return True
    return len(diagram.panels[0].y) == 1 or (_words(diagram, y) and not _words(diagram, x))


def _words(diagram: Diagram, name: str | None) -> bool:
    return name is not None and not is_number(diagram.frame[name])


def draw_profile(diagram: Diagram) -> Figure:
    """The figure: panels as in the map, points joined a line for each y, theory without marks."""
    panels = [diagram.panels[i] for i in diagram.drawn]
    with panel_sheet(diagram, panels, share="y") as page:
        for i, (panel, ax) in enumerate(zip(panels, page.axes, strict=True)):
            page.add(draw_lines(ax, diagram, panel))
            page.name(i, MATH.where(panel.where))
        page.label(MATH.axis(diagram.layout.x), diagram.measured_label)
    return page.figure


def draw_lines(ax: Axes, diagram: Diagram, panel: Panel) -> list[Any]:
    """One panel: values with their intervals along x, a colour a line, and theory over them; hands back the entries of
    a key."""
    axis = Axis(_across(diagram, panel))
    place = {value: i for i, value in enumerate(axis.values)}
    set_axis(ax, "x", axis)
    ax.set_xlim(axis.reach)
    if diagram.proportion:
        ax.set_ylim(-0.04, 1.04)
    elif scale_of(diagram).logarithmic and (diagram.table["value"].dropna() > 0).all():
        ax.set_yscale("log")
        if diagram.table["value"].notna().any():
            label_log(ax.yaxis, *_positive(diagram))
    if panel.undefined or not len(panel.cells):
        if panel.undefined:
            not_measured(ax)
        return []
    for i, y in enumerate(panel.y):
        cells = panel.cells[panel.cells["iy"] == i].sort_values("ix")
        if not len(cells):
            continue
        exact = axis.at[[place[panel.x[k]] for k in cells["ix"]]]
        x = _aside(axis, exact, i, len(panel.y)) if isinstance(y, str) else exact
        look = line_style(i)
        label = None if len(panel.y) == 1 else MATH.pair(str(diagram.layout.y), y)
        joined = len(axis.values) > 2 and (axis.kind != "even" or not _words(diagram, diagram.layout.x))
        line = {"lw": 0.6} if joined else {"linestyle": "none"}
        ax.plot(x, cells["value"].to_numpy(dtype=float), marker="o", ms=2.2, label=label, **(look | line))
        low, high = wilson(cells["yes"], cells["no"]) if diagram.proportion else (cells["lower"], cells["upper"])
        ax.vlines(x, low, high, color=look["color"], lw=0.6, alpha=0.6)
        if axis.kind != "even" and len(x) > 1:
            _theory(ax, diagram, panel, y, look["color"], exact)
    return [*ax.get_legend_handles_labels()[0], interval_handle(INTERVAL if diagram.proportion else RANGE)]


def _across(diagram: Diagram, panel: Panel) -> list[Any]:
    """The values of x that this panel has by the config or its rows; other panels may have others."""
    cells = taken(diagram.frame, diagram.sweep, (*panel.where, diagram.layout.x))
    found = {x for *where, x in cells if where == list(panel.where.values())}
    return [x for x in panel.x if x in found]


def _positive(diagram: Diagram) -> tuple[float, float]:
    """The least positive and the largest quartile."""
    lower = diagram.table["lower"]
    return float(lower.where(lower > 0, diagram.table["value"]).min()), float(diagram.table["upper"].max())


def _aside(axis: Axis, x: Array, i: int, count: int) -> Array:
    shift = (i - (count - 1) / 2) * SIDE
    if axis.kind == "log":
        return x * float(axis.at.max() / axis.at.min()) ** shift
    return x + shift * float(np.ptp(axis.at))


def _theory(ax: Axes, diagram: Diagram, panel: Panel, y: Any, colour: str, x: Array) -> None:
    """What the rows predict themselves in the colour of their line, curves of the config in black, and ratios."""
    for line in theory_along(diagram, panel, y, x, ax.get_xscale() == "log"):
        dash = {"rows": DASHES[1 + line.rank], "curve": DASHES[line.rank % 4], "ratio": DASHES[1]}[line.source]
        ink = {"rows": colour, "curve": "black", "ratio": CURVE_COLOURS[line.rank % 4]}[line.source]
        style: dict[str, Any] = {"linestyle": dash, "lw": 0.9, "color": ink, "label": line.label}
        if line.source == "ratio":
            ax.axvline(float(line.points[0, 0]), **style)
        else:
            ax.plot(*line.points.T, **style)
