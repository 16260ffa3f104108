"""Where a success probability crosses one half: a two-parameter binomial fit and its profile-likelihood intervals."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincc, gammaln, log_ndtr

from recovery.report.statistics.likelihood import (
    CONVERGED,
    MOST_STEPS,
    RISE,
    Counts,
    cell_deviance,
    least_deviance,
    least_deviance_any,
    mills,
)
from recovery.types import Array

FLAT = 1e-8
"""A curve whose eta differs by less from cell to cell."""


@dataclass(frozen=True)
class Threshold:
    """theta with its 95 % profile-likelihood interval, the slope, and the deviance on df degrees of freedom.

    `separated`: every no lies on one side of every yes. Then the likelihood only says that theta lies in `between`,
    the estimate is the middle of that and the slope infinite; if all trials ended alike, `between` is open at one end
    and the estimate NaN. The slope is negative where success becomes rarer with u.
    """

    estimate: float
    low: float
    high: float
    slope: float
    separated: bool
    between: tuple[float, float]
    deviance: float
    df: int


def fit(counts: Counts, intervals: bool = True, near: tuple[float, float] | None = None) -> Threshold:
    """Maximum likelihood and profile interval of theta, whether or not the data are separated. `near`: a guess of
    (theta, slope), which saves steps.

    No estimate is clamped and no weak prior is used: where the likelihood has no maximum, its supremum is known in
    closed form and the profile, which stays finite, gives the interval (Venzon and Moolgavkar 1988).
    """
    if not len(counts):
        return Threshold(np.nan, -np.inf, np.inf, np.nan, False, (-np.inf, np.inf), np.nan, 0)
    rising, falling = counts.between(), counts.flipped().between()
    if rising[0] <= rising[1]:
        return _separated(counts, rising, 1.0)
    if falling[0] <= falling[1]:
        return _separated(counts.flipped(), falling, -1.0)
    estimate, slope, deviance = _maximum(counts, near)
    if np.isnan(estimate):
        return Threshold(np.nan, -np.inf, np.inf, np.nan, False, (-np.inf, np.inf), deviance, len(counts) - 2)
    low = high = np.nan
    if intervals:
        way = counts if slope >= 0 else counts.flipped()
        low, high = _interval(way, (estimate, estimate), deviance)
    return Threshold(estimate, low, high, slope, False, (np.nan, np.nan), deviance, len(counts) - 2)


def of_rows(found: Threshold) -> Threshold:
    """The same of a theta that is a number of rows, or n/d: an interval that reaches 0 is open below. An estimate there
    is none: the line through the cells was followed beyond the grid, and theta lies somewhere below its interval's end.
    """
    if found.low > 0 or found.separated:
        return found
    if found.estimate > 0:
        return replace(found, low=-np.inf)
    between = (-np.inf, found.high if found.high > 0 else np.inf)
    return replace(found, estimate=np.nan, low=-np.inf, high=between[1], between=between)


def theta_deviance(counts: Counts, theta: float, near: float | None = None) -> tuple[float, float]:
    """(deviance, slope) of the best fit with slope >= 0 whose even odds lie at theta; the slope may be infinite."""
    return least_deviance(counts, counts.u - theta * counts.v, near=near)


def _maximum(counts: Counts, near: tuple[float, float] | None) -> tuple[float, float, float]:
    """(theta, slope, deviance) of overlapping data, for which they exist and are unique (Silvapulle 1981); NaN for both
    where the best curve is flat, or does not change with u, so that there is no theta.

    Newton's method in (slope, slope theta), in which the likelihood is concave, with steps halved until it rises.
    """
    columns = np.column_stack([counts.u, -counts.v])
    scales = np.abs(columns).max(axis=0)
    columns /= scales
    found: Array = np.zeros(2)
    if near is not None and np.isfinite(near).all():
        found = scales * near[1] * np.array([1.0, near[0]])
    deviance = counts.deviance(columns @ found)
    for _ in range(MOST_STEPS):
        eta = columns @ found
        won, lost = mills(eta), mills(-eta)
        pull = columns.T @ (counts.yes * won - counts.no * lost)
        bend = counts.yes * won * (won + eta) + counts.no * lost * (lost - eta)
        step = np.linalg.lstsq(columns.T @ (bend[:, None] * columns), pull, rcond=None)[0]
        gain, length = float(pull @ step), 1.0
        while (after := counts.deviance(columns @ (found + length * step))) > deviance and length > 1e-9:
            length /= 2
        found, deviance, before = found + length * step, after, deviance
        if after >= before or gain <= CONVERGED * (1.0 + after):
            break
    if found[0] == 0.0 or np.ptp(columns @ found) <= FLAT:
        return np.nan, np.nan, deviance
    slope, offset = map(float, found / scales)
    return offset / slope, slope, deviance


def _separated(way: Counts, between: tuple[float, float], sign: float) -> Threshold:
    low, high = between
    least = 0.0
    if low == high:  # one ratio holds both outcomes, and only the cells there are left to chance
        ratio = way.u / way.v
        there = way.at(np.isclose(ratio, low, rtol=1e-12))
        least = least_deviance_any(there, there.v)
        excess = float(there.yes.sum() - there.no.sum())
        if low == ratio.max() and excess < 0:  # a few at the end of the grid: even odds lie beyond it
            high = np.inf
        if low == ratio.min() and excess > 0:
            low = -np.inf
    between = (low, high)
    two_sided = bool(np.isfinite(low) and np.isfinite(high))
    start = (low, high) if two_sided else (high, high) if np.isfinite(high) else (low, low)
    ends = _interval(way, start, least)
    if not two_sided:
        ends = (-np.inf, ends[1]) if np.isfinite(high) else (ends[0], np.inf)
    estimate = (low + high) / 2 if two_sided else np.nan
    return Threshold(estimate, *ends, sign * np.inf, True, between, least, len(way) - 2)


def _interval(way: Counts, start: tuple[float, float], least: float) -> tuple[float, float]:
    """Walk outwards from `start` until the profile deviance has risen by `RISE`."""

    slope: float | None = None

    def excess(theta: float) -> float:
        nonlocal slope
        deviance, slope = theta_deviance(way, theta, slope)
        return deviance - least - RISE

    step = max(float(np.ptp(way.u / way.v)) / 50, abs(start[0]) * 1e-3, 1e-9)
    return _outwards(excess, start[0], -step), _outwards(excess, start[1], step)


def _outwards(excess: Callable[[float], float], start: float, step: float) -> float:
    """The first root of an increasing function from `start` on; infinite if 60 doublings find none.

    Where the data are separated the profile deviance jumps at the ends of the separated stretch: `start` is the root
    when the function is positive just beyond it.
    """
    near, far = start + step * 1e-7, start + step
    if excess(near) > 0:
        return start
    for _ in range(60):
        if excess(far) > 0:
            return float(brentq(excess, near, far, xtol=abs(step) * 1e-4, rtol=1e-7))
        near, step = far, step * 2
        far = start + step
    return float(np.sign(step)) * np.inf


def slope_interval(counts: Counts, found: Threshold) -> tuple[float, float]:
    """95 % profile-likelihood interval of the slope: for each slope, the best theta. Open above for separated data."""
    if np.isnan(found.slope):
        return -np.inf, np.inf
    way = counts if found.slope >= 0 else counts.flipped()

    def excess(log_slope: float) -> float:
        return least_deviance_any(way, -way.v, np.exp(log_slope) * way.u) - found.deviance - RISE

    if found.separated:
        start = float(np.log(30 / (np.median(way.v) * (np.ptp(way.u / way.v) or 1.0))))
        while excess(start) >= 0 and start < 60:  # on to a slope that is as good as infinite
            start += 1.0
        high = np.inf
    else:
        start = float(np.log(abs(found.slope)))
        high = float(np.exp(_outwards(excess, start, 0.1)))
    low = float(np.exp(_outwards(excess, start, -0.1))) if excess(-50.0) > 0 else 0.0
    return (low, high) if found.slope >= 0 else (-high, -low)


def goodness(counts: Counts, found: Threshold) -> float:
    """P(a deviance at least as large as the observed | the fit); NaN where the fit leaves nothing to chance.

    Each cell's deviance has a known mean and variance under the fit (a sum over its possible counts); the total,
    less one a fitted parameter, is referred to the gamma law with these moments. The chi-squared law, which needs
    many trials in every cell, would be far off.
    """
    if found.separated or not np.isfinite(found.estimate):
        return np.nan
    eta = found.slope * (counts.u - found.estimate * counts.v)
    trials = counts.yes + counts.no
    mean, variance = -2.0, 0.0
    for total in np.unique(trials):
        yes = np.arange(total + 1)[:, None]
        chance = eta[None, trials == total]
        values = cell_deviance(yes, total - yes, chance)
        ways = gammaln(total + 1) - gammaln(yes + 1) - gammaln(total - yes + 1)  # comb overflows beyond 1029
        weight = np.exp(ways + yes * log_ndtr(chance) + (total - yes) * log_ndtr(-chance))
        first = np.sum(weight * np.where(weight > 0, values, 0.0), axis=0)
        second = np.sum(weight * np.where(weight > 0, values, 0.0) ** 2, axis=0)
        mean += float(first.sum())
        variance += float((second - first**2).sum())
    if mean <= 0 or variance <= 0:
        return np.nan
    return float(gammaincc(mean**2 / variance, max(found.deviance, 0.0) * mean / variance))
