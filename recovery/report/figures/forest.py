"""The forest plot: one row per threshold with its interval, what a source states, the verdict and the trials.

It replaces many small panels that nobody can read. A value without a threshold has one row per grid cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.config.claims import ValueClaim
from recovery.interval import Interval, interval_words
from recovery.report.claims import Analysis, Line
from recovery.report.claims.mean_tables import printed_numbers
from recovery.report.diagram import NOT_MEASURED, Diagram, not_drawn, ratios_of, rows_where
from recovery.report.diagram.layout import coordinates, is_number
from recovery.report.figures.bars import Bars
from recovery.report.figures.line_plots import MOST_LINES, theory_style
from recovery.report.figures.panels import fixed_words
from recovery.report.figures.sheet import Sheet, draw_beyond, entry, sheet
from recovery.report.figures.style import LINES, NO_BREAK_SPACE, Style, font_size, label_log, ordered, plain, wrapped
from recovery.text import many

MANY = 10
"""With at least so many panels, thresholds are drawn as one figure of rows."""
FEW = 3
"""Most sizes that a row lists; of more it states the first and the last."""
LOG = 5.0
"""The axis is logarithmic if the largest number is more than so many times the smallest."""
NEAR = 1.5
"""A stated ratio n/d farther than this factor from all numbers does not extend the axis to it."""
ROW = 0.17
"""Height of a line of text in inches."""
STATED: dict[str, Any] = {"color": LINES[1], "marker": "D", "ms": 3.5, "mfc": "none", "linestyle": "none", "zorder": 2}
LIMITS: dict[str, Any] = STATED | {"marker": "|", "ms": 7, "mew": 1.2}
RANGE: dict[str, Any] = {"color": "0.5", "lw": 2.5, "linestyle": "-", "solid_capstyle": "butt"}
VERDICTS = {"contradicted": LINES[1], "inconclusive": "0.4"}


def is_forest(analysis: Analysis) -> bool:
    """Return whether there are too many thresholds for a panel each, or for a named line each."""
    diagram = analysis.diagram
    named = not ordered(diagram.panels[0].y) and len(diagram.panels[0].y) > MOST_LINES
    return (named or len(diagram.panels) >= MANY) and len(_thresholds(analysis)) > 1


def rows_of(analysis: Analysis) -> list[list[Line]]:
    """Return a row of lines per threshold of the shown value, a line per claim; without thresholds, per grid cell."""
    return _thresholds(analysis) or [[line] for line in values_of(analysis.diagram)]


def _thresholds(analysis: Analysis) -> list[list[Line]]:
    value, what = str(analysis.diagram.quantity), [Line.of(one).what for one in analysis.all_thresholds[:1]]
    lines = [line for line in analysis.lines if line.value == value and [line.what] == what]
    return [list(some) for _, some in groupby(lines, key=lambda line: line.panel)]


def values_of(diagram: Diagram) -> Iterator[Line]:
    """Yield a line per grid cell: its value with its bar, and as limits those of a claimed table or value."""
    layout, value = diagram.layout, str(diagram.quantity)
    claims = [one for one in diagram.sweep.claims if isinstance(one, ValueClaim) and one.of == value]
    for panel in diagram.panels:
        for k, y in enumerate(panel.y):
            cells = panel.cells[panel.cells["iy"] == k].sort_values("ix")
            bars, printed = Bars.of(diagram, cells), printed_numbers(diagram, panel, y, cells)
            for i, (row, ix) in enumerate(cells["ix"].items()):
                axes = ((layout.y, y, panel.y), (layout.x, panel.x[ix], panel.x))
                where = panel.where | {str(name): one for name, one, values in axes if len(values) > 1}
                rows = diagram.frame[diagram.cells.code == row]
                limits = [(one[i], one[i]) for one in printed]
                limits += [one.limits for one in claims if rows_where(rows, one.where).all()]
                found = Interval(float(bars.value[i]), float(bars.low[i]), float(bars.high[i]))
                one_value = f"{found.estimate:.3g}" if found.known else NOT_MEASURED
                words, trials = (diagram.script.where(where), bars.label, one_value, ""), len(rows)
                yield Line("", *words, found=found, trials=trials, limits=(*limits, (-np.inf, np.inf))[0])


def draw_forest(analysis: Analysis) -> Figure:
    """Draw the rows of an analysis (`rows_of`), the first at the top, with a column for each of several quantities."""
    diagram = analysis.diagram
    shown = [analysis, *map(Analysis, diagram.one_by_one[1:])]
    parts, style = [{some[0].panel: some for some in rows_of(one)} for one in shown], Style(diagram.sweep.report.style)
    panels = list(dict.fromkeys(panel for part in parts for panel in part))
    alike = len({some[0].what for part in parts for some in part.values()}) == 1
    if alike and len(shown) > 1 and len(panels) == sum(map(len, parts)):  # no row has two values, so draw one column
        named = [(one.diagram.quantity.label, _differences(one), part) for one, part in zip(shown, parts, strict=True)]
        rows = {
            f"{label}: {name}{more.get(name, '')}": some for label, more, part in named for name, some in part.items()
        }
        parts, panels, shown = [rows], list(rows), shown[:1]
    with sheet(len(shown), diagram.heading, style, columns=len(shown), share=(alike, True)) as page:
        size, wide = font_size("ytick.labelsize"), style.width(2)
        page.figure.set_figwidth(wide)
        more = _differences(analysis)
        names = [wrapped(plain((panel or diagram.title) + more.get(panel, "")), size, 0.4 * wide) for panel in panels]
        words = [_words(parts[0][panel]) if len(shown) == 1 else [] for panel in panels]
        heights = [1.5 * max(name.count("\n") + 1, len(some)) - 0.5 for name, some in zip(names, words, strict=True)]
        at = -(np.cumsum(heights) - np.array(heights) / 2)
        for ax, one, part in zip(page.axes, shown, parts, strict=True):
            lines, along = list(part.values()), {found.along.what for found in one.all_thresholds[:1]}
            drawn = one.diagram.panels if along == {"n/d"} else ()
            theory = {panel.title: ratios_of(one.diagram, panel) for panel in drawn}
            stated = [line.points[0, 0] for some in lines for line in theory.get(some[0].panel, ())]
            ends = _set_width(ax, [some for part in parts for some in part.values()] if alike else lines, stated)
            ax.set_ylim(at[-1] - heights[-1] / 2, 0.0)
            for y, height, panel, texts in zip(at, heights, panels, words, strict=True):
                for line in theory.get(part[panel][0].panel if panel in part else panel, ()):
                    if ends[0] <= line.points[0, 0] <= ends[1]:
                        span = [y - height / 2, y + height / 2]
                        page.add(ax.plot(line.points[[0, 0], 0], span, **theory_style(line), zorder=1))
                if panel in part:
                    _draw_row(ax, y, part[panel])
                beside: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": size}
                colour = VERDICTS.get(parts[0][panel][0].verdict, "black") if texts else "black"
                ax.text(1.02, y, "\n".join(texts), color=colour, **beside)
            ax.tick_params(axis="y", length=0)
            above = plain(one.diagram.quantity.label) if len(shown) > 1 and lines[0][0].value else ""
            ax.set_xlabel(", ".join(filter(None, [above, lines[0][0].what])))
            _add_key(page, analysis, lines)
        page.axes[0].set_yticks(at, names)
        page.fixed = fixed_words(diagram) if style.spec.caption else ""
        page.height = ROW * style.magnification * max(sum(heights), 2)
    return page.figure


def _differences(analysis: Analysis) -> dict[str, str]:
    """Return panel title -> text on the sizes, and coordinates that the title lacks, in which the panels differ."""
    diagram, panels, found = analysis.diagram, [one.panel for one in analysis.all_thresholds], dict[str, str]()
    frames = [diagram.frame[np.isin(diagram.cells.code, panel.cells.index)] for panel in panels]
    names = coordinates(diagram.frame, diagram.grid.columns)
    words = {name.split(".")[-1]: name for name in names if not is_number(diagram.frame[name])}
    titled = {name.split(".")[-1] for name in diagram.layout.panels if not name.endswith("kind")}
    for name in [*(name for last, name in words.items() if last not in titled), *filter(None, [diagram.along.by])]:
        values = [sorted(frame[name].dropna().unique()) for frame in frames]
        named = "" if name == diagram.along.by or "." in name else f"{diagram.script.axis(name)} "
        for panel, some in zip(panels, values, strict=True):
            if len({*map(tuple, values)}) > 1 and some and name not in panel.where:
                rest = [diagram.script.value(value) for value in some[1:]]
                text = ", ".join([diagram.script.pair(name, some[0]), *(rest if len(some) <= FEW else [])])
                text += f" to {rest[-1]}" if len(some) > FEW else ""
                found[panel.title] = f"{found.get(panel.title, '')}, {named}{text}"
    return found


def _set_width(ax: Axes, rows: list[list[Line]], stated: Sequence[float]) -> tuple[float, float]:
    """Set the x axis to what the rows draw and to those `stated` numbers that are near it, and return its ends."""
    drawn = [one for some in rows for line in some for one in (*line.limits, *astuple(line.found)[:3])]
    numbers = np.array([number for number in drawn if np.isfinite(number)])
    near = [one for one in stated if len(numbers) and numbers.min() / NEAR <= one <= numbers.max() * NEAR]
    numbers = np.append(numbers, near)
    span = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    log = span[0] > 0 and span[1] / span[0] > LOG
    room = 0.06 * (np.log(span[1] / span[0]) if log else span[1] - span[0]) or 0.5
    ends = (span[0] * np.exp(-room), span[1] * np.exp(room)) if log else (span[0] - room, span[1] + room)
    ax.set(xscale="log" if log else "linear", xlim=ends)
    ax.grid(axis="x", color="0.9", lw=0.5)
    ax.set_axisbelow(True)
    if log:
        label_log(ax.xaxis, *ends)
    elif not len(numbers):
        ax.set_xticks([])
    return ends


def _words(some: list[Line]) -> list[str]:
    """Return the lines of text at the right of a row: the estimate with its trials, and each claim with its verdict."""
    line, estimate = some[0], some[0].found.estimate
    four = f"{estimate:#.4g}".rstrip(".") if abs(estimate) < 1e4 else f"{float(f'{estimate:.4g}'):,.0f}"
    shown = four.replace(",", NO_BREAK_SPACE) if line.found.known else line.estimate
    return [f"{shown}, {many(line.trials, 'trial')}", *(f"{one.stated}: {one.verdict}" for one in some if one.stated)]


def _draw_row(ax: Axes, y: float, some: list[Line]) -> None:
    """Draw a row at height y: a dot in its interval, or the range of the slices; an arrow for an end off the axis."""
    found, here = some[0].found, np.array([y])
    if np.isfinite([found.low, found.high]).any():
        inside = [draw_beyond(ax, here, np.array([end]), True, color="black", ms=4) for end in (found.low, found.high)]
        ax.plot(np.concatenate(inside), [y, y], **(RANGE if some[0].changes else {"color": "black", "lw": 1.0}))
    if found.known:
        ax.plot([found.estimate], [y], "o", color="black", ms=3.5, zorder=3)
    for line in some:
        low, high = line.limits
        if np.isfinite([low, high]).all():
            ax.plot([(low + high) / 2], [y], **STATED)
        ax.plot([end for end in (low, high) if np.isfinite(end)], [y] * int(np.isfinite([low, high]).sum()), **LIMITS)


def _add_key(page: Sheet, analysis: Analysis, rows: list[list[Line]]) -> None:
    """Add the entries of the legend for what the rows draw."""
    lines, diagram = [line for some in rows for line in some], analysis.diagram
    estimate = f"estimate, {interval_words(analysis.levels)}"
    words = estimate if _thresholds(analysis) else Bars.of(diagram, diagram.table).words
    page.add([entry(words, marker="o", linestyle="-", lw=1.0, ms=3.5)] if words else [])
    if any(line.changes for line in lines):
        page.add([entry("range over the slices: no common value", **RANGE)])
    if any(np.isfinite(line.limits).all() for line in lines):
        page.add([entry("stated number", **STATED)])
    if any(np.isfinite(line.limits).any() and line.limits[0] < line.limits[1] for line in lines):
        page.add([entry("limits of the claim", **LIMITS)])
    page.remark(NOT_MEASURED, [panel.title for panel in diagram.panels if panel.undefined and not diagram.beside])
    page.remark("not drawn", [*not_drawn(diagram, page.legend)])
