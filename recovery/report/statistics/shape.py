"""Tests of what a threshold assumes: success that is monotone, one threshold for all slices, a smooth curve, and
independent trials."""

from typing import NamedTuple

import numpy as np
import scipy

from recovery.interval import LEVEL
from recovery.report.statistics.bracket import blocks, equal_crossings
from recovery.report.statistics.counts import Counts
from recovery.report.statistics.curve import SPACING, CurveFit, SmoothCurve, bends, rates
from recovery.types import Array, Index

REJECTED = 0.01
"""Level of the tests of a constant threshold and of monotone success."""
JUMP = 3.0
"""Bayes factor at which a jump at the threshold is preferred to a smooth curve: an error rate of at most 1/3 by
Markov's inequality, and of 0.02 on smooth laws."""
DRAWN = 400
"""Binomial samples for a p-value; they give 0.01 to a third of it."""


def monotone(counts: Counts) -> float:
    """Return the p-value of success that becomes more frequent with v in every slice.

    Within a block of equal fractions of the isotonic fit, the cumulated residuals are at most a Brownian bridge seen
    from its minimum, whose largest value has Kuiper's law (Vervaat 1979). Differences of neighbours give the
    dispersion.
    """
    away, squares, freedom, j = [0.0], 0.0, 0, np.arange(1, 30)[:, None]
    for i in range(counts.slices):
        one = counts.slice(i)
        for block in blocks(one.k, one.n):
            k, n = one.k[block], one.n[block]
            p = k.sum() / n.sum()
            if len(k) < 2 or not 0 < p < 1:
                continue
            away.append(float(np.cumsum(k - n * p).max() / np.sqrt(n.sum() * p * (1 - p))))
            if n.max() > 1:
                squares += float((np.diff(k / n) ** 2 / (p * (1 - p) * (1 / n[1:] + 1 / n[:-1]))).sum())
                freedom += len(n) - 1
    at = max(away) / np.sqrt(max(squares / max(freedom, 1), 1.0))
    law = float((2 * (4 * (j * at) ** 2 - 1) * np.exp(-2 * (j * at) ** 2)).sum()) if at > 0.6 else 1.0
    return float(1 - (1 - np.clip(law, 0, 1)) ** max(len(away) - 1, 1))


class Dispersion(NamedTuple):
    """By what factor shared draws lower the information about t, and the degrees of freedom of this estimate."""

    factor: float = 1.0
    freedom: float = np.inf


def dispersion(curve: SmoothCurve, t: float) -> Dispersion:
    """Return the variance of the scores of t of the draws that trials share, relative to independent trials.

    The variance is taken within slices, so that it hides no change; with one draw per slice, over the slices.
    """
    counts, fit = curve.counts, curve.fit(t)
    if counts.draws is None:
        return Dispersion()
    lever, information = efficient(curve, t, fit)
    p, rate = scipy.special.ndtr(fit.eta), sum(rates(fit.eta))
    score, group = _scores_of_draws(counts, p, lever * rate)
    group = group if np.bincount(group).max() > 1 else np.zeros(len(score), np.intp)
    many = np.bincount(group)
    left = score - (np.bincount(group, score) / np.maximum(many, 1))[group]
    variance = np.bincount(group, left**2) * many / np.maximum(many - 1, 1)
    squares = float((variance**2 / np.maximum(many - 1, 1)).sum())
    freedom = max(float(variance.sum()) ** 2 / squares, 1.0) if squares else 1.0
    # the curve follows the draws, which makes their residuals smaller
    used = float(np.trace(np.linalg.solve(fit.information, (fit.columns.T * curve.moments(fit.eta)[1]) @ fit.columns)))
    left_over = max(len(score) - used, 1.0) / len(score)
    return Dispersion(max(float(variance.sum()) / information / left_over, 1.0), max(freedom * left_over, 1.0))


def efficient(curve: SmoothCurve, t: float, fit: CurveFit) -> tuple[Array, float]:
    """Return the weight of each cell's score in the efficient score of t, and the information about t."""
    slope, (_, weight) = curve.slopes(t, fit), curve.moments(fit.eta)
    project = np.linalg.solve(fit.information, (fit.columns.T * weight) @ slope)
    lever = fit.columns @ project - slope
    return lever, max(float((slope * weight) @ -lever), 1e-12)


def is_smooth(curve: SmoothCurve, t: float) -> bool:
    """Return whether the curve rises at the threshold, and no jump or finer bend there improves the fit."""
    fit, u = curve.fit(t), curve.u(t)
    if (curve.slopes(t, fit)[np.abs(u) < 0.5] <= 0).any():
        return False
    finer = bends(u, np.array([-0.5, 0.0, 0.5]) * SPACING, SPACING / 2)[0]
    gain = curve.fit(t, np.column_stack([np.sign(u) / 2, finer])).value - fit.value
    return bool(gain <= np.log(JUMP))


class Constancy(NamedTuple):
    """The p-value of one threshold for all slices, and the factors of it that the slices may have at most."""

    p: float
    factors: tuple[float, float]


def constant(curve: SmoothCurve, t: float, whole: Counts, probability: float) -> Constancy:
    """Test one threshold for all slices against any change, by a score test, and by the bracket of each slice.

    The score test has one shift per slice; its law comes from binomial samples of the common fit. The bracket sees
    slices whose threshold is outside the window of the curve; where the null is true its p-value is far too large.
    Where trials share draws, the variance comes from the draws of each slice.
    """
    counts, many = curve.counts, curve.counts.slices
    if many == 1:
        return Constancy(1.0, (1.0, 1.0))
    fit = curve.fit(t)
    slope, (_, weight) = curve.slopes(t, fit), curve.moments(fit.eta)
    p, rate = scipy.special.ndtr(fit.eta), sum(rates(fit.eta))
    cross = counts.sums(fit.columns.T * weight * slope)  # (coefficients, slices)
    project = np.linalg.solve(fit.information, cross)
    information = np.diag(counts.sums(weight * slope**2)) - cross.T @ project

    def scores(left: Array) -> Array:
        """Return the efficient score of each slice's shift, shape (..., slices)."""
        each: Array = counts.sums(left * rate * -slope) + (left * rate) @ fit.columns @ project
        return each - each.sum(axis=-1, keepdims=True) / whole_information * information.sum(axis=0)

    whole_information = float(information.sum())
    seen, share = scores(counts.k - counts.n * p), np.maximum(np.diag(information), 1e-12)
    if counts.draws is None:
        rng = np.random.default_rng([int(counts.k.sum()), int(counts.n.sum()), many])
        total = counts.n.astype(int)
        drawn = np.array([scores(rng.binomial(total, p) - total * p) for _ in range(DRAWN)])
        ones = information.sum(axis=0)
        inverse = np.linalg.pinv(information - np.outer(ones, ones) / whole_information, 1e-6, hermitian=True)
        statistic, others = float(seen @ inverse @ seen), np.einsum("ai,ij,aj->a", drawn, inverse, drawn)
        by_scores = (1 + float((others >= statistic - 1e-12).sum())) / (DRAWN + 1)
        one = min(by_scores, equal_crossings(whole, probability, 1.0))
    else:
        one = _welch(counts, (p, rate * -slope), seen / share, share)
    reach = scipy.special.ndtri((1 + LEVEL ** (1 / many)) / 2) / np.sqrt(share)
    moved = seen / share
    factors = float((1 + (moved - reach) / t).min()), float((1 + (moved + reach) / t).max())
    return Constancy(one, factors)


def _welch(counts: Counts, residual: tuple[Array, Array], moved: Array, information: Array) -> float:
    """Return the p-value of equal shifts of the slices, by the variance of the draws of each slice (Welch 1951).

    residual: the probability of each cell, and the weight of its residual in the score. moved: the shift of each slice.
    """
    score, group = _scores_of_draws(counts, *residual)
    n = np.bincount(group, minlength=counts.slices)
    if n.min() < 2:
        return 1.0
    left = score - (np.bincount(group, score) / n)[group]
    variance = np.maximum(np.bincount(group, left**2) * n / (n - 1), information)
    weight, many = information**2 / variance, counts.slices
    share = weight / weight.sum()
    spread = float(((1 - share) ** 2 / (n - 1)).sum())
    between = float(weight @ (moved - share @ moved) ** 2) / (many - 1)
    ratio = between / (1 + 2 * (many - 2) / (many**2 - 1) * spread)
    return float(scipy.special.fdtrc(many - 1, (many**2 - 1) / (3 * spread), ratio))


def _scores_of_draws(counts: Counts, p: Array, weight: Array) -> tuple[Array, Index]:
    """Return the weighted sum of the residuals of each draw of each slice, and its slice."""
    draws = counts.draws
    assert draws is not None
    pairs = np.column_stack([counts.of[draws.cell], draws.draw])
    found, of = np.unique(pairs, axis=0, return_inverse=True)
    score: Array = np.bincount(of.ravel(), (draws.outcome - p[draws.cell]) * weight[draws.cell]).astype(float)
    return score, found[:, 0]


def walk_crossings(counts: Counts, probability: float) -> list[float]:
    """Return every v of one slice at which its success passes the probability, up or down.

    The walk S_j = sum_{i <= j} (k_i - p n_i) turns where success passes p. A turn counts if both of its legs differ
    from a walk at p by more than chance explains.
    """
    walk = np.concatenate([[0.0], np.cumsum(counts.k - probability * counts.n)])
    seen = np.concatenate([[0.0], np.cumsum(counts.n)])
    least = scipy.special.ndtri((1 + LEVEL) / 2) * np.sqrt(probability * (1 - probability))
    turns, corner, side = list[int](), 0, 0
    for j in range(1, len(walk)):
        leg = walk[j] - walk[corner]
        if side == 0 and abs(leg) > least * np.sqrt(seen[j]):
            side, corner = int(np.sign(leg)), j
        elif side and leg * side >= 0:
            corner = j
        elif side and abs(leg) > least * np.sqrt(seen[j] - seen[corner]):
            turns.append(corner)
            side, corner = -side, j
    return [float(counts.v[max(j - 1, 0)] + counts.v[min(j, len(counts.v) - 1)]) / 2 for j in turns]
