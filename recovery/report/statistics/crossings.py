"""Where the event of each slice of a panel reaches its probability, before the slices are pooled.

In each slice, a monotone (isotonic) regression of the success fraction on x is fitted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from recovery.errors import ReportError
from recovery.interval import LEVEL, Interval
from recovery.report.diagram import PLAIN, Axis, Panel, ThresholdAxis
from recovery.report.statistics.curve_free import crossing
from recovery.report.statistics.slices import Slices, counts, crossed, resampled, stack
from recovery.report.statistics.transition import fitted_values, numbers
from recovery.types import Array, Mask

FEWEST = 3.0
"""Degrees of freedom from which the scatter of the pooled values over the slices is used as an estimate of the error:
about five values of d. It does not assume that the trials of one slice are independent."""
OUTSIDE = 0.025
"""A slice is pooled only if at most this share of its bootstrap samples stays on one side of the probability.
Otherwise its cells truncate the distribution of the crossing, and the mean is biased."""
WHOLE = 0.9
"""Rise of the success fraction from which a transition counts as one from 0 to 1."""
CLEAR = 1.96
"""z-score that the trend of success with x must exceed; with less, the position of the crossing is noise."""


@dataclass(frozen=True)
class Crossing:
    """The crossing of one slice: its value of y (None without a y axis), and the x with its interval.

    The interval is wider than the trials of the slice imply if the pooled values scatter more over the slices than
    they explain.
    """

    y: Any
    interval: Interval


@dataclass(frozen=True)
class Pool:
    """The slices that enter a panel's pooled value: their counts along that value, their crossings, the step of the
    grid around each, bootstrap samples of the crossings, weights, and the covariate along which they may change."""

    slices: Slices
    at: Array
    step: Array
    samples: Array
    weight: Array
    along: Array

    @property
    def estimate(self) -> float:
        return float(self.weight @ self.at)

    @property
    def variance(self) -> Array:
        """Bootstrap variance of the crossings."""
        return self.samples.var(axis=0, ddof=1)

    @property
    def excess(self) -> float:
        """How many times more the crossings scatter around a line than the trials of each slice explain; 1 for few
        slices.

        Trials of one slice may be correlated (one draw of X for all n), which they cannot show alone.
        """
        if freedom_of(self.weight) < FEWEST:
            return 1.0
        left = line(self, self.at).left
        known = float(self.weight @ self.variance)
        return float(np.sqrt(self.weight @ left**2 / known * len(self.at) / (len(self.at) - 2)))


@dataclass(frozen=True)
class Crossings:
    """The crossings of a panel: `alone` from the trials of each slice; `kept` marks those in `pool`.

    parts: a panel per slice. places: the places of its cells along x, or along the pooled value. log: the places are
    the logarithms of x.
    """

    along: ThresholdAxis
    parts: Sequence[Panel]
    places: Sequence[Array]
    log: bool
    falling: bool
    alone: tuple[Crossing, ...]
    kept: Mask
    pool: Pool | None

    def stacked(self, share: float | None = None) -> Slices:
        """Return the counts of all slices. share: of unfinished trials that count as rising; None: leave them out."""
        return stack(self.places, [part.cells for part in self.parts], self.falling, self.along.probability, share)

    def along_x(self, places: Array) -> Array:
        """Return places, which may be logarithms, in the units of x or of the pooled value."""
        return np.exp(places) if self.log else places

    @cached_property
    def widened(self) -> tuple[Crossing, ...]:
        """The crossing of each slice, with its interval widened to the scatter over the slices."""
        excess = 1.0 if self.pool is None else self.pool.excess
        return tuple(Crossing(one.y, widened(one.interval, excess)) for one in self.alone)

    def crossing(self, i: int, level: float) -> Interval:
        """Return the crossing of slice i, with an interval of this level."""
        x = numbers(self.parts[i].cells, self.along.x)
        probability = round(1 - self.along.probability, 12) if self.falling else self.along.probability
        rising, other = counts(self.parts[i].cells, self.falling)
        found = crossing(np.log(x) if self.log else x, rising, other, level, probability)
        if not self.log:
            return found
        low = np.exp(found.low) if np.isfinite(found.low) else found.low
        return Interval(float(np.exp(found.estimate)), float(low), float(np.exp(found.high)), found.level)


def crossings(panel: Panel, along: ThresholdAxis, level_of: Callable[[str], float]) -> Crossings:
    """Return the crossing of each slice of a panel. level_of: title -> level of the interval of a panel or a slice."""
    parts = slices_of(panel, along)
    log = along.pool is None and Axis(panel.y if along.transposed else panel.x).kind == "log"
    places = [_places(along, part, log) for part in parts]
    trend = trend_along(places, [part.cells for part in parts])
    nothing = Crossings(along, parts, places, log, trend < 0, (), np.zeros(len(parts), dtype=np.bool_), None)
    alone = tuple(
        Crossing(
            part.where[along.by] if along.by else None,
            nothing.crossing(i, level_of(part.title if along.pool is None else panel.title)),
        )
        for i, part in enumerate(parts)
    )
    unknown = replace(nothing, alone=alone)
    if not parts or along.pool is None or abs(trend) < CLEAR:
        return unknown
    # leave out a slice whose cells end inside the transition: the end of the grid biases its mean, and many bootstrap
    # samples lie on one side only. A smaller weight would keep the bias
    slices = unknown.stacked()
    samples, _, sides = resampled(slices)
    at, step, cut = crossed(slices, slices.rising)
    low, high = (np.mean(side, axis=0) for side in sides)
    kept = (low <= OUTSIDE) & (high <= OUTSIDE) & ~cut[0] & ~cut[1]
    if not kept.any():
        return unknown
    weight = np.array([_weight(along, part) if inside else np.nan for part, inside in zip(parts, kept, strict=True)])
    bounded = kept & [one.interval.bounded for one in alone]
    if bounded.any() and freedom_of(weight[kept] / weight[kept].sum()) < FEWEST:
        # with so few slices the pooled interval is made of the intervals of the slices, so only bounded ones are kept
        kept = bounded
    weight = weight[kept]
    covariate = _covariate([one.y for one, inside in zip(alone, kept, strict=True) if inside])
    slices = slices.at(kept)
    step = np.maximum(step[kept], hidden_step(slices, at[kept]))
    pool = Pool(slices, at[kept], step, samples[:, kept], weight / weight.sum(), covariate)
    return replace(unknown, kept=kept, pool=pool)


def hidden_step(slices: Slices, at: Array) -> Array:
    """Return the uncertainty of the crossings `at` that the grid hides if the success fraction jumps between plateaus.

    The slices must cross together; with few slices the result is 0. On the finer half of the slices, the fractions
    beside rise by less than `WHOLE`, and the share s of this rise lies between two neighbouring cells: 4 s - 2 of the
    step is hidden, at least none and at most the whole. (Otherwise `crossed` gives the uncertainty.) The share is a
    lower bound, because the fractions of a few trials jump in any case.
    """
    shared, row = common_bounds(slices).estimate, np.arange(len(at))
    inside = np.arange(slices.x.shape[1]) < slices.cells[:, None]
    there = np.clip((inside & (slices.x < at[:, None])).sum(axis=1), 1, slices.cells - 1)
    steps = slices.x[row, there] - slices.x[row, there - 1]
    rises = []
    for i in np.flatnonzero(steps <= np.median(steps)):
        cells = slices.cells[i]
        chance = slices.rising[i, :cells] / slices.total[i, :cells]
        k = int(np.searchsorted(slices.x[i, :cells], shared))
        if 2 <= k <= cells - 2:
            beside = chance[k + 1 : k + 3].mean() - chance[max(k - 3, 0) : k - 1].mean()
            rises.append((chance[k] - chance[k - 1], beside))
    if len(at) <= FEWEST or len(rises) < 2:
        return np.zeros(len(at))
    (rise, whole), (error, other) = np.mean(rises, axis=0), np.std(rises, axis=0, ddof=1) / np.sqrt(len(rises))
    share = np.clip((rise - error) / whole, 0, 1) if 0 < whole < WHOLE - other else 0.0
    return steps * float(np.clip(4 * share - 2, 0, 1))


def common_bounds(slices: Slices, level: float = LEVEL) -> Interval:
    """Return the interval of a threshold that all slices share, from their cells in the order of the pooled value."""
    inside = np.arange(slices.x.shape[1]) < slices.cells[:, None]
    x, rising, total = (part[inside] for part in (slices.x, slices.rising, slices.total))
    return crossing(x, rising, total - rising, level, slices.probability)


def slices_of(panel: Panel, along: ThresholdAxis) -> list[Panel]:
    """Return a panel for each slice that has cells, in the order of the axis.

    Of pooled slices, at most `SIZES` are fitted one by one.
    """
    if along.by is None:
        return [panel] if len(panel.cells) else []
    groups = {None if y != y else y: cells for y, cells in panel.cells.groupby(along.by, dropna=False)}
    order = [y for y in (panel.x if along.transposed else panel.y) if y in groups]
    found = []
    for y in order if along.pool is None else fitted_values(order):
        where = {**panel.where, along.by: y}
        unstarted = [at for at in panel.unstarted if at[along.transposed] == y]
        found.append(replace(panel, title=PLAIN.where(where), where=where, cells=groups[y], unstarted=unstarted))
    return found


def _places(along: ThresholdAxis, part: Panel, log: bool) -> Array:
    """Return the places of a slice's cells: the pooled values, or x, in logarithms on a log axis."""
    values = along.values(part.cells)
    if along.pool is None:
        return np.log(values) if log else values
    order = np.argsort(numbers(part.cells, along.x), kind="stable")
    if (np.diff(values[order]) <= 0).any():
        where = f" where {part.title}" if part.title else ""
        raise ReportError(f"report.pool: {along.pool} does not increase with {along.x}{where}; choose one that does")
    return values


def _weight(along: ThresholdAxis, part: Panel) -> float:
    """Return the change of x per change of the pooled value, which is d for n/d, and 1 for x itself."""
    x, values = numbers(part.cells, along.x), along.values(part.cells)
    return float(np.ptp(x) / np.ptp(values))


def _covariate(y: Sequence[Any]) -> Array:
    """Return log y, so that a line has the same change per doubling of y; y itself if it has no logarithm."""
    if len(y) > 1 and not all(isinstance(one, int | float | np.number) for one in y):
        raise ReportError(f"report.pool: slices are pooled along numbers, found {y[0]}; leave out report.pool")
    values = np.array(y, dtype=float)
    return np.log(values) if (values > 0).all() else values


def widened(half: Interval, excess: float) -> Interval:
    """Return an interval whose ends are `excess` times as far from the estimate, if that is further."""
    if excess <= 1 or not half.known:
        return half
    low, high = (half.estimate + excess * (end - half.estimate) for end in (half.low, half.high))
    return Interval(half.estimate, low, high, half.level)


class TrendLine(NamedTuple):
    """A weighted least-squares line along the covariate: the slope, the weights that give it from the values, the
    covariate minus its mean, and the residuals."""

    slope: float
    lever: Array
    along: Array
    left: Array


def line(pool: Pool, values: Array) -> TrendLine:
    """Fit a weighted least-squares line to one value per slice, along the covariate of the slices."""
    along = pool.along - pool.weight @ pool.along
    lever = pool.weight * along / float(pool.weight @ along**2)
    slope = float(lever @ values)
    return TrendLine(slope, lever, along, values - pool.weight @ values - slope * along)


def freedom_of(weight: Array) -> float:
    """Return the degrees of freedom of a variance that scales as 1/weight (Satterthwaite 1946)."""
    return 1 / float(weight @ weight) - 1


def trend_along(places: Sequence[Array], parts: Sequence[pd.DataFrame]) -> float:
    """Return the Cochran-Armitage statistic of success along x, summed over the slices, as a z-score."""
    score = variance = 0.0
    for x, cells in zip(places, parts, strict=True):
        yes, no = numbers(cells, "yes"), numbers(cells, "no")
        total = yes + no
        if not total.sum():
            continue
        share = float(yes.sum() / total.sum())
        # x is centred in each slice, so that a difference between slices does not count as a trend along x
        centred = x - total @ x / total.sum()
        score += float(centred @ yes)
        variance += share * (1 - share) * float(total @ centred**2)
    return score / float(np.sqrt(variance)) if variance > 0 else 0.0
