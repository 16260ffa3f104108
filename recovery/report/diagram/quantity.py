"""The quantity that a report shows for each trial: a measured column, or the event that it is at most a number."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from recovery.errors import ReportError
from recovery.methods.columns import Columns, implied, parse_event
from recovery.report.diagram.vocabulary import COLUMNS, PLAIN, unmarked
from recovery.store.row_schema import FINISHED, may_lack
from recovery.text import did_you_mean
from recovery.types import Array, Mask

LOGARITHMIC = ("max_deviation", "distance", "gap", "residual", "violation", "seconds", "loss", "error")
"""Columns whose name contains one of these words span decades."""


@dataclass(frozen=True)
class Quantity:
    """A measured column, or, with `at_most`, the event that the column is at most this number.

    words: the config's label of the column, otherwise empty.
    """

    column: str
    at_most: float | None = None
    words: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: str) -> "Quantity":
        """Parse COLUMN or COLUMN<=NUMBER, as `recovered` or `max_deviation<=1e-4`. Raises `ReportError`."""
        try:
            return cls(*parse_event(text))
        except ValueError:
            message = f"cannot read the value {text!r}; write a column, or COLUMN<=NUMBER as in max_deviation<=1e-4"
            raise ReportError(message) from None

    def __str__(self) -> str:
        return self.column if self.at_most is None else f"{self.column}<={self.at_most:g}"

    @property
    def label(self) -> str:
        """The quantity in words, for axes and titles."""
        words = self.words or COLUMNS.get(self.column, self.column.replace("_", " "))
        return words if self.at_most is None else f"{words} ≤ {PLAIN.number(self.at_most)}"

    def labelled(self, labels: Mapping[str, str]) -> "Quantity":
        """Return the quantity with its label from the config."""
        return replace(self, words=unmarked(labels.get(self.column, "")))

    @property
    def logarithmic(self) -> bool:
        """Whether the values belong on a log scale by default."""
        return any(word in self.column for word in LOGARITHMIC)

    def proportion(self, frame: pd.DataFrame) -> bool:
        """Return whether a cell's value is a fraction of trials instead of a typical number."""
        return self.at_most is not None or is_boolean(frame[self.column])

    def ends(self, frame: pd.DataFrame) -> tuple[Array, Array]:
        """Return the least and the greatest value that each row, finished or not, can have; NaN where it has none."""
        low, high = bounds(frame, self.column)
        if self.at_most is not None:
            low, high = (np.where(np.isnan(end), np.nan, end <= self.at_most) for end in (high, low))
            return low, high
        return (np.clip(low, 0, 1), np.clip(high, 0, 1)) if self.proportion(frame) else (low, high)

    def values(self, frame: pd.DataFrame) -> Array:
        """Return one float per row, also of unfinished trials: 1, 0 or the number; NaN where the value is not known."""
        low, high = self.ends(frame)
        return np.where(low == high, low, np.nan)

    def unknown(self, frame: pd.DataFrame) -> Mask:
        """Return the mask of the rows whose value exists and is not known: it was not measured, or is undecided."""
        return np.isnan(self.values(frame)) & ~undefined(frame, self.column)

    def unmeasured(self, frame: pd.DataFrame) -> Mask:
        """Return the mask of the rows whose value is unknown although nothing about their trial is undecided."""
        unknown = self.unknown(frame)
        undecided = frame["verdict"] == "undecided" if "verdict" in frame else ~unknown
        return unknown & ~np.asarray(undecided, np.bool_)


def bounds(frame: pd.DataFrame, column: str) -> tuple[Array, Array]:
    """Return the least and the greatest value that the column can have in each row: both are the measured number, or,
    if it was not measured, the ends that the verdict implies (`implied`); NaN where the column is not defined."""
    low = as_numbers(frame[column])
    null = np.isnan(low)
    if not null.any():
        return low, low
    low, high = low.copy(), low.copy()
    why = [frame.loc[null, name].astype(object) if name in frame else None for name in ("verdict", "certificate")]
    pairs = pd.MultiIndex.from_arrays([np.full(null.sum(), None) if one is None else one for one in why])
    codes, found = pairs.factorize()
    ends = np.array([implied(column, *(None if pd.isna(one) else one for one in pair)) for pair in found])
    low[null], high[null] = ends[codes].T
    without = undefined(frame, column)
    low[without], high[without] = np.nan, np.nan
    return low, high


def undefined(frame: pd.DataFrame, column: str) -> Mask:
    """Return the mask of the rows where the column is undefined: null, but not as a row's `unmeasured` explains."""
    null = frame[column].isna().to_numpy(np.bool_)
    if "unmeasured" not in frame or not null.any():
        return np.zeros(len(frame), np.bool_)
    texts, values = pd.factorize(frame["unmeasured"])
    says = np.array([*(not may_lack(text, column) for text in values), False])
    return np.asarray(null & says[texts])


def finished(frame: pd.DataFrame) -> Mask:
    """Return a mask of finished trials. All others failed, which never counts as a failure to recover."""
    return frame["status"].isin(FINISHED).to_numpy(dtype=np.bool_)


def is_boolean(column: "pd.Series[Any]") -> bool:
    """Return whether a column holds truth values, apart from nulls."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return True
    return column.dtype == object and {type(v) for v in column.dropna().unique()} <= {bool, np.bool_} != set()


def as_numbers(column: "pd.Series[Any]") -> Array:
    """Return a column as float64: truth values as 1 and 0, nulls as NaN."""
    return np.asarray(pd.to_numeric(column, errors="coerce").astype("Float64").to_numpy(dtype=float, na_value=np.nan))


def default_quantity(frame: pd.DataFrame, wanted: str | None, columns: Columns) -> Quantity:
    """Return the quantity `wanted`, for None a usual one. Raises `ReportError` if no trial measured the wanted one."""
    usual = ["recovered", "holds", "absolute_distance", "test_distance", "isometry_value"]
    there = [name for name in frame.columns if is_measured(frame, name, columns)]
    if wanted is None:
        return Quantity(next((name for name in [*usual, *there] if name in there), "recovered"))
    quantity = Quantity.parse(wanted)
    if quantity.column in there or (len(frame) and not finished(frame).any() and quantity.column in frame):
        return quantity
    fault = "was measured by no trial" if quantity.column in {*columns, *frame.columns} else "is not a column"
    hint = did_you_mean(quantity.column, there)
    raise ReportError(f"{quantity.column} {fault} of this grid{hint}; measured are: {', '.join(there) or 'none'}")


def is_measured(frame: pd.DataFrame, name: str, columns: Columns) -> bool:
    """Return whether `name` is one of `columns` or `seconds`, and holds numbers or truth values of some trial."""
    column = frame[name]
    numbers = is_boolean(column) or pd.api.types.is_numeric_dtype(column.dtype)
    return bool(name in (*columns, "seconds") and numbers and column.notna().any())
