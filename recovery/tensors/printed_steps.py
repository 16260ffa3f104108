"""Two steps of P4 as printed: signs from the first moment (Algorithm 3) and truncated regression (Algorithm 5).

Both steps are options; the defaults of `learner` need fewer samples.
"""

from itertools import product

import numpy as np
import scipy

from recovery.programs.relu_network import ReluNetwork, affine
from recovery.types import Array, Mask

ACCURACY = 1e-2
"""epsilon of Algorithm 5, relative to the root mean square of the labels."""
DEPENDENT = 1e-13
"""Eigenvalues below this share of the largest are rounding: beta has no component along their eigenvectors."""


def fix_signs(W: Array, a: Array, first: Array) -> Mask:
    """Return which units have the wrong sign (m,), by P4's Algorithm 3 (FIXSIGNS), for independent rows of W (m, d).

    The system sum_i z_i a_i w_i = T_1 has one solution, z_i = xi_i Phi(b_i), which has the sign of the unit (Lemma
    3.5). If b_i is far below zero, z_i is close to zero, and noise determines its sign. first: T_1 (d,).
    """
    z: Array = np.linalg.lstsq((W * a[:, None]).T, first, rcond=None)[0]
    wrong: Mask = z < 0
    return wrong


def truncated_regression(X: Array, y: Array, units: ReluNetwork, m: int) -> ReluNetwork:
    """Return g(x) = beta.phi(x) as a network, beta from regression on X (n, d), y (n,) (P4, Algorithm 5, Lemma D.12).

    phi has 8 features of each unit, +-a (+-w.x +- b)_+, and x and 1. Rows with ||phi|| >= tau are omitted, and
    ||beta|| <= R. P4 requires a squared loss within epsilon^2 / 100 of the minimum, by projected gradient descent,
    which has not converged after 200 000 steps in 30 of 100 draws, because their features are nearly dependent. The
    exact minimiser is beta = (G + mu)^{-1} t, where mu is 0 or such that ||beta|| = R. m: units of the target.
    """
    size, d = len(units.a), X.shape[1]
    scale = float(np.sqrt(np.mean(y**2)))
    if scale == 0.0:
        return affine(np.zeros(d), 0.0)
    signs = np.array(list(product((1.0, -1.0), repeat=3)))
    features = [c * units.a * np.maximum(s * (X @ units.W.T) + t * units.b, 0.0) for s, t, c in signs]
    phi = np.hstack([*features, X, np.ones((len(X), 1))])
    # `bound` is the B of P4 (Definition of B-bounded): it bounds all parameters and the inverses of the outer weights
    outer = np.abs(units.a[units.a != 0])
    bound = max([1.0, *outer, *(1.0 / outer), *np.abs(units.b)])
    epsilon = ACCURACY * scale
    radius = np.sqrt(8.0 * size) + m * (1.0 + bound)
    tau = 20.0 * m * (8 * size + d) * bound * np.sqrt(np.log(max(m * d * bound * max(size, 1) / epsilon, np.e)))
    kept = np.linalg.norm(phi, axis=1) < tau
    return _network(_least_squares(phi[kept], y[kept], float(radius)), units, signs)


def _least_squares(phi: Array, y: Array, radius: float) -> Array:
    """Return the minimiser beta (p,) of ||phi beta - y|| over the ball of this radius, of least norm."""
    values, Q = np.linalg.eigh(phi.T @ phi)
    seen = values > DEPENDENT * max(float(values[-1]), np.finfo(float).tiny)
    values, Q = values[seen], Q[:, seen]
    t = Q.T @ (phi.T @ y)

    def beyond(shift: float) -> float:
        return float(np.linalg.norm(t / (values + shift))) - radius

    # ||beta|| decreases in mu and is at most ||t|| / mu, so the mu with ||beta|| = R is between 0 and ||t|| / R
    shift = 0.0
    if len(values) and beyond(0.0) > 0:
        shift = float(scipy.optimize.brentq(beyond, 0.0, float(np.linalg.norm(t)) / radius, rtol=1e-12))
    beta: Array = Q @ (t / (values + shift))
    return beta


def _network(beta: Array, units: ReluNetwork, signs: Array) -> ReluNetwork:
    """Return beta.phi(x) with two units per learned unit and two more for the linear part.

    alpha z_+ + alpha' (-z)_+ = (alpha + alpha') z_+ - alpha' z (P4, D.14).
    """
    size = len(units.a)
    outer = {(s, t): np.zeros(size) for s, t, _ in signs}
    for (s, t, c), part in zip(signs, beta[: 8 * size].reshape(8, size), strict=True):
        outer[s, t] += c * part * units.a
    v, c = beta[8 * size : -1].copy(), float(beta[-1])
    hidden = []
    for t in (1.0, -1.0):
        alpha, opposite = outer[1.0, t], outer[-1.0, -t]
        hidden.append(ReluNetwork(units.W, t * units.b, alpha + opposite))
        v -= opposite @ units.W
        c -= float(t * opposite @ units.b)
    return hidden[0] + hidden[1] + affine(v, c)
