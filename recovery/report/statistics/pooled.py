"""The threshold of a panel without a parametric curve: the crossings of its slices, pooled to one value.

The pooled value is the weighted mean over the slices. The weight of a slice is the change of x per change of the value:
for n/d the threshold is sum n50 / sum d. These weights are about the inverse variances of n50/d where the transition is
sqrt n wide.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
import scipy

from recovery.interval import LEVEL, Interval
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics.crossings import (
    FEWEST,
    Crossing,
    Crossings,
    Pool,
    TrendLine,
    common_bounds,
    crossings,
    freedom_of,
    hidden_step,
    line,
    widened,
)
from recovery.report.statistics.curve_free import crossing
from recovery.report.statistics.single_index import DEPENDENT, REPEATED, single_index
from recovery.report.statistics.slices import Slices, crossed, unfinished
from recovery.report.statistics.transition import numbers
from recovery.theory.normal import normal_reach
from recovery.types import Array, Mask

OUTER = 5.0
"""The outer interval has one fifth of the error rate: 99 % for 95 %."""
MOST_CHANGE = 0.5
"""A relative change over the slices that is large: a mean stands for none of the slices that change so much."""
BEYOND = 1e-3
"""Error rate of the bound of a scatter over the slices that no number of trials reduces."""
HIDDEN = 0.2
"""One curve for all slices may be used if the grid hides at least this share of the bootstrap reach, or in an adaptive
sweep; one jump if it hides this share of the reach without it."""
Assumption = Literal["slices", "jump", "curve", "bounds"]
"""Assumption of a pooled interval. slices: nothing about the curves of different slices; the interval of their mean
includes what the grid hides. jump: the slices share the threshold, and the jump between the cells next to it, which
decides how much the grid hides. curve: they share the threshold and one smooth curve (`single_index`). bounds: they
share the threshold, so that the cells of all slices together bound it. Tests decide whether it may be shared."""
RATIO = ThresholdAxis()
"""The n/d at which an event has probability one half."""


@dataclass(frozen=True)
class Drift:
    """A line of the pooled value over the slices: (y, value) at the first and the last slice, and the relative change
    between them. by: the coordinate of the slices."""

    by: str
    ends: tuple[tuple[float, float], tuple[float, float]]
    change: Interval

    @property
    def shown(self) -> bool:
        """Whether the interval of the change excludes 0."""
        return self.change.low > 0 or self.change.high < 0

    @property
    def large(self) -> bool:
        """Whether the interval of the relative change reaches beyond `MOST_CHANGE` on either side."""
        return self.change.low < -MOST_CHANGE or self.change.high > MOST_CHANGE


class SliceValue(NamedTuple):
    """The pooled value at one slice, from the trials of the slice: intervals at the level of the threshold, and at the
    outer level shared among all slices."""

    y: float
    interval: Interval
    outer: Interval


@dataclass(frozen=True)
class Threshold:
    """The threshold of a panel, pooled over its slices, or of a single slice, whose panel then holds its cells only.

    interval: the pooled value, or x. Without an estimate, its ends are the bounds that the cells give. outer_interval:
    the same at one fifth of the error rate. missing_shift: by how much failed and undecided trials could lower and
    raise the estimate, had all of them ended one way. falling: success becomes rarer with x. slices: the crossing of
    each slice, along x. each: the pooled value at each pooled slice. drift: how it changes over the slices; None with
    one slice. assumption: see `Assumption`.
    """

    panel: Panel
    along: ThresholdAxis
    interval: Interval
    outer_interval: Interval
    missing_shift: tuple[float, float]
    falling: bool
    slices: tuple[Crossing, ...] = field(kw_only=True)
    drift: Drift | None = None
    each: tuple["SliceValue", ...] = ()
    assumption: "Assumption" = "slices"

    @property
    def constant(self) -> bool:
        """Whether the same value at every slice is not rejected."""
        return _constant(self.drift, self.each)


def pooled(panel: Panel, level: float = LEVEL, along: ThresholdAxis = RATIO, *, adaptive: bool = False) -> Threshold:
    """Return the pooled threshold of a panel, with an interval of this level. adaptive: see `of_panel`."""
    return of_panel(panel, crossings(panel, along, lambda _: level), level, adaptive=adaptive)


def of_panel(panel: Panel, found: Crossings, level: float, *, adaptive: bool) -> Threshold:
    """Return the pooled threshold of a panel from its crossings, at the same level.

    adaptive: the trials were placed near the threshold in rounds, with an interim analysis after each.
    """
    unbounded = Interval(np.nan, -np.inf, np.inf, outer_level(level))
    unknown = Threshold(
        panel, found.along, _unknown(found, level), unbounded, (0.0, 0.0), found.falling, slices=found.widened
    )
    if found.pool is None:
        return unknown
    interval, outer, drift, assumption = _estimate(found, found.pool, level, adaptive)
    shift = _missing_shift(found, found.pool.weight, found.kept, found.pool.estimate)
    return replace(
        unknown,
        interval=interval,
        outer_interval=outer,
        missing_shift=shift,
        drift=drift,
        assumption=assumption,
        each=_each(found, found.pool, level),
    )


def of_slices(found: Crossings) -> list[Threshold]:
    """Return the threshold of each slice, for slices that are not pooled."""
    thresholds = []
    for i, (part, one) in enumerate(zip(found.parts, found.alone, strict=True)):
        outer = found.crossing(i, outer_level(one.interval.level))
        here = np.arange(len(found.parts)) == i
        shift = _missing_shift(found, np.ones(1), here, one.interval.estimate)
        thresholds.append(Threshold(part, found.along, one.interval, outer, shift, found.falling, slices=(one,)))
    return thresholds


def at_level(found: Threshold, level: float) -> Threshold:
    """Return the same threshold of an adaptive sweep with an interval of this level."""
    slices = crossings(found.panel, found.along, lambda _: level)
    return of_slices(slices)[0] if found.along.pool is None else of_panel(found.panel, slices, level, adaptive=True)


def outer_level(level: float) -> float:
    """Return the level of the outer interval."""
    return 1 - (1 - level) / OUTER


def _estimate(
    found: Crossings, pool: Pool, level: float, adaptive: bool
) -> tuple[Interval, Interval, Drift | None, Assumption]:
    """Return the pooled value with its inner and outer intervals, its drift, and what the intervals assume."""
    slices, estimate, levels = pool.slices, pool.estimate, (level, outer_level(level))
    # the interval of a single slice is its likelihood-ratio interval, whose level is exact in the limit of many trials
    if len(pool.weight) == 1:
        near, far = (_alone(slices, each)[0] for each in levels)
        near = replace(near, estimate=estimate, low=min(near.low, estimate), high=max(near.high, estimate))
        return near, far, None, "slices"
    mean = _Mean.of(pool, level, _drift(found, pool, LEVEL))
    assumption: Assumption = "slices"
    value, reach = estimate, mean.reach
    if mean.freedom >= FEWEST and _constant(mean.drift, _each(found, pool, LEVEL)):
        spread = mean.spread(LEVEL)
        if mean.hidden > spread:
            near, far = (common_bounds(slices, each) for each in levels)
            return near, far, _drift(found, pool, level), "bounds"
        # a step to a plateau widens the interval of the mean, but one curve from 0 to 1 is no better there
        step = float(pool.weight @ crossed(slices, slices.rising)[1]) / 2
        limited = step > HIDDEN * normal_reach(LEVEL) * mean.error
        hidden = np.inf if adaptive or step < HIDDEN * spread else _hidden_of_all(pool)
        if hidden < mean.hidden:
            assumption, mean = "jump", replace(mean, hidden=hidden)
            reach = mean.reach
        # the trials of an adaptive sweep are near the threshold, where the curve needs fewest
        dependent = REPEATED if adaptive else DEPENDENT
        if (adaptive or limited) and (curve := single_index(pool, dependent)) is not None:
            furthest = max(curve.reach(LEVEL), abs(curve.estimate - estimate))
            if furthest < spread + mean.hidden:
                assumption, value, reach = "curve", curve.estimate, curve.reach
    least = 0.0 if (slices.x >= 0).all() else -np.inf
    near, far = (Interval(value, max(value - reach(each), least), value + reach(each), each) for each in levels)
    return near, far, _drift(found, pool, level), assumption


@dataclass(frozen=True)
class _Mean:
    """The weighted mean over the slices: its bootstrap standard error, its standard error from the scatter over the
    slices with its degrees of freedom, and half of the step that the grid hides."""

    error: float
    scatter: float
    freedom: float
    hidden: float
    drift: Drift

    @classmethod
    def of(cls, pool: Pool, level: float, drift: Drift) -> "_Mean":
        weight, freedom = pool.weight, freedom_of(pool.weight)
        left = pool.at - pool.estimate
        # a change over the slices is no error of their mean
        if drift.shown and freedom >= FEWEST + 1:
            left, freedom = line(pool, pool.at).left * np.sqrt((len(weight) - 1) / (len(weight) - 2)), freedom - 1
        scatter = float(np.sqrt(weight**2 @ (left**2 / (1 - weight))))
        error = float(np.sqrt(weight**2 @ _variance(pool, level)))
        return cls(error, scatter, freedom, float(weight @ pool.step) / 2, drift)

    def spread(self, level: float) -> float:
        """Return half the length of the interval without what the grid hides.

        Trials of one slice may be correlated (one draw of X for all n, random odds per cell), which makes the bootstrap
        error too small. The scatter over independent slices includes the correlation but is imprecise for few slices,
        so the larger of both is used.
        """
        return max(normal_reach(level) * self.error, _student_reach(self.freedom, level) * self.scatter)

    def reach(self, level: float) -> float:
        """Return half the length of the interval. No number of trials reduces the step that the grid hides."""
        # with few slices the error comes from their intervals, which end at cells and so include the hidden step
        if self.freedom < FEWEST:
            return max(normal_reach(level) * self.error, self.hidden)
        return self.spread(level) + self.hidden


def _variance(pool: Pool, level: float) -> Array:
    """Return the variances of the crossings.

    With too few slices to estimate the scatter, a slice's variance is at least what its own interval implies.
    """
    if freedom_of(pool.weight) >= FEWEST:
        return pool.variance
    lengths = np.array([one.high - one.low for one in _alone(pool.slices, level)])
    return np.maximum(pool.variance, (lengths / (2 * normal_reach(level))) ** 2)


def _hidden_of_all(pool: Pool) -> float:
    """Return half of the step that the grid hides, with one jump for all slices between the cells next to their mean.

    The jump of the isotonic fit of a slice alone is too large with few trials: it is 1 with one trial per cell.
    """
    slices, row = pool.slices, np.arange(len(pool.weight))
    inside = np.arange(slices.x.shape[1]) < slices.cells[:, None]
    below = (inside & (slices.x < pool.estimate)).sum(axis=1) - 1
    above = (inside & (slices.x <= pool.estimate)).sum(axis=1)
    if (below < 0).any() or (above >= slices.cells).any():
        return np.inf
    fraction = slices.rising / np.maximum(slices.total, 1e-9)
    jump = float(pool.weight @ (fraction[row, above] - fraction[row, below]))
    of_jump = float(pool.weight @ (slices.x[row, above] - slices.x[row, below])) / 2 * float(np.clip(jump, 0, 1)) ** 3
    return max(of_jump, float(pool.weight @ hidden_step(slices, pool.at)) / 2)


def reach_of_scatter(found: Threshold) -> float:
    """Return a lower bound of how far the interval reaches, however many trials there are, because the slices differ.

    The bound is wrong with probability `BEYOND`. The sum of squares over the slices is noncentral chi-squared; it is
    compared with the bootstrap variances of the crossings.
    """
    pool = crossings(found.panel, found.along, lambda _: found.interval.level).pool
    if pool is None or len(pool.weight) == 1:
        return 0.0
    freedom, noise = freedom_of(pool.weight), float(pool.weight**2 @ pool.variance)
    ratio = float(pool.weight**2 @ ((pool.at - pool.estimate) ** 2 / (1 - pool.weight))) / noise
    beyond = float(scipy.special.chndtrinc(freedom * ratio, freedom, 1 - BEYOND)) / freedom
    return _student_reach(freedom, found.interval.level) * float(np.sqrt(noise * beyond))


def _student_reach(freedom: float, level: float) -> float:
    """Return the half length of the central interval of Student's distribution at this level."""
    return float(scipy.special.stdtrit(freedom, (1 + level) / 2))


def _alone(slices: Slices, level: float) -> list[Interval]:
    """Return the likelihood-ratio interval of the crossing of each slice, from its own counts."""
    rows = zip(slices.x, slices.rising, slices.total - slices.rising, strict=True)
    return [crossing(x, rising, other, level, slices.probability) for x, rising, other in rows]


def _each(found: Crossings, pool: Pool, level: float) -> tuple[SliceValue, ...]:
    """Return the value of each pooled slice; intervals are widened to the scatter over the slices."""
    y = [one.y for one, inside in zip(found.alone, found.kept, strict=True) if inside]
    shared = 1 - (1 - outer_level(level)) / len(y)
    near, far = ([widened(one, pool.excess) for one in _alone(pool.slices, each)] for each in (level, shared))
    return tuple(map(SliceValue, y, near, far))


def _constant(drift: Drift | None, each: Sequence[SliceValue]) -> bool:
    """Return whether the same value at every slice is not rejected, by a line over the slices or by their intervals."""
    lows, highs = [one.outer.low for one in each], [one.outer.high for one in each]
    return max(lows, default=0.0) <= min(highs, default=0.0) and (drift is None or not drift.shown)


def _drift(found: Crossings, pool: Pool, level: float) -> Drift:
    """Fit the line of the pooled value along the slices; return its ends and the relative change between them."""
    fit = line(pool, pool.at)
    far = _far(pool, fit, _variance(pool, level), level)
    # what the grid hides may differ in sign from slice to slice; intervals of few slices include it
    if freedom_of(pool.weight) >= FEWEST:
        far += float(np.abs(fit.lever) @ pool.step) / 2
    y = [one.y for one, inside in zip(found.alone, found.kept, strict=True) if inside]
    ends = tuple((float(y[k]), pool.estimate + fit.slope * float(fit.along[k])) for k in (0, -1))
    span = float(fit.along[-1] - fit.along[0]) / max(abs(ends[0][1]), 1e-9)
    change = Interval(fit.slope * span, (fit.slope - far) * span, (fit.slope + far) * span, level)
    return Drift(found.along.by or "", (ends[0], ends[1]), change)


def _far(pool: Pool, fit: TrendLine, variance: Array, level: float) -> float:
    """Return half the length of the interval of a line's slope, for values with these variances."""
    count, freedom = len(pool.weight), max(freedom_of(pool.weight) - 1, 1.0)
    # `scatter` is zero for two slices, which a line fits exactly
    scatter = float(np.sqrt(fit.lever**2 @ fit.left**2 * count / max(count - 2, 1)))
    return max(normal_reach(level) * float(np.sqrt(fit.lever**2 @ variance)), _student_reach(freedom, level) * scatter)


def _missing_shift(found: Crossings, weight: Array, kept: Mask, estimate: float) -> tuple[float, float]:
    """Return the changes of the estimate if all failed and undecided trials were successes, or all failures.

    Far from the threshold they change nothing. Trials that were not run yet are left out.
    """
    if not any((unfinished(part.cells) > 0).any() for part, inside in zip(found.parts, kept, strict=True) if inside):
        return 0.0, 0.0
    ends = []
    for share in (1.0, 0.0):
        slices = found.stacked(share).at(kept)
        ends.append(float(weight @ found.along_x(crossed(slices, slices.rising)[0])) - estimate)
    return min(ends[0], 0.0), max(ends[1], 0.0)


def _unknown(found: Crossings, level: float) -> Interval:
    """Return an interval without an estimate; if all trials ended alike, its finite end bounds the crossing."""
    nothing = np.zeros(0)
    yes, no = (
        np.concatenate([nothing, *(numbers(part.cells, name) for part in found.parts)]) for name in ("yes", "no")
    )
    places = np.concatenate([nothing, *found.places])[yes + no > 0]
    if len(places) and not yes.any():
        return Interval(np.nan, float(places.max()), np.inf, level)
    if len(places) and not no.any():
        return Interval(np.nan, -np.inf, float(places.min()), level)
    return Interval(np.nan, -np.inf, np.inf, level)
