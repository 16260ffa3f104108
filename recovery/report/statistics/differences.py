"""The interval of a proportion, and differences of two proportions, paired and unpaired, and of two thresholds.

A score interval holds every difference that the test with the variance under this difference accepts. So it is valid
under the null hypothesis at any number of replicates and cells, where an estimated variance is too small.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.interval import LEVEL, Interval
from recovery.theory.normal import normal_reach
from recovery.types import Array, Index

QUANTILE = normal_reach(LEVEL)
STEPS = 40
"""Bisections: 2^-40 is below any digit that is printed."""
LEAST = 1e-12
"""Least variance, so that a difference with variance 0 has a score."""


def exact_interval(yes: ArrayLike, no: ArrayLike, unknown: ArrayLike = 0, level: float = LEVEL) -> tuple[Array, Array]:
    """Return the ends of the exact interval of a proportion (Clopper and Pearson 1934); NaN without trials.

    Unknown outcomes count as failures for the lower end and as successes for the upper one. This interval is used
    everywhere, because claims need its guarantee: at the level 99.9 %, Wilson's misses rare outcomes too often.
    """
    least, failed, either = (np.asarray(counts, float) for counts in np.broadcast_arrays(yes, no, unknown))
    most, total = least + either, least + failed + either
    known = total > 0
    # the lower end is the p at which as many successes or more have probability (1 - level) / 2: a beta quantile
    some, left = np.where(least > 0, least, 1.0), np.where(most < total, total - most, 1.0)
    low = np.where(least > 0, scipy.special.betaincinv(some, total - least + 1, (1 - level) / 2), 0.0)
    high = np.where(most < total, scipy.special.betaincinv(most + 1, left, (1 + level) / 2), 1.0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def sign_test(more: int, less: int, side: Literal["two-sided", "greater"] = "two-sided") -> float:
    """Return the exact p-value of equal chances of the `more` and the `less` pairs (two-sided: McNemar); 1 without."""
    return float(scipy.stats.binomtest(more, more + less, alternative=side).pvalue) if more + less else 1.0


def paired_difference(gained: ArrayLike, lost: ArrayLike, pairs: ArrayLike) -> tuple[Array, Array]:
    """Return the ends of the interval, at `LEVEL`, of second minus first proportion, of N `pairs`, `gained` and `lost`.

    The score of D is (gained - lost - N D) / sqrt(N (2 p + D (1 - D))) with the likeliest probability p of a lost pair
    under D (Tango 1998); at D = 0 it is McNemar's. As a continuity correction the absolute deviation is reduced by one
    pair, because with half a pair the coverage is too low.
    """
    more, less, total = (np.asarray(counts, dtype=float) for counts in np.broadcast_arrays(gained, lost, pairs))

    def score(d: Array) -> Array:
        # p solves 2 N p^2 + b p - lost D (1 - D) = 0
        b = (2 * total - more + less) * d - more - less
        p = (np.sqrt(np.maximum(b**2 + 8 * total * less * d * (1 - d), 0.0)) - b) / (4 * total)
        variance = total * (2 * p + d * (1 - d))
        return np.maximum(np.abs(more - less - total * d) - 1, 0) / np.sqrt(np.maximum(variance, LEAST))

    found = (more - less) / total
    return _last_accepted(score, found, -1.0), _last_accepted(score, found, 1.0)


def unpaired_difference(yes: Array, total: Array, group: Index) -> tuple[Array, Array, Array, Array]:
    """Return second minus first proportion in each group of grid cells, the ends of its interval, and the p-value.

    yes, total: successes and trials, first and second, shape (2, cells). group: the group of each cell. The null
    hypothesis is a second one higher by D in every cell of a group. A cell has the weight of Mantel and Haenszel, and
    the variance of its likeliest probabilities under D, times N / (N - 1) (Miettinen and Nurminen 1985).
    """
    count = total.sum(axis=0)
    weight = total.prod(axis=0) / count
    observed = yes[1] / total[1] - yes[0] / total[0]

    def score(shift: Array) -> Array:
        d = shift[group]
        p = _likeliest(yes, total, d)
        q = p + d
        variance = (p * (1 - p) / total[0] + q * (1 - q) / total[1]) * count / np.maximum(count - 1, 1)
        moved, spread = np.bincount(group, weight * (observed - d)), np.bincount(group, weight**2 * variance)
        return np.abs(moved) / np.sqrt(np.maximum(spread, LEAST))

    found = np.round(np.bincount(group, weight * observed) / np.bincount(group, weight), 15)  # equal fractions give 0
    p = 2 * scipy.special.ndtr(-score(np.zeros(len(found))))
    return found, _last_accepted(score, found, -1.0), _last_accepted(score, found, 1.0), p


def _likeliest(yes: Array, total: Array, d: Array) -> Array:
    """Return the maximum-likelihood probability of the first, with that of the second higher by d, per cell."""
    low, high = np.maximum(0.0, -d), np.minimum(1.0, 1 - d)
    no = total - yes
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            p = (low + high) / 2
            rising = yes[0] / p - no[0] / (1 - p) + yes[1] / (p + d) - no[1] / (1 - p - d) > 0
            low, high = np.where(rising, p, low), np.where(rising, high, p)
    return np.asarray((low + high) / 2)


def _last_accepted(score: Callable[[Array], Array], found: Array, end: float) -> Array:
    """Return for each group the last difference between `found` and `end`, -1 or 1, whose score is accepted."""
    inside, outside = found.astype(float), np.full(len(found), end)
    everything = score(outside * (1 - 1e-9)) <= QUANTILE
    for _ in range(STEPS):
        middle = (inside + outside) / 2
        accepted = score(middle) <= QUANTILE
        inside, outside = np.where(accepted, middle, inside), np.where(accepted, outside, middle)
    return np.where(everything, end, outside)


def threshold_difference(first: Interval, second: Interval) -> Interval:
    """Return the second threshold minus the first, from their intervals (square-and-add; Zou and Donner 2008).

    It supposes no negative correlation of their errors. Without both estimates, both intervals together bound it.
    """
    moved = second.estimate - first.estimate
    level = min(first.level, second.level)
    if not np.isfinite(moved):
        return Interval(np.nan, second.low - first.high, second.high - first.low, level)
    down = np.hypot(second.estimate - second.low, first.high - first.estimate)
    up = np.hypot(second.high - second.estimate, first.estimate - first.low)
    return Interval(moved, float(moved - down), float(moved + up), level)
