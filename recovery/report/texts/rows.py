"""Table rows that the terminal, LaTeX and Markdown share: thresholds with claims, means with a source's numbers, and
the columns that a selection chose."""

from collections import Counter
from functools import partial

import numpy as np

from recovery.report.claims import Analysis, form_of, measured
from recovery.report.diagram import Diagram, finished, greek, has
from recovery.report.statistics.means import FAR, MeanTable

CHOSEN = "chosen"
"""Measured column with the chosen names, the most important first."""
MOST = 10


def threshold_rows(analysis: Analysis) -> list[dict[str, str]]:
    """Return one row per threshold, with the threshold that a claim states, as in the paper's Table I.

    A threshold outside the cells is given by its known bound, unless slices are pooled.
    """
    shown = analysis.measured_beside_stated
    heads = {f"{greek(row.found.along.what)} at {row.found.along.percent}" for row in shown}
    rows = []
    for row in shown:
        found, along = row.found.interval, row.found.along
        head = f"{greek(along.what)} at {along.percent}"
        interval = (
            found.entry(form_of(along)) if found.known or (along.pool is None and found.ends() != "unbounded") else ""
        )
        value = measured(row.found) if len(heads) == 1 else f"{head}: {measured(row.found)}"
        what = {"value": row.of, "panel": row.found.panel.title, head if len(heads) == 1 else "threshold": value}
        rows.append(what | {"interval": interval, "stated": row.stated, "verdict": row.verdict, "source": row.source})
    return rows


def mean_title(table: MeanTable) -> str:
    """Return a title that says what the table shows, and what its parentheses hold."""
    least = int(table.count.min())
    words = f"{table.value.replace('_', ' ')}: mean and standard error of {least}"
    words += " trials" if least == table.count.max() else f" to {table.count.max()} trials"
    return f"{words} (stated{f' by {table.source}' if table.source else ''}, z-score; ! beyond {FAR:g})"


def mean_rows(table: MeanTable) -> list[dict[str, str]]:
    """Return one row per row of the table: its name and one text per column."""
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
    """Return the last part of a coordinate's path."""
    return name.split(".")[-1]


def chosen_rows(diagram: Diagram) -> list[dict[str, str]]:
    """Return one row per combination of the axes that vary: the columns chosen most often, with their numbers of
    trials.

    This is the form of Tables 7 and 8 of P3. There are no rows if nothing was chosen by name.
    """
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
