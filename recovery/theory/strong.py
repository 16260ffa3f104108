"""Strong recovery of every linear neuron from Haar data: the constant theta* of Theorem 9.

With s = sqrt(q), q the chi^2_1 quantile at 1 - 2 theta: theta = Q(s), and since E[z^2 1(z > s)] = s phi(s) + Q(s),
    g(theta) = 1/2 + theta + 1/2 int_q^inf r dF(r) = 1/2 + 2 Q(s) + s phi(s),
so that g(theta*) = 1 reads 2 Q(s) + s phi(s) = 1/2.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.theory.normal import density, tail
from recovery.types import Array

EXACT_RATIO = 7.6476949354
"""1 / theta*, from `theta_star`."""
PAPER_RATIO = 7.613
"""1 / theta* as P1 (Remark 3) prints it. It does not solve the equation: g(1/7.613) = 1.0013, g(0.1314) = 1.0014."""


def strong_width(theta: ArrayLike) -> Array:
    """Return g(theta), the limit of (w(K)^2 + d)/n at d = theta n, theta in [0, 1/2]; it increases from 1/2 to 3/2.

    (orth-SNIC-L) holds with high probability where g < 1. Source: P1, (113) and Figure 11.
    """
    theta = np.asarray(theta, dtype=np.float64)
    s = -scipy.special.ndtri(theta)
    edge = np.where(np.isfinite(s), s, 0.0) * density(s)
    return 0.5 + 2 * theta + edge


def theta_star() -> float:
    """Return the root of g(theta) = 1: 0.1307583538..., from 2 Q(s) + s phi(s) = 1/2. Source: P1, Theorem 9."""
    s = scipy.optimize.brentq(lambda s: 2 * tail(s) + s * density(s) - 0.5, 0.0, 5.0, xtol=1e-15, rtol=1e-15)
    return float(tail(s))
