"""What a report shows of a trial: a measured column, or whether that column stays below a threshold."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from recovery.errors import ReportError
from recovery.methods.columns import Columns, parse_event
from recovery.report.diagram.words import column_words
from recovery.text import did_you_mean
from recovery.types import Array, Mask

LOGARITHMIC = ("max_deviation", "distance", "gap", "residual", "violation", "seconds", "loss", "error")
"""Columns with one of these in their name span decades."""
DECIDED = {"recovered": -np.inf, "not_unique": np.inf, "not_optimal": np.inf}


@dataclass(frozen=True)
class Quantity:
    """A column of the rows, or with `at_most` the event that the column is at most that number."""

    column: str
    at_most: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Quantity":
        """`recovered`, `absolute_distance` or `max_deviation<=1e-4`; raises `ReportError` otherwise."""
        try:
            return cls(*parse_event(text))
        except ValueError:
            message = f"cannot read the value {text!r}; write a column, or COLUMN<=NUMBER as in max_deviation<=1e-4"
            raise ReportError(message) from None

    def __str__(self) -> str:
        return self.column if self.at_most is None else f"{self.column}<={self.at_most:g}"

    @property
    def label(self) -> str:
        """In words, for axes and titles."""
        words = column_words(self.column)
        return words if self.at_most is None else f"{words} ≤ {self.at_most:g}"

    @property
    def logarithmic(self) -> bool:
        """Whether its numbers belong on a log scale unless the config says otherwise."""
        return any(word in self.column for word in LOGARITHMIC)

    @property
    def small_is_good(self) -> bool:
        """Whether its numbers are errors, distances or costs."""
        return self.at_most is None and self.logarithmic

    def proportion(self, frame: pd.DataFrame) -> bool:
        """Whether a cell's value is a fraction of trials rather than a typical number."""
        return self.at_most is not None or is_boolean(frame[self.column])

    def values(self, frame: pd.DataFrame) -> Array:
        """One float a row: 1, 0 or the number; NaN for null. Whether the trial finished is not looked at here."""
        if self.at_most is None:
            return as_numbers(frame[self.column])
        least = least_bounds(frame, self.column)
        return np.where(np.isnan(least), np.nan, least <= self.at_most)


def least_bounds(frame: pd.DataFrame, column: str) -> Array:
    """The least bound that each row's column is at most: the number itself, NaN for null.

    A null `max_deviation` takes the verdict of the certificate that made a solve needless: a unique optimum deviates
    by nothing (-inf), a planted point that is not the unique optimum is not recovered under any bound (inf).
    """
    numbers = as_numbers(frame[column])
    null = np.isnan(numbers)
    if column == "max_deviation" and "verdict" in frame and null.any():
        numbers = numbers.copy()
        numbers[null] = as_numbers(frame.loc[null, "verdict"].astype("object").map(DECIDED))
    return numbers


def finished(frame: pd.DataFrame) -> Mask:
    """Which trials ended with status ok; every other one failed, and is never a failure to recover."""
    result: Mask = (frame["status"] == "ok").to_numpy(dtype=np.bool_, na_value=False)
    return result


def is_boolean(column: "pd.Series[Any]") -> bool:
    """Whether a column holds truth values, nulls aside."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return True
    return column.dtype == object and {type(v) for v in column.dropna().unique()} <= {bool, np.bool_} != set()


def as_numbers(column: "pd.Series[Any]") -> Array:
    """A column as float64, truth values as 1 and 0, NaN for null."""
    if column.dtype == np.float64:
        return column.to_numpy()
    return np.asarray(pd.to_numeric(column, errors="coerce").astype("Float64").to_numpy(dtype=float, na_value=np.nan))


def default_quantity(frame: pd.DataFrame, wanted: str | None, columns: Columns) -> Quantity:
    """The wanted quantity, or the first of the usual ones that some trial measured.

    Raises `ReportError` for a column that is not there or that nothing measured, with those that are.
    """
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
    """Whether one of the measured `columns`, or the time, holds numbers or truth values that some trial measured."""
    column = frame[name]
    if name not in columns and name != "seconds":
        return False
    if not (is_boolean(column) or pd.api.types.is_numeric_dtype(column.dtype)):
        return False
    return bool(column.notna().any())
