"""How far binomial counts lie from known chances: the likelihood ratio G and the steepness T, with tails at any level.

Under the chances both are sums of independent discrete numbers. Their tails are drawn from the exponentially tilted
law, under which what was observed is ordinary: so a p-value of 1e-30 takes no more draws than one of 0.1.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.types import Array

DRAWS = 4000
MOST = 20_000_000
"""Draws times cells."""
STEEPEST = 200.0
"""A tilt under which only the most extreme outcomes are left."""


@dataclass(frozen=True)
class Tail:
    """G and its p-value; `most`: the p-value plus three standard errors of its draws; `least`: the smallest p-value
    that any outcome of these cells has. `steep`: the two-sided p-value of T, also with three standard errors;
    `steeper`: whether counts rise and fall more sharply than the chances."""

    ratio: float
    p: float
    most: float
    least: float
    steep: float
    steeper: bool


def tail(yes: Array, total: Array, chance: Array) -> Tail:
    """P(G >= observed | yes ~ Binomial(total, chance)), G = 2 sum (yes log(yes / (total p)) + no log(no / (total q))),
    and T = sum yes z, p = Phi(z): the efficient score against Phi(a z), to first order. G hardly sees a step, whose
    cells lie nearer to 0 and 1 than chance has them; T does.

    An outcome of chance 0 has the p-value 0. Each cell is drawn with weights exp(t g) beside its law's, t such that the
    mean of G is the observed one; the p-value is the mean of exp(K(t) - t G) over the draws that reach what was
    observed, K the cumulants (Siegmund 1976).
    """
    # a cell of chance 0 or 1 has one outcome: it excludes the chances, or says nothing
    certain = (chance <= 0) | (chance >= 1)
    if np.any(yes[certain] != total[certain] * (chance[certain] >= 1)):
        return Tail(np.inf, 0.0, 0.0, 0.0, 0.0, False)
    yes, total, chance = (a[~certain & (total > 0)] for a in (yes, total, chance))
    if not len(yes):
        return Tail(0.0, 1.0, 1.0, 1.0, 1.0, False)
    values, law = outcomes(total, chance)
    observed = float(values[np.arange(len(yes)), yes.astype(int)].sum())
    # each cell's most extreme outcome, or its two of equal G: their joint probability is the least p-value that there
    # is
    farthest = values.max(axis=1, keepdims=True)
    least = float(np.exp(scipy.special.logsumexp(np.where(values >= farthest - 1e-9, law, -np.inf), axis=1).sum()))
    p, error = exceeding(observed, values, law)
    scores = steepness(values.shape[1], chance)
    score = float(scores[np.arange(len(yes)), yes.astype(int)].sum())
    steeper = score > float(total @ (chance * scipy.special.ndtri(chance)))
    sign = 1.0 if steeper else -1.0
    # either side of its mean, so twice the nearer tail
    beside, doubt = exceeding(sign * score, sign * scores, law)
    return Tail(observed, p, min(p + 3 * error, 1.0), least, min(2 * (beside + 3 * doubt), 1.0), steeper)


def steepness(outcomes: int, chance: Array) -> Array:
    """For each cell and its outcomes 0, 1, ...: T's part."""
    scores: Array = np.arange(outcomes)[None] * scipy.special.ndtri(chance)[:, None]
    return scores


def exceeding(observed: float, values: Array, law: Array) -> tuple[float, float]:
    """(P(G >= observed), its standard error) for cells with these `outcomes`."""
    t = _tilt(values, law, observed)
    # all in logarithms: chances of 1e-300 are ordinary here, and only the weights of the tilted draws are exponentiated
    cumulant = float(scipy.special.logsumexp(law + t * values, axis=1).sum())
    steps = np.cumsum(scipy.special.softmax(law + t * values, axis=1), axis=1)
    # one seed for all, so that a report gives the same p-value again
    rng = np.random.default_rng(0)
    drawn = np.zeros(int(np.clip(MOST / len(values), 400, DRAWS)))
    for value, step in zip(values, steps, strict=True):
        drawn += value[np.searchsorted(step[:-1], rng.random(len(drawn)), side="right")]
    # sums of the same outcomes in another order differ by rounding: they reach what was observed
    part = np.exp(np.where(drawn >= observed - 1e-9, cumulant - t * drawn, -np.inf))
    return float(part.mean()), float(part.std()) / len(part) ** 0.5


def outcomes(total: Array, chance: Array) -> tuple[Array, Array]:
    """For each cell and each of its outcomes 0, 1, ...: G's part, and the log of its probability (-inf: no outcome)."""
    yes = np.arange(int(total.max()) + 1)[None]
    total, chance = total[:, None], chance[:, None]
    no = np.maximum(total - yes, 0)
    fixed = scipy.special.xlogy(yes, chance) + scipy.special.xlogy(no, 1 - chance)
    # the log of the binomial law of each outcome; one that is more than the cell's trials has none
    ways = scipy.special.gammaln(total + 1) - scipy.special.gammaln(yes + 1) - scipy.special.gammaln(no + 1)
    there = yes <= total
    values = np.where(
        there, 2 * (scipy.special.xlogy(yes, yes / total) + scipy.special.xlogy(no, no / total) - fixed), 0.0
    )
    return values, np.where(there, ways + fixed, -np.inf)


def _tilt(values: Array, law: Array, observed: float) -> float:
    """t >= 0 with K'(t) = observed; 0 for what is no more than ordinary."""

    def excess(t: float) -> float:
        return float((scipy.special.softmax(law + t * values, axis=1) * values).sum()) - observed

    # K' rises with t (it is the tilted mean), so there is one root; at the most extreme outcome of all it lies at
    # infinity
    if excess(0.0) >= 0:
        return 0.0
    return float(scipy.optimize.brentq(excess, 0.0, STEEPEST, xtol=1e-6)) if excess(STEEPEST) > 0 else STEEPEST
