"""The error bars of a value in grid cells, and the words for them: the same in figures, on pages and in notebooks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from recovery.config.tree import value_at
from recovery.interval import LEVEL, interval_words, percent
from recovery.report.claims.mean_tables import means_of, shown_tables
from recovery.report.diagram import Diagram, unknown
from recovery.report.statistics import exact_interval
from recovery.types import Array

INTERVAL = interval_words([LEVEL])
"""Legend text of the error bars of a fraction."""


def draws_of(diagram: Diagram, cells: pd.DataFrame) -> Any:
    """Return the number of draws in which a method's `frequency` was counted, for all cells or for each; or None."""
    if str(diagram.quantity) != "frequency" or not diagram.single:
        return None
    if "method.draws" in diagram.frame:
        return diagram.frame["method.draws"].groupby(diagram.cells.code).first().loc[cells.index].to_numpy(dtype=float)
    return value_at(diagram.sweep.document, "method.draws")


@dataclass(frozen=True)
class Bars:
    """The value of each cell and the ends of its error bar. label, words, heads: texts for value, bars and bar ends."""

    value: Array
    low: Array
    high: Array
    label: str
    words: str
    heads: tuple[str, str]

    @classmethod
    def of(cls, diagram: Diagram, cells: pd.DataFrame, means: bool = True) -> "Bars":
        """Return fractions with exact intervals, or medians with quartiles (NaN where unknown values leave no bound).

        Single values have bars only if they are frequencies of known draws. means: if a table is claimed, use means.
        """
        value = cells["value"].to_numpy(dtype=float)
        if means and shown_tables(diagram):
            value, error = means_of(diagram, cells)
            heads = ("mean - standard error", "mean + standard error")
            label = f"mean {diagram.quantity.label}"
            return cls(value, value - error, value + error, label, "mean, standard error", heads)
        counts: list[Any] = [cells["yes"], cells["no"], unknown(cells)] if diagram.proportion else []
        if (draws := draws_of(diagram, cells)) is not None:
            counts = [np.round(value * draws), np.round((1 - value) * draws)]
        if counts:
            heads = (f"{percent(LEVEL)} low", f"{percent(LEVEL)} high")
            return cls(value, *exact_interval(*counts), diagram.measured_label, INTERVAL, heads)
        if diagram.single:
            return cls(value, value, value, diagram.measured_label, "", ("", ""))
        low, high = (cells[name].to_numpy(dtype=float) for name in ("lower", "upper"))
        value = np.where(np.isfinite(low) & np.isfinite(high), value, np.nan)
        heads = ("lower quartile", "upper quartile")
        return cls(value, low, high, diagram.measured_label, "interquartile range", heads)
