"""Grid cells made of rows: the number of trials, how they ended, what the finished trials measured; and panels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from recovery.report.diagram.quantity import Quantity, finished
from recovery.types import Array, Mask

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Cells:
    """The cells of a grid. keys: their coordinates. code: each row's cell. replicates: trials planned per cell."""

    frame: pd.DataFrame
    keys: pd.DataFrame
    code: Any
    replicates: int

    @classmethod
    def of(cls, frame: pd.DataFrame, names: list[str], replicates: int) -> "Cells":
        """Group the rows by the named columns."""
        grouped = frame.groupby(names, dropna=False, sort=True, observed=True)
        code = grouped.ngroup().to_numpy()
        keys = frame[names].iloc[np.unique(code, return_index=True)[1]].reset_index(drop=True)
        return cls(frame, keys, code, replicates)

    @cached_property
    def finished(self) -> Mask:
        """Mask of the rows of finished trials."""
        return finished(self.frame)

    def count(self, which: Mask) -> Any:
        """Return for each cell how many of its rows the mask `which` selects, shape (cells,)."""
        return np.bincount(self.code[which], minlength=len(self.keys))

    def counts(self) -> pd.DataFrame:
        """Return the columns trials (stored rows), ok (finished ones), failed (the others) and missing (planned)."""
        ok = self.count(self.finished)
        trials = np.bincount(self.code, minlength=len(self.keys))
        missing = np.maximum(self.replicates - trials, 0)
        return pd.DataFrame({"trials": trials, "ok": ok, "failed": trials - ok, "missing": missing})

    def tally(self, quantity: Quantity) -> pd.DataFrame:
        """Return what the finished trials measured, one row per cell.

        For a proportion: yes, no, value, and worst and best, the fractions if every undecided, unmeasured, failed and
        missing trial were a no or a yes. For a number: count, mean, median, lowest, highest, the quartiles lower and
        upper, and value = median. For both: undecided and unmeasured, the finished trials whose value is not known.

        Where a value is unmeasured, its trial's verdict gives it a range, and so the summaries have ranges. Fractions,
        means and medians are the middle, lowest and lower the lower end, others the upper; NaN for infinite ones.
        """
        low, high = (np.where(self.finished, end, np.nan) for end in quantity.ends(self.frame))
        known, unmeasured = low == high, self.finished & quantity.unmeasured(self.frame)
        undecided = self.finished & quantity.unknown(self.frame) & ~unmeasured
        lacking = {"undecided": self.count(undecided), "unmeasured": self.count(unmeasured)}
        if quantity.proportion(self.frame):
            yes, no, more = self.count(known & (low == 1)), self.count(known & (low == 0)), lacking["unmeasured"]
            counts = self.counts()
            whole = (counts["trials"] + counts["missing"]).to_numpy()
            with np.errstate(invalid="ignore"):
                value = np.where(yes + no > 0, (yes + more / 2) / (yes + no + more), np.nan)
                fractions = {"value": value, "worst": yes / whole, "best": 1 - no / whole}
            return pd.DataFrame({"yes": yes, "no": no, **lacking, **fractions})
        used = known | unmeasured
        least, most = (pd.Series(end[used]).groupby(self.code[used]) for end in (low, high))
        summary = {"mean": (least.mean() + most.mean()) / 2, "median": (least.median() + most.median()) / 2}
        summary |= {"lowest": least.min(), "highest": most.max()}
        summary |= {"lower": least.quantile(0.25), "upper": most.quantile(0.75)}
        table = pd.DataFrame(summary, index=range(len(self.keys))).replace([-np.inf, np.inf], np.nan)
        return pd.DataFrame({"count": self.count(known), **lacking}).join(table).assign(value=table["median"])


@dataclass(frozen=True)
class Panel:
    """One combination of the axes other than x and y. `cells` has one row per cell, with the integers ix and iy.

    unstarted: (y, x) of the planned grid cells without a stored trial.
    """

    title: str
    where: dict[str, Any]
    cells: pd.DataFrame
    x: Sequence[Any]
    y: Sequence[Any]
    unstarted: Sequence[tuple[Any, Any]] = ()

    @property
    def answers(self) -> int:
        """The number of trials that measured the value."""
        names = ["count"] if "count" in self.cells else ["yes", "no"]
        return int(self.cells[names].to_numpy().sum())

    @property
    def undefined(self) -> bool:
        """Whether trials of this panel finished, and no method in it measures the value."""
        return bool(self.cells["undefined"].any()) and not self.answers and not unknown(self.cells).any()

    @property
    def note(self) -> str:
        """Why the panel shows nothing; empty if it has trials that may have the value."""
        return NOT_MEASURED if self.undefined else "" if len(self.cells) else "no trials yet"

    def agrees(self, where: Mapping[str, Any]) -> bool:
        """Return whether the panel's coordinates have the values in `where`; names that it lacks do not matter."""
        short = {name.split(".")[-1]: value for name, value in self.where.items()}
        return all(is_same(short.get(name.split(".")[-1], wanted), wanted) for name, wanted in where.items())

    def matrix(self, name: str) -> Array:
        """Return the column `name` of the cells as floats of shape (len(y), len(x)); NaN where there is no cell."""
        result = np.full((len(self.y), len(self.x)), np.nan)
        result[self.cells["iy"], self.cells["ix"]] = self.cells[name].to_numpy(dtype=float, na_value=np.nan)
        return result


def unknown(counts: Any) -> Any:
    """Return the number of finished trials whose value is not known, from the counts of cells or of a whole grid."""
    return counts["undecided"] + counts["unmeasured"]


def has(frame: pd.DataFrame, path: str, wanted: Any) -> Mask:
    """Return a mask of the rows whose column `path`, or the last part of this path, has the value `wanted`."""
    name = next((name for name in (path, path.split(".")[-1]) if name in frame), None)
    if name is None:
        return np.zeros(len(frame), dtype=np.bool_)
    same = [value for value in frame[name].unique() if is_same(value, wanted)]
    return np.asarray(frame[name].isin(same), np.bool_)


def rows_where(frame: pd.DataFrame, where: Mapping[str, Any]) -> Mask:
    """Return a mask of the rows with these coordinates."""
    result: Mask = np.logical_and.reduce([np.ones(len(frame), np.bool_), *(has(frame, *at) for at in where.items())])
    return result


def is_same(value: Any, wanted: Any) -> bool:
    """Return whether a coordinate's `value` is the one `wanted` in a config, where it may be written as text."""
    if str(value) == str(wanted) or (isinstance(wanted, bool) and str(value) == str(wanted).lower()):
        return True
    try:
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return False
