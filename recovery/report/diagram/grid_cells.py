"""Grid cells made of rows: the number of trials, how they ended, and what the finished trials measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from recovery.report.diagram.quantity import Quantity, finished, least_bounds
from recovery.types import Mask


@dataclass(frozen=True)
class Cells:
    """The cells of a grid. keys: coordinates, one row per cell. code: the cell of each row of the frame. replicates:
    the planned number of trials per cell."""

    frame: pd.DataFrame
    keys: pd.DataFrame
    code: Any
    replicates: int

    @classmethod
    def of(cls, frame: pd.DataFrame, names: list[str], replicates: int | None) -> "Cells":
        """Group the rows by the named columns. replicates: None takes the largest number of trials in a cell."""
        grouped = frame.groupby(names, dropna=False, sort=True, observed=True)
        code = grouped.ngroup().to_numpy()
        first = np.full(int(code.max()) + 1 if len(code) else 0, -1)
        first[code[::-1]] = np.arange(len(code))[::-1]
        keys = frame[names].iloc[first].reset_index(drop=True)
        most = int(np.bincount(code).max()) if len(code) else 0
        return cls(frame, keys, code, most if replicates is None else replicates)

    @cached_property
    def finished(self) -> Mask:
        """Mask of the rows with status ok."""
        return finished(self.frame)

    def count(self, which: Mask) -> Any:
        """Return the number of rows of each cell in a mask, shape (cells,)."""
        return np.bincount(self.code[which], minlength=len(self.keys))

    def counts(self) -> pd.DataFrame:
        """Return the columns trials (stored rows), ok, failed (any other status) and missing (planned rows)."""
        ok = self.count(self.finished)
        trials = np.bincount(self.code, minlength=len(self.keys))
        missing = np.maximum(self.replicates - trials, 0)
        return pd.DataFrame({"trials": trials, "ok": ok, "failed": trials - ok, "missing": missing})

    def tallies(self, column: str, bounds: Sequence[float]) -> list[pd.DataFrame]:
        """Return for each bound, in rising order, the trials of each cell by `column <= bound`: yes, no, undecided."""
        least = np.where(self.finished, least_bounds(self.frame, column), np.nan)
        known = ~np.isnan(least)
        steps = len(bounds) + 1
        place = self.code[known] * steps + np.searchsorted(bounds, least[known])
        counts = np.bincount(place, minlength=len(self.keys) * steps).reshape(-1, steps)
        yes, total = np.cumsum(counts, axis=1), counts.sum(axis=1)
        undecided = self.count(self.finished & ~known)
        return [
            pd.DataFrame({"yes": yes[:, i], "no": total - yes[:, i], "undecided": undecided})
            for i in range(len(bounds))
        ]

    def tally(self, quantity: Quantity) -> pd.DataFrame:
        """Return what the finished trials measured, one row per cell.

        For a proportion: yes, no, undecided, value = yes / (yes + no), and worst and best, the fractions if every
        undecided, failed and missing trial were a no or a yes. For a number: count, mean, median, lowest, highest, the
        quartiles lower and upper, and value = median.
        """
        values = np.where(self.finished, quantity.values(self.frame), np.nan)
        known = ~np.isnan(values)
        undecided = self.count(self.finished & ~known)
        if quantity.proportion(self.frame):
            yes, no = self.count(values == 1.0), self.count(values == 0.0)
            counts = self.counts()
            whole = (counts["trials"] + counts["missing"]).to_numpy()
            with np.errstate(invalid="ignore"):
                fractions = {"value": yes / (yes + no), "worst": yes / whole, "best": 1 - no / whole}
            return pd.DataFrame({"yes": yes, "no": no, "undecided": undecided, **fractions})
        grouped = pd.Series(values[known]).groupby(self.code[known])
        summary = {"mean": grouped.mean(), "median": grouped.median(), "lowest": grouped.min()}
        summary |= {"highest": grouped.max(), "lower": grouped.quantile(0.25), "upper": grouped.quantile(0.75)}
        summary = {"count": self.count(known), "undecided": undecided, **summary, "value": summary["median"]}
        return pd.DataFrame(summary, index=range(len(self.keys)))
