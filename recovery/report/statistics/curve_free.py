"""Where a success probability crosses one half, if it only rises with x: no curve is fitted.

n50 lies between two cells, left of it no probability is above one half, right of it none below.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from scipy.special import bdtr

from recovery.report.statistics.likelihood import RISE
from recovery.types import Array, Mask

RISE_OF_RISING = 2.2692
"""The 95 % quantile of the likelihood ratio at a point of a rising curve, in the limit (Banerjee and Wellner 2001)."""
FIRST = 6
"""Fewer trials cannot reject one half at one-sided 2.5 %."""
GROWTH = 2**0.5
"""Ratio of the numbers of trials in successive windows."""


@dataclass(frozen=True)
class Crossing:
    """n50 and an interval; infinite where the cells end, the estimate NaN if they do not reach both sides."""

    estimate: float
    low: float
    high: float


def crossing(x: Array, yes: Array, no: Array) -> Crossing:
    """Isotonic estimate of n50, and the x that a likelihood ratio under monotonicity does not reject at 5 %.

    The estimate joins the last fitted fraction below one half with the first above. The set holds x if
    2 (log L of the best rising fractions - log L of the best that rise and cross one half at x) <= `RISE_OF_RISING`.
    Its ends are cells, or infinite. Falling counts: exchange yes and no.
    """
    x, yes, no = _tied(x, yes, no)
    if not len(x):
        return Crossing(np.nan, -np.inf, np.inf)
    ratio, fitted = _ratios(yes, no)
    kept = np.flatnonzero(ratio <= RISE_OF_RISING)
    ends = np.concatenate([[-np.inf], x, [np.inf]])
    return Crossing(_crossed(x, fitted), float(ends[kept[0]]), float(ends[kept[-1] + 1]))


def common(slices: Iterable[tuple[Array, Array, Array]]) -> Crossing:
    """One x at which several slices (x, yes, no) cross one half, each on a rising curve of its own.

    The likelihood ratios of the slices are summed; the set holds what lies within the chi-squared quantile of the least
    sum, the estimate is the middle of where it is least. No law of this is known: that it covers is measured
    (benchmarks/coverage.md).
    """
    tied = [_tied(*part) for part in slices]
    ends = np.unique(np.concatenate([[-np.inf], *(x for x, _, _ in tied)]))
    total = np.zeros(len(ends))
    for x, yes, no in tied:
        total += _ratios(yes, no)[0][np.searchsorted(x, ends, side="right")]
    ends = np.append(ends, np.inf)
    best = np.flatnonzero(total <= total.min() + 1e-9)
    kept = np.flatnonzero(total <= total.min() + RISE)
    between = ends[[best[0], best[-1] + 1]]
    middle = float(between.mean()) if np.isfinite(between).all() else np.nan
    return Crossing(middle, float(ends[kept[0]]), float(ends[kept[-1] + 1]))


def exact(x: Array, yes: Array, no: Array, level: float = 0.95) -> tuple[float, float]:
    """The same interval from exact binomial tests: it covers with at least its level for every rising probability.

    x is above n50 only if no probability from x on is below one half. It is rejected if, in one of the windows of cells
    that begin at x, failures are too many for fair coins at level (1 - level) / 2 over the number of windows: their
    sizes are fixed numbers of trials, before any outcome is seen. The low end is the last x of those from the first on
    that are all rejected; the high end its mirror image. Where low > high no rising probability with one crossing
    fits at this level.
    """
    x, yes, no = _tied(x, yes, no)
    if not len(x):
        return -np.inf, np.inf
    late = _rejected(yes + no, no, level)
    early = _rejected((yes + no)[::-1], yes[::-1], level)
    ends = np.concatenate([[-np.inf], x, [np.inf]])
    return float(ends[_run(late)]), float(ends[len(x) + 1 - _run(early)])


def _tied(x: Array, yes: Array, no: Array) -> tuple[Array, Array, Array]:
    """Cells with trials in the order of x, those of one x put together."""
    there = yes + no > 0
    values, which = np.unique(x[there], return_inverse=True)
    won, lost = np.zeros(len(values)), np.zeros(len(values))
    np.add.at(won, which, yes[there])
    np.add.at(lost, which, no[there])
    return values, won, lost


def _ratios(yes: Array, no: Array) -> tuple[Array, Array]:
    """(2 log likelihood ratio against one half being crossed before the first cell, before the second, ..., after the
    last; the isotonic fractions)."""
    left, _ = _rising(yes, no, 0.5)
    right, _ = _rising(no[::-1], yes[::-1], 0.5)
    free, fitted = _rising(yes, no, 1.0)
    return 2 * (free[-1] - np.array(left) - np.array(right)[::-1]), fitted


def _rising(yes: Array, no: Array, most: float) -> tuple[list[float], Array]:
    """(log likelihood of the best non-decreasing fractions up to `most` for the first 0, 1, 2, ... cells; the fractions
    of all cells), by pooling adjacent violators."""
    blocks: list[tuple[float, float, int, float]] = []  # yes, trials, cells, log likelihood up to here
    likelihood = [0.0]
    for won, lost in zip(yes.tolist(), no.tolist(), strict=True):
        total, width = won + lost, 1
        while blocks and blocks[-1][0] * total >= won * blocks[-1][1]:
            other = blocks.pop()
            won, total, width = won + other[0], total + other[1], width + other[2]
        before = blocks[-1][3] if blocks else 0.0
        blocks.append((won, total, width, before + _log_likelihood(won, total, min(won / total, most))))
        likelihood.append(blocks[-1][3])
    return likelihood, np.repeat([won / total for won, total, _, _ in blocks], [width for _, _, width, _ in blocks])


def _log_likelihood(won: float, total: float, chance: float) -> float:
    first = won * log(chance) if won else 0.0
    return first + ((total - won) * log(1 - chance) if total > won else 0.0)


def _crossed(x: Array, fitted: Array) -> float:
    """Where the line through rising fractions crosses one half; the middle, where cells are fitted at one half."""
    below, above = np.flatnonzero(fitted < 0.5), np.flatnonzero(fitted > 0.5)
    if not len(below) or not len(above):
        return float("nan")
    last, first = below[-1], above[0]
    if first > last + 1:
        return float(x[last + 1] + x[first - 1]) / 2
    return float(np.interp(0.5, fitted[[last, first]], x[[last, first]]))


def _windows(total: float) -> Sequence[int]:
    """Numbers of trials from `FIRST` to the whole, each `GROWTH` times the last."""
    steps = int(np.log(max(total, FIRST) / FIRST) / np.log(GROWTH) + 1e-9)
    sizes: list[int] = np.unique(np.ceil(FIRST * GROWTH ** np.arange(steps + 1)).astype(int)).tolist()
    return sizes


def _rejected(trials: Array, bad: Array, level: float) -> Mask:
    """For each cell: whether, from it on, a window has too many bad outcomes for chances of at most one half."""
    seen, counted = np.concatenate([[0], np.cumsum(trials)]), np.concatenate([[0], np.cumsum(bad)])
    sizes = _windows(float(seen[-1]))
    rejected = np.zeros(len(trials), dtype=np.bool_)
    for size in sizes:
        end = np.searchsorted(seen, seen[:-1] + size)
        whole = end < len(seen)
        end = np.minimum(end, len(trials))
        total, failed = seen[end] - seen[:-1], counted[end] - counted[:-1]
        tail = bdtr(total - failed, total.astype(int), 0.5)
        rejected |= whole & (tail <= (1 - level) / 2 / len(sizes))
    return rejected


def _run(rejected: Mask) -> int:
    """How many from the first on are all true."""
    return len(rejected) if rejected.all() else int(np.argmin(rejected))
