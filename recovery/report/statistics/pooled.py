"""One threshold n/d of a panel without a curve: where rising fractions cross one half at each d, pooled over d.

At each d the fractions are replaced by the likeliest that only rise (pool adjacent violators); n50 is where the line
through them crosses one half, and the threshold is sum n50 / sum d: each d weighs as d, about the inverse variance of
n50/d where the transition is sqrt n wide.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression
from scipy.special import ndtri
from scipy.stats import t as student

from recovery.report.diagram import Panel
from recovery.report.statistics.curve_free import SURE, Crossing, crossing
from recovery.report.statistics.transition import by_size, numbers
from recovery.types import Array, Mask

DRAWS = 200
"""Bootstrap samples: they tell a standard error to 5 %."""
FEWEST = 3.0
"""Degrees of freedom from which the scatter of n50/d over the sizes is taken for what it is, an estimate of the error
that needs no independence of trials within a size: about five sizes."""
OUTSIDE = 0.025
"""A size takes part if no larger share of its samples stays on one side of one half: else its cells cut off the law of
its n50, and its mean is biased."""
CLEAR = 1.96
"""Standard deviations that the trend of outcomes with n has to show; else where one half lies is chance."""


@dataclass(frozen=True)
class Drift:
    """The straight line of n/d in log d: (d, n/d) at the least and the largest d, and the relative change between them
    with its 95 % interval."""

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
    """n50 at one d, with its 95 % interval."""

    d: float
    n50: Crossing


@dataclass(frozen=True)
class Pooled:
    """One panel's threshold as a ratio n/d.

    `given`: the ratio with its 95 % interval; without an estimate, what the cells say of it. `sure`: its 99 % interval.
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


@dataclass(frozen=True)
class Jump:
    """The medians of a number just before and after it jumps, and the thresholds at which a trial is beyond a quarter
    and beyond three quarters of the way (none of those themselves); NaN and none where it does not jump."""

    before: float
    after: float
    quarters: tuple[Pooled, ...]


@dataclass(frozen=True)
class _Slices:
    """Counts of outcomes that become more frequent with n, shape (sizes, cells), of which the first `cells` are."""

    d: Array
    n: Array
    rising: Array
    total: Array
    cells: Array

    def at(self, which: Mask) -> "_Slices":
        return _Slices(*(a[which] for a in (self.d, self.n, self.rising, self.total, self.cells)))


def pooled(panel: Panel) -> Pooled:
    """The threshold n/d of a panel over n and d, all sizes at once."""
    parts = [(d, part.cells) for d, part in by_size(panel)]
    falling = _trend(parts) < 0
    sizes = tuple(Size(d, crossing(*_counts(cells, falling))) for d, cells in parts)
    if not parts or abs(_trend(parts)) < CLEAR:
        return Pooled(panel, _unknown(parts), (-np.inf, np.inf), (0.0, 0.0), falling, sizes, None)
    slices = _stack(parts, falling)
    # A size whose cells end inside its transition would enter with a mean that the grid's end has moved: its samples
    # then often lie on one side only. It is left out whole; weighing it less would keep the bias.
    drawn = _resampled(slices)
    at, step, cut = _crossed(slices, slices.rising)
    low, high = (np.mean(side, axis=0) for side in drawn[2])
    kept = (low <= OUTSIDE) & (high <= OUTSIDE) & ~cut[0] & ~cut[1]
    if not kept.any():
        return Pooled(panel, _unknown(parts), (-np.inf, np.inf), (0.0, 0.0), falling, sizes, None)
    slices, at, step, samples = slices.at(kept), at[kept], step[kept], drawn[0][:, kept]
    given, sure, drift = _estimate(slices, at, step, samples, [size for size, k in zip(sizes, kept, strict=True) if k])
    return Pooled(panel, given, sure, _moved(parts, kept, falling, given.estimate), falling, sizes, drift)


def _estimate(
    slices: _Slices, at: Array, step: Array, samples: Array, alone: list[Size]
) -> tuple[Crossing, tuple[float, float], Drift | None]:
    """The pooled ratio with intervals of 95 % and 99 %, and its drift.

    The error is the larger of the bootstrap's and of the scatter of the sizes, for trials of one size may hang together
    (one draw of X for all n, a cell's odds that are themselves drawn) and sizes do not. To it comes what the grid hides
    between two of its n, which no number of trials tells.
    """
    d = slices.d
    weight, ratio = d / d.sum(), at / d
    estimate = float(weight @ ratio)
    if len(d) == 1:  # nothing to pool: the likelihood-ratio set of that size, which is exact in the limit
        half = alone[0].n50
        far = crossing(slices.n[0], slices.rising[0], slices.total[0] - slices.rising[0], SURE)
        return (
            Crossing(estimate, min(half.low / d[0], estimate), max(half.high / d[0], estimate)),
            (far.low / d[0], far.high / d[0]),
            None,
        )
    # Trials of one draw of X for all n, or odds that differ from cell to cell, make the binomial bootstrap too sure.
    # The scatter of the sizes sees that, but is rough with few of them; the larger of the two is taken.
    variance = samples.var(axis=0, ddof=1) / d**2
    freedom = 1 / float(weight @ weight) - 1  # of a variance that goes as 1/d (Satterthwaite 1946)
    scatter = float(np.sqrt(weight**2 @ ((ratio - estimate) ** 2 / (1 - weight))))
    if freedom < FEWEST:  # too few sizes to see how they scatter: their own intervals, whose ends are cells
        lengths = np.array([size.n50.high - size.n50.low for size in alone]) / d
        variance = np.maximum(variance, (lengths / (2 * ndtri(0.975))) ** 2)
    error = float(np.sqrt(weight**2 @ variance))
    hidden = float(weight @ (step / d)) / 2
    ends = []
    for level in (0.975, 0.995):
        if freedom < FEWEST:  # the sizes' own intervals end at cells, so that what a step hides is in them already
            reach = max(ndtri(level) * error, hidden)
        else:
            reach = max(ndtri(level) * error, student.ppf(level, freedom) * scatter) + hidden
        ends.append((max(estimate - reach, 0.0), estimate + reach))
    return Crossing(estimate, *ends[0]), ends[1], _drift(d, ratio, estimate, variance)


def _drift(d: Array, ratio: Array, estimate: float, variance: Array) -> Drift:
    """Least squares of n50/d on log d, each d weighing as d."""
    weight = d / d.sum()
    # in log d a slope is a change a doubling of d, whatever the sizes
    along = np.log(d) - weight @ np.log(d)
    square = float(weight @ along**2)
    lever = weight * along / square
    slope = float(lever @ ratio)
    left = ratio - estimate - slope * along
    freedom = max(1 / float(weight @ weight) - 2, 1.0)
    scatter = float(np.sqrt(lever**2 @ left**2 * len(d) / max(len(d) - 2, 1)))  # of two sizes none
    far = max(float(ndtri(0.975)) * float(np.sqrt(lever**2 @ variance)), student.ppf(0.975, freedom) * scatter)
    ends = tuple((float(d[k]), estimate + slope * float(along[k])) for k in (0, -1))
    span = float(along[-1] - along[0]) / max(ends[0][1], 1e-9)
    return Drift((ends[0], ends[1]), slope * span, (slope - far) * span, (slope + far) * span)


def _moved(parts: list[tuple[float, pd.DataFrame]], kept: Mask, falling: bool, estimate: float) -> tuple[float, float]:
    """What the estimate loses and gains if all failed and undecided trials were of the kind that becomes more, or less,
    frequent: far from one half they move nothing. Trials that were not run yet are left out, whatever their outcome."""
    if not any((_open(cells) > 0).any() for _, cells in parts):
        return 0.0, 0.0
    ends = []
    for share in (1.0, 0.0):
        slices = _stack(parts, falling, share).at(kept)
        ends.append(float(_crossed(slices, slices.rising)[0].sum() / slices.d.sum()) - estimate)
    return min(ends[0], 0.0), max(ends[1], 0.0)


def _open(cells: pd.DataFrame) -> Array:
    return numbers(cells, "failed") + numbers(cells, "undecided")


def _resampled(slices: _Slices) -> tuple[Array, Array, tuple[Mask, Mask]]:
    """Crossings of binomial samples from the rising fractions, half a trial of either kind added to each block of equal
    ones: few trials that end alike are no certainty. The seed is the counts', so that a report says the same again."""
    chance = np.empty(slices.rising.shape)
    for row, rising, total in zip(chance, slices.rising, slices.total, strict=True):
        blocks = isotonic_regression(rising / np.maximum(total, 1e-9), weights=np.maximum(total, 1e-9)).blocks
        # without the half trials a block of five in five would be sampled as certain, and its error as zero
        won, there = np.add.reduceat(rising, blocks[:-1]), np.add.reduceat(total, blocks[:-1])
        row[:] = np.repeat((won + 0.5) / (there + 1), np.diff(blocks))
    rng = np.random.default_rng(np.concatenate([slices.rising, slices.total]).astype(np.uint32).ravel())
    drawn = rng.binomial(slices.total.astype(int), chance, size=(DRAWS, *chance.shape)).astype(float)
    return _crossed(slices, drawn)


def _crossed(slices: _Slices, rising: Array) -> tuple[Array, Array, tuple[Mask, Mask]]:
    """(n50, what of n may be hidden there, whether no fraction lies below one half, or above), of counts (..., cells).

    The fit is below one half up to the first minimum of S_j = sum_{i <= j} (rising_i - total_i / 2), and above from the
    last one on, so that no fit is made: only its fractions beside the crossing are, each a largest or least mean.
    Of the step there, with a jump q of the fractions, (step q^3) is hidden: lines follow a transition that a few cells
    show, and nothing tells where within a step a jump from 0 to 1 lies (between, probit curves err by less).
    """
    shape, cells = rising.shape[:-1], rising.shape[-1]
    # The greatest convex minorant of the walk S has the fitted fractions less one half as slopes (Barlow et al. 1972),
    # so it turns from falling to rising where S is least. Finding that is one cumulative sum for all samples at once;
    # pooling adjacent violators sample by sample took a hundred times as long.
    at = np.arange(cells + 1)
    zero = np.zeros((*shape, 1))
    won = np.concatenate([zero, np.cumsum(rising, axis=-1)], axis=-1)
    seen = np.concatenate([zero, np.cumsum(np.broadcast_to(slices.total, rising.shape), axis=-1)], axis=-1)
    walk = np.where(at <= slices.cells[:, None], won - seen / 2, np.inf)
    lowest = walk <= walk.min(axis=-1, keepdims=True) + 1e-9
    first = lowest.argmax(axis=-1)[..., None]
    last = cells - lowest[..., ::-1].argmax(axis=-1)[..., None]
    # The minorant's slope just left of the minimum is the largest chord into it, just right the least chord out of it.
    with np.errstate(all="ignore"):
        left = (np.take_along_axis(won, first, -1) - won) / (np.take_along_axis(seen, first, -1) - seen)
        right = (won - np.take_along_axis(won, last, -1)) / (seen - np.take_along_axis(seen, last, -1))
    below = np.where((at < first) & np.isfinite(left), left, -np.inf).max(axis=-1)
    above = np.where((at > last) & np.isfinite(right), right, np.inf).min(axis=-1)
    spread = np.broadcast_to(slices.n, rising.shape)
    before, after, start, end = (
        np.take_along_axis(spread, np.clip(place, 0, cells - 1), -1)[..., 0]
        for place in (first - 1, last, first, last - 1)
    )
    none_below, none_above = first[..., 0] == 0, last[..., 0] == slices.cells
    cut = (none_below, none_above)
    # between two equal minima the fit is exactly one half, and any n there is a crossing: the middle stands for it
    flat = first[..., 0] < last[..., 0]
    step = after - before
    with np.errstate(all="ignore"):
        jump = np.where(flat | none_below | none_above, 0.0, above - below)
        half = np.where(flat, (start + end) / 2, before + (0.5 - below) / (above - below) * step)
    half = np.where(none_below, spread[..., 0], np.where(none_above, end, half))
    return half, step * jump**3, cut


def _stack(parts: list[tuple[float, pd.DataFrame]], falling: bool, share: float | None = None) -> _Slices:
    """The sizes side by side, cells with trials in the order of n. share: of the open trials that count as rising."""
    rows = []
    for _, cells in parts:
        n, rising, other = _counts(cells, falling)
        open_ = np.zeros(len(n)) if share is None else _open(cells)
        total = rising + other + open_
        order = np.argsort(n, kind="stable")
        order = order[total[order] > 0]
        rows.append((n[order], (rising + (share or 0.0) * open_)[order], total[order]))
    count = np.array([len(n) for n, _, _ in rows])
    filled = np.zeros((3, len(rows), max(int(count.max()), 1)))
    for i, row in enumerate(rows):
        filled[:, i, : count[i]] = row
    return _Slices(np.array([d for d, _ in parts]), filled[0], filled[1], filled[2], count)


def _counts(cells: pd.DataFrame, falling: bool) -> tuple[Array, Array, Array]:
    """n, and the outcomes that become more frequent and rarer as it grows."""
    yes, no = numbers(cells, "yes"), numbers(cells, "no")
    return (numbers(cells, "n"), no, yes) if falling else (numbers(cells, "n"), yes, no)


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
