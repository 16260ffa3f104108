"""The l1 phase transition of compressed sensing, for comparison with neural phase transitions.

l1 minimisation recovers rho d non-zeros from n > psi(rho) d Gaussian measurements, and fails below, where
psi(rho) = min_{tau >= 0} rho (1 + tau^2) + (1 - rho) E[(|z| - tau)_+^2] is the statistical dimension / d of the descent
cone of the l1 norm; psi(0.1928448) = 1/2. Source: Donoho and Tanner 2009; Amelunxen, Lotz, McCoy and Tropp 2014,
Proposition 4.5.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.theory.normal import density, tail
from recovery.types import Array

LARGEST = 36.0
"""Largest threshold tau; at larger ones tails underflow."""


def donoho_tanner(delta: float) -> float:
    """Return the largest rho = k/n at which l1 minimisation recovers from n = delta d Gaussian rows, as d grows.

    Source: Donoho and Tanner 2009. In a config: `curves: [recovery.theory:donoho_tanner]`.
    """
    return float(l1_transition(delta, 1.0) / delta)


def l1_transition(n: ArrayLike, d: ArrayLike) -> Array:
    """Return the largest k/d at which l1 minimisation recovers a k-sparse vector in R^d from n Gaussian rows.

    The inverse of psi at n/d; 1 for n >= d.
    """
    ratio = np.asarray(n, dtype=np.float64) / np.asarray(d, dtype=np.float64)

    def invert(delta: float) -> float:
        if delta >= 1:
            return 1.0

        def of(tau: float) -> tuple[float, float]:
            """Return rho and psi at the threshold tau."""
            slope = 2 * (density(tau) - tau * tail(tau))
            rho = slope / (tau + slope)
            square = 2 * ((1 + tau**2) * tail(tau) - tau * density(tau))
            return float(rho), float(rho * (1 + tau**2) + (1 - rho) * square)

        # solve for the threshold: an absolute tolerance would lose the digits of a rho near 0
        if delta <= of(LARGEST)[1]:
            return 0.0
        return of(float(scipy.optimize.brentq(lambda tau: of(tau)[1] - delta, 0.0, LARGEST, xtol=1e-14)))[0]

    return np.vectorize(invert, otypes=[np.float64])(ratio)
