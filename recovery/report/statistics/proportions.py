"""Intervals and exact tests of one cell's proportion, and of two outcomes of the same trials."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from scipy.special import ndtri

from recovery.report.diagram import as_numbers, finished
from recovery.types import Array

QUANTILE = float(ndtri(0.975))
"""Of the standard normal law, for 95 %."""


def wilson(yes: ArrayLike, no: ArrayLike) -> tuple[Array, Array]:
    """95 % Wilson score interval of a proportion from counts of either outcome; NaN where both are 0. Wilson 1927."""
    yes, no = np.asarray(yes, dtype=float), np.asarray(no, dtype=float)
    total = np.where(yes + no > 0, yes + no, np.nan)
    middle = (yes + QUANTILE**2 / 2) / (total + QUANTILE**2)
    half = QUANTILE * np.sqrt(yes * no / total + QUANTILE**2 / 4) / (total + QUANTILE**2)
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact p-value of `only_first` against Binomial(only_first + only_second, 1/2); 1 with none."""
    discordant = only_first + only_second
    return float(scipy.stats.binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0


@dataclass(frozen=True)
class Pairs:
    """The four counts of a set of trials; trials where either outcome is open or failed are left out."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @classmethod
    def of(cls, first: Array, second: Array) -> "Pairs":
        """Count pairs of 1 (yes), 0 (no) and NaN (open)."""
        counts = [int(np.sum((first == a) & (second == b))) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))]
        return cls(*counts)

    @property
    def total(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float:
        """Fraction of the first less that of the second; NaN without pairs."""
        return (self.only_first - self.only_second) / self.total if self.total else float("nan")

    @property
    def p_value(self) -> float:
        return mcnemar(self.only_first, self.only_second)


def pair_cells(frame: pd.DataFrame, code: Array, cells: int, first: str, second: str) -> pd.DataFrame:
    """The pairs of each cell: one row a cell, in the order of the codes (see `recovery.report.diagram.cells.Cells`)."""
    a, b = (np.where(finished(frame), as_numbers(frame[name]), np.nan) for name in (first, second))
    found = [Pairs.of(a[code == cell], b[code == cell]) for cell in range(cells)]
    names = ("both", "only_first", "only_second", "neither", "total", "difference", "p_value")
    return pd.DataFrame({name: [getattr(pairs, name) for pairs in found] for name in names})
