"""Strong recovery of every linear neuron from Haar data: the constant theta* of Theorem 9.

With s = sqrt(q), q the chi^2_1 quantile at 1 - 2 theta: theta = Q(s), and since E[z^2 1(z > s)] = s phi(s) + Q(s),
    g(theta) = 1/2 + theta + 1/2 int_q^inf r dF(r) = 1/2 + 2 Q(s) + s phi(s),
so that g(theta*) = 1 reads 2 Q(s) + s phi(s) = 1/2.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtrc, chdtri, ndtri

from recovery.theory.normal import density, tail
from recovery.types import Array

PAPER_THETA_STAR = 0.1314
PAPER_RATIO = 7.613
"""What P1 (Remark 3) prints. It is not the root of its own equation: see `residual`."""


def strong_width(theta: ArrayLike) -> Array:
    """g(theta), the limit of (w(K)^2 + d)/n at d = theta n, theta in [0, 1/2]; it grows from 1/2 to 3/2.

    (orth-SNIC-L) holds with high probability where g < 1. Source: P1, (113) and Figure 11.
    """
    theta = np.asarray(theta, dtype=np.float64)
    s = -ndtri(theta)
    edge = np.where(np.isfinite(s), s, 0.0) * density(s)
    return 0.5 + 2 * theta + edge


def strong_width_by_chi2(theta: ArrayLike) -> Array:
    """g(theta) by the chi-squared tails of its definition: r dF_1(r) = dF_3(r), so the integral is 1 - F_3(q)."""
    theta = np.asarray(theta, dtype=np.float64)
    return 0.5 + theta + 0.5 * chdtrc(3, chdtri(1, 2 * theta))


def theta_star() -> float:
    """The root of g(theta) = 1: 0.1307579..., found in s from 2 Q(s) + s phi(s) = 1/2. Source: P1, Theorem 9."""
    s = brentq(lambda s: 2 * tail(s) + s * density(s) - 0.5, 0.0, 5.0, xtol=1e-15, rtol=1e-15)
    return float(tail(s))


def theta_star_by_chi2() -> float:
    """The same root, found in theta from the chi-squared form."""
    return float(brentq(lambda t: float(strong_width_by_chi2(t)) - 1.0, 1e-6, 0.5, xtol=1e-16, rtol=1e-15))


def residual(theta: float) -> float:
    """g(theta) - 1, zero at the root; at the paper's 0.1314 it is 1.4e-3."""
    return float(strong_width(theta)) - 1.0


def strong_margin(n: ArrayLike, d: ArrayLike) -> Array:
    """g(d/n), 3/2 where d/n > 1/2: strong recovery of Haar data is expected below level 1. Source: P1, Theorem 9."""
    return strong_width(np.minimum(np.asarray(d, dtype=np.float64) / np.asarray(n, dtype=np.float64), 0.5))
