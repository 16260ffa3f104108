"""One threshold n/d of a panel without a curve: where rising fractions cross one half at each d, pooled over d.

The threshold is sum n50 / sum d: each d weighs as d, about the inverse variance of n50/d where the transition is
sqrt n wide.
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
    """The straight line of n/d in log d: (d, n/d) at the least and the largest d, and the relative change between
    them."""

    ends: tuple[tuple[float, float], tuple[float, float]]
    change: Interval

    @property
    def shown(self) -> bool:
        """Whether the interval excludes 0."""
        return self.change.low > 0 or self.change.high < 0


@dataclass(frozen=True)
class Pooled:
    """One panel's threshold as a ratio n/d.

    `interval`: of the ratio; without an estimate, its ends are the bounds that the cells give. `outer_interval`: the
    same at one fifth of the error rate.
    `growth`: p of n50/d ~ d^p, with its interval; none with one size. Zero where n/d goes to a constant.
    `missing_shift`: by how much failed and undecided trials could lower it and raise it, had they all ended one way.
    `falling`: yes becomes rarer with n. `drift`: how it changes with d; None with one size.
    `jump`: of a number rather than a frequency, what it jumps between; yes is then a trial beyond half way.
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
    """The medians of a number just before and after it jumps, and the thresholds at which a trial is beyond a quarter
    and beyond three quarters of the way (none of those themselves); NaN and none where it does not jump."""

    before: float
    after: float
    quarters: tuple[Pooled, ...]


def pooled(panel: Panel, level: float = LEVEL) -> Pooled:
    """The threshold n/d of a panel over n and d, all sizes at once, with an interval of this level."""
    return of_sizes(panel, size_by_size(panel, level), level)


def of_sizes(panel: Panel, told: Sizes, level: float) -> Pooled:
    """The same from what each size tells, at the same level."""
    unbounded = Interval(np.nan, -np.inf, np.inf, 1 - (1 - level) / OUTER)
    unknown = Pooled(panel, _unknown(told.parts, level), unbounded, (0.0, 0.0), told.falling, told.widened, None)
    if told.pool is None:
        return unknown
    interval, outer, drift = _estimate(
        told.pool, [size for size, kept in zip(told.alone, told.kept, strict=True) if kept], level
    )
    growth = None if drift is None else _growth(told.pool, level)
    shift = _missing_shift(told, interval.estimate)
    return replace(unknown, interval=interval, outer_interval=outer, missing_shift=shift, drift=drift, growth=growth)


def _estimate(pool: Pool, alone: list[Size], level: float) -> tuple[Interval, Interval, Drift | None]:
    """The pooled ratio with its intervals, and its drift.

    The error is the larger of the bootstrap's and of the scatter of the sizes, for trials of one size may hang together
    (one draw of X for all n, a cell's odds that are themselves drawn) and sizes do not. To it comes what the grid hides
    between two of its n, which no number of trials tells.
    """
    d, weight, slices = pool.d, pool.weight, pool.slices
    ratio, estimate = pool.at / d, pool.ratio
    levels = (level, 1 - (1 - level) / OUTER)
    if len(d) == 1:  # nothing to pool: the likelihood-ratio set of that size, which is exact in the limit
        half = alone[0].n50
        far = crossing(slices.n[0], slices.rising[0], slices.total[0] - slices.rising[0], levels[1])
        return (
            Interval(estimate, min(half.low / d[0], estimate), max(half.high / d[0], estimate), level),
            Interval(estimate, far.low / d[0], far.high / d[0], levels[1]),
            None,
        )
    # Trials of one draw of X for all n, or odds that differ from cell to cell, make the binomial bootstrap too sure.
    # The scatter of the sizes sees that, but is rough with few of them; the larger of the two is taken.
    variance = pool.variance / d**2
    freedom = freedom_of(weight)
    scatter = float(np.sqrt(weight**2 @ ((ratio - estimate) ** 2 / (1 - weight))))
    if freedom < FEWEST:  # too few sizes to see how they scatter: their own intervals, whose ends are cells
        lengths = np.array([size.n50.high - size.n50.low for size in alone]) / d
        variance = np.maximum(variance, (lengths / (2 * normal_reach(level))) ** 2)
    error = float(np.sqrt(weight**2 @ variance))
    hidden = float(weight @ (pool.step / d)) / 2
    ends = []
    for each in levels:
        if freedom < FEWEST:  # the sizes' own intervals end at cells, so that what a step hides is in them already
            reach = max(normal_reach(each) * error, hidden)
        else:
            reach = max(normal_reach(each) * error, _student_reach(freedom, each) * scatter) + hidden
        ends.append(Interval(estimate, max(estimate - reach, 0.0), estimate + reach, each))
    return ends[0], ends[1], _drift(d, ratio, estimate, variance, level)


def _student_reach(freedom: float, level: float) -> float:
    """Standard deviations to either side that hold Student's law's share `level`."""
    return float(scipy.special.stdtrit(freedom, (1 + level) / 2))


def _drift(d: Array, ratio: Array, estimate: float, variance: Array, level: float) -> Drift:
    """The line of n50/d in log d."""
    fit = line(d, ratio, estimate)
    far = _far(d, fit, variance, level)
    ends = tuple((float(d[k]), estimate + fit.slope * float(fit.along[k])) for k in (0, -1))
    span = float(fit.along[-1] - fit.along[0]) / max(ends[0][1], 1e-9)
    change = Interval(fit.slope * span, (fit.slope - far) * span, (fit.slope + far) * span, level)
    return Drift((ends[0], ends[1]), change)


def _growth(pool: Pool, level: float) -> Interval:
    """The slope of log(n50/d) in log d."""
    # what a step hides is uniform over it, and its own at each d: the grid's n do not meet the same n/d
    each = (pool.variance + pool.step**2 / 12) / pool.at**2
    values = np.log(pool.at / pool.d)
    fit = line(pool.d, values, float(pool.weight @ values))
    far = _far(pool.d, fit, each, level)
    return Interval(fit.slope, fit.slope - far, fit.slope + far, level)


def _far(d: Array, fit: LogLine, variance: Array, level: float) -> float:
    """Half the interval of a line's slope, of values with these variances."""
    weight = d / d.sum()
    freedom = max(1 / float(weight @ weight) - 2, 1.0)
    scatter = float(np.sqrt(fit.lever**2 @ fit.left**2 * len(d) / max(len(d) - 2, 1)))  # of two sizes none
    return max(normal_reach(level) * float(np.sqrt(fit.lever**2 @ variance)), _student_reach(freedom, level) * scatter)


def _missing_shift(told: Sizes, estimate: float) -> tuple[float, float]:
    """What the estimate loses and gains if all failed and undecided trials were of the kind that becomes more, or less,
    frequent: far from one half they move nothing. Trials that were not run yet are left out, whatever their outcome."""
    if not any((unfinished(cells) > 0).any() for _, cells in told.parts):
        return 0.0, 0.0
    ends = []
    for share in (1.0, 0.0):
        slices = stack(told.parts, told.falling, share).at(told.kept)
        ends.append(float(crossed(slices, slices.rising)[0].sum() / slices.d.sum()) - estimate)
    return min(ends[0], 0.0), max(ends[1], 0.0)


def _unknown(parts: Sequence[tuple[float, pd.DataFrame]], level: float) -> Interval:
    """No estimate; where all trials ended alike, the n/d beyond which one half lies."""
    cells = pd.concat([cells for _, cells in parts]) if parts else pd.DataFrame(columns=["n", "d", "yes", "no"])
    some = cells[cells["yes"] + cells["no"] > 0]
    ratio, yes, no = numbers(some, "n") / numbers(some, "d"), numbers(some, "yes"), numbers(some, "no")
    if len(some) and not yes.any():
        return Interval(np.nan, float(ratio.max()), np.inf, level)
    if len(some) and not no.any():
        return Interval(np.nan, -np.inf, float(ratio.min()), level)
    return Interval(np.nan, -np.inf, np.inf, level)
