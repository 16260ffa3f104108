"""Strong recovery of every linear neuron from Haar data: the constant theta* of Theorem 9.

With s = sqrt(q), q the chi^2_1 quantile at 1 - 2 theta: theta = Q(s), and since E[z^2 1(z > s)] = s phi(s) + Q(s),
    g(theta) = 1/2 + theta + 1/2 int_q^inf r dF(r) = 1/2 + 2 Q(s) + s phi(s),
so that g(theta*) = 1 reads 2 Q(s) + s phi(s) = 1/2.
"""

import scipy

from recovery.theory.normal import density, tail

EXACT_RATIO = 7.6476949354
"""1 / theta*, from `theta_star`."""
PAPER_RATIO = 7.613
"""1 / theta* as P1 (Remark 3) prints it. It does not solve the equation: g(1/7.613) = 1.0013, g(0.1314) = 1.0014."""


def theta_star() -> float:
    """Return the root of g(theta) = 1: 0.1307583538..., from 2 Q(s) + s phi(s) = 1/2. Source: P1, Theorem 9."""
    s = scipy.optimize.brentq(lambda s: 2 * tail(s) + s * density(s) - 0.5, 0.0, 5.0, xtol=1e-15, rtol=1e-15)
    return float(tail(s))
