"""Tables of means in words: mean and standard error, and the source's number with the z-score of the difference."""

import numpy as np

from recovery.report.statistics.means import MeanTable

FAR = 3.0
"""z-scores beyond it are marked."""


def title(table: MeanTable) -> str:
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
