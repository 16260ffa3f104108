"""Line plots: a quantity along one coordinate, or success fractions against the ratio n/d.

A profile shows the quantity along x with one line per value of y. Grids whose n are multiples of d leave most of a map
empty, so their fractions are drawn against n/d. If the config claims a table of the quantity over x and y, its numbers
are drawn as crosses beside the means of the cells.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.claims.lines import Line
from recovery.report.claims.mean_tables import printed_numbers, shown_tables
from recovery.report.claims.scale import limit_line
from recovery.report.diagram import Axis, Diagram, Panel, is_number, joint_values, scale_of, unknown
from recovery.report.diagram.theory_lines import Along, named_curves, theory_along
from recovery.report.diagram.vocabulary import PRINTED, mark_words, pooled_words
from recovery.report.figures.bars import Bars
from recovery.report.figures.panels import Draw, Drawn, Panels
from recovery.report.figures.sheet import ARROWS, draw_beyond, entry, interval_handle, write_note
from recovery.report.figures.style import CURVES, DASHES, MATH, bar_of, label_log, line_styles, script_of, set_axis
from recovery.report.statistics.growth import growth
from recovery.types import Array

FULL = 0.6
"""A grid is ragged if its cells are less than this fraction of all pairs of its n and its d."""
CROSS: dict[str, Any] = {"marker": "x", "ms": 3.5, "mew": 0.9, "linestyle": "none"}
MOST_LINES = 12
"""Lines with a name that one panel shows."""
NEAR = 0.1
"""A stated ratio beyond a linear axis by up to this fraction of its length extends the axis."""
SPREAD = 0.6
"""Fraction of the step between two words on the x axis over which the marks of one word are spread."""


def is_profile(diagram: Diagram) -> bool:
    """Return whether the diagram should be drawn as lines along x: if a theory curve or the column `frequency` is along
    another axis than n and d, if y has one value, or if y is text of few values and x a number."""
    x, y, curves = diagram.layout.x, diagram.layout.y, named_curves(diagram, diagram.sweep.report.lines)
    theory = any(x in curve.axes and curve.axes != ("n", "d") for curve in curves)
    frequency = str(diagram.quantity) == "frequency" and x not in ("n", "d")
    words = _is_text(diagram, y) and not _is_text(diagram, x) and len(diagram.panels[0].y) <= MOST_LINES
    return theory or frequency or words or len(diagram.panels[0].y) == 1


def _is_text(diagram: Diagram, name: str | None) -> bool:
    return name is not None and not is_number(diagram.frame[name])


def _profile(analysis: Analysis) -> Draw:
    """Return what draws a panel: values with intervals along x, one line per value of y, and theory over them."""
    diagram = analysis.diagram
    meaning = Bars.of(diagram, diagram.table).words
    key: list[Any] = [interval_handle(meaning)] if meaning else []
    key += [entry(PRINTED, **CROSS)] if shown_tables(diagram) else []
    if (count := len(diagram.panels[0].y)) > MOST_LINES and diagram.layout.x != "n/d":
        key.append(entry(f"{count} lines: a map (figure: map) shows each"))
    shades = bar_of(diagram.panels[0].y)
    bar = (shades, script_of(diagram).axis(diagram.layout.y), "neither") if shades else None
    axes = [_axis_across(diagram, panel) for panel in diagram.panels]

    def draw(ax: Axes, i: int) -> Drawn:
        panel, axis = diagram.panels[i], axes[i]
        words = axis.kind == "even" and _is_text(diagram, diagram.layout.x)
        index = {value: k for k, value in enumerate(axis.values)}
        thinned = set_axis(ax, "x", axis, script_of(diagram))
        ax.set_xlim(axis.reach)
        _set_height(ax, diagram)
        if note := panel.note or ("" if panel.cells["ok"].any() else "no trial finished"):
            write_note(ax, note)
            return Drawn()
        joined = len(axis.values) > 2 and not words
        found, theory, lines = list[Any](map(entry, thinned)), list[Any](), list[tuple[int, Any]]()
        here = sorted({*panel.cells["iy"]})
        for k, (y, style) in enumerate(zip(panel.y, line_styles(panel.y), strict=True)):
            cells = panel.cells[panel.cells["iy"] == k].sort_values("ix")
            if not len(cells):
                continue
            x = axis.at[[index[panel.x[ix]] for ix in cells["ix"]]]
            present = axis.kind != "even" and len(x) > 1
            curves = theory_along(diagram, panel, y, x, axis.kind == "log") if present else []
            if words:  # error bars at one word are set side by side; a number keeps its place
                x = x + SPREAD * ((here.index(k) + 0.5) / len(here) - 0.5)
            label = None if len(panel.y) == 1 else script_of(diagram).pair(str(diagram.layout.y), y)
            own = any(line.source == "rows" for line in curves)
            look = style | ({"lw": 0.6} if joined and not own else {"linestyle": "none"})
            line, undecided = _draw_line(ax, diagram, cells, x, look, label)
            lines += [(k, line)] if label and bar is None else []
            found += undecided
            theory += _draw_theory(ax, curves, len(panel.y) > 1, style["color"])
            if 0 < (blank := int(np.isnan(Bars.of(diagram, cells).value).sum())) < len(cells):
                found.append(entry(f"{label or diagram.quantity.label}: no value at {blank} of {len(cells)} points"))
            for printed in printed_numbers(diagram, panel, y, cells):
                ax.plot(x, printed, **CROSS, color=style["color"], zorder=4)
        return Drawn([*theory, *found, *key], lines, bar)

    return draw


def _set_height(ax: Axes, diagram: Diagram) -> None:
    """Set the scale and the limits of the y axis of a profile."""
    limits = diagram.sweep.report.limits
    if diagram.proportion:
        ax.set_ylim(-0.04, 1.04)
    elif scale_of(diagram).logarithmic and (diagram.table["value"].dropna() > 0).all():
        ax.set_yscale("log")
        if diagram.table["value"].notna().any():  # the least positive quartile, or a cell's median
            lower = diagram.table["lower"].where(lambda of: of > 0, diagram.table["value"])
            label_log(ax.yaxis, *(limits or (float(lower.min()), float(diagram.table["upper"].max()))))
    if limits and not diagram.proportion:
        ax.set_ylim(scale_of(diagram).limits)


def _draw_line(
    ax: Axes, diagram: Diagram, cells: pd.DataFrame, x: Array, style: dict[str, Any], label: str | None
) -> tuple[Line2D, list[Any]]:
    """Draw cells as a line with intervals, arrows for values beyond the config's limits, and the ranges that unknown
    values leave. Return the line's legend entry, and those of the arrows and the ranges."""
    bars = Bars.of(diagram, cells)
    ax.vlines(x, bars.low, bars.high, color=style["color"], lw=0.6)
    values, entries = bars.value, list[Any]()
    if diagram.sweep.report.limits and not diagram.proportion:
        inside = draw_beyond(ax, x, values, False, color=style["color"], ms=5, clip_on=False)
        for mark, words, far in zip(ARROWS[False], ("below", "above"), (values < inside, values > inside), strict=True):
            entries += [entry(f"value {words} the axis", marker=mark, ms=5)] if far.any() else []
        values = np.where(values == inside, values, np.nan)
    (line,) = ax.plot(x, values, ms=2.2, label=label, **style)
    if not diagram.proportion or not (some := (unknown(cells) > 0).to_numpy()).any():
        return line, entries
    yes, no, more = (part.to_numpy(dtype=float)[some] for part in (cells["yes"], cells["no"], unknown(cells)))
    total = yes + no + more
    label = f"range over {mark_words(diagram.totals, 'undecided', 'unmeasured')}"
    return line, [ax.vlines(x[some], yes / total, (yes + more) / total, color="black", ls=":", lw=1, label=label)]


def _axis_across(diagram: Diagram, panel: Panel) -> Axis:
    """Return the x axis of a panel: the values of x that the config plans for it, and those that its rows have."""
    cells = joint_values(diagram.frame, diagram.sweep, (*diagram.layout.panels, diagram.layout.x))
    here = {x for *where, x in cells if where == list(panel.where.values())}
    return Axis([x for x in panel.x if x in here], diagram.layout.x)


def _draw_theory(ax: Axes, curves: Sequence[Along], several: bool, colour: str) -> list[Any]:
    """Draw predictions and bounds of rows in `colour`, that of their measured line, theory curves in black, ratios as
    vertical lines, intervals as grey bands. several: there are several lines. Returns the legend entries."""
    handles: list[Any] = []
    for line in curves:
        style, (at, values) = theory_style(line, colour), line.points.T
        key = "black" if line.source in ("rows", "bound") and several else style["color"]
        if line.source == "ratio":
            room = NEAR * np.ptp(ax.get_xlim()) if ax.get_xscale() == "linear" else 0.0
            if not ax.get_xlim()[0] - room <= at[0] <= ax.get_xlim()[1] + room:
                continue
            ax.set_xlim(min(ax.get_xlim()[0], at[0] - room / 5), max(ax.get_xlim()[1], at[0] + room / 5))
            ax.axvline(float(at[0]), **style, zorder=0.5)
        elif line.source == "interval":
            if (inside := at[values == 1.0]).size:
                ax.axvspan(inside[0], inside[-1], color=key, zorder=0)
        else:
            ax.plot(at, values, **style)
        handles.append(Line2D([], [], **style | {"color": key}))
    return handles


def theory_style(line: Along, colour: str = "black") -> dict[str, Any]:
    """Return the style and the label of a theory line; `colour` is that of the predictions of rows."""
    dash, ink, width = {
        "rows": (DASHES[1 + line.rank], colour, 0.9),
        "bound": (DASHES[0], colour, 1.6),
        "curve": (DASHES[line.rank % 4], "black", 0.9),
        "interval": (DASHES[0], "0.85", 4.0),
        "ratio": (DASHES[3], CURVES[line.rank % 4], 0.9),
    }[line.source]
    return {"linestyle": dash, "lw": width, "color": ink, "label": line.label}


def is_ragged(diagram: Diagram) -> bool:
    """Return whether the cells of a proportion over n and d leave most of the rectangle of all n and d empty."""
    if not diagram.has_ratio:
        return False
    cells = joint_values(diagram.frame, diagram.sweep, (*diagram.layout.panels, "n", "d"))
    return len(cells) < FULL * len(diagram.panels) * len({n for *_, n, _ in cells}) * len({d for *_, d in cells})


def by_ratio(diagram: Diagram) -> Diagram:
    """Return a diagram over n and d laid out anew: n/d on the x axis, with one slice per d."""
    return diagram.laid_out(replace(diagram.sweep.report, x="n/d", y="d"))


def _ratios(analysis: Analysis) -> Draw:
    """Return what draws a panel: fractions against n/d, a line per d, and the pooled interval as a grey band."""
    band = MATH.marked(pooled_words(analysis.diagram.along, analysis.levels))
    draw_lines = _profile(Analysis(by_ratio(analysis.diagram)))

    def draw(ax: Axes, i: int) -> Drawn:
        drawn = draw_lines(ax, i)
        if interval := analysis.band(i):
            shade = ax.axvspan(interval.low, interval.high, color="0.85", zorder=0, label=band)
            drawn = replace(drawn, handles=[*drawn.handles, shade])
        return replace(drawn, text=analysis.caption(i))

    return draw


def _collapse(analysis: Analysis) -> Draw:
    """Return what draws a panel: fractions against (n/d - limit) d^k, with the threshold's limit for large d, or its
    pooled value, and the power k with which the transition from 25 to 75 % becomes narrower. Raises `ReportError`."""
    diagram, along = analysis.diagram, analysis.diagram.along

    def draw(ax: Axes, i: int) -> Drawn:
        lines, width = list[tuple[int, Any]](), growth([diagram.panels[i]], along, (0.25, 0.75)) if along.by else None
        if width is None:
            raise ReportError("report.figure is 'collapse', which needs two sizes whose cells show 25 and 75 %")
        at = (limit_line(analysis.by_panel[i], "") or Line.of(analysis.by_panel[i])).found.estimate
        _set_height(ax, diagram)
        slices = [*diagram.panels[i].cells.sort_values(along.x).groupby(along.by)]
        for k, ((y, cells), style) in enumerate(zip(slices, line_styles([y for y, _ in slices]), strict=True)):
            x, label = along.values(cells) - at, script_of(diagram).pair(str(along.by), y)
            x = x * float(cells[along.by].iloc[0]) ** -width.exponent
            lines.append((k, _draw_line(ax, diagram, cells, x, style | {"lw": 0.6}, label)[0]))
        return Drawn([], lines, text=f"limit {at:.4g}, power {-width.exponent:.2f}")

    return draw


def _labels(diagram: Diagram, across: str) -> tuple[str, str]:
    return script_of(diagram).axis(across), Bars.of(diagram, diagram.table).label


PROFILE = Panels(_profile, lambda diagram: _labels(diagram, diagram.layout.x), (False, True))
COLLAPSE = Panels(_collapse, lambda of: _labels(of, f"({of.along.what} - limit) {of.along.by}^power"), (False, True))
RATIOS = Panels(_ratios, lambda diagram: _labels(diagram, "n/d"), (False, True), 0.8)
