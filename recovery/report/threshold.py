"""Where a success probability crosses one half: a two-parameter binomial fit and its profile-likelihood interval."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import comb, expit, log_expit, log_ndtr
from scipy.stats import chi2, gamma, norm

from recovery.types import Array


@dataclass(frozen=True)
class Link:
    """A symmetric inverse link F: log F, its derivative F'/F, F, and the link's name in statsmodels."""

    log: Callable[[Array], Array]
    hazard: Callable[[Array], Array]
    probability: Callable[[Array], Array]
    family: Callable[[], object]


def _mills(x: Array) -> Array:
    return np.exp(norm.logpdf(x) - log_ndtr(x))


LINKS: dict[str, Link] = {
    "probit": Link(log_ndtr, _mills, norm.cdf, sm.families.links.Probit),
    "logit": Link(log_expit, lambda x: expit(-x), expit, sm.families.links.Logit),
}


@dataclass(frozen=True)
class Counts:
    """Binomial counts along two covariates: P(yes) = F(slope (u - theta v)), v > 0, so that u / v = theta is even odds.

    All arrays have one entry a cell; cells without an answer are dropped.
    """

    u: Array
    v: Array
    yes: Array
    no: Array
    link: str = "probit"

    @classmethod
    def of(cls, u: ArrayLike, v: ArrayLike, yes: ArrayLike, no: ArrayLike, link: str = "probit") -> "Counts":
        """Counts with the empty cells dropped and scalars spread."""
        arrays = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (u, v, yes, no)))
        kept = arrays[2] + arrays[3] > 0
        return cls(*(a[kept] for a in arrays), link)

    def flipped(self) -> "Counts":
        """Yes and no exchanged."""
        return Counts(self.u, self.v, self.no, self.yes, self.link)


@dataclass(frozen=True)
class Threshold:
    """theta with its 95 % profile-likelihood interval, and the slope with its own.

    `separated`: every no lies below every yes. Then the likelihood only says that theta lies in `between`, the
    estimate is the middle of that and the slope is infinite; if all trials ended alike, `between` is open at one end
    and the estimate NaN. `deviance` against the saturated model, on `df` degrees of freedom; `goodness` is its
    p-value. The slope is negative where success becomes rarer with u.
    """

    estimate: float
    low: float
    high: float
    slope: float
    slope_low: float
    slope_high: float
    separated: bool
    between: tuple[float, float]
    deviance: float
    df: int
    goodness: float


def fit(counts: Counts, level: float = 0.95, quick: bool = False) -> Threshold:
    """Maximum likelihood and profile intervals, whether or not the data are separated; `quick` leaves out intervals.

    No estimate is clamped and no weak prior is used: where the likelihood has no maximum, its supremum is known in
    closed form and the profile, which stays finite, gives the interval (Venzon and Moolgavkar 1988).
    """
    if len(counts.u) == 0:
        nothing = (np.nan, -np.inf, np.inf)
        return Threshold(*nothing, *nothing, False, (-np.inf, np.inf), np.nan, 0, np.nan)
    rising, falling = _between(counts), _between(counts.flipped())
    if rising[0] <= rising[1]:
        return _separated(counts, rising, 1.0, level)
    if falling[0] <= falling[1]:
        return _separated(counts.flipped(), falling, -1.0, level)
    family = sm.families.Binomial(link=LINKS[counts.link].family())
    scale = float(np.abs(counts.v).max())
    exog = np.column_stack([counts.u, -counts.v]) / scale
    result = sm.GLM(np.column_stack([counts.yes, counts.no]), exog, family=family).fit(maxiter=200, tol=1e-12)
    slope, offset = (float(value) / scale for value in result.params)
    sign = 1.0 if slope >= 0 else -1.0
    way = counts if sign > 0 else counts.flipped()
    if quick:
        unknown = (np.nan, np.nan)
        deviance, df = float(result.deviance), len(counts.u) - 2
        return Threshold(offset / slope, *unknown, slope, *unknown, False, unknown, deviance, df, np.nan)
    return _profiled(way, offset / slope, abs(slope), float(result.deviance), sign, level)


def theta_deviance(counts: Counts, theta: float) -> tuple[float, float]:
    """(deviance, slope) of the best fit with slope >= 0 whose even odds lie at theta; the slope may be infinite."""
    return _best(counts, counts.u - theta * counts.v, np.zeros_like(counts.u))


def _between(counts: Counts) -> tuple[float, float]:
    """The largest u/v with a no and the smallest with a yes; in order exactly when the data are separated."""
    ratio = counts.u / counts.v
    return (
        float(ratio[counts.no > 0].max(initial=-np.inf)),
        float(ratio[counts.yes > 0].min(initial=np.inf)),
    )


def _separated(way: Counts, between: tuple[float, float], sign: float, level: float) -> Threshold:
    low, high = between
    estimate = (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else np.nan
    least = 0.0
    if low == high:  # one ratio holds both outcomes; only the cells there are fitted
        at = np.isclose(way.u / way.v, low, rtol=1e-12)
        there = Counts(way.u[at], way.v[at], way.yes[at], way.no[at], way.link)
        least = _best_any(there, there.v)
    inner = (low, high) if np.isfinite(estimate) else (high, high) if np.isfinite(high) else (low, low)
    return _profiled(way, estimate, np.inf, least, sign, level, inner)


def _profiled(
    way: Counts,
    estimate: float,
    slope: float,
    least: float,
    sign: float,
    level: float,
    inner: tuple[float, float] | None = None,
) -> Threshold:
    """Walk outwards from the estimate (or from the separated stretch) until the profile deviance has risen enough."""
    rise = float(chi2.ppf(level, 1))
    start = (estimate, estimate) if inner is None else inner

    def excess(theta: float) -> float:
        return theta_deviance(way, theta)[0] - least - rise

    ratio = way.u / way.v
    step = max(float(np.ptp(ratio)) / 50, abs(start[0]) * 1e-3, 1e-9)
    one_sided = inner is not None and not np.isfinite(estimate)
    below, above = _between(way) if inner is not None else (0.0, 0.0)
    low = -np.inf if one_sided and not np.isfinite(below) else _outwards(excess, start[0], -step)
    high = np.inf if one_sided and not np.isfinite(above) else _outwards(excess, start[1], step)
    slope_low, slope_high = _slope_interval(way, estimate, slope, least, rise, inner)
    if sign < 0:
        slope, slope_low, slope_high = -slope, -slope_high, -slope_low
    df = len(way.u) - 2
    goodness = np.nan if inner is not None else _goodness(way, estimate, abs(slope), least)
    between = (np.nan, np.nan) if inner is None else _between(way)
    separated = inner is not None
    return Threshold(estimate, low, high, slope, slope_low, slope_high, separated, between, least, df, goodness)


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
            return float(brentq(excess, near, far, xtol=abs(step) * 1e-6, rtol=1e-10))
        near, step = far, step * 2
        far = start + step
    return float(np.sign(step)) * np.inf


def _slope_interval(
    way: Counts, estimate: float, slope: float, least: float, rise: float, inner: tuple[float, float] | None
) -> tuple[float, float]:
    """Profile interval of the slope: for each slope the best offset."""

    def excess(log_slope: float) -> float:
        return _best_any(way, -way.v, np.exp(log_slope) * way.u) - least - rise

    width = float(np.ptp(way.u / way.v)) or 1.0
    if inner is None:
        start = np.log(slope)
        high = np.exp(_outwards(excess, start, 0.1))
    else:
        start = np.log(30.0 / (float(np.median(way.v)) * width))
        for _ in range(40):  # on to slopes that are as good as infinite
            if excess(start) < 0:
                break
            start += 1.0
        high = np.inf
    low = np.exp(_outwards(excess, start, -0.1)) if excess(-50.0) > 0 else 0.0
    return float(low), float(high)


def _best(counts: Counts, z: Array, offset: Array) -> tuple[float, float]:
    """(deviance, c) minimised over c >= 0 in P(yes) = F(offset + c z); c may be infinite when the offset is 0."""
    link = LINKS[counts.link]

    def score(c: float) -> float:
        eta = offset + c * z
        return float(np.sum(z * (counts.yes * link.hazard(eta) - counts.no * link.hazard(-eta))))

    if score(0.0) <= 0:
        return _deviance(counts, offset), 0.0
    if not np.any(offset) and not np.any(counts.yes * (z < 0) + counts.no * (z > 0)):
        on = z == 0
        even = Counts(counts.u[on], counts.v[on], counts.yes[on], counts.no[on], counts.link)
        return _deviance(even, np.zeros(int(on.sum()))), np.inf
    high = 1.0 / float(np.abs(z).max())
    while score(high) > 0:
        high *= 2
    c = float(brentq(score, 0.0, high, xtol=high * 1e-12, rtol=1e-12))
    return _deviance(counts, offset + c * z), c


def _best_any(counts: Counts, z: Array, offset: Array | None = None) -> float:
    """Least deviance over c of either sign in P(yes) = F(offset + c z)."""
    offset = np.zeros_like(z) if offset is None else offset
    return min(_best(counts, z, offset)[0], _best(counts, -z, offset)[0])


def _deviance(counts: Counts, eta: Array) -> float:
    """Twice the log likelihood that the saturated model has more."""
    return float(_cell_deviance(counts.yes, counts.no, eta, LINKS[counts.link]).sum())


def _cell_deviance(yes: Array, no: Array, eta: Array, link: Link) -> Array:
    total = yes + no
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(yes > 0, yes * np.log(yes / total), 0.0) + np.where(no > 0, no * np.log(no / total), 0.0)
        fitted = np.where(yes > 0, yes * link.log(eta), 0.0) + np.where(no > 0, no * link.log(-eta), 0.0)
    return 2 * (best - fitted)


def _goodness(way: Counts, theta: float, slope: float, deviance: float) -> float:
    """P(a deviance at least this large | the fit), cells taken as they are: few trials each, many near 0 or 1.

    Each cell's deviance has a known mean and variance under the fit (a sum over its possible counts); the total,
    less one a fitted parameter, is referred to the gamma law with these moments. The chi-squared law, which needs
    many trials in every cell, would be far off. NaN where the fit leaves nothing to chance.
    """
    link = LINKS[way.link]
    eta = slope * (way.u - theta * way.v)
    mean = variance = 0.0
    for total in np.unique(way.yes + way.no):
        at = way.yes + way.no == total
        yes = np.arange(total + 1)[:, None]
        no = total - yes
        chance = eta[None, at]
        from_fit = _cell_deviance(yes, no, chance, link)
        weight = np.exp(np.log(comb(total, yes)) + yes * link.log(chance) + no * link.log(-chance))
        first = np.sum(np.where(weight > 0, weight * from_fit, 0.0), axis=0)
        second = np.sum(np.where(weight > 0, weight * from_fit**2, 0.0), axis=0)
        mean += float(first.sum())
        variance += float((second - first**2).sum())
    if mean <= 2.0 or variance <= 0:
        return np.nan
    mean -= 2.0
    return float(gamma.sf(deviance, mean**2 / variance, scale=variance / mean))
