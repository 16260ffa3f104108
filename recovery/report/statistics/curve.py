"""A smooth rising curve through the cells near a threshold, as a penalised probit regression.

P(success) = Phi(z + b u + (g u + h u^2 / 2) log(y/y0) + f(u)) with u = s (v - t) (y/y0)^k. Here t is the threshold,
Phi(z) its probability, y a slice, y0 their geometric mean; g and h let the shape change with y. f bends the curve: f(0)
= f'(0) = 0, and f'' is piecewise linear with independent heights N(0, 1) at knots: a Gompertz law has f'' = -.35, a
plateau at .9 about -1. This is the one assumption about the shape; without f the curve is a probit. b - 1, g and h have
the same prior. The likelihood of t is the maximum over (b, g, h, f) with the Cox-Reid correction for their information.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from recovery.report.statistics.counts import Counts
from recovery.types import Array

WINDOW = 2.5
"""Half width of the window in probits: cells further away hold 2 % of a probit's information."""
SPACING = 0.7
"""Distance of knots in probits; half of it changes no interval by more than 2 %."""
KNOTS = SPACING * np.arange(-(WINDOW // SPACING), WINDOW // SPACING + 1)
STEEPEST = 1.5
"""Largest rise of the curve, in probits, between neighbouring cells at the threshold. Where it rises more, the place of
the threshold between the cells is a guess."""
CLIP = 1.645
"""The scale s is estimated with probabilities cut off at 5 and 95 %, beyond which plateaus may be."""

CONVERGED = 1e-10
"""Newton's method ends after a step that promises at most this relative gain."""
MOST_STEPS = 50
"""Most steps of a fit. About ten are usual; rounding errors may keep a fit from `CONVERGED`."""


class CurveFit(NamedTuple):
    """A fit at one t: integrated log likelihood, coefficients, their columns and information; for each cell the probit
    eta, d eta / d v (`slope`), and the expected information about eta (`weight`)."""

    value: float
    coefficients: Array
    columns: Array
    information: Array
    eta: Array
    slope: Array
    weight: Array

    def efficient(self) -> tuple[Array, float]:
        """Return the weight of each cell's score in the efficient score of t, and the information about t."""
        spent = np.linalg.solve(self.information, (self.columns.T * self.weight) @ self.slope)
        lever = self.columns @ spent - self.slope
        return lever, max(float((self.slope * self.weight) @ -lever), 1e-12)


@dataclass(frozen=True)
class SmoothCurve:
    """The module's curve for these counts; counts divided by a dispersion count as fewer independent trials.

    In its symbols: factor: s (y/y0)^k of each cell. along: log(y/y0). probit: z. bent: whether there is f.
    """

    counts: Counts
    factor: Array
    along: Array
    probit: float
    bent: bool

    def fit(self, t: float, extra: Array | None = None) -> CurveFit:
        """Maximise the penalised likelihood at t by damped Newton steps; it is log concave, so they converge.

        extra: further columns, whose coefficients have the prior N(0, 1); their slopes count as 0.
        """
        u, along, one = self.factor * (self.counts.v - t), self.along[:, None], np.ones(len(self.along))
        # functions of u, shape (cells, coefficients), and their slopes
        parts: list[tuple[Array, Array]] = [(u[:, None], one[:, None])]
        if self.counts.slices > 1:
            parts.append((np.column_stack([u, u**2 / 2]) * along, np.column_stack([one, u]) * along))
        if self.bent:
            parts.append(bends(u))
        if extra is not None:
            parts.append((extra, 0 * extra))
        columns, slopes = map(np.hstack, zip(*parts, strict=True))
        prior = np.eye(columns.shape[1])
        mean = prior[0]
        now, won, lost = mean, self.counts.k, self.counts.n - self.counts.k

        def value(weights: Array) -> tuple[float, Array]:
            eta = self.probit + columns @ weights
            likelihood = won @ scipy.special.log_ndtr(eta) + lost @ scipy.special.log_ndtr(-eta)
            return float(likelihood) - float(((weights - mean) ** 2).sum()) / 2, eta

        best, eta = value(now)
        up, down = rates(eta)
        for _ in range(MOST_STEPS):
            score = columns.T @ (won * up - lost * down) - now + mean
            curvature = won * up * (up + eta) + lost * down * (down - eta)
            step = np.linalg.solve((columns.T * curvature) @ columns + prior, score)
            promised, least = float(score @ step), CONVERGED * (1 + abs(best))
            while (found := value(now + step))[0] < best + promised / 10 and promised > least:
                step, promised = step / 2, promised / 2
            now, (best, eta) = now + step, found
            up, down = rates(eta)
            if promised <= least:
                break
        weight = self.counts.n * up * down
        information = (columns.T * weight) @ columns + prior
        slope, integrated = slopes @ now, best - float(np.linalg.slogdet(information)[1]) / 2
        return CurveFit(integrated, now, columns, information, eta, self.factor * slope, weight)

    def top(self, t: float) -> float:
        """Return the t with the largest integrated likelihood, by parabolas from this t."""
        h = 0.7 * self.fit(t).efficient()[1] ** -0.5
        for _ in range(8):
            low, mid, high = (self.fit(t + by).value for by in (-h, 0.0, h))
            bend = 2 * mid - low - high
            move = float(np.clip((high - low) / (2 * bend) if bend > 1e-9 else 2 * np.sign(high - low), -2, 2))
            t += move * h
            if abs(move) < 0.3:
                break
        return t

    def end(self, t: float, side: int, reach: float, furthest: float) -> float:
        """Return the place below (side -1) or above t where the root of the likelihood ratio is `reach`; inf if far."""
        fit = self.fit(t)
        error = fit.efficient()[1] ** -0.5

        def excess(x: float) -> float:
            return float(np.sqrt(max(2 * (fit.value - self.fit(t + side * x).value), 0.0))) - reach

        x = min(error * reach, furthest)
        while excess(x) < 0:
            if x >= furthest:
                return side * np.inf
            x = min(1.5 * x, furthest)
        return t + side * float(scipy.optimize.brentq(excess, 0.0, x, xtol=error / 50))


def rates(eta: Array) -> tuple[Array, Array]:
    """Return phi/Phi(eta) and phi/Phi(-eta)."""
    up, down = (np.sqrt(2 / np.pi) / scipy.special.erfcx(side * np.sqrt(0.5)) for side in (-eta, eta))
    return up, down


def bends(u: Array, knots: Array = KNOTS, spacing: float = SPACING) -> tuple[Array, Array]:
    """Return at u the second antiderivatives of the knots' hat functions, with value and slope 0 at 0; and slopes."""

    def integrals(x: Array) -> tuple[Array, Array]:
        parts = [(c, np.maximum(x + e * spacing, 0.0)) for c, e in ((1, 1), (-2, 0), (1, -1))]
        value, slope = sum(c * part**3 for c, part in parts), sum(c * part**2 for c, part in parts)
        return value / (6 * spacing), slope / (2 * spacing)

    (value, slope), (value_0, slope_0) = integrals(u[:, None] - knots), integrals(-knots)
    return value - value_0 - u[:, None] * slope_0, slope - slope_0


def near_threshold(counts: Counts, first: Array, probability: float, bent: bool) -> tuple[SmoothCurve, float] | None:
    """Return the curve through the cells near the threshold, and the likeliest t; None where cells do not show it.

    first: places where t may be. The scale s and the power k are means, weighted by the likelihood of probits, curves
    without f, because the likeliest scale is too steep. Then cells near t are chosen again after each fit.
    """
    size = np.log(counts.y) if (counts.y > 0).all() else 0 * counts.y
    along = (size - size.mean())[counts.of]
    v, probit = counts.v, float(scipy.special.ndtri(probability))
    gaps = np.diff(v)[np.diff(counts.of) == 0]
    if not len(gaps):
        return None
    scales = np.geomspace(1 / np.ptp(v), 4 / np.quantile(gaps, 0.1), 16)
    tried = []
    for power in (0.0, 0.5, 1.0) if np.ptp(along) > 0 else (0.0,):
        u = (v - first[:, None]) * np.exp(power * along)
        eta = np.clip(scales[:, None, None] * u, -CLIP, CLIP) + probit
        value = scipy.special.log_ndtr(eta) @ counts.k + scipy.special.log_ndtr(-eta) @ (counts.n - counts.k)
        best = value.argmax(axis=1)
        tried += list(zip(value.max(axis=1), np.log(scales), [power] * len(scales), first[best], strict=True))
    value, scale, powers, places = np.array(tried).T
    share = scipy.special.softmax(value)
    factor, t = np.exp(share @ scale + share @ powers * along), float(places[value.argmax()])
    for _ in range(3):
        near = np.abs(factor * (v - t)) <= WINDOW
        curve = SmoothCurve(counts.where(near), factor[near], along[near], probit, bent)
        if not 0 < curve.counts.k.sum() < curve.counts.n.sum():
            return None
        t = curve.top(t)
        if not v.min() < t < v.max():
            return None
        factor = factor * np.sqrt(np.clip(curve.fit(t).coefficients[0], 0.7, 1.4))
    return curve, t


def seen(curve: SmoothCurve, t: float) -> bool:
    """Return whether the cells show the transition: the curve rises by at most `STEEPEST` to the cells beside t."""
    v, which = np.unique(curve.counts.v, return_inverse=True)
    mean = np.bincount(which, curve.fit(t).eta) / np.bincount(which)
    nearest = int(np.abs(v - t).argmin())
    beside = mean[max(nearest - 1, 0) : nearest + 2]
    return bool(len(beside) == 3 and np.diff(beside).max() <= STEEPEST)
