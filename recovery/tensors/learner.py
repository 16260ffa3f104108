"""A network from its Hermite moments: weights, scalars, signs, and the linear part by regression (P4, Alg. 1 to 6).

Orders: l = 1 needs linearly independent weights, m <= d; l = 2 independent w_i (x) w_i, m <= d (d + 1) / 2.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np

from recovery.programs.relu_network import ReluNetwork, affine
from recovery.tensors.hermite import Estimate, Moments
from recovery.tensors.jennrich import Terms, decompose, rank_above, singular_values
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


@dataclass(frozen=True)
class Learned:
    """The learned `units`, and `network`, which adds the remaining linear part as two more units (Alg. 5).

    rank: number of units above the noise.
    """

    units: ReluNetwork
    network: ReluNetwork
    rank: int


@dataclass(frozen=True)
class LearnOptions:
    """How units are learned.

    joint: weights from the joint diagonalisation of T_2l, T_{2l+1} and T_{2l+2}, not from two of them by plain Jennrich
    (`paired_weights`, P4). trust: return as many units as asked for even if fewer are above the noise. printed_signs:
    use Algorithm 3. regressed: take the outer weights and the linear part from least squares on the rows, not from the
    moments.
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
    trust, moments, error = options.trust, estimate.moments, estimate.error
    scaled = weighted(moments)
    # eta1, below which units are hidden, is the largest of the sampling noise, rounding, and the rounding of terms that
    # cancel
    eta1 = max(threshold(weighted(error), scaled), CANCELLED * estimate.terms)
    rank = rank_above(scaled, eta1, neurons)
    used = neurons if trust and estimate.samples is not None else rank
    W = (
        _vectors(decompose(scaled, used, rng), moments.order)
        if options.joint
        else paired_weights(moments, error, used, trust, rng)
    )
    b, a = scalars(moments, W)
    rows = data if options.regressed else None
    if rows is None:
        v, c = linear_rest(moments, W, b, a)
    else:
        a, v, c = regress(*rows, W, b)
    flipped = fix_signs(W, a, moments.whole[1]) if options.printed_signs else signs(W, b, a, v, c)
    # either sign fits a unit of outer weight 0; only one of them is active on most rows, so that a polish can use it
    flipped = np.where(a == 0, b < 0, flipped)
    # a z_+ = a (-z)_+ + a z: flipping the sign of a unit's z adds the linear function a z to the linear part
    v, c = v + (a * flipped) @ W, c + float((a * flipped) @ b)
    turn = np.where(flipped, -1.0, 1.0)
    units = ReluNetwork(W * turn[:, None], b * turn, a)
    rest = float(np.hypot(np.linalg.norm(v), c))
    labels = float(np.linalg.norm(scaled)) if rows is None else float(np.sqrt(np.mean(rows[1] ** 2)))
    network = units + affine(v, c) if rest > ROUNDING * labels else units
    return Learned(units, network, min(rank, len(W)))


def weighted(moments: Moments) -> Array:
    """Return all d^l x d^l matrices of the moments of orders k = 2l to 2l + 2, over sqrt(k!); pairs i < j times sqrt 2.

    With d orthonormal directions, their squared norms add up to the part of order k in E[f^2] (P4, Prop. B.1).
    """
    order, (i, j) = moments.order, moments.pairs
    # the matrix of a pair i < j stands for (i, j) and (j, i), so it is multiplied by sqrt 2 to count twice in squared
    # norms
    twice = np.where(i == j, 1.0, np.sqrt(2.0))[:, None, None]
    parts = [moments.base[None], moments.odd, moments.even * twice]
    return np.concatenate([part / np.sqrt(factorial(2 * order + q)) for q, part in enumerate(parts)])


def threshold(noise: Array, scaled: Array) -> float:
    """Return eta_1, above the largest singular values of the sampling `noise` and of the rounding of `scaled`."""
    return max(CLEAR * float(singular_values(noise)[0]), ROUNDING * float(singular_values(scaled)[0]))


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
