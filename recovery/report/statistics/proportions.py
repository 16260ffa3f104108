"""The interval of a proportion, and counts of two outcomes of the same trials."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from recovery.interval import LEVEL
from recovery.report.diagram import as_numbers, finished
from recovery.report.statistics.differences import sign_test
from recovery.types import Array


def exact_interval(
    yes: ArrayLike, no: ArrayLike, undecided: ArrayLike = 0, level: float = LEVEL
) -> tuple[Array, Array]:
    """Return the ends of the exact interval of a proportion (Clopper and Pearson 1934); NaN without decided trials.

    Undecided trials count as failures for the lower end and as successes for the upper one. This interval is used
    everywhere, because claims need its guarantee: at the level 99.9 %, Wilson's misses rare outcomes too often.
    """
    counts = np.broadcast_arrays(yes, no, undecided)
    least, failed, unknown = (np.asarray(count, dtype=float) for count in counts)
    most, total = least + unknown, least + failed + unknown
    known = least + failed > 0
    # the lower end is the p at which as many successes or more have probability (1 - level) / 2, a quantile of a beta
    # law, and 0 without a success
    some, left = np.where(least > 0, least, 1.0), np.where(most < total, total - most, 1.0)
    low = np.where(least > 0, scipy.special.betaincinv(some, total - least + 1, (1 - level) / 2), 0.0)
    high = np.where(most < total, scipy.special.betaincinv(most + 1, left, (1 + level) / 2), 1.0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


@dataclass(frozen=True)
class Pairs:
    """Counts of paired trials by outcome. Pairs in which either trial failed or is undecided are left out."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @classmethod
    def of(cls, first: Array, second: Array) -> "Pairs":
        """Count pairs of outcomes, 1 (yes) and 0 (no); pairs with NaN (undecided) are left out."""
        counts = [int(np.sum((first == a) & (second == b))) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))]
        return cls(*counts)

    @property
    def total(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float:
        """The success fraction of the first minus the fraction of the second; NaN without pairs."""
        return (self.only_first - self.only_second) / self.total if self.total else float("nan")

    @property
    def p_value(self) -> float:
        return sign_test(self.only_first, self.only_second)


def pair_cells(frame: pd.DataFrame, code: Array, cells: int, first: str, second: str) -> pd.DataFrame:
    """Return the pairs of each cell, one row per cell in the order of the codes of `Cells`."""
    a, b = (np.where(finished(frame), as_numbers(frame[name]), np.nan) for name in (first, second))
    counted = [Pairs.of(a[code == cell], b[code == cell]) for cell in range(cells)]
    names = ("both", "only_first", "only_second", "neither", "total", "difference", "p_value")
    return pd.DataFrame({name: [getattr(pairs, name) for pairs in counted] for name in names})
