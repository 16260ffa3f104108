"""Where one half is crossed at each d of a panel, before the sizes are pooled; nothing here asks Student's law.

At each d the fractions are replaced by the likeliest that only rise (pool adjacent violators); n50 is where the line
through them crosses one half.
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
"""Degrees of freedom from which the scatter of n50/d over the sizes is taken for what it is, an estimate of the error
that needs no independence of trials within a size: about five sizes."""
OUTSIDE = 0.025
"""A size takes part if no larger share of its samples stays on one side of one half: else its cells cut off the law of
its n50, and its mean is biased."""
CLEAR = 1.96
"""Standard deviations that the trend of outcomes with n has to show; else where one half lies is chance."""


@dataclass(frozen=True)
class Size:
    """n50 at one d, with its interval: wider than the trials of that d alone have it, where n50/d scatters more over
    the sizes than they explain."""

    d: float
    n50: Interval


@dataclass(frozen=True)
class Pool:
    """The sizes that take part in a panel's ratio: counts, n50, how far apart the n beside it are, samples of n50."""

    slices: Slices
    at: Array
    step: Array
    samples: Array

    @property
    def d(self) -> Array:
        return self.slices.d

    @property
    def weight(self) -> Array:
        """Of each size in the ratio: d, about the inverse variance of n50/d where the transition is sqrt n wide."""
        return self.d / self.d.sum()

    @property
    def ratio(self) -> float:
        return float(self.weight @ (self.at / self.d))

    @property
    def variance(self) -> Array:
        """Of n50, by the samples."""
        return self.samples.var(axis=0, ddof=1)

    @property
    def excess(self) -> float:
        """How many times more n50/d lies away from a line in log d than the trials of a size explain; 1 for few sizes.

        Trials of one size may hang together (one draw of X for all n), which they cannot tell alone.
        """
        if freedom_of(self.weight) < FEWEST:
            return 1.0
        left = line(self.d, self.at / self.d, self.ratio).left
        known = float(self.weight @ (self.variance / self.d**2))
        return float(np.sqrt(self.weight @ left**2 / known * len(self.d) / (len(self.d) - 2)))


@dataclass(frozen=True)
class Sizes:
    """What a panel's cells tell of each d: `alone`, n50 by its own trials; `kept`, which take part in `pool`."""

    parts: Sequence[tuple[float, pd.DataFrame]]
    falling: bool
    alone: tuple[Size, ...]
    kept: Mask
    pool: Pool | None

    @cached_property
    def widened(self) -> tuple[Size, ...]:
        """n50 at each d, its interval as wide as the scatter over the sizes asks."""
        excess = 1.0 if self.pool is None else self.pool.excess
        return tuple(_widened(size, excess) for size in self.alone)


def size_by_size(panel: Panel, level: float) -> Sizes:
    """n50 at each d of a panel over n and d, with intervals of this level."""
    parts = [(d, part.cells) for d, part in by_size(panel)]
    trend = _trend(parts)
    alone = tuple(Size(d, crossing(*counts_along(cells, trend < 0), level)) for d, cells in parts)
    unknown = Sizes(parts, trend < 0, alone, np.zeros(len(parts), dtype=np.bool_), None)
    if not parts or abs(trend) < CLEAR:
        return unknown
    slices = stack(parts, trend < 0)
    # A size whose cells end inside its transition would enter with a mean that the grid's end has moved: its samples
    # then often lie on one side only. It is left out whole; weighing it less would keep the bias.
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
    """Least squares on log d, each d weighing as d: the slope, what it is of the values, log d from its mean, and what
    is left of each value."""

    slope: float
    lever: Array
    along: Array
    left: Array


def line(d: Array, values: Array, mean: float) -> LogLine:
    """The line through values of weighted mean `mean`."""
    weight = d / d.sum()
    # in log d a slope is a change a doubling of d, whatever the sizes
    along = np.log(d) - weight @ np.log(d)
    lever = weight * along / float(weight @ along**2)
    slope = float(lever @ values)
    return LogLine(slope, lever, along, values - mean - slope * along)


def freedom_of(weight: Array) -> float:
    """Degrees of freedom of a variance that goes as 1/d, of sizes of these weights (Satterthwaite 1946)."""
    return 1 / float(weight @ weight) - 1


def _trend(parts: Sequence[tuple[float, pd.DataFrame]]) -> float:
    """Cochran's and Armitage's statistic of success along n/d, summed over the sizes, in standard deviations."""
    score = variance = 0.0
    for d, cells in parts:
        x, yes, no = (numbers(cells, name) for name in ("n", "yes", "no"))
        total = yes + no
        if not total.sum():
            continue
        share, x = float(yes.sum() / total.sum()), x / d
        x = x - total @ x / total.sum()  # within a size only: that sizes differ in level is no trend along n
        score += float(x @ yes)
        variance += share * (1 - share) * float(total @ x**2)
    return score / float(np.sqrt(variance)) if variance > 0 else 0.0
