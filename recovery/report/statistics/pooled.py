"""One threshold n/d of a panel without a curve: where rising fractions cross one half at each d, pooled over d.

At each d the fractions are replaced by the likeliest that only rise (pool adjacent violators); n50 is where the line
through them crosses one half, and the threshold is sum n50 / sum d: each d weighs as d, about the inverse variance of
n50/d where the transition is sqrt n wide.
"""

from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from recovery.report.diagram import Panel
from recovery.report.statistics.curve_free import Crossing, crossing, rise
from recovery.report.statistics.slices import Slices, counts_along, crossed, resampled, stack, unfinished
from recovery.report.statistics.transition import by_size, numbers
from recovery.types import Array, Mask

FEWEST = 3.0
"""Degrees of freedom from which the scatter of n50/d over the sizes is taken for what it is, an estimate of the error
that needs no independence of trials within a size: about five sizes."""
OUTSIDE = 0.025
"""A size takes part if no larger share of its samples stays on one side of one half: else its cells cut off the law of
its n50, and its mean is biased."""
LEVEL = 0.95
SURER = 5.0
"""How many times less often the surer interval misses: 99 % beside 95 %."""
CLEAR = 1.96
"""Standard deviations that the trend of outcomes with n has to show; else where one half lies is chance."""


@dataclass(frozen=True)
class Drift:
    """The straight line of n/d in log d: (d, n/d) at the least and the largest d, and the relative change between them
    with its interval."""

    ends: tuple[tuple[float, float], tuple[float, float]]
    change: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """Whether the interval leaves no change out."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Size:
    """n50 at one d, with its interval: wider than the trials of that d alone have it, where n50/d scatters more over
    the sizes than they explain."""

    d: float
    n50: Crossing


@dataclass(frozen=True)
class Pooled:
    """One panel's threshold as a ratio n/d.

    `given`: the ratio with its interval; without an estimate, what the cells say of it. `sure`: a surer interval, of a
    fifth of the error. `level`: of `given`, 95 % unless a sweep that looked several times needs more.
    `growth`: p of n50/d ~ d^p, with its interval; none with one size. Zero where n/d goes to a constant.
    `moved`: by how much failed and undecided trials could lower it and raise it, had they all ended one way.
    `falling`: yes becomes rarer with n. `drift`: how it changes with d; None with one size.
    `jump`: of a number rather than a frequency, what it jumps between; yes is then a trial beyond half way.
    """

    panel: Panel
    given: Crossing
    sure: tuple[float, float]
    moved: tuple[float, float]
    falling: bool
    sizes: tuple[Size, ...]
    drift: Drift | None
    jump: "Jump | None" = None
    level: float = LEVEL
    growth: Crossing | None = None


@dataclass(frozen=True)
class Jump:
    """The medians of a number just before and after it jumps, and the thresholds at which a trial is beyond a quarter
    and beyond three quarters of the way (none of those themselves); NaN and none where it does not jump."""

    before: float
    after: float
    quarters: tuple[Pooled, ...]


def pooled(panel: Panel, level: float = LEVEL) -> Pooled:
    """The threshold n/d of a panel over n and d, all sizes at once, with an interval of this level."""
    parts = [(d, part.cells) for d, part in by_size(panel)]
    falling = _trend(parts) < 0
    sizes = tuple(Size(d, crossing(*counts_along(cells, falling), rise(level))) for d, cells in parts)
    unknown = Pooled(panel, _unknown(parts), (-np.inf, np.inf), (0.0, 0.0), falling, sizes, None, level=level)
    if not parts or abs(_trend(parts)) < CLEAR:
        return unknown
    slices = stack(parts, falling)
    # A size whose cells end inside its transition would enter with a mean that the grid's end has moved: its samples
    # then often lie on one side only. It is left out whole; weighing it less would keep the bias.
    drawn = resampled(slices)
    at, step, cut = crossed(slices, slices.rising)
    low, high = (np.mean(side, axis=0) for side in drawn[2])
    kept = (low <= OUTSIDE) & (high <= OUTSIDE) & ~cut[0] & ~cut[1]
    if not kept.any():
        return unknown
    slices, at, step, samples = slices.at(kept), at[kept], step[kept], drawn[0][:, kept]
    given, sure, drift, excess = _estimate(slices, at, step, samples, list(compress(sizes, kept)), level)
    growth = None if drift is None else _growth(slices.d, at / slices.d, samples.var(axis=0, ddof=1), step, level)
    moved, sizes = _moved(parts, kept, falling, given.estimate), tuple(_widened(size, excess) for size in sizes)
    return replace(unknown, given=given, sure=sure, moved=moved, sizes=sizes, drift=drift, growth=growth)


def _widened(size: Size, excess: float) -> Size:
    half = size.n50
    if excess <= 1 or not np.isfinite(half.estimate):
        return size
    ends = (half.estimate + excess * (end - half.estimate) for end in (half.low, half.high))
    return Size(size.d, Crossing(half.estimate, *ends))


def _estimate(
    slices: Slices, at: Array, step: Array, samples: Array, alone: list[Size], level: float
) -> tuple[Crossing, tuple[float, float], Drift | None, float]:
    """The pooled ratio with its intervals, its drift, and how many times more the sizes scatter than their trials say.

    The error is the larger of the bootstrap's and of the scatter of the sizes, for trials of one size may hang together
    (one draw of X for all n, a cell's odds that are themselves drawn) and sizes do not. To it comes what the grid hides
    between two of its n, which no number of trials tells.
    """
    d = slices.d
    weight, ratio = d / d.sum(), at / d
    estimate = float(weight @ ratio)
    levels = (level, 1 - (1 - level) / SURER)
    if len(d) == 1:  # nothing to pool: the likelihood-ratio set of that size, which is exact in the limit
        half = alone[0].n50
        far = crossing(slices.n[0], slices.rising[0], slices.total[0] - slices.rising[0], rise(levels[1]))
        return (
            Crossing(estimate, min(half.low / d[0], estimate), max(half.high / d[0], estimate)),
            (far.low / d[0], far.high / d[0]),
            None,
            1.0,
        )
    # Trials of one draw of X for all n, or odds that differ from cell to cell, make the binomial bootstrap too sure.
    # The scatter of the sizes sees that, but is rough with few of them; the larger of the two is taken.
    variance = samples.var(axis=0, ddof=1) / d**2
    freedom = 1 / float(weight @ weight) - 1  # of a variance that goes as 1/d (Satterthwaite 1946)
    scatter = float(np.sqrt(weight**2 @ ((ratio - estimate) ** 2 / (1 - weight))))
    if freedom < FEWEST:  # too few sizes to see how they scatter: their own intervals, whose ends are cells
        lengths = np.array([size.n50.high - size.n50.low for size in alone]) / d
        variance = np.maximum(variance, (lengths / (2 * _normal(level))) ** 2)
    error = float(np.sqrt(weight**2 @ variance))
    hidden = float(weight @ (step / d)) / 2
    ends = []
    for each in levels:
        if freedom < FEWEST:  # the sizes' own intervals end at cells, so that what a step hides is in them already
            reach = max(_normal(each) * error, hidden)
        else:
            reach = max(_normal(each) * error, float(stdtrit(freedom, (1 + each) / 2)) * scatter) + hidden
        ends.append((max(estimate - reach, 0.0), estimate + reach))
    drift, left = _drift(d, ratio, estimate, variance, level)
    # The same for each size alone: its trials cannot tell that they hang together, its distance from the line can.
    excess = (
        float(np.sqrt(weight @ left**2 / (weight @ variance) * len(d) / (len(d) - 2))) if freedom >= FEWEST else 1.0
    )
    return Crossing(estimate, *ends[0]), ends[1], drift, excess


def _normal(level: float) -> float:
    """Standard deviations to either side that hold a normal law's share `level`."""
    return float(ndtri((1 + level) / 2))


def _drift(d: Array, ratio: Array, estimate: float, variance: Array, level: float) -> tuple[Drift, Array]:
    """The line of n50/d in log d; and what it leaves of each size."""
    slope, far, along, left = _line(d, ratio, estimate, variance, level)
    ends = tuple((float(d[k]), estimate + slope * float(along[k])) for k in (0, -1))
    span = float(along[-1] - along[0]) / max(ends[0][1], 1e-9)
    return Drift((ends[0], ends[1]), slope * span, (slope - far) * span, (slope + far) * span), left


def _growth(d: Array, ratio: Array, variance: Array, step: Array, level: float) -> Crossing:
    """The slope of log(n50/d) in log d, (d,) sizes; variance (d,) of n50, and how far apart the n beside it are."""
    # what a step hides is uniform over it, and its own at each d: the grid's n do not meet the same n/d
    each = (variance + step**2 / 12) / (ratio * d) ** 2
    values = np.log(ratio)
    slope, far, _, _ = _line(d, values, float(d @ values / d.sum()), each, level)
    return Crossing(slope, slope - far, slope + far)


def _line(d: Array, values: Array, mean: float, variance: Array, level: float) -> tuple[float, float, Array, Array]:
    """Least squares on log d, each d weighing as d: slope, half its interval, log d from its mean, what is left."""
    weight = d / d.sum()
    # in log d a slope is a change a doubling of d, whatever the sizes
    along = np.log(d) - weight @ np.log(d)
    lever = weight * along / float(weight @ along**2)
    slope = float(lever @ values)
    left = values - mean - slope * along
    freedom = max(1 / float(weight @ weight) - 2, 1.0)
    scatter = float(np.sqrt(lever**2 @ left**2 * len(d) / max(len(d) - 2, 1)))  # of two sizes none
    reach = float(stdtrit(freedom, (1 + level) / 2)) * scatter
    far = max(_normal(level) * float(np.sqrt(lever**2 @ variance)), reach)
    return slope, far, along, left


def _moved(parts: list[tuple[float, pd.DataFrame]], kept: Mask, falling: bool, estimate: float) -> tuple[float, float]:
    """What the estimate loses and gains if all failed and undecided trials were of the kind that becomes more, or less,
    frequent: far from one half they move nothing. Trials that were not run yet are left out, whatever their outcome."""
    if not any((unfinished(cells) > 0).any() for _, cells in parts):
        return 0.0, 0.0
    ends = []
    for share in (1.0, 0.0):
        slices = stack(parts, falling, share).at(kept)
        ends.append(float(crossed(slices, slices.rising)[0].sum() / slices.d.sum()) - estimate)
    return min(ends[0], 0.0), max(ends[1], 0.0)


def _trend(parts: list[tuple[float, pd.DataFrame]]) -> float:
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


def _unknown(parts: list[tuple[float, pd.DataFrame]]) -> Crossing:
    """No estimate; where all trials ended alike, the n/d beyond which one half lies."""
    cells = pd.concat([cells for _, cells in parts]) if parts else pd.DataFrame(columns=["n", "d", "yes", "no"])
    some = cells[cells["yes"] + cells["no"] > 0]
    ratio, yes, no = numbers(some, "n") / numbers(some, "d"), numbers(some, "yes"), numbers(some, "no")
    if len(some) and not yes.any():
        return Crossing(np.nan, float(ratio.max()), np.inf)
    if len(some) and not no.any():
        return Crossing(np.nan, -np.inf, float(ratio.min()))
    return Crossing(np.nan, -np.inf, np.inf)
