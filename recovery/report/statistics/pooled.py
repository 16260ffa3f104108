"""One threshold n/d per panel without a parametric curve: the crossing of one half at each d, pooled over d.

The threshold is sum n50 / sum d. The weights d are about the inverse variances of n50/d where the transition is sqrt n
wide.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy

from recovery.interval import LEVEL, Interval
from recovery.report.diagram import Panel
from recovery.report.statistics.curve_free import crossing
from recovery.report.statistics.sizes import FEWEST, LogLine, Pool, Size, Sizes, freedom_of, line, size_by_size
from recovery.report.statistics.slices import crossed, stack, unfinished
from recovery.report.statistics.transition import numbers
from recovery.theory.normal import normal_reach
from recovery.types import Array

OUTER = 5.0
"""The outer interval has one fifth of the error rate: 99 % for 95 %."""


@dataclass(frozen=True)
class Drift:
    """A line of n/d in log d: (d, n/d) at the least and the largest d, and the relative change between them."""

    ends: tuple[tuple[float, float], tuple[float, float]]
    change: Interval

    @property
    def shown(self) -> bool:
        """Whether the interval excludes 0."""
        return self.change.low > 0 or self.change.high < 0


@dataclass(frozen=True)
class Pooled:
    """The threshold n/d of a panel.

    interval: the ratio. Without an estimate, its ends are the bounds that the cells give. outer_interval: the same
    ratio at one fifth of the error rate. missing_shift: by how much failed and undecided trials could lower and raise
    the ratio, had all of them ended one way. falling: success becomes rarer with n. drift: how the ratio changes with
    d; None with one d. growth: the exponent p in n50/d ~ d^p; 0 for a constant ratio, None with one d. jump: for a
    number instead of a frequency, the values between which it jumps; a success is then a trial beyond the midpoint.
    """

    panel: Panel
    interval: Interval
    outer_interval: Interval
    missing_shift: tuple[float, float]
    falling: bool
    sizes: tuple[Size, ...]
    drift: Drift | None
    jump: "Jump | None" = None
    growth: Interval | None = None


@dataclass(frozen=True)
class Jump:
    """The medians of a number before and after its jump, and the thresholds at which a trial is beyond one quarter and
    three quarters of the way. NaN and no thresholds without a jump."""

    before: float
    after: float
    quarters: tuple[Pooled, ...]


def pooled(panel: Panel, level: float = LEVEL) -> Pooled:
    """Return the threshold n/d of a panel over n and d, with an interval of this level."""
    return of_sizes(panel, size_by_size(panel, level), level)


def of_sizes(panel: Panel, found: Sizes, level: float) -> Pooled:
    """Return the threshold of a panel from its thresholds at each d, at the same level."""
    unbounded = Interval(np.nan, -np.inf, np.inf, _outer(level))
    unknown = Pooled(panel, _unknown(found.parts, level), unbounded, (0.0, 0.0), found.falling, found.widened, None)
    if found.pool is None:
        return unknown
    interval, outer, drift = _estimate(
        found.pool, [size for size, kept in zip(found.alone, found.kept, strict=True) if kept], level
    )
    growth = None if drift is None else _growth(found.pool, level)
    shift = _missing_shift(found, interval.estimate)
    return replace(unknown, interval=interval, outer_interval=outer, missing_shift=shift, drift=drift, growth=growth)


def _outer(level: float) -> float:
    return 1 - (1 - level) / OUTER


def _estimate(pool: Pool, alone: list[Size], level: float) -> tuple[Interval, Interval, Drift | None]:
    """Return the pooled ratio with its inner and outer intervals, and its drift.

    The standard error is the larger of the bootstrap's and of the scatter over d. Trials at one d may be correlated
    (one draw of X for all n, random odds per cell), while different d are independent. Half of the step of n that the
    grid hides is added, because no number of trials reduces it.
    """
    d, weight, slices = pool.d, pool.weight, pool.slices
    ratio, estimate = pool.at / d, pool.ratio
    levels = (level, _outer(level))
    if len(d) == 1:  # one d only: take its likelihood-ratio interval, which is exact in the limit of many trials
        half = alone[0].n50
        far = crossing(slices.n[0], slices.rising[0], slices.total[0] - slices.rising[0], levels[1])
        return (
            Interval(estimate, min(half.low / d[0], estimate), max(half.high / d[0], estimate), level),
            Interval(estimate, far.low / d[0], far.high / d[0], levels[1]),
            None,
        )
    # Correlated trials make the binomial bootstrap too narrow. The scatter over d includes the correlation but is
    # imprecise for few d, so the larger of both is used.
    variance = pool.variance / d**2
    freedom = freedom_of(weight)
    scatter = float(np.sqrt(weight**2 @ ((ratio - estimate) ** 2 / (1 - weight))))
    if freedom < FEWEST:  # too few d to estimate the scatter: use the interval at each d
        lengths = np.array([size.n50.high - size.n50.low for size in alone]) / d
        variance = np.maximum(variance, (lengths / (2 * normal_reach(level))) ** 2)
    error = float(np.sqrt(weight**2 @ variance))
    hidden = float(weight @ (pool.step / d)) / 2
    ends = []
    for each in levels:
        if freedom < FEWEST:  # the intervals at each d end at cells, so they include the hidden step
            reach = max(normal_reach(each) * error, hidden)
        else:
            reach = max(normal_reach(each) * error, _student_reach(freedom, each) * scatter) + hidden
        ends.append(Interval(estimate, max(estimate - reach, 0.0), estimate + reach, each))
    return ends[0], ends[1], _drift(d, ratio, estimate, variance, level)


def _student_reach(freedom: float, level: float) -> float:
    """Return the half length of the central interval of Student's distribution at this level."""
    return float(scipy.special.stdtrit(freedom, (1 + level) / 2))


def _drift(d: Array, ratio: Array, estimate: float, variance: Array, level: float) -> Drift:
    """Fit the line of n50/d in log d."""
    fit = line(d, ratio, estimate)
    far = _far(d, fit, variance, level)
    ends = tuple((float(d[k]), estimate + fit.slope * float(fit.along[k])) for k in (0, -1))
    span = float(fit.along[-1] - fit.along[0]) / max(ends[0][1], 1e-9)
    change = Interval(fit.slope * span, (fit.slope - far) * span, (fit.slope + far) * span, level)
    return Drift((ends[0], ends[1]), change)


def _growth(pool: Pool, level: float) -> Interval:
    """Return the slope of log(n50/d) in log d."""
    # The hidden position is uniform over a step and independent between d, whose n/d differ.
    each = (pool.variance + pool.step**2 / 12) / pool.at**2
    values = np.log(pool.at / pool.d)
    fit = line(pool.d, values, float(pool.weight @ values))
    far = _far(pool.d, fit, each, level)
    return Interval(fit.slope, fit.slope - far, fit.slope + far, level)


def _far(d: Array, fit: LogLine, variance: Array, level: float) -> float:
    """Return half the length of the interval of a line's slope, for values with these variances."""
    weight = d / d.sum()
    freedom = max(1 / float(weight @ weight) - 2, 1.0)
    scatter = float(np.sqrt(fit.lever**2 @ fit.left**2 * len(d) / max(len(d) - 2, 1)))  # zero for two values of d
    return max(normal_reach(level) * float(np.sqrt(fit.lever**2 @ variance)), _student_reach(freedom, level) * scatter)


def _missing_shift(found: Sizes, estimate: float) -> tuple[float, float]:
    """Return the changes of the estimate if all failed and undecided trials were successes, or all failures.

    Far from one half they change nothing. Trials that were not run yet are left out.
    """
    if not any((unfinished(cells) > 0).any() for _, cells in found.parts):
        return 0.0, 0.0
    ends = []
    for share in (1.0, 0.0):
        slices = stack(found.parts, found.falling, share).at(found.kept)
        ends.append(float(crossed(slices, slices.rising)[0].sum() / slices.d.sum()) - estimate)
    return min(ends[0], 0.0), max(ends[1], 0.0)


def _unknown(parts: Sequence[tuple[float, pd.DataFrame]], level: float) -> Interval:
    """Return an interval without an estimate; if all trials ended alike, its finite end bounds the crossing."""
    cells = pd.concat([cells for _, cells in parts]) if parts else pd.DataFrame(columns=["n", "d", "yes", "no"])
    some = cells[cells["yes"] + cells["no"] > 0]
    ratio, yes, no = numbers(some, "n") / numbers(some, "d"), numbers(some, "yes"), numbers(some, "no")
    if len(some) and not yes.any():
        return Interval(np.nan, float(ratio.max()), np.inf, level)
    if len(some) and not no.any():
        return Interval(np.nan, -np.inf, float(ratio.min()), level)
    return Interval(np.nan, -np.inf, np.inf, level)
