"""Two grids cell by cell, paired where their seeds agree: then a replicate is the same draw in both."""

from dataclasses import dataclass

import pandas as pd
from scipy.stats import binomtest

from recovery.errors import ReportError
from recovery.report.layout import coordinates
from recovery.store import Grid

STREAMS = ("n", "d", "ensemble")
"""Coordinates without which two trials have no draw in common."""


@dataclass(frozen=True)
class Comparison:
    """`cells`: one row a cell that both grids have: the mean of the value in each, the counts, and the difference.

    fixed: coordinate -> (value in A, value in B) for what tells the grids apart. pairs: trials that both measured on
    the same draw, or None if the seeds differ; only_a, only_b: pairs in which the value is true in one alone.
    """

    value: str
    cells: pd.DataFrame
    fixed: dict[str, tuple[object, object]]
    pairs: int | None
    equal: int
    only_a: int
    only_b: int

    @property
    def p_value(self) -> float | None:
        """Of the exact sign (McNemar) test that neither is true more often; None without a discordant pair."""
        discordant = self.only_a + self.only_b
        return float(binomtest(self.only_a, discordant).pvalue) if self.pairs is not None and discordant else None


def compare(a: Grid, b: Grid, value: str = "recovered") -> Comparison:
    """Compare a measured column of two grids. Raises `ReportError` if they have no cell or no such column in common."""
    left, right = _measured(a, value), _measured(b, value)
    shared = [name for name in coordinates(left) if name in coordinates(right)]
    fixed = {
        name: (left[name].iloc[0], right[name].iloc[0])
        for name in shared
        if left[name].nunique(dropna=False) == right[name].nunique(dropna=False) == 1
        and left[name].iloc[0] != right[name].iloc[0]
    }
    keys = [name for name in shared if name not in fixed]
    means = [frame.groupby(keys, dropna=False)[value].agg(["count", "mean"]) for frame in (left, right)]
    cells = means[0].join(means[1], how="inner", lsuffix="_a", rsuffix="_b").reset_index()
    if cells.empty:
        raise ReportError(f"{a.path} and {b.path} have no cell in common")
    cells["difference"] = cells["mean_b"] - cells["mean_a"]
    paired = a.sweep["config"].get("seed") == b.sweep["config"].get("seed") and not set(fixed) & set(STREAMS)
    if not paired:
        return Comparison(value, cells, fixed, None, 0, 0, 0)
    pairs = left.merge(right, on=[*keys, "replicate"], suffixes=("_a", "_b"))
    x, y = pairs[f"{value}_a"], pairs[f"{value}_b"]
    return Comparison(value, cells, fixed, len(pairs), int((x == y).sum()), int((x > y).sum()), int((x < y).sum()))


def _measured(grid: Grid, value: str) -> pd.DataFrame:
    """Coordinates, replicate and the value of the trials that measured it, true and false as 1 and 0."""
    frame = grid.frame
    if value not in frame or not (pd.api.types.is_numeric_dtype(frame[value])):
        raise ReportError(f"{grid.path}: {value!r} is no column of numbers or truth values")
    frame = frame[[*coordinates(frame), "replicate", value]][(frame["status"] == "ok") & frame[value].notna()]
    if frame.empty:
        raise ReportError(f"{grid.path}: no trial has measured {value!r}")
    return frame.astype({value: float})
