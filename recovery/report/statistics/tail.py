"""Tests of binomial counts against known probabilities: the likelihood ratio G and the steepness T, at any level.

Under the known probabilities both are sums of independent discrete variables. Their tails are sampled from the
exponentially tilted distribution, under which the observed value is typical. So a p-value of 1e-30 needs no more
samples than one of 0.1.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.types import Array

DRAWS = 4000
MOST = 20_000_000
"""Largest number of samples times cells."""
STEEPEST = 200.0
"""Tilt beyond which only the most extreme outcomes have any weight."""


@dataclass(frozen=True)
class Tail:
    """G and its p-value. `most`: the p-value plus three standard errors of its sampling. `least`: the smallest p-value
    of any outcome. `steep`: the two-sided p-value of T plus three standard errors. `steeper`: whether the counts change
    more sharply than the known probabilities."""

    ratio: float
    p: float
    most: float
    least: float
    steep: float
    steeper: bool


def tail(yes: Array, total: Array, chance: Array) -> Tail:
    """Test yes ~ Binomial(total, chance) by G = 2 sum (yes log(yes / (total p)) + no log(no / (total q))) and by T.

    T = sum yes z with p = Phi(z) is the efficient score against Phi(a z), to first order. G hardly reacts to a step,
    whose cells lie closer to 0 and 1 than their probabilities; T does. An impossible outcome has the p-value 0.

    Each cell is sampled with weights exp(t g) times its distribution, where t makes the mean of G the observed one. The
    p-value is the mean of exp(K(t) - t G) over the samples at least as large as the observed G; K is the cumulant
    generating function (Siegmund 1976).
    """
    # a cell of probability 0 or 1 has one possible outcome, which carries no information; any other outcome gives the
    # p-value 0
    certain = (chance <= 0) | (chance >= 1)
    if np.any(yes[certain] != total[certain] * (chance[certain] >= 1)):
        return Tail(np.inf, 0.0, 0.0, 0.0, 0.0, False)
    yes, total, chance = (a[~certain & (total > 0)] for a in (yes, total, chance))
    if not len(yes):
        return Tail(0.0, 1.0, 1.0, 1.0, 1.0, False)
    values, law = outcomes(total, chance)
    observed = float(values[np.arange(len(yes)), yes.astype(int)].sum())
    # `least`, the smallest possible p-value, is the joint probability of the most extreme outcomes of all cells
    farthest = values.max(axis=1, keepdims=True)
    least = float(np.exp(scipy.special.logsumexp(np.where(values >= farthest - 1e-9, law, -np.inf), axis=1).sum()))
    p, error = exceeding(observed, values, law)
    scores = steepness(values.shape[1], chance)
    score = float(scores[np.arange(len(yes)), yes.astype(int)].sum())
    steeper = score > float(total @ (chance * scipy.special.ndtri(chance)))
    sign = 1.0 if steeper else -1.0
    # the test of T is two-sided: twice the tail on the side of the mean where the observed score lies
    beside, doubt = exceeding(sign * score, sign * scores, law)
    return Tail(observed, p, min(p + 3 * error, 1.0), least, min(2 * (beside + 3 * doubt), 1.0), steeper)


def steepness(outcomes: int, chance: Array) -> Array:
    """Return the contribution to T of each cell's outcomes 0, 1, ...."""
    scores: Array = np.arange(outcomes)[None] * scipy.special.ndtri(chance)[:, None]
    return scores


def exceeding(observed: float, values: Array, law: Array) -> tuple[float, float]:
    """Return P(sum >= observed) and its standard error, for cells with these `outcomes` and log probabilities."""
    t = _tilt(values, law, observed)
    # the tilted law is computed in logarithms, because probabilities of 1e-300 occur
    cumulant = float(scipy.special.logsumexp(law + t * values, axis=1).sum())
    steps = np.cumsum(scipy.special.softmax(law + t * values, axis=1), axis=1)
    # the seed is fixed, so that a report reproduces its p-values
    rng = np.random.default_rng(0)
    drawn = np.zeros(int(np.clip(MOST / len(values), 400, DRAWS)))
    for value, step in zip(values, steps, strict=True):
        drawn += value[np.searchsorted(step[:-1], rng.random(len(drawn)), side="right")]
    # a sample counts if it is at least `observed` up to 1e-9, because sums of the same outcomes in another order differ
    # by rounding
    part = np.exp(np.where(drawn >= observed - 1e-9, cumulant - t * drawn, -np.inf))
    return float(part.mean()), float(part.std()) / len(part) ** 0.5


def outcomes(total: Array, chance: Array) -> tuple[Array, Array]:
    """Return the contribution to G and the log probability of each cell's outcomes 0, 1, ...; -inf if impossible."""
    yes = np.arange(int(total.max()) + 1)[None]
    total, chance = total[:, None], chance[:, None]
    no = np.maximum(total - yes, 0)
    fixed = scipy.special.xlogy(yes, chance) + scipy.special.xlogy(no, 1 - chance)
    # `ways` is the log of the binomial coefficient; an outcome above the number of trials is impossible
    ways = scipy.special.gammaln(total + 1) - scipy.special.gammaln(yes + 1) - scipy.special.gammaln(no + 1)
    possible = yes <= total
    values = np.where(
        possible, 2 * (scipy.special.xlogy(yes, yes / total) + scipy.special.xlogy(no, no / total) - fixed), 0.0
    )
    return values, np.where(possible, ways + fixed, -np.inf)


def _tilt(values: Array, law: Array, observed: float) -> float:
    """Return t >= 0 with K'(t) = observed; 0 if the observed value is at most the mean."""

    def excess(t: float) -> float:
        return float((scipy.special.softmax(law + t * values, axis=1) * values).sum()) - observed

    # K'(t), the mean of the tilted distribution, increases with t, so it reaches `observed` at one t, which is infinite
    # for the most extreme outcome
    if excess(0.0) >= 0:
        return 0.0
    return float(scipy.optimize.brentq(excess, 0.0, STEEPEST, xtol=1e-6)) if excess(STEEPEST) > 0 else STEEPEST
