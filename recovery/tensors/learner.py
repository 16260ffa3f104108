"""A network from its Hermite moments: weights, scalars, signs, and the linear part by regression (P4, Alg. 1 to 6).

Orders: l = 1 needs linearly independent weights, m <= d; l = 2 independent w_i (x) w_i, m <= d (d + 1) / 2.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from itertools import tee
from math import factorial

import numpy as np
import scipy

from recovery.programs.relu_network import ReluNetwork, affine, parameter_error
from recovery.tensors.hermite import PARTS, Estimate, Moments, exact, powers
from recovery.tensors.jennrich import Terms, decompose, fit, rank_above, singular_values
from recovery.tensors.polish import polish
from recovery.tensors.printed_steps import fix_signs
from recovery.tensors.scalars import linear_rest, regress, scalars, signs
from recovery.types import Array, Rng

ROUNDING = 1e-10
"""Rank tolerance for exact moments: singular values below this fraction of the largest are rounding."""
CANCELLED = 1e-14
"""Relative rounding error of exact moments whose terms cancel."""
NEAREST, FARTHEST = 1e-3, 0.5
"""Unit vectors nearer than NEAREST are always merged, and vectors farther apart than FARTHEST (30 degrees) never."""
CLEAR = 2.0
"""The threshold eta_1 is this multiple of the largest singular value of the noise, which one draw estimates."""
UNEXPLAINED = 2.0
"""Terms do not explain the moments if the residual is above this multiple of the sampling noise."""
MISFIT = 1e-6
"""Relative residual of exact moments that correct units leave by rounding, for biases up to `scalars.LARGEST_BIAS`."""
SEEN = 20.0
"""A linear part v.x + c counts if ||(v, c)|| > 20 eta_1. A unit with |b| <= 1 has a singular value of at least
a phi(1) / sqrt(2!), about a / 6, so a unit of that size would have more than three times eta_1, unless it is nearly
linear."""
STEADY = 0.1
"""Largest standard error of identified units. It is estimated from 15 draws, so by Student's law an error of 4 times
this has probability at most 0.0012 (measured in benchmarks/tensors.md)."""
PER_COEFFICIENT = 100
"""Rows per coefficient in the regression of outer weights for each draw; more rows would change them little."""


class Identification(Enum):
    """Status of the learned units; `meaning` is its explanation, which rows store."""

    IDENTIFIED = "identified", "as many units as asked for stand above the noise, and explain the moments"
    SIGNS_OPEN = (
        "signs_open",
        "the units are known up to sign: of all choices of signs the moments show none as clearly the nearest",
    )
    LINEAR_PART = (
        "linear_part",
        "a unit is missing and a linear part is left: a large positive bias, or dependent weights",
    )
    HIDDEN_UNIT = (
        "hidden_unit",
        "a unit is missing and nothing is left of it: its outer weight or e^{-b^2/2} is zero, or it repeats another",
    )
    DEPENDENT = (
        "dependent",
        "the units do not explain the moments: weights are equal, or dependent: then a larger order may help",
    )
    MORE_UNITS = "more_units", "more units than asked for stand above the noise"
    UNSTEADY = "unsteady", "parts of the samples give units that differ too much: too few samples"
    MISFIT = "misfit", "least squares on the rows moves the units beyond the sampling error, as for nearly equal units"
    TOO_FEW_SAMPLES = (
        "too_few_samples",
        "fewer units than asked for stand above the noise: too few samples, dependent weights, or no more units",
    )

    def __init__(self, label: str, meaning: str) -> None:
        self.label = label
        self.meaning = meaning


@dataclass(frozen=True)
class Learned:
    """The learned `units`, and `network`, which adds the remaining linear part as two more units (Alg. 5).

    rank: number of units above the noise. residual: relative residual of the moments. noise: relative sampling error of
    the moments.
    """

    units: ReluNetwork
    network: ReluNetwork
    rank: int
    residual: float
    noise: float
    status: Identification


@dataclass(frozen=True)
class LearnOptions:
    """How units are learned.

    joint: weights from all orders at once (`joint_weights`) instead of from two (`paired_weights`, P4). trust: return
    as many units as asked for even if fewer are above the noise. printed_signs: use Algorithm 3. regressed: take the
    outer weights and the linear part from least squares on the rows instead of from the moments.
    """

    joint: bool = True
    trust: bool = False
    printed_signs: bool = False
    regressed: bool = True


def learn(
    estimate: Estimate,
    neurons: int,
    rng: Rng,
    data: tuple[Array, Array] | None = None,
    options: LearnOptions = LearnOptions(),
) -> Learned:
    """Learn a network of at most `neurons` + 2 units from moments; `data` (X, y) are the rows of the moments."""
    joint, trust = options.joint, options.trust
    moments, error = estimate.moments, estimate.error
    scaled, noise = weighted(moments), weighted(error)
    # eta1, below which units are hidden, is the largest of the sampling noise, rounding, and the rounding of terms that
    # cancel
    eta1 = max(threshold(noise, scaled), CANCELLED * estimate.terms)
    above = rank_above(scaled, eta1, len(scaled[0]))
    rank = min(above, neurons)
    used = neurons if trust and estimate.samples is not None else rank
    W = joint_weights(scaled, used, moments, rng) if joint else paired_weights(moments, error, used, trust, rng)
    left = fit(scaled, powers(W, moments.order)).residual
    size = float(np.linalg.norm(scaled))
    level = float(np.linalg.norm(noise)) / size if size > 0 else 0.0
    b, a = scalars(moments, W)
    rows = data if options.regressed else None
    if rows is None:
        v, c = linear_rest(moments, W, b, a)
    else:
        a, v, c = regress(*rows, W, b)
    flipped, sure = signs(W, b, a, v, c)
    if options.printed_signs:
        nearest, flipped = flipped, fix_signs(W, a, moments.whole[1])
        sure = sure and bool(np.array_equal(nearest, flipped))
    # a z_+ = a (-z)_+ + a z: flipping the sign of a unit's z adds the linear function a z to the linear part
    v, c = v + (a * flipped) @ W, c + float((a * flipped) @ b)
    turn = np.where(flipped, -1.0, 1.0)
    units = ReluNetwork(W * turn[:, None], b * turn, a)
    rest = float(np.hypot(np.linalg.norm(v), c))
    labels = size if rows is None else float(np.sqrt(np.mean(rows[1] ** 2)))
    # only units above the noise are used for this test: trusted weights below the noise explain nothing
    clear = powers(joint_weights(scaled, rank, moments, rng), moments.order)
    dependent = unexplained(scaled, noise, clear)
    known = estimate.samples is None
    if known and above == neurons:
        gap = weighted(exact(units, moments.order, moments.directions).moments) - scaled
        dependent = dependent or float(np.linalg.norm(gap)) > MISFIT * size
    rank = min(rank, len(W))
    status = judge(rank, neurons, dependent, above > neurons, sure, rest > SEEN * eta1, known)
    if status is Identification.IDENTIFIED and not known:
        draws, again = tee(relearned(estimate, units, joint, rng.spawn(1)[0]))
        if standard_error(draws, units, rows, STEADY) > STEADY:
            status = Identification.UNSTEADY
        elif data is not None and disagreement(again, units, *data) > LIMIT:
            status = Identification.MISFIT
    return Learned(units, units + affine(v, c) if rest > ROUNDING * labels else units, rank, left, level, status)


def relearned(estimate: Estimate, units: ReluNetwork, joint: bool, rng: Rng) -> Iterator[ReluNetwork]:
    """Yield the units learned from T + E for each draw E of the error of the moments T (`Estimate.draws`)."""
    for draw in estimate.draws():
        moments = _sum(estimate.moments, draw)
        if joint:
            W = joint_weights(weighted(moments), len(units.a), moments, rng)
        else:
            W = paired_weights(moments, estimate.error, len(units.a), True, rng)
        yield ReluNetwork(W, *scalars(moments, W))


def standard_error(
    draws: Iterable[ReluNetwork],
    units: ReluNetwork,
    data: tuple[Array, Array] | None = None,
    most: float = np.inf,
) -> float:
    """Return the root mean square change of these units, up to sign, in `draws`, the units of `relearned`.

    With `data` the outer weights come from regression on its rows. Infinite above `most`, or if a draw has fewer units.
    """
    total, count = 0.0, len(units.a)
    if data is not None:
        # regress the units and those of every draw on the same rows, so that label noise adds nothing to the change
        rows = slice(PER_COEFFICIENT * (count + units.W.shape[1] + 1))
        labelled = data[0][rows], data[1][rows]
        units = ReluNetwork(units.W, units.b, regress(*labelled, units.W, units.b)[0])
    for drawn in draws:
        a = drawn.a if data is None else regress(*labelled, drawn.W, drawn.b)[0]
        error = parameter_error(ReluNetwork(drawn.W, drawn.b, a), units, up_to_sign=True)
        total += np.inf if error is None else error**2
        if total > (PARTS - 1) * most**2:
            return np.inf
    return float(np.sqrt(total / (PARTS - 1)))


def _sum(moments: Moments, error: Moments) -> Moments:
    return replace(
        moments,
        whole=tuple(T + E for T, E in zip(moments.whole, error.whole, strict=True)),
        odd=moments.odd + error.odd,
        even=moments.even + error.even,
    )


def unexplained(matrices: Array, noise: Array, V: Array) -> bool:
    """Return whether terms v v^T, for columns V (D, r), leave a residual above the noise inside the span of V.

    Terms of dependent weights do, because their span has fewer dimensions than terms. A residual outside the span is
    noise, or comes from missing units.
    """
    Q = np.linalg.qr(V)[0]
    inside, around = Q.T @ matrices @ Q, Q.T @ noise @ Q
    left = fit(inside, Q.T @ V).residual * float(np.linalg.norm(inside))
    return left > UNEXPLAINED * float(np.linalg.norm(around)) + MISFIT * float(np.linalg.norm(matrices))


def judge(
    rank: int, neurons: int, dependent: bool, more: bool, sure: bool, linear: bool, known: bool
) -> Identification:
    """Return the most severe status that applies to learned units; IDENTIFIED if none of the others does."""
    missing = rank < neurons
    statuses = [
        (more, Identification.MORE_UNITS),
        (dependent, Identification.DEPENDENT),
        (missing and linear, Identification.LINEAR_PART),
        (missing and known, Identification.HIDDEN_UNIT),
        (missing, Identification.TOO_FEW_SAMPLES),
        (not sure, Identification.SIGNS_OPEN),
    ]
    return next((status for applies, status in statuses if applies), Identification.IDENTIFIED)


def weighted(moments: Moments) -> Array:
    """Return all d^l x d^l matrices of the moments, those of order k divided by sqrt(k!); pairs i < j times sqrt 2.

    With d orthonormal directions, their squared norms add up to the part of order k in E[f^2] (P4, Prop. B.1).
    """
    order, (i, j) = moments.order, moments.pairs
    # the matrix of a pair i < j stands for (i, j) and (j, i), so it is multiplied by sqrt 2 to count twice in squared
    # norms
    twice = np.where(i == j, 1.0, np.sqrt(2.0))[:, None, None]
    parts = [moments.base[None], moments.odd, moments.even * twice]
    return np.concatenate([part / np.sqrt(factorial(2 * order + q)) for q, part in enumerate(parts)])


def threshold(noise: Array, scaled: Array) -> float:
    """Return eta_1, which exceeds the largest singular values of the sampling noise and of rounding."""
    return max(CLEAR * float(singular_values(noise)[0]), ROUNDING * float(singular_values(scaled)[0]))


def joint_weights(scaled: Array, rank: int, moments: Moments, rng: Rng) -> Array:
    """Return unit weights (rank, d) from the joint diagonalisation of T_2l, T_{2l+1} and T_{2l+2}."""
    return _vectors(decompose(scaled, rank, rng), moments.order)


def paired_weights(moments: Moments, error: Moments, most: int, trust: bool, rng: Rng) -> Array:
    """Return unit weights (at most `most`, d) from T_{2l+1} and T_{2l+2} by plain Jennrich, duplicates merged (Alg. 4).

    Two orders are needed, because He_{k-2}(b) can be zero (for b = 0 in T_3), but not for two consecutive k. Terms are
    sorted by their coefficient over the noise of their tensor. A term within eta_3, four times the inverse of this
    ratio, of an earlier one is a duplicate, up to sign.
    """
    candidates, clearness = [], []
    responses, scaled = moments.responses, weighted(moments)
    for which, (matrices, noise) in enumerate([(moments.odd, error.odd), (moments.even, error.even)]):
        eta1 = threshold(noise, scaled)
        rank = most if trust else rank_above(matrices, eta1, most)
        terms = decompose(matrices, rank, rng, joint=False)
        W = _vectors(terms, moments.order)
        along = responses(W)[which]
        # each term gets one coefficient `strength` in its own tensor, fitted by least squares over the contraction
        # directions, separately from the other terms
        strength = np.abs(np.sum(terms.coefficients * along, axis=0)) / np.maximum(np.sum(along**2, axis=0), ROUNDING)
        candidates.append(W)
        clearness.append(strength / eta1 if eta1 > 0 else np.zeros(len(W)))
    W, ratio = np.vstack(candidates), np.concatenate(clearness)
    kept: list[int] = []
    for i in np.argsort(-ratio):
        # two estimates of the same weight differ by about the noise over the weight's coefficient; terms within four
        # times that are duplicates
        near = np.clip(4.0 / max(float(ratio[i]), ROUNDING), NEAREST, FARTHEST)
        distances = [min(np.linalg.norm(W[i] - W[k]), np.linalg.norm(W[i] + W[k])) for k in kept]
        if len(kept) < most and (trust or ratio[i] > 1.0) and min(distances, default=np.inf) > near:
            kept.append(int(i))
    return W[kept]


def _vectors(terms: Terms, order: int) -> Array:
    """Return the unit vectors w (r, d) of columns near w^{(x)l}, as leading left singular vectors of d x d^{l-1}."""
    if order == 1:
        return np.ascontiguousarray(terms.V.T)
    d = round(terms.V.shape[0] ** (1.0 / order))
    # w^{(x)l} unfolded to d x d^{l-1} is w (w^{(x)(l-1)})^T, of rank one: take the best rank-one approximation
    folded = terms.V.T.reshape(-1, d, d ** (order - 1))
    return np.linalg.svd(folded)[0][:, :, 0]


LEVEL = 0.005
"""Probability that correct units exceed LIMIT, at most."""
LIMIT = float(scipy.special.fdtri(1, PARTS - 1, 1.0 - LEVEL))
"""Largest `disagreement` of correct units, 10.8: the quantile of a squared normal number over the mean of 15 others.
This ratio has the longest tail of all ratios of weighted sums of squares."""
LEADING = 5
"""Largest number of directions that `disagreement` leaves out: at most half of the m d in which m units can change."""
ROWS, EVALUATIONS = 200, 10
"""Rows per parameter and evaluations of the least squares."""


def disagreement(draws: Iterable[ReluNetwork], units: ReluNetwork, X: Array, y: Array) -> float:
    """Return the squared change of the function by least squares on the rows, over the mean square of sampling errors.

    Nearly equal units with opposite outer weights have moments that wrong units explain within their error, but the
    function of these units is wrong. The outer weights and the linear part are regressed on the rows for these units
    and for each of the `draws`, whose functions differ from the function of the units by sampling errors. Then all p
    parameters are polished. Nearly equal units are uncertain in few directions, which hold most of the sampling error
    and would hide a change in all others. The squares are therefore taken outside the leading principal directions of
    the draws; for a draw, outside those of the others. The share of label noise of variance s^2, at most
    p s^2 + 3 sqrt(2 p) s^2, is subtracted. Infinite for fewer than 2 rows per parameter.
    """
    count = (len(units.a) + 2) * (X.shape[1] + 2)
    X, y = X[: ROWS * count], y[: ROWS * count]
    if len(X) < 2 * count:
        return np.inf

    def regression(W: Array, b: Array) -> ReluNetwork:
        a, v, c = regress(X, y, W, b)
        return ReluNetwork(W, b, a) + affine(v, c)

    start = regression(units.W, units.b)
    values = start(X)
    polished = polish(X, y, start, EVALUATIONS).network(X)
    leading = min(LEADING, units.W.size // 2)
    errors = np.array([regression(drawn.W, drawn.b)(X) - values for drawn in draws])
    noise = float(np.sum((polished - y) ** 2)) / (len(X) - count)
    change = max(0.0, _outside(polished - values, errors, leading) - (count + 3.0 * np.sqrt(2.0 * count)) * noise)
    sampling = float(np.mean([_outside(x, np.delete(errors, k, axis=0), leading) for k, x in enumerate(errors)]))
    return change / sampling if sampling > 0 else (np.inf if change > 0 else 0.0)


def _outside(change: Array, errors: Array, count: int) -> float:
    """Return the squared distance of `change` (n,) from the span of `count` principal directions of `errors` (k, n)."""
    first = np.linalg.svd(errors, full_matrices=False)[2][:count]
    return float(np.sum((change - (first @ change) @ first) ** 2))
