"""The threshold n at each d of a panel, before the values of d are pooled.

At each d, a monotone (isotonic) regression of the success fraction on n is fitted. n50 is where it crosses one half.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from recovery.interval import Interval
from recovery.report.diagram import Panel
from recovery.report.statistics.curve_free import crossing
from recovery.report.statistics.slices import Slices, counts_along, crossed, resampled, stack
from recovery.report.statistics.transition import by_size, numbers
from recovery.types import Array, Mask

FEWEST = 3.0
"""Degrees of freedom from which the scatter of n50/d over d is used as an estimate of the error: about five values of
d. It does not assume that the trials at one d are independent."""
OUTSIDE = 0.025
"""A value of d is pooled only if at most this share of its bootstrap samples stays on one side of one half. Otherwise
its cells truncate the distribution of n50, and the mean is biased."""
CLEAR = 1.96
"""z-score that the trend of success with n must exceed; with less, the position of one half is noise."""


@dataclass(frozen=True)
class Size:
    """n50 at one d, with its interval. The interval is wider than the trials at this d imply if n50/d scatters more
    over d than they explain."""

    d: float
    n50: Interval


@dataclass(frozen=True)
class Pool:
    """The values of d that enter a panel's ratio: their counts, n50, the step of n around it, and bootstrap samples of
    n50."""

    slices: Slices
    at: Array
    step: Array
    samples: Array

    @property
    def d(self) -> Array:
        return self.slices.d

    @property
    def weight(self) -> Array:
        """Weights proportional to d: about the inverse variance of n50/d where the transition is sqrt n wide."""
        return self.d / self.d.sum()

    @property
    def ratio(self) -> float:
        return float(self.weight @ (self.at / self.d))

    @property
    def variance(self) -> Array:
        """Bootstrap variance of n50."""
        return self.samples.var(axis=0, ddof=1)

    @property
    def excess(self) -> float:
        """How many times more n50/d scatters around a line in log d than the trials at each d explain; 1 for few values
        of d.

        Trials at one d may be correlated (one draw of X for all n), which they cannot show alone.
        """
        if freedom_of(self.weight) < FEWEST:
            return 1.0
        left = line(self.d, self.at / self.d, self.ratio).left
        known = float(self.weight @ (self.variance / self.d**2))
        return float(np.sqrt(self.weight @ left**2 / known * len(self.d) / (len(self.d) - 2)))


@dataclass(frozen=True)
class Sizes:
    """The thresholds at each d of a panel: `alone` from the trials at that d; `kept` marks those in `pool`."""

    parts: Sequence[tuple[float, pd.DataFrame]]
    falling: bool
    alone: tuple[Size, ...]
    kept: Mask
    pool: Pool | None

    @cached_property
    def widened(self) -> tuple[Size, ...]:
        """n50 at each d, with its interval widened to the scatter over d."""
        excess = 1.0 if self.pool is None else self.pool.excess
        return tuple(_widened(size, excess) for size in self.alone)


def size_by_size(panel: Panel, level: float) -> Sizes:
    """Return n50 at each d of a panel over n and d, with intervals of this level."""
    parts = [(d, part.cells) for d, part in by_size(panel)]
    trend = _trend(parts)
    alone = tuple(Size(d, crossing(*counts_along(cells, trend < 0), level)) for d, cells in parts)
    unknown = Sizes(parts, trend < 0, alone, np.zeros(len(parts), dtype=np.bool_), None)
    if not parts or abs(trend) < CLEAR:
        return unknown
    slices = stack(parts, trend < 0)
    # Where the cells end inside the transition, the end of the grid biases the mean, and many samples lie on one side
    # only. Such a d is left out; a smaller weight would keep the bias.
    samples, _, sides = resampled(slices)
    at, step, cut = crossed(slices, slices.rising)
    low, high = (np.mean(side, axis=0) for side in sides)
    kept = (low <= OUTSIDE) & (high <= OUTSIDE) & ~cut[0] & ~cut[1]
    if not kept.any():
        return unknown
    return Sizes(parts, trend < 0, alone, kept, Pool(slices.at(kept), at[kept], step[kept], samples[:, kept]))


def _widened(size: Size, excess: float) -> Size:
    half = size.n50
    if excess <= 1 or not np.isfinite(half.estimate):
        return size
    low, high = (half.estimate + excess * (end - half.estimate) for end in (half.low, half.high))
    return Size(size.d, Interval(half.estimate, low, high, half.level))


class LogLine(NamedTuple):
    """A least-squares line in log d with weights d: the slope, the weights that give it from the values, log d minus
    its mean, and the residuals."""

    slope: float
    lever: Array
    along: Array
    left: Array


def line(d: Array, values: Array, mean: float) -> LogLine:
    """Fit the line through values with the weighted mean `mean`."""
    weight = d / d.sum()
    # In log d, a line has the same change per doubling of d at every d.
    along = np.log(d) - weight @ np.log(d)
    lever = weight * along / float(weight @ along**2)
    slope = float(lever @ values)
    return LogLine(slope, lever, along, values - mean - slope * along)


def freedom_of(weight: Array) -> float:
    """Return the degrees of freedom of a variance that scales as 1/d, for these weights (Satterthwaite 1946)."""
    return 1 / float(weight @ weight) - 1


def _trend(parts: Sequence[tuple[float, pd.DataFrame]]) -> float:
    """Return the Cochran-Armitage statistic of success along n/d, summed over d, as a z-score."""
    score = variance = 0.0
    for d, cells in parts:
        x, yes, no = (numbers(cells, name) for name in ("n", "yes", "no"))
        total = yes + no
        if not total.sum():
            continue
        share, x = float(yes.sum() / total.sum()), x / d
        x = x - total @ x / total.sum()  # centred at each d: a difference between values of d is no trend along n
        score += float(x @ yes)
        variance += share * (1 - share) * float(total @ x**2)
    return score / float(np.sqrt(variance)) if variance > 0 else 0.0
