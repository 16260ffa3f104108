"""The difference of the thresholds of two panels, by a bootstrap of pairs of trials.

Two trials with the same draw tend to end alike, so the error of a difference is smaller than both errors together. Each
bootstrap sample draws the outcomes of both panels from their isotonic fractions, some pairs of them from one uniform
number. The share of these pairs reproduces the observed covariance of the outcomes.

A bootstrap of few trials is too narrow, and a grid that ends near the transition truncates it. There the interval of a
slice also contains the combination of the likelihood intervals of both sides (square-and-add; Zou and Donner 2008),
which supposes no negative correlation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from recovery.interval import Interval
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics.crossings import FEWEST, OUTSIDE, Crossings, crossings, freedom_of
from recovery.report.statistics.slices import DRAWS, Slices, crossed, smoothed, stack
from recovery.report.statistics.transition import numbers
from recovery.theory.normal import normal_reach
from recovery.types import Array, Mask

FEW = 5
"""Median number of trials in a cell below which the bootstrap alone is not used for a slice."""
Counts = Mapping[tuple[Any, float], tuple[int, int]]
"""(y, x) of a grid cell -> the number of pairs in which both outcomes rise with x, and the number of pairs."""


@dataclass(frozen=True)
class ThresholdDifference:
    """The second threshold minus the first: of the slice at y, or pooled. Infinite ends where the cells give no
    bound. left_out: the values of y on either side that are not pooled."""

    y: Any
    pooled: bool
    first: float
    second: float
    difference: Interval
    left_out: tuple[Any, ...] = ()


class _Crossed(NamedTuple):
    """Crossings of slices, grid steps there, bootstrap samples, and a mask of slices that may cross outside their
    cells."""

    at: Array
    step: Array
    samples: Array
    outside: Mask


@dataclass(frozen=True)
class _Side:
    """The slices of one panel that the other panel has too, in the same order.

    found, which: the crossings of the panel, and the numbers of these slices there. along_x, pooled: their counts along
    x, and along the pooled value. weight: change of x per change of the pooled value.
    """

    found: Crossings
    which: list[int]
    along_x: Slices
    pooled: Slices
    weight: Array

    def interval(self, i: int, level: float) -> Interval:
        """Return the likelihood interval of the crossing of slice i."""
        return self.found.crossing(self.which[i], level)

    def few(self, i: int) -> bool:
        """Whether the bootstrap of slice i has too few trials to be used alone."""
        return bool(np.median(self.along_x.total[i, : self.along_x.cells[i]]) < FEW)

    @classmethod
    def of(cls, found: Crossings, common: list[Any]) -> "_Side":
        y = [one.y for one in found.alone]
        which = [y.index(one) for one in common]
        cells, places = [found.parts[i].cells for i in which], [found.places[i] for i in which]
        x = [numbers(part, found.along.x) for part in cells]
        weight = np.array([np.ptp(values) / (np.ptp(at) or 1.0) for values, at in zip(x, places, strict=True)])
        along_x, pooled = (
            stack(one, cells, found.falling, found.along.probability)
            for one in (places if found.along.pool is None else x, places)
        )
        return cls(found, which, along_x, pooled, weight)

    def x(self, i: int) -> Array:
        """Return the x of the cells of slice i, rounded to 12 digits, so that both sides have equal numbers."""
        places = self.along_x.x[i, : self.along_x.cells[i]]
        return np.array([float(f"{value:.12g}") for value in (np.exp(places) if self.found.log else places)])

    def crossed(self, slices: Slices, samples: Array) -> _Crossed:
        at, step, cut = crossed(slices, slices.rising)
        drawn, _, ends = crossed(slices, samples)
        outside = cut[0] | cut[1] | (ends[0].mean(axis=0) > OUTSIDE) | (ends[1].mean(axis=0) > OUTSIDE)
        if self.found.log:
            at, step, drawn = np.exp(at), np.exp(at + step / 2) - np.exp(at - step / 2), np.exp(drawn)
        return _Crossed(at, step, drawn, outside)


def threshold_differences(
    first: Panel, second: Panel, along: ThresholdAxis, pairs: pd.DataFrame, level: float
) -> list[ThresholdDifference]:
    """Return the difference of the pooled thresholds, then of the thresholds of the slices that both panels have.

    pairs: one row per grid cell with its coordinates, the numbers of pairs in which `both` or `neither` trial
    succeeds, and the number of pairs, `trials`; no rows if trials are not paired.
    """
    found = [crossings(panel, along, lambda _: level) for panel in (first, second)]
    common = [one.y for one in found[0].alone if one.y in [other.y for other in found[1].alone]]
    if not common:
        return []
    one, two = (_Side.of(side, common) for side in found)
    counts: Counts = {}
    if found[0].falling == found[1].falling and len(pairs):
        y = pairs[along.by].tolist() if along.by else [None] * len(pairs)
        x = [float(f"{value:.12g}") for value in pairs[along.x]]
        alike = pairs["neither" if found[0].falling else "both"].tolist()
        counts = dict(zip(zip(y, x, strict=True), zip(alike, pairs["trials"].tolist(), strict=True), strict=True))
    samples = _samples(one, two, common, counts)
    results = []
    if along.pool is not None and all(side.pool is not None for side in found):
        a, b = (side.crossed(side.pooled, sample) for side, sample in zip((one, two), samples, strict=True))
        pooled = _pooled(a, b, one.weight, level)
        used = [y for y, out in zip(common, a.outside | b.outside, strict=True) if not out]
        everywhere = dict.fromkeys(each.y for side in found for each in side.alone)
        results.append(replace(pooled, left_out=tuple(y for y in everywhere if used and y not in used)))
    a, b = (side.crossed(side.along_x, sample) for side, sample in zip((one, two), samples, strict=True))
    errors, hidden = (b.samples - a.samples).std(axis=0, ddof=1), (a.step + b.step) / 2
    for i, y in enumerate(common):
        low, high = (side.interval(i, level) for side in (one, two))
        if not np.isfinite(high.estimate - low.estimate):
            # intervals of level (1 + level) / 2 hold at once with the error rate of one difference (Bonferroni)
            left, right = (side.interval(i, (1 + level) / 2) for side in (one, two))
            difference = Interval(np.nan, right.low - left.high, right.high - left.low, level)
        else:
            moved = high.estimate - low.estimate
            down = up = normal_reach(level) * float(errors[i]) + float(hidden[i])
            if one.few(i) or two.few(i) or a.outside[i] or b.outside[i]:
                down = max(down, float(np.hypot(high.estimate - high.low, low.high - low.estimate)))
                up = max(up, float(np.hypot(high.high - high.estimate, low.estimate - low.low)))
            difference = Interval(moved, moved - down, moved + up, level)
        results.append(ThresholdDifference(y, False, low.estimate, high.estimate, difference))
    return results


def _pooled(a: _Crossed, b: _Crossed, weight: Array, level: float) -> ThresholdDifference:
    """Return the difference of the pooled values over the slices whose cells contain both crossings.

    As for one threshold, the standard error is the larger of the bootstrap's and of the scatter over the slices.
    """
    kept = ~a.outside & ~b.outside
    if not kept.any():
        return ThresholdDifference(None, True, np.nan, np.nan, Interval(np.nan, -np.inf, np.inf, level))
    weight = weight[kept] / weight[kept].sum()
    first, second = float(weight @ a.at[kept]), float(weight @ b.at[kept])
    variance = (b.samples - a.samples)[:, kept].var(axis=0, ddof=1)
    error = normal_reach(level) * float(np.sqrt(weight**2 @ variance))
    if (freedom := freedom_of(weight)) >= FEWEST:
        scatter = np.sqrt(weight**2 @ (((b.at - a.at)[kept] - second + first) ** 2 / (1 - weight)))
        error = max(error, float(scipy.special.stdtrit(freedom, (1 + level) / 2) * scatter))
    reach, moved = error + float(weight @ (a.step + b.step)[kept]) / 2, second - first
    return ThresholdDifference(None, True, first, second, Interval(moved, moved - reach, moved + reach, level))


def _samples(one: _Side, two: _Side, common: list[Any], counts: Counts) -> list[Array]:
    """Return bootstrap samples of the rising counts of both sides, each of shape (DRAWS, slices, cells).

    In a share of the pairs, both outcomes follow from one uniform number; all other outcomes are independent.
    """
    slices = (one.along_x, two.along_x)
    rng = np.random.default_rng(np.concatenate([side.rising.ravel() for side in slices]).astype(np.uint32))
    chance, fitted = [smoothed(side) for side in slices], [smoothed(side, 0.0) for side in slices]
    cells = [np.intersect1d(one.x(i), two.x(i), return_indices=True) for i in range(len(common))]
    # `share` is the covariance of paired outcomes, divided by the largest covariance that their success fractions
    # allow. Smoothed fractions would give a covariance to cells in which all trials end alike
    seen = most = 0.0
    for i, (x, *at) in enumerate(cells):
        p, q = (side[i, where] for side, where in zip(fitted, at, strict=True))
        alike, pairs = np.array([counts.get((common[i], value), (0, 0)) for value in x]).reshape(-1, 2).T
        seen += float((alike - pairs * p * q).sum())
        most += float((_pairs(slices, i, at) * (np.minimum(p, q) - p * q)).sum())
    share = float(np.clip(seen / most, 0, 1)) if most > 0 and counts else 0.0
    samples = [np.zeros((DRAWS, *side.total.shape)) for side in slices]
    for i, (x, *at) in enumerate(cells):
        p, q = (side[i, where] for side, where in zip(chance, at, strict=True))
        pairs = rng.binomial(_pairs(slices, i, at), share, size=(DRAWS, len(x)))
        both = rng.binomial(pairs, np.minimum(p, q))
        more = rng.binomial(pairs - both, np.abs(p - q) / (1 - np.minimum(p, q)))
        for side, which, fraction, sample, larger in zip(slices, at, chance, samples, (p > q, q > p), strict=True):
            alone = np.tile(side.total[i].astype(int), (DRAWS, 1))
            alone[:, which] -= pairs
            sample[:, i] = rng.binomial(alone, fraction[i])
            sample[:, i, which] += both + more * larger
    return samples


def _pairs(slices: tuple[Slices, Slices], i: int, at: list[Any]) -> Any:
    """Return the largest possible number of pairs in the common cells of slice i."""
    return np.minimum(*(side.total[i, which] for side, which in zip(slices, at, strict=True))).astype(int)
