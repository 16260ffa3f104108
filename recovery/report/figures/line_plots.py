"""Line plots: a quantity along one coordinate, or success fractions against the ratio n/d.

A profile shows the quantity along x with one line per value of y. It is drawn if the config requests a theory curve
over other axes than (n, d), which is no curve in the plane of n and d; if the rows store their own prediction (columns
`predicted`, `bound`); or if only one axis varies. Grids whose n are multiples of d leave most of a map empty, so their
fractions are drawn against n/d. If the config claims a table of the quantity over x and y, its numbers are drawn as
crosses beside the means of the cells.
"""

from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.claims import Analysis
from recovery.report.diagram import (
    INTERVAL,
    PRINTED,
    RANGE,
    STANDARD_ERROR,
    Axis,
    Diagram,
    Panel,
    is_number,
    joint_values,
    named_curves,
    pooled_words,
    scale_of,
    theory_along,
    undecided_words,
)
from recovery.report.figures.sheet import interval_handle, panel_sheet, write_not_measured
from recovery.report.figures.style import CURVES, DASHES, MATH, label_log, line_styles, script_of, set_axis
from recovery.report.statistics import exact_interval, poolable
from recovery.report.statistics.means import means_of, printed_numbers, shown_tables
from recovery.types import Array

FULL = 0.6
"""A grid is ragged if its cells fill less than this part of the rectangle of all n and d."""
CROSS: dict[str, Any] = {"marker": "x", "ms": 4.5, "mew": 1.1, "linestyle": "none"}
ANSWERS = ["yes", "no", "undecided"]
OFFSET = 0.012
SPREAD = 0.08
"""Shift along x between the lines of neighbouring text values of y, and at most between the first and the last, as
parts of the length of the axis, whose margins are a twentieth."""


def is_profile(diagram: Diagram) -> bool:
    """Return whether the diagram should be drawn as lines along x."""
    x, y = diagram.layout.x, diagram.layout.y
    if any(x in curve.axes and curve.axes != ("n", "d") for curve in named_curves(diagram)):
        return True
    if str(diagram.quantity) == "frequency" and x not in ("n", "d"):
        return True
    return len(diagram.panels[0].y) == 1 or (_is_text(diagram, y) and not _is_text(diagram, x))


def _is_text(diagram: Diagram, name: str | None) -> bool:
    return name is not None and not is_number(diagram.frame[name])


def draw_profile(diagram: Diagram) -> Figure:
    """Draw the panels of a diagram as lines along x, one per value of y."""
    panels = [diagram.panels[i] for i in diagram.drawn]
    with panel_sheet(diagram, panels, share="y") as sheet:
        handles = []
        for i, (panel, ax) in enumerate(zip(panels, sheet.axes, strict=True)):
            handles += draw_lines(ax, diagram, panel)
            sheet.name(i, script_of(diagram).where(panel.where))
        order = [script_of(diagram).pair(str(diagram.layout.y), y) for y in panels[0].y]
        sheet.add(
            sorted(handles, key=lambda one: order.index(one.get_label()) if one.get_label() in order else len(order))
        )
        sheet.label(script_of(diagram).axis(diagram.layout.x), profile_label(diagram))
    return sheet.figure


def draw_lines(ax: Axes, diagram: Diagram, panel: Panel) -> list[Any]:
    """Draw values with their intervals along x and the theory over them, and return the legend entries."""
    axis = Axis(_values_across(diagram, panel))
    index = {value: i for i, value in enumerate(axis.values)}
    set_axis(ax, "x", axis)
    ax.set_xlim(axis.reach)
    if diagram.proportion:
        ax.set_ylim(-0.04, 1.04)
    elif scale_of(diagram).logarithmic and (diagram.table["value"].dropna() > 0).all():
        ax.set_yscale("log")
        if diagram.table["value"].notna().any():
            label_log(ax.yaxis, *(diagram.sweep.report.limits or _positive_range(diagram)))
    if diagram.sweep.report.limits and not diagram.proportion:
        ax.set_ylim(scale_of(diagram).limits)
    theory: list[Any] = []
    if _left_empty(ax, panel):
        return []
    tables = shown_tables(diagram)
    for i, (y, style) in enumerate(zip(panel.y, line_styles(panel.y), strict=True)):
        cells = panel.cells[panel.cells["iy"] == i].sort_values("ix")
        if not len(cells):
            continue
        exact = axis.at[[index[panel.x[k]] for k in cells["ix"]]]
        x = _shifted(axis, exact, i, len(panel.y)) if isinstance(y, str) else exact
        label = None if len(panel.y) == 1 else script_of(diagram).pair(str(diagram.layout.y), y)
        joined = len(axis.values) > 2 and (axis.kind != "even" or not _is_text(diagram, diagram.layout.x))
        line = {"lw": 0.6} if joined else {"linestyle": "none"}
        value, low, high = _summary(diagram, cells, means=bool(tables))
        ax.plot(x, value, ms=2.2, label=label, **(style | line))
        ax.vlines(x, low, high, color=style["color"], lw=0.6, alpha=0.6)
        if diagram.proportion:
            _draw_undecided(ax, diagram, cells, x)
        if axis.kind != "even" and len(x) > 1:
            theory += _draw_theory(ax, diagram, panel, y, style["color"], exact)
        _draw_values_beyond(ax, x, value, style["color"])
        for printed in printed_numbers(diagram, panel, y, cells):
            ax.plot(x, printed, **CROSS, color=style["color"], zorder=4)
    words = STANDARD_ERROR if tables else INTERVAL if diagram.proportion else RANGE
    key = (
        [Line2D([], [], marker="x", ms=4.5, mew=1.1, color="black", linestyle="none", label=PRINTED)] if tables else []
    )
    return [*theory, *ax.get_legend_handles_labels()[0], interval_handle(words), *key]


def profile_label(diagram: Diagram) -> str:
    """Return the label of the vertical axis of a profile."""
    return f"mean {diagram.quantity.label}" if shown_tables(diagram) else diagram.measured_label


def _summary(diagram: Diagram, cells: pd.DataFrame, means: bool) -> tuple[Array, Array, Array]:
    """Return the values of cells with the ends of their bars: means with standard errors, or as the diagram's table."""
    if means:
        value, error = means_of(diagram, cells)
        return value, value - error, value + error
    if diagram.proportion:
        return (cells["value"].to_numpy(dtype=float), *exact_interval(cells["yes"], cells["no"]))
    value, low, high = (cells[name].to_numpy(dtype=float) for name in ("value", "lower", "upper"))
    return value, low, high


def _draw_undecided(ax: Axes, diagram: Diagram, cells: pd.DataFrame, x: Array) -> None:
    """Draw the range of fractions that the undecided trials of each cell leave."""
    some = (cells["undecided"] > 0).to_numpy()
    if some.any():
        yes, no, more = (cells[name].to_numpy(dtype=float)[some] for name in ("yes", "no", "undecided"))
        total, label = yes + no + more, f"range over {undecided_words(diagram.totals['undecided'])}"
        ax.vlines(np.asarray(x)[some], yes / total, (yes + more) / total, color="black", ls=":", lw=1, label=label)


def _left_empty(ax: Axes, panel: Panel) -> bool:
    """Return whether a panel has no values to draw, and write into it if its method does not measure them."""
    if panel.undefined:
        write_not_measured(ax)
    return panel.undefined or not len(panel.cells)


def _values_across(diagram: Diagram, panel: Panel) -> list[Any]:
    """Return the values of x that the config plans for this panel or that its rows have; other panels may differ."""
    cells = joint_values(diagram.frame, diagram.sweep, (*panel.where, diagram.layout.x))
    here = {x for *where, x in cells if where == list(panel.where.values())}
    return [x for x in panel.x if x in here]


def _positive_range(diagram: Diagram) -> tuple[float, float]:
    """Return the least positive lower quartile (a cell's median if not positive) and the largest upper quartile."""
    lower = diagram.table["lower"]
    return float(lower.where(lower > 0, diagram.table["value"]).min()), float(diagram.table["upper"].max())


def _shifted(axis: Axis, x: Array, i: int, count: int) -> Array:
    """Shift the points of line i of `count` along x, so that error bars at the same x do not coincide."""
    shift = (i - (count - 1) / 2) * min(OFFSET, SPREAD / max(count - 1, 1))
    if axis.kind == "log":
        return x * float(axis.at.max() / axis.at.min()) ** shift
    return x + shift * float(np.ptp(axis.at))


def _draw_values_beyond(ax: Axes, x: Array, values: Array, colour: str) -> None:
    """Draw an arrow at the upper end of the axis for each value above it."""
    top = ax.get_ylim()[1]
    above = values > top
    if above.any():  # an artist without points that is not clipped would spoil the layout of the sheet
        ax.plot(np.asarray(x)[above], np.full(above.sum(), top), "^", color=colour, ms=5, clip_on=False, scaley=False)


def _draw_theory(ax: Axes, diagram: Diagram, panel: Panel, y: Any, colour: str, x: Array) -> list[Any]:
    """Draw predictions of rows in the colour of their line, theory curves in black, ratios as vertical lines, and
    intervals as grey bands. Returns the legend entries."""
    handles: list[Any] = []
    for line in theory_along(diagram, panel, y, x, ax.get_xscale() == "log"):
        dash, ink, width = {
            "rows": (DASHES[1 + line.rank], colour, 0.9),
            "curve": (DASHES[line.rank % 4], "black", 0.9),
            "interval": (DASHES[0], "0.85", 4.0),
            "ratio": (DASHES[1], CURVES[line.rank % 4], 0.9),
        }[line.source]
        style: dict[str, Any] = {"linestyle": dash, "lw": width, "color": ink, "label": line.label}
        at, values = line.points.T
        key = "black" if line.source == "rows" and len(panel.y) > 1 else ink
        if line.source == "ratio":
            ax.axvline(float(at[0]), **style)
        elif line.source == "interval":
            if (inside := at[values == 1.0]).size:
                ax.axvspan(inside[0], inside[-1], color=ink, zorder=0)
        else:
            ax.plot(at, values, **style)
        handles.append(Line2D([], [], **style | {"color": key}))
    return handles


def is_ragged(diagram: Diagram) -> bool:
    """Return whether the cells of a proportion over n and d leave most of the rectangle of all n and d empty."""
    if not poolable(diagram):
        return False
    planned = diagram.sweep.combinations((*diagram.layout.panels, "n", "d"))
    reached = diagram.table[[*diagram.layout.panels, "n", "d"]].itertuples(index=False, name=None)
    cells = {*planned, *reached}
    return len(cells) < FULL * len(diagram.panels) * len({n for *_, n, _ in cells}) * len({d for *_, d in cells})


def draw_ratios(analysis: Analysis) -> Figure:
    """Draw success fractions against n/d with exact intervals, and the pooled threshold's interval as a grey band."""
    diagram = analysis.diagram
    panels = [diagram.panels[i] for i in diagram.drawn]
    share: Literal["rows", "y"] = "y" if diagram.layout.columns is None else "rows"
    with panel_sheet(diagram, panels, aspect=0.8, share=share) as sheet:
        ratios = Axis(
            sorted({n / d for panel in panels for n, d in zip(panel.cells["n"], panel.cells["d"], strict=True)})
        )
        entries: dict[str, Any] = {}
        for place, (i, ax) in enumerate(zip(diagram.drawn, sheet.axes, strict=True)):
            entries |= {str(handle.get_label()): handle for handle in draw_fractions(ax, analysis, i)}
            if ratios.kind == "log" and ax.lines:
                ax.set_xscale("log")
                ax.set_xlim(ratios.reach)
                label_log(ax.xaxis, *ratios.reach)
            sheet.name(place, script_of(diagram).where(diagram.panels[i].where), analysis.caption(i))
        sheet.label(MATH.axis("n/d"), diagram.measured_label)
        last = {MATH.marked(pooled_words(analysis.diagram.along, analysis.levels)): 1, INTERVAL: 2}
        order = sorted(entries, key=lambda label: (last.get(label, 0), len(label), label))
        sheet.add(entries[label] for label in order)
    return sheet.figure


def draw_fractions(ax: Axes, analysis: Analysis, i: int) -> list[Any]:
    """Draw the fractions of panel i against n/d, one line per d, and return the legend entries."""
    first = analysis.diagram.panels[0]
    sizes = list(first.y if analysis.diagram.layout.y == "d" else first.x)
    panel, threshold = analysis.diagram.panels[i], analysis.pooled[i]
    ax.set_ylim(-0.05, 1.05)
    if _left_empty(ax, panel):
        ax.set_xticks([])
        return []
    interval = threshold.interval
    if interval.known and interval.bounded and threshold.along.what == "n/d":
        label = MATH.marked(pooled_words(analysis.diagram.along, analysis.levels))
        ax.axvspan(interval.low, interval.high, color="0.85", zorder=0, label=label)
    for d, look in zip(sizes, line_styles(sizes), strict=True):
        cells = panel.cells[(panel.cells["d"] == d) & (panel.cells[ANSWERS].sum(axis=1) > 0)].sort_values("n")
        if not len(cells):
            continue
        low, high = exact_interval(cells["yes"], cells["no"])
        value = cells["value"].to_numpy(dtype=float)
        bars = [np.maximum(value - low, 0), np.maximum(high - value, 0)]
        style: dict[str, Any] = {"ms": 2.5, "lw": 0.8, "elinewidth": 0.6, **look}
        ax.errorbar(cells["n"] / d, value, yerr=bars, label=f"$d$ = {d:g}", **style)
        _draw_undecided(ax, analysis.diagram, cells, cells["n"] / d)
    return [*ax.get_legend_handles_labels()[0], interval_handle(INTERVAL)]
