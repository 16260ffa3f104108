"""Tests of a threshold's assumptions: monotone success, one threshold for all slices, a smooth curve, independence."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy

from recovery.interval import LEVEL
from recovery.report.statistics.bracket import isotonic
from recovery.report.statistics.counts import Counts
from recovery.report.statistics.curve import SPACING, SmoothCurve, bends, rates
from recovery.types import Array, Index

REJECTED = 0.01
"""Level of the tests of a constant threshold and of monotone success."""

DRAWN = 400
"""Samples for a p-value; they give 0.01 with a standard error of 0.005."""
JUMP = 3.0
"""Bayes factor at which a jump at the threshold is preferred to a smooth curve: an error rate of at most 1/3 by
Markov's inequality, and of 0.02 on smooth laws."""


def monotone(counts: Counts) -> float:
    """Return the p-value of success that becomes more frequent with v in every slice.

    In a block of the isotonic fit, the cumulated residuals are a bridge seen from its minimum, whose largest value is
    the range of the bridge (Vervaat 1979). Its law at constant success comes from hypergeometric samples. The fourth
    powers are summed over blocks: one deep drop counts, and so do shallow ones in many slices. Where trials share
    draws, the largest t of their bridges is tested.
    """
    if counts.draws is not None:
        drops = [p for one in counts.each for p in _drops_of_draws(one)]
        return min(max(len(drops), 1) * min(drops, default=1.0), 1.0)
    rng, seen, others = np.random.default_rng([int(counts.k.sum()), int(counts.n.sum())]), 0.0, np.zeros(DRAWN)
    for one in counts.each:
        for block in isotonic(one.k, one.n)[0]:
            k, n = one.k[block], one.n[block]
            p = k.sum() / n.sum()
            if len(k) > 1 and 0 < p < 1:
                drawn = rng.multivariate_hypergeometric(n.astype(int), int(k.sum()), DRAWN)
                variance, bridges = n.sum() * p * (1 - p), (drawn - n * p).cumsum(axis=1)
                seen += (k - n * p).cumsum().max() ** 4 / variance**2
                others += np.ptp(bridges, axis=1) ** 4 / variance**2  # a bridge ends at 0
    return float(1 + (others >= seen * (1 - 1e-12)).sum()) / (DRAWN + 1)


def _drops_of_draws(one: Counts) -> Iterator[float]:
    """Yield, for each block of the isotonic fit of a slice, the p-value of the largest drop, by its mean over draws."""
    assert one.draws is not None
    cell, outcome, draw = one.draws
    for block in isotonic(one.k, one.n)[0]:
        k, n = one.k[block], one.n[block]
        p, inside = k.sum() / n.sum(), (cell >= block.start) & (cell < block.stop)
        names, of = np.unique(draw[inside], return_inverse=True)
        if len(k) < 2 or not 0 < p < 1 or len(names) < 2:
            continue
        walks = np.zeros((len(names), len(k)))
        np.add.at(walks, (of.ravel(), cell[inside] - block.start), outcome[inside] - p)
        walks = walks.cumsum(axis=1)
        bridges = (walks - walks[:, -1:] * n.cumsum() / n.sum())[:, :-1]
        at = bridges.mean(axis=0) / np.maximum(bridges.std(axis=0, ddof=1) / np.sqrt(len(names)), 1e-12)
        # if all draws are equal, t has no law: bound the p-value by the probability of equal signs
        yield (len(k) - 1) * max(float(scipy.special.stdtr(len(names) - 1, -at.max())), 0.5 ** len(names))


class Dispersion(NamedTuple):
    """The factor by which shared draws lower the information about t, and the degrees of freedom of its estimate."""

    factor: float = 1.0
    freedom: float = np.inf


def dispersion(curve: SmoothCurve, t: float) -> Dispersion:
    """Return the variance of the scores of t of the draws that trials share, relative to independent trials.

    It is the variance within slices, so that no change between slices raises it; with one draw per slice, it is over
    all slices. With one draw in all it is infinite.
    """
    counts, fit = curve.counts, curve.fit(t)
    assert counts.draws is not None
    lever, information = fit.efficient()
    # the curve follows the draws, which makes their residuals smaller by their leverage (MacKinnon and White 1985)
    leverage = (fit.columns @ np.linalg.inv(fit.information) * fit.columns).sum(axis=1) + lever**2 / information
    score, of, drawn = scores_of_draws(counts, scipy.special.ndtr(fit.eta), lever * sum(rates(fit.eta)))
    if len(score) < 2:
        return Dispersion(np.inf, 1.0)
    share = (fit.weight / np.maximum(np.bincount(counts.draws.cell, minlength=len(lever)), 1))[counts.draws.cell]
    free, expected = (np.bincount(drawn, share * each[counts.draws.cell]) for each in (leverage, lever**2))
    of = of if np.bincount(of).max() > 1 else np.zeros(len(score), np.intp)
    many = np.bincount(of)
    left = (score - (np.bincount(of, score) / np.maximum(many, 1))[of]) / np.clip(1 - free, 0.1, 1.0)
    variance = np.bincount(of, left**2) * many / np.maximum(many - 1, 1)
    freedom = expected.sum() ** 2 / (expected**2).sum() - np.count_nonzero(many)
    return Dispersion(max(float(variance.sum()) / information, 1.0), max(float(freedom), 1.0))


def is_smooth(curve: SmoothCurve, t: float) -> bool:
    """Return whether the curve rises at the threshold, and no jump or finer bend there improves the fit."""
    fit = curve.fit(t)
    u = fit.columns[:, 0]
    if (fit.slope[np.abs(u) < 0.5] <= 0).any():
        return False
    finer = bends(u, np.array([-0.5, 0.0, 0.5]) * SPACING, SPACING / 2)[0]
    gain = curve.fit(t, np.column_stack([np.sign(u) / 2, finer])).value - fit.value
    return bool(gain <= np.log(JUMP))


def constant(curve: SmoothCurve, t: float, spread: Dispersion) -> tuple[float, tuple[float, float]]:
    """Return the p-value of one threshold t for all slices, and the factors of t between which those of slices may lie.

    A score test has one shift per slice; its law comes from binomial samples of the common fit. Where trials share
    draws, Welch's test compares the scores of the draws of each slice.
    """
    counts, many = curve.counts, curve.counts.slices
    if many == 1:
        return 1.0, (np.nan, np.nan)
    fit = curve.fit(t)
    chance, rate = scipy.special.ndtr(fit.eta), sum(rates(fit.eta))
    cross = counts.sums(fit.columns.T * fit.weight * fit.slope)  # (coefficients, slices)
    project = np.linalg.solve(fit.information, cross)
    information = np.diag(counts.sums(fit.weight * fit.slope**2)) - cross.T @ project
    ones, total = information.sum(axis=0), max(float(information.sum()), 1e-12)

    def scores(left: Array) -> Array:
        """Return the efficient score of each slice's shift, shape (..., slices)."""
        each: Array = counts.sums(left * rate * -fit.slope) + (left * rate) @ fit.columns @ project
        return each - each.sum(axis=-1, keepdims=True) / total * ones

    seen, share = scores(counts.k - counts.n * chance), np.maximum(np.diag(information), 1e-12)
    if counts.draws is None:
        rng, trials = np.random.default_rng([int(counts.k.sum()), int(counts.n.sum()), many]), counts.n.astype(int)
        drawn = scores(rng.binomial(trials, chance, (DRAWN, len(trials))) - trials * chance)
        inverse = np.linalg.pinv(information - np.outer(ones, ones) / total, 1e-6, hermitian=True)
        others = np.einsum("ai,ij,aj->a", drawn, inverse, drawn)
        p = (1 + float((others >= float(seen @ inverse @ seen) - 1e-12).sum())) / (DRAWN + 1)
    else:
        left, of, _ = scores_of_draws(counts, chance, rate * -fit.slope)
        p = welch(left, of, seen / share, share * spread.factor)
    reach, moved = scipy.special.ndtri((1 + LEVEL ** (1 / many)) / 2) / np.sqrt(share), seen / share
    return p, (float((1 + (moved - reach) / t).min()), float((1 + (moved + reach) / t).max()))


def welch(score: Array, of: Index, moved: Array, information: Array) -> float:
    """Return the p-value of equal shifts of the slices, by the variance of the scores of their draws (Welch 1951).

    of: each score's slice. moved: each slice's shift. information: of independent trials; least variance of a score.
    """
    many, n = len(moved), np.bincount(of, minlength=len(moved))
    if n.min() < 2:
        return 1.0
    left = score - (np.bincount(of, score) / n)[of]
    weight = information**2 / np.maximum(np.bincount(of, left**2) * n / (n - 1), information)
    share = weight / weight.sum()
    spread = float(((1 - share) ** 2 / (n - 1)).sum())
    between = float(weight @ (moved - share @ moved) ** 2) / (many - 1)
    ratio = between / (1 + 2 * (many - 2) / (many**2 - 1) * spread)
    return float(scipy.special.fdtrc(many - 1, (many**2 - 1) / (3 * spread), ratio))


def scores_of_draws(counts: Counts, p: Array, weight: Array) -> tuple[Array, Index, Index]:
    """Return each draw's sum of weight (outcome - p), its slice, and the draw of each trial. p, weight: of cells."""
    draws = counts.draws
    assert draws is not None
    _, first, of = np.unique(draws.draw, return_index=True, return_inverse=True)
    score: Array = np.bincount(of, (draws.outcome - p[draws.cell]) * weight[draws.cell]).astype(float)
    return score, counts.of[draws.cell[first]], of


def walk_crossings(counts: Counts, probability: float) -> list[float]:
    """Return every v of one slice at which its success passes the probability, up or down.

    There the walk S_j = sum_{i <= j} (k_i - p n_i) turns. A turn counts if the changes on both sides are significant.
    """
    walk, seen = np.cumsum([[0.0, *(counts.k - probability * counts.n)], [0.0, *counts.n]], axis=1)
    least = scipy.special.ndtri((1 + LEVEL) / 2) * np.sqrt(probability * (1 - probability))
    turns, corner, side = list[int](), 0, 0
    for j in range(1, len(walk)):
        leg = walk[j] - walk[corner]
        if side and leg * side >= 0:
            corner = j
        elif abs(leg) > least * np.sqrt(seen[j] - seen[corner]):
            turns += [corner] if side else []
            side, corner = int(np.sign(leg)), j
    return [float(counts.v[j - 1] + counts.v[j]) / 2 for j in turns]
