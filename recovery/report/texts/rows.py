"""Rows of words that the terminal, LaTeX and Markdown show alike: thresholds beside claims, means beside a source's,
and the columns of a file that were chosen."""

from collections import Counter
from functools import partial

import numpy as np

from recovery.interval import Interval
from recovery.report.claims import Analysis
from recovery.report.diagram import PLAIN, Diagram, finished, has
from recovery.report.statistics.means import FAR, MeanTable

THRESHOLD = ("value", "panel", "n/d at 50 %", "interval", "stated", "verdict", "source")
CHOSEN = "chosen"
"""The measured column: names, the most important one first."""
MOST = 10


def threshold_rows(analysis: Analysis) -> list[dict[str, str]]:
    """Each panel's threshold beside the one that a claim states for it, in words, as the paper's Table I has them."""
    rows = []
    for row in analysis.measured_beside_stated:
        interval = row.interval.entry() if row.interval.known else ""
        words = (row.of, row.panel, row.measured, interval, row.stated, row.verdict, row.source)
        rows.append(dict(zip(THRESHOLD, words, strict=True)))
    return rows


def crossing_rows(analysis: Analysis) -> list[dict[str, str]]:
    """A line a panel and a value of y of a diagram over other axes than n and d: the x at 50 %, with its interval; what
    lies outside the cells is said by the end that is known."""
    x, y = analysis.diagram.layout.x, analysis.diagram.layout.y
    lines = []
    for panel, crossings in zip(analysis.diagram.panels, analysis.rows, strict=False):
        for row in crossings:
            line = {"panel": panel.title} if len(analysis.rows) > 1 else {}
            line |= {y: PLAIN.value(row.y)} if y is not None else {}
            half = "" if np.isnan(row.half.estimate) else f"{row.half.estimate:.4g}"
            lines.append(line | {f"{x} at 50 %": half, "interval": row.half.entry(".6g")})
    return lines


def model_rows(analysis: Analysis) -> list[dict[str, str]]:
    """A line a panel of the probit model's second opinion: estimates with their intervals, and a p-value."""
    return [
        {
            "panel": pooled.panel.title,
            "n/d": _shown(model.fit),
            "width as n to the": _shown(model.scaling),
            "slope": f"{model.fit.slope:.3g}",
            "p of only rising": f"{model.monotone:.2g}",
        }
        for pooled, model in zip(analysis.pooled, analysis.second_opinions, strict=True)
    ]


def _shown(interval: Interval | None) -> str:
    return f"{interval:.3f}" if interval is not None and interval.known else ""


def mean_title(table: MeanTable) -> str:
    """What the table shows, and what stands in its brackets."""
    least = int(table.count.min())
    words = f"{table.value.replace('_', ' ')}: mean and standard error of {least}"
    words += " trials" if least == table.count.max() else f" to {table.count.max()} trials"
    return f"{words} (stated{f' by {table.source}' if table.source else ''}, z-score; ! beyond {FAR:g})"


def mean_rows(table: MeanTable) -> list[dict[str, str]]:
    """A line a row of the table: its name, and a text for each column."""
    head = [f"{_last(table.across)} = {column}" for column in table.columns]
    return [
        {_last(table.axis): name, **{name: _cell(table, i, j) for j, name in enumerate(head)}}
        for i, name in enumerate(table.rows)
    ]


def _cell(table: MeanTable, i: int, j: int) -> str:
    if not table.count[i, j]:
        return f"- ({table.stated[i, j]:g})"
    text = f"{table.mean[i, j]:.2f}"
    if np.isfinite(table.error[i, j]):
        text += f" +- {table.error[i, j]:.2f}"
    return f"{text} ({table.stated[i, j]:g}{_score(table.z[i, j])})"


def _score(z: float) -> str:
    if not np.isfinite(z):
        return ""
    return f", {z:+.1f}{'!' if abs(z) > FAR else ''}"


def _last(name: str) -> str:
    """The last part of a coordinate's path."""
    return name.split(".")[-1]


def chosen_rows(diagram: Diagram) -> list[dict[str, str]]:
    """A line for each combination of the axes that vary: the columns chosen most often, each with its count of trials,
    as P3's Tables 7 and 8 have it. No line where nothing was chosen by name."""
    frame = diagram.frame
    if CHOSEN not in frame:
        return []
    frame = frame[finished(frame) & frame[CHOSEN].notna()]
    axes = [axis for axis in diagram.sweep.axes if frame[axis].nunique(dropna=False) > 1]
    lines = []
    for values in dict.fromkeys(diagram.sweep.combinations(axes)):
        here = np.logical_and.reduce([np.ones(len(frame), np.bool_), *map(partial(has, frame), axes, values)])
        counts = Counter(name for names in frame[CHOSEN][here] for name in names.split(", ") if name)
        often = ", ".join(f"{name} ({count})" for name, count in counts.most_common(MOST))
        named = {axis.split(".")[-1]: str(value) for axis, value in zip(axes, values, strict=True)}
        lines.append({**named, "trials": str(here.sum()), "chosen most often": often or "none"})
    return lines if len(frame) else []
