"""Probit model of a transition, P(yes) = Phi(a (n - r d) / sqrt n), fitted by maximum likelihood: a second opinion.

The fit is a two-parameter binomial regression on any two covariates, with a profile-likelihood interval for their ratio
at even odds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.interval import LEVEL, Interval
from recovery.theory.normal import normal_reach
from recovery.types import Array, Mask

MOST_STEPS = 200
CONVERGED = 1e-12
"""Gain of log likelihood below which iterations stop."""
RISE = normal_reach(LEVEL) ** 2
"""Rise of the deviance at which a profile interval ends (Wilks)."""


def mills(x: Array) -> Array:
    """Return phi(x) / Phi(x). The scaled error function keeps it exact in both tails, where Phi or phi underflows."""
    ratio: Array = np.sqrt(2 / np.pi) / scipy.special.erfcx(x / -np.sqrt(2))
    return ratio


@dataclass(frozen=True)
class Counts:
    """Binomial counts with P(yes) = Phi(slope (u - theta v)) and v > 0, so that the odds are even at u / v = theta.

    Arrays have one entry per cell. Cells without a decided trial are dropped.
    """

    u: Array
    v: Array
    yes: Array
    no: Array

    @classmethod
    def of(cls, u: ArrayLike, v: ArrayLike, yes: ArrayLike, no: ArrayLike) -> "Counts":
        """Broadcast the arguments and drop the cells without a decided trial."""
        arrays: list[Array] = list(np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (u, v, yes, no))))
        kept = arrays[2] + arrays[3] > 0
        return cls(*(a[kept] for a in arrays))

    def __len__(self) -> int:
        return len(self.u)

    def flipped(self) -> "Counts":
        """Exchange yes and no."""
        return Counts(self.u, self.v, self.no, self.yes)

    def at(self, which: Mask) -> "Counts":
        """Return the cells of a mask."""
        return Counts(self.u[which], self.v[which], self.yes[which], self.no[which])

    def between(self) -> tuple[float, float]:
        """Return the largest u/v with a no and the smallest with a yes.

        The first is at most the second exactly when a value of u/v separates the outcomes.
        """
        ratio = self.u / self.v
        return (
            float(ratio[self.no > 0].max(initial=-np.inf)),
            float(ratio[self.yes > 0].min(initial=np.inf)),
        )

    @cached_property
    def saturated(self) -> Array:
        """The log likelihood of each cell at its own fraction yes / (yes + no), which is the largest."""
        total = self.yes + self.no
        best: Array = scipy.special.xlogy(self.yes, self.yes / total) + scipy.special.xlogy(self.no, self.no / total)
        return best

    def deviance(self, eta: Array) -> float:
        """Return twice the difference of log likelihood between the saturated model and P(yes) = Phi(eta)."""
        fitted = np.zeros(eta.shape)
        # Most cells have one outcome only and need one log Phi.
        for count, side in ((self.yes, eta), (self.no, -eta)):
            some = count > 0
            fitted[some] += count[some] * scipy.special.log_ndtr(side[some])
        return float(2 * (self.saturated - fitted).sum())


def least_deviance(
    counts: Counts, z: Array, offset: Array | None = None, near: float | None = None
) -> tuple[float, float]:
    """Minimise the deviance over c >= 0 in P(yes) = Phi(offset + c z); return (deviance, c).

    The likelihood is concave in c, so its score has one root. Without an offset it may increase without bound: then c
    is infinite, the deviance is its limit, and only the cells with z = 0 contribute. near: an initial guess of c.
    """
    base = np.zeros_like(z) if offset is None else offset

    won, lost = counts.yes > 0, counts.no > 0  # most cells have one outcome only, and need one hazard
    sides = [(z[won], base[won], counts.yes[won]), (-z[lost], -base[lost], counts.no[lost])]

    def score(c: float) -> tuple[float, float]:
        """Return the first and second derivatives of the log likelihood."""
        value = slope = 0.0
        for s, b, k in sides:
            eta = b + c * s
            hazard = mills(eta)
            # (log Phi)' is the hazard phi / Phi, and its derivative -hazard (hazard + eta)
            terms = k * s * hazard
            value += float(terms.sum())
            slope -= float(terms @ (s * (hazard + eta)))
        return value, slope

    # The likelihood is concave: if it falls at 0, the best c >= 0 is 0.
    if score(0.0)[0] <= 0:
        return counts.deviance(base), 0.0
    # z separates the outcomes: the likelihood increases with c, and its supremum is a limit.
    if offset is None and not np.any(counts.yes * (z < 0) + counts.no * (z > 0)):
        even = counts.at(z == 0)
        return even.deviance(np.zeros(len(even))), np.inf
    # Without a guess, start where the largest |c z| is 1.
    start = near if near is not None and 0 < near < np.inf else 1.0 / float(np.abs(z).max())
    c = _root(score, start)
    return counts.deviance(base + c * z), c


def _root(function: Callable[[float], tuple[float, float]], start: float) -> float:
    """Return the zero of a falling function that is positive at 0 and is given with its derivative.

    Newton's method, with bisection or doubling in place of steps that leave the bracket. It stops when another step
    would gain at most `CONVERGED` in the integral of the function. start: a positive initial guess.
    """
    low, high, at = 0.0, np.inf, start
    for _ in range(MOST_STEPS):
        value, slope = function(at)
        low, high = (at, high) if value > 0 else (low, at)
        step = -value / slope if slope < 0 else np.nan
        if value * value <= CONVERGED * -slope:
            return max(at + step, low) if slope < 0 else at
        at = at + step if low < at + step < high else (low + high) / 2 if high < np.inf else 2 * low
    return at


def least_deviance_any(counts: Counts, z: Array, offset: Array | None = None) -> float:
    """Minimise the deviance over c of either sign in P(yes) = Phi(offset + c z)."""
    return min(least_deviance(counts, z, offset)[0], least_deviance(counts, -z, offset)[0])


FLAT = 1e-8
"""A curve whose eta varies by less than this over all cells counts as flat."""


@dataclass(frozen=True, kw_only=True)
class ProbitFit(Interval):
    """theta with its profile-likelihood interval, the slope, and the deviance on `df` degrees of freedom.

    `separated`: every no lies on one side of every yes. The likelihood then only shows that theta lies in `between`;
    the estimate is the middle of `between` and the slope is infinite. If all trials ended alike, `between` is unbounded
    at one end and the estimate is NaN. The slope is negative where success becomes rarer with u.
    """

    slope: float = np.nan
    separated: bool = False
    between: tuple[float, float] = (-np.inf, np.inf)
    deviance: float = np.nan
    df: int = 0


def fit(counts: Counts, intervals: bool = True, near: tuple[float, float] | None = None) -> ProbitFit:
    """Fit theta with its profile interval, whether or not the data are separated.

    No estimate is clamped, and there is no prior. Where the likelihood has no maximum, its supremum has a closed form
    and the profile stays finite, so it gives the interval (Venzon and Moolgavkar 1988). near: an initial guess of
    (theta, slope).
    """
    if not len(counts):
        return ProbitFit(np.nan, -np.inf, np.inf)
    rising, falling = counts.between(), counts.flipped().between()
    if rising[0] <= rising[1]:
        return _separated(counts, rising, 1.0)
    if falling[0] <= falling[1]:
        return _separated(counts.flipped(), falling, -1.0)
    estimate, slope, deviance = _maximum(counts, near)
    if np.isnan(estimate):
        return ProbitFit(np.nan, -np.inf, np.inf, deviance=deviance, df=len(counts) - 2)
    low = high = np.nan
    if intervals:
        oriented = counts if slope >= 0 else counts.flipped()
        low, high = _interval(oriented, (estimate, estimate), deviance)
    nowhere = (np.nan, np.nan)
    return ProbitFit(estimate, low, high, slope=slope, between=nowhere, deviance=deviance, df=len(counts) - 2)


def of_rows(threshold: ProbitFit) -> ProbitFit:
    """Return the same threshold for a theta that must be positive, such as n/d.

    An interval that reaches 0 becomes unbounded below. An estimate of at most 0 was extrapolated beyond the grid: it
    becomes NaN, and theta lies below the upper end of the interval.
    """
    if threshold.low > 0 or threshold.separated:
        return threshold
    if threshold.estimate > 0:
        return replace(threshold, low=-np.inf)
    between = (-np.inf, threshold.high if threshold.high > 0 else np.inf)
    return replace(threshold, estimate=np.nan, low=-np.inf, high=between[1], between=between)


def theta_deviance(counts: Counts, theta: float, near: float | None = None) -> tuple[float, float]:
    """Return (deviance, slope) of the best fit with slope >= 0 and even odds at theta; the slope may be infinite."""
    return least_deviance(counts, counts.u - theta * counts.v, near=near)


def _maximum(counts: Counts, near: tuple[float, float] | None) -> tuple[float, float, float]:
    """Return (theta, slope, deviance) of data that are not separated; the maximum is unique (Silvapulle 1981).

    theta and slope are NaN if the best curve is flat or does not depend on u. Newton's method in (slope, slope theta),
    in which the likelihood is concave; steps are halved until the likelihood increases.
    """
    # In (slope, theta) the likelihood is not concave, since at slope 0 it does not depend on theta.
    columns = np.column_stack([counts.u, -counts.v])
    scales = np.abs(columns).max(axis=0)
    # u and v may differ by orders of magnitude: scale them, so that one tolerance suits both.
    columns /= scales
    coefficients: Array = np.zeros(2)
    if near is not None and np.isfinite(near).all():
        coefficients = scales * near[1] * np.array([1.0, near[0]])
    deviance = counts.deviance(columns @ coefficients)
    for _ in range(MOST_STEPS):
        eta = columns @ coefficients
        won, lost = mills(eta), mills(-eta)
        score = columns.T @ (counts.yes * won - counts.no * lost)
        # -(log Phi)'' = hazard (hazard + eta) > 0, so the Hessian is definite at every step.
        curvature = counts.yes * won * (won + eta) + counts.no * lost * (lost - eta)
        # Least squares, because the Hessian is singular to rounding if all cells have nearly the same u/v.
        step = np.linalg.lstsq(columns.T @ (curvature[:, None] * columns), score, rcond=None)[0]
        # `gain` is twice the increase that Newton's quadratic model predicts.
        gain, length = float(score @ step), 1.0
        while (after := counts.deviance(columns @ (coefficients + length * step))) > deviance and length > 1e-9:
            length /= 2
        coefficients, deviance, before = coefficients + length * step, after, deviance
        if after >= before or gain <= CONVERGED * (1.0 + after):
            break
    if coefficients[0] == 0.0 or np.ptp(columns @ coefficients) <= FLAT:
        return np.nan, np.nan, deviance
    slope, offset = map(float, coefficients / scales)
    return offset / slope, slope, deviance


def _separated(rising: Counts, between: tuple[float, float], sign: float) -> ProbitFit:
    low, high = between
    least = 0.0
    if low == high:  # both outcomes occur at one ratio only
        ratio = rising.u / rising.v
        there = rising.at(np.isclose(ratio, low, rtol=1e-12))
        least = least_deviance_any(there, there.v)
        excess = float(there.yes.sum() - there.no.sum())
        if low == ratio.max() and excess < 0:  # failures prevail at the end of the grid: even odds lie beyond it
            high = np.inf
        if low == ratio.min() and excess > 0:
            low = -np.inf
    between = (low, high)
    two_sided = bool(np.isfinite(low) and np.isfinite(high))
    start = (low, high) if two_sided else (high, high) if np.isfinite(high) else (low, low)
    ends = _interval(rising, start, least)
    if not two_sided:
        ends = (-np.inf, ends[1]) if np.isfinite(high) else (ends[0], np.inf)
    estimate = (low + high) / 2 if two_sided else np.nan
    return ProbitFit(
        estimate, *ends, slope=sign * np.inf, separated=True, between=between, deviance=least, df=len(rising) - 2
    )


def _interval(rising: Counts, start: tuple[float, float], least: float) -> tuple[float, float]:
    """Search outwards from `start` until the profile deviance has risen by `RISE`."""

    slope: float | None = None

    def excess(theta: float) -> float:
        nonlocal slope
        deviance, slope = theta_deviance(rising, theta, slope)
        return deviance - least - RISE

    step = max(float(np.ptp(rising.u / rising.v)) / 50, abs(start[0]) * 1e-3, 1e-9)
    return _outwards(excess, start[0], -step), _outwards(excess, start[1], step)


def _outwards(excess: Callable[[float], float], start: float, step: float) -> float:
    """Return the first root of an increasing function from `start` on; infinite if 60 doublings find none.

    For separated data the profile deviance jumps at the ends of the separating range: `start` is the root if the
    function is positive just beyond it.
    """
    near, far = start + step * 1e-7, start + step
    if excess(near) > 0:
        return start
    for _ in range(60):
        if excess(far) > 0:
            return float(scipy.optimize.brentq(excess, near, far, xtol=abs(step) * 1e-4, rtol=1e-7))
        near, step = far, step * 2
        far = start + step
    return float(np.sign(step)) * np.inf
