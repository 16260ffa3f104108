"""Line plots: a quantity along one coordinate, or success fractions against the ratio n/d.

A profile shows the quantity along x with one line per value of y. It is drawn if the config requests a theory curve of
x that is no curve in the plane of n and d; for a frequency along another axis than n and d; if y is text and x a
number; or if only one axis varies. Grids whose n are multiples of d leave most of a map empty, so their fractions are
drawn against n/d. If the config claims a table of the quantity over x and y, its numbers are drawn as crosses beside
the means of the cells.
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
from recovery.report.diagram import (
    PRINTED,
    Along,
    Axis,
    Diagram,
    Scale,
    is_number,
    joint_values,
    mark_words,
    named_curves,
    pooled_words,
    scale_of,
    theory_along,
    unknown,
)
from recovery.report.figures.bars import Bars
from recovery.report.figures.panels import Draw, Drawn, Panels
from recovery.report.figures.sheet import interval_handle, write_note
from recovery.report.figures.style import CURVES, DASHES, MATH, bar_of, label_log, line_styles, script_of, set_axis
from recovery.report.statistics.growth import growth
from recovery.types import Array

FULL = 0.6
"""A grid is ragged if its cells fill less than this part of the rectangle of all n and d."""
CROSS: dict[str, Any] = {"marker": "x", "ms": 3.5, "mew": 0.9, "linestyle": "none"}
LEAST = 0.2
CROWDED = 1.5
"""Number of lines at an x, on average, from which their marks are set side by side."""
OFFSET = 0.02
SPREAD = 0.06
"""Shift along x between the marks of neighbouring lines, and at most between the first and the last, as
parts of the length of the axis, whose margins are a twentieth."""
OWN = 0.6
"""Part of the step between two words that the marks of one take at most."""


def is_profile(diagram: Diagram) -> bool:
    """Return whether the diagram should be drawn as lines along x."""
    x, y = diagram.layout.x, diagram.layout.y
    if any(x in curve.axes and curve.axes != ("n", "d") for curve in named_curves(diagram, diagram.sweep.report.lines)):
        return True
    if str(diagram.quantity) == "frequency" and x not in ("n", "d"):
        return True
    return len(diagram.panels[0].y) == 1 or (_is_text(diagram, y) and not _is_text(diagram, x))


def _is_text(diagram: Diagram, name: str | None) -> bool:
    return name is not None and not is_number(diagram.frame[name])


def _profile(analysis: Analysis) -> Draw:
    """Draw values with their intervals along x, one line per value of y, and the theory over them."""
    diagram = analysis.diagram
    words = Bars.of(diagram, diagram.table).words
    bars = [interval_handle(words)] if words else []
    printed_key = [Line2D([], [], **CROSS, color="black", label=PRINTED)]
    bar = bar_of(diagram.panels[0].y)
    scale = Scale((0.0, 1.0), False, script_of(diagram).axis(diagram.layout.y)) if bar else None
    axes, axis_name = _axes_across(diagram), script_of(diagram).axis(diagram.layout.x)

    def draw(ax: Axes, i: int) -> Drawn:
        panel = diagram.panels[i]
        axis = axes[i]
        index = {value: k for k, value in enumerate(axis.values)}
        set_axis(ax, "x", axis, script_of(diagram))
        ax.set_xlim(axis.reach)
        _set_height(ax, diagram)
        if panel.note:
            write_note(ax, panel)
            return Drawn()
        joined = len(axis.values) > 2 and (axis.kind != "even" or not _is_text(diagram, diagram.layout.x))
        found, theory, lines, aside = list[Any](), list[Any](), list[tuple[int, Any]](), False
        here = sorted({*panel.cells["iy"]})
        crowded = len(panel.cells) >= CROWDED * panel.cells["ix"].nunique()
        for k, (y, style) in enumerate(zip(panel.y, line_styles(panel.y), strict=True)):
            cells = panel.cells[panel.cells["iy"] == k].sort_values("ix")
            if not len(cells):
                continue
            exact = axis.at[[index[panel.x[ix]] for ix in cells["ix"]]]
            present = axis.kind != "even" and len(exact) > 1
            curves = theory_along(diagram, panel, y, exact, axis.kind == "log") if present else []
            followed = any(line.source in ("rows", "curve") for line in curves)
            apart = isinstance(y, str) or (crowded and not followed)
            x = _shifted(axis, exact, here.index(k), len(here)) if apart else exact
            aside |= not np.array_equal(x, exact)
            label = None if len(panel.y) == 1 else script_of(diagram).pair(str(diagram.layout.y), y)
            own = any(line.source == "rows" for line in curves)
            look = style | ({"lw": 0.6} if joined and not own else {"linestyle": "none"})
            line, undecided = _draw_line(ax, diagram, cells, (exact, x), look, label)
            lines += [(k, line)] if label and bar is None else []
            found += undecided
            theory += _draw_theory(ax, curves, len(panel.y) > 1, style["color"], x - exact)
            found += _draw_values_beyond(ax, line)
            if 0 < (blank := int(cells["value"].isna().sum())) < len(cells):
                words = f"{label or diagram.quantity.label}: no value at {blank} of {len(cells)} points"
                found.append(Line2D([], [], linestyle="none", label=words))
            for printed in printed_numbers(diagram, panel, y, cells):
                ax.plot(x, printed, **CROSS, color=style["color"], zorder=4)
        found += [Line2D([], [], linestyle="none", label=f"marks of equal {axis_name} are set side by side")] * aside
        return Drawn([*theory, *found, *bars, *(printed_key if shown_tables(diagram) else [])], lines, bar, scale)

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
    ax: Axes, diagram: Diagram, cells: pd.DataFrame, at: tuple[Array, Array], style: dict[str, Any], label: str | None
) -> tuple[Line2D, list[Any]]:
    """Draw the values of cells as a line over at[0] and with their intervals over at[1], and the fractions that
    undecided trials leave; returns the marks in the style of both, and the legend entry of the latter, if any."""
    bars, x = Bars.of(diagram, cells), at[1]
    aside = not np.array_equal(at[0], x)
    ax.plot(x, bars.value, ms=2.2, label=label, **style | ({"linestyle": "none"} if aside else {}))
    if aside and style["linestyle"] != "none":
        ax.plot(at[0], bars.value, **style | {"marker": "None"})
    line = Line2D(x, bars.value, ms=2.2, label=label, **style)
    ax.vlines(x, bars.low, bars.high, color=style["color"], lw=0.6)
    if not diagram.proportion or not (some := (unknown(cells) > 0).to_numpy()).any():
        return line, []
    yes, no, more = (part.to_numpy(dtype=float)[some] for part in (cells["yes"], cells["no"], unknown(cells)))
    total = yes + no + more
    label = f"range over {mark_words(diagram.totals, 'undecided', 'unmeasured')}"
    return line, [ax.vlines(x[some], yes / total, (yes + more) / total, color="black", ls=":", lw=1, label=label)]


def _axes_across(diagram: Diagram) -> list[Axis]:
    """Return the x axis of each panel, with the values that the config plans for it or that its rows have; the same for
    all, unless one of words differs or the values of a panel would take less than the part `LEAST` of it."""
    cells, found = joint_values(diagram.frame, diagram.sweep, (*diagram.layout.panels, diagram.layout.x)), list[Axis]()
    for panel in diagram.panels:
        here = {x for *where, x in cells if where == list(panel.where.values())}
        found.append(Axis([x for x in panel.x if x in here], diagram.layout.x))
    whole = Axis(diagram.panels[0].x, diagram.layout.x)
    if whole.kind == "even" or any(one.kind == "even" for one in found):
        return found
    scale = np.log if whole.kind == "log" else np.asarray
    parts = [float(np.ptp(scale(one.at)) / np.ptp(scale(whole.at))) for one in found if len(one.values) > 1]
    return [whole] * len(found) if parts and min(parts) >= LEAST else found


def _shifted(axis: Axis, x: Array, i: int, count: int) -> Array:
    """Shift the points of line i of `count` along x, so that error bars at the same x do not coincide."""
    spread = min(SPREAD, OWN / max(len(axis.values) - 1, 1)) if axis.kind == "even" else SPREAD
    shift = (i - (count - 1) / 2) * min(OFFSET, spread / max(count - 1, 1))
    if axis.kind == "log":
        return x * float(axis.at.max() / axis.at.min()) ** shift
    return x + shift * float(np.ptp(axis.at))


def _draw_values_beyond(ax: Axes, line: Line2D) -> list[Line2D]:
    """Draw an arrow at the end of the axis for each value of a line beyond it, and return the legend entries."""
    (low, high), entries = ax.get_ylim(), list[Line2D]()
    x, values = (np.asarray(of, dtype=float) for of in line.get_data())
    for end, beyond, marker, words in ((low, values < low, "v", "below"), (high, values > high, "^", "above")):
        if beyond.any():  # an artist without points that is not clipped would spoil the layout of the sheet
            style: dict[str, Any] = {"marker": marker, "ms": 5, "linestyle": "none"}
            at = np.full(beyond.sum(), end)
            ax.plot(x[beyond], at, **style, color=line.get_color(), clip_on=False, scaley=False)
            entries.append(Line2D([], [], **style, color="black", label=f"value {words} the axis"))
    return entries


def _draw_theory(ax: Axes, curves: Sequence[Along], several: bool, colour: str, aside: Array) -> list[Any]:
    """Draw predictions and bounds of rows in the colour of their line, the bounds shifted by `aside`, theory curves in
    black, ratios as vertical lines, and intervals as grey bands. Returns the legend entries."""
    handles: list[Any] = []
    for line in curves:
        style, (at, values) = theory_style(line, colour), line.points.T
        key = "black" if line.source in ("rows", "bound") and several else style["color"]
        if line.source == "bound":
            at = at + np.repeat(aside, 3) if len(at) == 3 * len(aside) else at
        if line.source == "ratio":
            if not ax.get_xlim()[0] <= at[0] <= ax.get_xlim()[1]:
                continue
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
    planned = diagram.sweep.combinations((*diagram.layout.panels, "n", "d"))
    reached = diagram.table[[*diagram.layout.panels, "n", "d"]].itertuples(index=False, name=None)
    cells = {*planned, *reached}
    return len(cells) < FULL * len(diagram.panels) * len({n for *_, n, _ in cells}) * len({d for *_, d in cells})


def by_ratio(diagram: Diagram) -> Diagram:
    """Return a diagram over n and d along n/d, with one slice per d."""
    return diagram.laid_out(replace(diagram.sweep.report, x="n/d", y="d"))


def _ratios(analysis: Analysis) -> Draw:
    """Draw fractions against n/d, one line per d, and the pooled threshold's interval as a grey band."""
    band = MATH.marked(pooled_words(analysis.diagram.along, analysis.levels))
    draw_lines = _profile(Analysis(by_ratio(analysis.diagram)))

    def draw(ax: Axes, i: int) -> Drawn:
        drawn = draw_lines(ax, i)
        handles = list(drawn.handles)
        if interval := analysis.band(i):
            handles.append(ax.axvspan(interval.low, interval.high, color="0.85", zorder=0, label=band))
        return replace(drawn, handles=handles, text=analysis.caption(i))

    return draw


def _collapse(analysis: Analysis) -> Draw:
    """Draw fractions against (x - limit) y^k: with the limit of the threshold for large y, or its pooled value, and the
    power with which the transition from 25 to 75 % becomes narrower. Raises `ReportError`."""
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
            x = x * float(str(y)) ** -width.exponent
            lines.append((k, _draw_line(ax, diagram, cells, (x, x), style | {"lw": 0.6}, label)[0]))
        return Drawn([], lines, text=f"limit {at:.4g}, power {-width.exponent:.2f}")

    return draw


def _labels(diagram: Diagram, across: str) -> tuple[str, str]:
    return script_of(diagram).axis(across), Bars.of(diagram, diagram.table).label


PROFILE = Panels(_profile, lambda diagram: _labels(diagram, diagram.layout.x), (False, True))
COLLAPSE = Panels(_collapse, lambda of: _labels(of, f"({of.along.what} - limit) {of.along.by}^power"), (False, True))
RATIOS = Panels(_ratios, lambda diagram: _labels(diagram, "n/d"), (False, True), 0.8)
