"""The quantity that a report shows for each trial: a measured column, or the event that it is at most a number."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from recovery.errors import ReportError
from recovery.methods.columns import DECIDED, Columns, parse_event
from recovery.report.diagram.vocabulary import column_words, unmarked
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
        """Parse `recovered`, `absolute_distance` or `max_deviation<=1e-4`; raises `ReportError` for other text."""
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
        words = self.words or column_words(self.column)
        return words if self.at_most is None else f"{words} ≤ {self.at_most:g}"

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

    def values(self, frame: pd.DataFrame) -> Array:
        """Return one float per row: 1, 0 or the number, NaN for null. Includes rows of unfinished trials."""
        if self.at_most is None:
            return as_numbers(frame[self.column])
        least = least_bounds(frame, self.column)
        return np.where(np.isnan(least), np.nan, least <= self.at_most)


def least_bounds(frame: pd.DataFrame, column: str) -> Array:
    """Return the least bound that each row's column satisfies: the number, or NaN for null.

    A null `max_deviation` follows from the verdict of a certificate that made a solve unnecessary: -inf for a unique
    optimum, which deviates by nothing, and inf for a planted point that is not the unique optimum.
    """
    numbers = as_numbers(frame[column])
    null = np.isnan(numbers)
    if column == "max_deviation" and "verdict" in frame and null.any():
        numbers = numbers.copy()
        numbers[null] = as_numbers(frame.loc[null, "verdict"].astype("object").map(DECIDED))
    return numbers


def finished(frame: pd.DataFrame) -> Mask:
    """Return a mask of trials with status ok. All others failed, which never counts as a failure to recover."""
    result: Mask = (frame["status"] == "ok").to_numpy(dtype=np.bool_, na_value=False)
    return result


def is_boolean(column: "pd.Series[Any]") -> bool:
    """Return whether a column holds truth values, apart from nulls."""
    if pd.api.types.is_bool_dtype(column.dtype):
        return True
    return column.dtype == object and {type(v) for v in column.dropna().unique()} <= {bool, np.bool_} != set()


def as_numbers(column: "pd.Series[Any]") -> Array:
    """Return a column as float64: truth values as 1 and 0, nulls as NaN."""
    if column.dtype == np.float64:
        return column.to_numpy()
    return np.asarray(pd.to_numeric(column, errors="coerce").astype("Float64").to_numpy(dtype=float, na_value=np.nan))


def default_quantity(frame: pd.DataFrame, wanted: str | None, columns: Columns) -> Quantity:
    """Return the wanted quantity, or the first default one that some trial measured.

    Raises `ReportError` for a column that does not exist or that no trial measured, with the columns that exist.
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
    """Return whether a measured column, or the time, holds numbers or truth values of some trial."""
    column = frame[name]
    if name not in columns and name != "seconds":
        return False
    if not (is_boolean(column) or pd.api.types.is_numeric_dtype(column.dtype)):
        return False
    return bool(column.notna().any())
