"""Biases, outer weights and signs of units whose weights are known up to sign, and the remaining linear part.

Scalars come from moments (P4, Algorithm 2), or from least squares on data (P4, Algorithm 5). The signs are those of 2^m
choices that match the linear part best: a unit of the wrong sign adds a linear function, a (-z)_+ = a z_+ - a z, which
has no moment of order 2 or more.
"""

import numpy as np
import scipy

from recovery.programs.relu_network import ReluNetwork
from recovery.tensors.hermite import Moments, coefficients, powers
from recovery.types import Array, Mask

LARGEST_BIAS = 8.0
"""Bound on |b|: a unit with |b| > 8 enters the moments with e^{-b^2/2} < 1e-13, which is below rounding."""


def scalars(moments: Moments, W: Array) -> tuple[Array, Array]:
    """Return biases b (m,) and outer weights a (m,) of unit weights W (m, d) known up to sign (P4, Alg. 2, Lemma 4.5).

    zeta_j(i) = (-1)^j a_i He_{j-2}(b_i) phi(b_i). l = 1: b = -zeta_3 / zeta_2. l >= 2, with gamma_{j-2} = zeta_j and
    q the index in {k+1, k+2} of the larger |gamma_q|, k = l - 2: b = -(gamma_{q+1} + q gamma_{q-1}) / gamma_q.
    """
    order, m = moments.order, np.arange(len(W))
    if order == 1:
        gamma, q = np.array([zeta(moments, W, 2), zeta(moments, W, 3)]), np.zeros(len(W), np.intp)
        above, below = gamma[1], np.zeros(len(W))
    else:
        k = order - 2
        gamma = np.array([zeta(moments, W, j) for j in range(2, order + 4)])
        q = np.where(np.abs(gamma[k + 1]) >= np.abs(gamma[k + 2]), k + 1, k + 2)
        above, below = gamma[q + 1, m], q * gamma[q - 1, m]
    top = gamma[q, m]
    # b follows from He_{q+1}(b) = b He_q(b) - q He_{q-1}(b), divided by He_q(b). Of the two possible q, the one with
    # the larger gamma_q is used
    b = np.divide(-(above + below), top, out=np.zeros(len(W)), where=top != 0)
    b = np.clip(b, -LARGEST_BIAS, LARGEST_BIAS)
    # the outer weight a follows from gamma_q = (-1)^q a He_q(b) phi(b)
    he = (-1.0) ** q * scipy.special.eval_hermitenorm(q, b)
    scale = np.sqrt(2.0 * np.pi) * np.exp(0.5 * b * b)
    return b, np.divide(scale * top, he, out=np.zeros(len(W)), where=he != 0)


def zeta(moments: Moments, W: Array, j: int) -> Array:
    """Return the coefficients of T_j = sum_i zeta_j(i) w_i^{(x)j}, j <= 2l + 1, by least squares; shape (m,)."""
    if j <= 2 * moments.order:
        return np.linalg.lstsq(powers(W, j), moments.whole[j].ravel(), rcond=None)[0]
    along = moments.responses(W)[0]
    square = powers(W, 2 * moments.order)
    design = np.einsum("km,am->kam", along, square).reshape(moments.odd.size, len(W))
    return np.linalg.lstsq(design, moments.odd.ravel(), rcond=None)[0]


def linear_rest(moments: Moments, W: Array, b: Array, a: Array) -> tuple[Array, float]:
    """Return v (d,) and c of the linear function in T_1 and T_0 that the units do not explain."""
    units = ReluNetwork(W, b, a)
    return moments.whole[1] - coefficients(units, 1) @ W, float(moments.whole[0] - coefficients(units, 0).sum())


def regress(X: Array, y: Array, W: Array, b: Array) -> tuple[Array, Array, float]:
    """Return a (m,), v (d,) and c from least squares on (w_i.x + b_i)_+, x and 1 (P4, Algorithm 5 and Claim D.14).

    (-z)_+ = z_+ - z, so the features of the other sign are in the span of these.
    """
    m = len(W)
    design = np.hstack([np.maximum(X @ W.T + b, 0.0), X, np.ones((len(X), 1))])
    solution = np.linalg.lstsq(design, y, rcond=None)[0]
    return solution[:m], solution[m:-1], float(solution[-1])


MOST_ENUMERATED = 24
"""Up to this m all 2^m choices are compared, as pairs of 2^{m/2} sums: about 0.1 s at 24 units."""


def signs(W: Array, b: Array, a: Array, v: Array, c: float) -> Mask:
    """Return which units have the wrong sign, given the remaining linear part v.x + c.

    Wrong signs leave v.x + c = -sum_{wrong} a_i (w_i.x + b_i), so the nearest of the 2^m sums is chosen. Another is as
    near if signs are ambiguous (P4, Claim 4.8). (P4, Algorithm 3 uses the sign of a number that is Phi(b_i) or
    Phi(b_i) - 1, which is close to 0 for b_i << 0.)
    """
    A, target = a[:, None] * np.column_stack([W, b]), -np.append(v, c)
    if len(A) <= MOST_ENUMERATED:
        return _enumerated(A, target)
    # relax the choices 0 or 1 to [0, 1]: exact for independent weights, for which the least-squares solution is unique
    wrong: Mask = scipy.optimize.lsq_linear(A.T, target, (0.0, 1.0), method="bvls").x > 0.5
    return wrong


def _enumerated(A: Array, target: Array) -> Mask:
    """Choose the rows whose sum is nearest to target: a nearest-neighbour search over two lists of 2^{m/2} sums."""
    half = (len(A) + 1) // 2
    (left, first), (right, second) = _subsets(A[:half]), _subsets(A[half:])
    distances, nearest = (np.asarray(found) for found in scipy.spatial.KDTree(first).query(target - second))
    row = int(np.argmin(distances))
    return np.concatenate([left[nearest[row]], right[row]])


def _subsets(A: Array) -> tuple[Mask, Array]:
    """Return all subsets of the rows of A (m, p), shape (2^m, m), and their sums (2^m, p)."""
    chosen = (np.arange(2 ** len(A))[:, None] >> np.arange(len(A))) % 2 == 1
    return chosen, chosen @ A
