"""A quantity along one coordinate, with the theory of it: for grids whose curves are functions of that coordinate.

A theory curve over other axes than (n, d) has no line in the plane of n and d. Where a config asks for one, where its
rows carry their own prediction (columns `predicted`, `bound`), or where only one axis varies, the quantity is drawn
along x, a line for each y. Grids whose n are multiples of d make poor maps: their fractions are drawn against n/d.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.claims import Analysis, caption
from recovery.report.diagram import (
    INTERVAL,
    RANGE,
    Axis,
    Diagram,
    Panel,
    is_number,
    joint_values,
    named_curves,
    pooled_words,
    scale_of,
    theory_along,
)
from recovery.report.figures.sheet import interval_handle, not_measured, panel_sheet
from recovery.report.figures.style import CURVES as CURVE_COLOURS
from recovery.report.figures.style import DASHES, MATH, label_log, line_style, set_axis
from recovery.report.statistics import poolable, wilson
from recovery.types import Array

FULL = 0.6
"""Of the rectangle of n and d that all panels share, the least part that their cells should fill."""
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
    cells = joint_values(diagram.frame, diagram.sweep, (*panel.where, diagram.layout.x))
    here = {x for *where, x in cells if where == list(panel.where.values())}
    return [x for x in panel.x if x in here]


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


def is_ragged(diagram: Diagram) -> bool:
    """Whether the cells of a proportion over n and d leave most of the rectangle between them empty."""
    if not poolable(diagram):
        return False
    planned = diagram.sweep.combinations((*diagram.layout.panels, "n", "d"))
    reached = diagram.table[[*diagram.layout.panels, "n", "d"]].itertuples(index=False, name=None)
    cells = {*planned, *reached}
    room = len(diagram.panels) * len({n for *_, n, _ in cells}) * len({d for *_, d in cells})
    return len(cells) < FULL * room


def draw_ratios(analysis: Analysis) -> Figure:
    """Panels as in the map; Wilson intervals as bars, the pooled threshold's interval as a grey band."""
    diagram = analysis.diagram
    panels = [diagram.panels[i] for i in diagram.drawn]
    with panel_sheet(diagram, panels, aspect=0.8, share="y") as page:
        ratios = Axis(
            sorted({n / d for panel in panels for n, d in zip(panel.cells["n"], panel.cells["d"], strict=True)})
        )
        keys = []
        for place, (i, ax) in enumerate(zip(diagram.drawn, page.axes, strict=True)):
            keys.append(draw_fractions(ax, analysis, i))
            if ratios.kind == "log" and ax.lines:
                ax.set_xscale("log")
                ax.set_xlim(ratios.reach)
                label_log(ax.xaxis, *ratios.reach)
            page.name(place, MATH.where(diagram.panels[i].where), caption(analysis.pooled[i]))
        page.label(MATH.axis("n/d"), diagram.measured_label)
        entries = {str(h.get_label()): h for handles in keys for h in handles}
        last = {MATH.marked(pooled_words(analysis.levels)): 1, INTERVAL: 2}
        page.add(entries[label] for label in sorted(entries, key=lambda label: (last.get(label, 0), len(label), label)))
    return page.figure


def draw_fractions(ax: Axes, analysis: Analysis, i: int) -> list[Any]:
    """One panel: fractions against n/d, a line a size d; hands back the entries of a key."""
    first = analysis.diagram.panels[0]
    sizes = list(first.y if analysis.diagram.layout.y == "d" else first.x)
    panel, threshold = analysis.diagram.panels[i], analysis.pooled[i]
    ax.set_ylim(-0.05, 1.05)
    if panel.undefined or not len(panel.cells):
        if panel.undefined:
            not_measured(ax)
        ax.set_xticks([])
        return []
    interval = threshold.interval
    if interval.known and interval.bounded:
        label = MATH.marked(pooled_words(analysis.levels))
        ax.axvspan(interval.low, interval.high, color="0.85", zorder=0, label=label)
    for k, d in enumerate(sizes):
        cells = panel.cells[(panel.cells["d"] == d) & (panel.cells["yes"] + panel.cells["no"] > 0)].sort_values("n")
        if not len(cells):
            continue
        low, high = wilson(cells["yes"], cells["no"])
        value = cells["value"].to_numpy(dtype=float)
        bars = [np.maximum(value - low, 0), np.maximum(high - value, 0)]
        look: dict[str, Any] = {"ms": 2.5, "lw": 0.8, "elinewidth": 0.6, **line_style(k)}
        ax.errorbar(cells["n"] / d, value, yerr=bars, marker="o", label=f"$d$ = {d:g}", **look)
    return [*ax.get_legend_handles_labels()[0], interval_handle(INTERVAL)]
