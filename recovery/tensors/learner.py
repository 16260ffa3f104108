"""A network from its Hermite moments: weights, scalars, signs, and the rest of the function by regression (P4, 1 to 6).

Orders: l = 1 needs linearly independent weights, m <= d; l = 2 independent w_i (x) w_i, m <= d (d + 1) / 2.
"""

from dataclasses import dataclass, replace
from enum import Enum
from math import factorial

import numpy as np

from recovery.programs.relu_network import ReluNetwork, affine, parameter_error
from recovery.tensors.hermite import PARTS, Estimate, Moments, exact, powers
from recovery.tensors.jennrich import Terms, decompose, fit, rank_above, singular_values
from recovery.tensors.printed_steps import fix_signs
from recovery.tensors.scalars import linear_rest, regress, scalars
from recovery.tensors.signs import signs
from recovery.types import Array, Rng

ROUNDING = 1e-10
"""Exact moments have rounding for noise: singular values below this fraction of the largest are none."""
CANCELLED = 1e-14
"""Of the terms that exact moments add up: what rounding leaves where they cancel."""
NEAREST, FARTHEST = 1e-3, 0.5
"""Two unit vectors nearer than this are one whatever the noise; those farther apart (30 degrees) never are."""
CLEAR = 2.0
"""eta_1 over the largest singular value of the noise: half the difference of two halves is one draw of it."""
UNEXPLAINED = 2.0
"""Terms do not explain moments whose residual is above this multiple of the sampling noise."""
MISFIT = 1e-6
"""Of exact moments, what units that are right leave by rounding, whatever their biases up to `scalars.LARGEST_BIAS`."""
SEEN = 20.0
"""A unit with |b| <= 1 has a singular value of a phi(1) / sqrt(2!) = a / 6 or more: where a linear part of 20 eta_1 is
left, a unit of its size would have been seen three times over, if it were not linear."""
STEADY = 0.1
"""Units with a larger standard error are not known. It comes from 15 draws, so that an error of four times this has
probability 0.0012 by Student's law at most (benchmarks/tensors.md has what came of it)."""
PER_COEFFICIENT = 100
"""Rows a coefficient that tell the outer weights of a half: more would move them by a tenth of their error."""


class Identification(Enum):
    """What the moments say about the units; `meaning` is a sentence for people."""

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
    TOO_FEW_SAMPLES = (
        "too_few_samples",
        "fewer units than asked for stand above the noise: too few samples, dependent weights, or no more units",
    )

    def __init__(self, label: str, meaning: str) -> None:
        self.label = label
        self.meaning = meaning


@dataclass(frozen=True)
class Learned:
    """`units`, the neurons that were found; `network`, these with the linear part that is left as two more (Alg. 5).

    rank: units above the noise. residual: of the moments, relative. noise: what sampling would leave of them,
    relative.
    """

    units: ReluNetwork
    network: ReluNetwork
    rank: int
    residual: float
    noise: float
    status: Identification


def learn(
    estimate: Estimate,
    neurons: int,
    rng: Rng,
    joint: bool = True,
    data: tuple[Array, Array] | None = None,
    trust: bool = False,
    printed_signs: bool = False,
) -> Learned:
    """Units, signs and the network of at most `neurons` + 2 units, from moments and, for the function, `data` (X, y).

    joint: weights from all orders at once (`joint_weights`) rather than from two of them (`paired_weights`, P4).
    trust: take `neurons` weights even where fewer stand above the noise. printed_signs: by Algorithm 3.
    """
    moments, error = estimate.moments, estimate.error
    scaled, noise = weighted(moments), weighted(error)
    # whichever is larger hides units: sampling, rounding, or the rounding of terms that cancel
    eta1 = max(threshold(noise, scaled), CANCELLED * estimate.terms)
    above = rank_above(scaled, eta1, len(scaled[0]))
    rank = min(above, neurons)
    used = neurons if trust and estimate.samples is not None else rank
    W = joint_weights(scaled, used, moments, rng) if joint else paired_weights(moments, error, used, trust, rng)
    left = fit(scaled, powers(W, moments.order)).residual
    size = float(np.linalg.norm(scaled))
    level = float(np.linalg.norm(noise)) / size if size > 0 else 0.0
    b, a = scalars(moments, W)
    if data is None:
        v, c = linear_rest(moments, W, b, a)
    else:
        a, v, c = regress(*data, W, b)
    flipped, sure = signs(W, b, a, v, c)
    if printed_signs:
        nearest, flipped = flipped, fix_signs(W, a, moments.whole[1])
        sure = sure and bool(np.array_equal(nearest, flipped))
    # a z_+ = a (-z)_+ + a z: turning a unit leaves its linear function to the rest
    v, c = v + (a * flipped) @ W, c + float((a * flipped) @ b)
    turn = np.where(flipped, -1.0, 1.0)
    units = ReluNetwork(W * turn[:, None], b * turn, a)
    rest = float(np.hypot(np.linalg.norm(v), c))
    labels = size if data is None else float(np.sqrt(np.mean(data[1] ** 2)))
    # judged by the units above the noise alone: weights that were trusted below it explain nothing
    clear = powers(joint_weights(scaled, rank, moments, rng), moments.order)
    dependent = unexplained(scaled, noise, clear)
    known = estimate.samples is None
    if known and above == neurons:
        gap = weighted(exact(units, moments.order, moments.directions).moments) - scaled
        dependent = dependent or float(np.linalg.norm(gap)) > MISFIT * size
    rank = min(rank, len(W))
    status = judge(rank, neurons, dependent, above > neurons, sure, rest > SEEN * eta1, known)
    if (
        status is Identification.IDENTIFIED
        and not known
        and standard_error(estimate, units, joint, rng.spawn(1)[0], data, STEADY) > STEADY
    ):
        status = Identification.UNSTEADY
    return Learned(units, units + affine(v, c) if rest > ROUNDING * labels else units, rank, left, level, status)


def standard_error(
    estimate: Estimate,
    units: ReluNetwork,
    joint: bool,
    rng: Rng,
    data: tuple[Array, Array] | None = None,
    most: float = np.inf,
) -> float:
    """The root mean square of the moves of these units, up to sign, by what sampling adds; above `most`, infinite.

    Draws E of the error of the moments T (`Estimate.draws`) move the units learned from T + E as the error of T moves
    these, far too, where no derivative would tell. Infinite if units are missing in one.
    """
    total, count = 0.0, len(units.a)
    if data is not None:
        # on the same rows for all, so that what noise on the labels does to outer weights is no move
        rows = slice(PER_COEFFICIENT * (count + units.W.shape[1] + 1))
        labelled = data[0][rows], data[1][rows]
        units = ReluNetwork(units.W, units.b, regress(*labelled, units.W, units.b)[0])
    for draw in estimate.draws():
        moments = _sum(estimate.moments, draw)
        if joint:
            W = joint_weights(weighted(moments), count, moments, rng)
        else:
            W = paired_weights(moments, estimate.error, count, True, rng)
        b, a = scalars(moments, W)
        if data is not None:
            a = regress(*labelled, W, b)[0]
        error = parameter_error(ReluNetwork(W, b, a), units, up_to_sign=True)
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
    """Whether r columns V (D, r) that stand above the noise leave more than noise of the matrices within their span.

    Dependent weights leave it there: too few terms for the span. What lies outside is noise or missing units.
    """
    Q = np.linalg.qr(V)[0]
    inside, around = Q.T @ matrices @ Q, Q.T @ noise @ Q
    left = fit(inside, Q.T @ V).residual * float(np.linalg.norm(inside))
    return left > UNEXPLAINED * float(np.linalg.norm(around)) + MISFIT * float(np.linalg.norm(matrices))


def judge(
    rank: int, neurons: int, dependent: bool, more: bool, sure: bool, linear: bool, known: bool
) -> Identification:
    """The first status that applies, the gravest first."""
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
    """All d^l x d^l matrices, each order over sqrt(k!): ||.||_F^2 is then its part of E[f^2] (P4, Proposition B.1)."""
    order, (i, j) = moments.order, moments.pairs
    # a pair i < j stands for (i, j) and (j, i)
    twice = np.where(i == j, 1.0, np.sqrt(2.0))[:, None, None]
    parts = [moments.base[None], moments.odd, moments.even * twice]
    return np.concatenate([part / np.sqrt(factorial(2 * order + q)) for q, part in enumerate(parts)])


def threshold(noise: Array, scaled: Array) -> float:
    """eta_1: above the largest singular value of the noise, or of the rounding of all moments."""
    return max(CLEAR * float(singular_values(noise)[0]), ROUNDING * float(singular_values(scaled)[0]))


def joint_weights(scaled: Array, rank: int, moments: Moments, rng: Rng) -> Array:
    """Unit weights (rank, d) from the joint diagonalisation of T_2l, T_{2l+1} and T_{2l+2}."""
    return _vectors(decompose(scaled, rank, rng), moments.order)


def paired_weights(moments: Moments, error: Moments, most: int, trust: bool, rng: Rng) -> Array:
    """Unit weights (at most `most`, d) from T_{2l+1} and T_{2l+2} by plain Jennrich, duplicates merged (P4, Alg. 4).

    Two orders are needed: He_{k-2}(b) can vanish (b = 0 hides from T_3), but never for two k in a row. Terms come in
    the order of their coefficient over the noise of their tensor; a term within eta_3, four times that ratio's
    inverse, of one before it up to sign is a duplicate.
    """
    candidates, clearness = [], []
    responses, scaled = moments.responses, weighted(moments)
    for which, (matrices, noise) in enumerate([(moments.odd, error.odd), (moments.even, error.even)]):
        eta1 = threshold(noise, scaled)
        rank = most if trust else rank_above(matrices, eta1, most)
        terms = decompose(matrices, rank, rng, joint=False)
        W = _vectors(terms, moments.order)
        along = responses(W)[which]
        # the coefficient a term has in its own tensor, by least squares over the directions
        strength = np.abs(np.sum(terms.coefficients * along, axis=0)) / np.maximum(np.sum(along**2, axis=0), ROUNDING)
        candidates.append(W)
        clearness.append(strength / eta1 if eta1 > 0 else np.zeros(len(W)))
    W, ratio = np.vstack(candidates), np.concatenate(clearness)
    kept: list[int] = []
    for i in np.argsort(-ratio):
        # two estimates of one weight differ by about the noise over its coefficient
        near = np.clip(4.0 / max(float(ratio[i]), ROUNDING), NEAREST, FARTHEST)
        distances = [min(np.linalg.norm(W[i] - W[k]), np.linalg.norm(W[i] + W[k])) for k in kept]
        if len(kept) < most and (trust or ratio[i] > 1.0) and min(distances, default=np.inf) > near:
            kept.append(int(i))
    return W[kept]


def _vectors(terms: Terms, order: int) -> Array:
    """The unit w (r, d) of columns that are near w^{(x)l}: leading left singular vectors of d x d^{l-1}."""
    if order == 1:
        return np.ascontiguousarray(terms.V.T)
    d = round(terms.V.shape[0] ** (1.0 / order))
    # w^{(x)l} unfolded to d x d^{l-1} is w (w^{(x)(l-1)})^T: of rank one, and nearest in the leading vector
    folded = terms.V.T.reshape(-1, d, d ** (order - 1))
    return np.linalg.svd(folded)[0][:, :, 0]
