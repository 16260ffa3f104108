"""The all-ones event: Wendel's exact law for symmetric rows, and the papers' bounds beside it."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array


def wendel(n: ArrayLike, d: ArrayLike) -> Array:
    """P(exists h != 0: X h >= 0) = 2^{1-n} sum_{k<d} C(n-1, k) for n > d, and 1 for n <= d.

    n, d: broadcast together; real numbers are allowed, and interpolate. It is the binomial tail
    P(Bin(n-1, 1/2) <= d-1) = I_{1/2}(n-d, d), so n in the thousands loses no digits; exactly 1/2 at n = 2d.
    Holds for X with symmetric rows in general position (the all-ones event). Source: Wendel 1962, Cover 1965.
    """
    n, d = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64))
    inside = (n > d) & (d > 0)
    tail = scipy.special.betainc(np.where(inside, n - d, 1.0), np.where(inside, d, 1.0), 0.5)
    return np.where(inside, tail, np.where(d > 0, 1.0, 0.0))


def kinematic_exponent(n: ArrayLike, d: ArrayLike) -> Array:
    """alpha = (n/2 - d)^2 / (64 n^2). Source: P1, Proposition 6."""
    n, d = np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64)
    return (n / 2 - d) ** 2 / (64 * n**2)


def proposition6(n: ArrayLike, d: ArrayLike) -> Array:
    """Bound on P(exists h != 0: X h >= 0): from above, 4 e^{-n alpha}, if n > 2d; from below, 1 - 4 e^{-n alpha}, if
    n < 2d; clipped to [0, 1], which says nothing where it is 1 or 0. At n = 2d it is 1. Source: P1, Proposition 6.
    """
    n, d = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64))
    tail = np.minimum(4 * np.exp(-n * kinematic_exponent(n, d)), 1.0)
    return np.where(n >= 2 * d, tail, 1 - tail)


def theorem5(n: ArrayLike, d: ArrayLike) -> Array:
    """Lower bound 1 - e^{-alpha n} (n > 2d, otherwise 0) on the probability of (NIC-L), as the paper states it.

    Its proof by Proposition 6 leaves a factor 4 before the exponential, which the statement drops.
    Source: P1, Theorems 5 and 7.
    """
    n, d = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64))
    return np.where(n > 2 * d, -np.expm1(-n * kinematic_exponent(n, d)), 0.0)


def theorem7_failure(n: ArrayLike, d: ArrayLike) -> Array:
    """Upper bound e^{-alpha n} (n < 2d, otherwise 1) on P(the planted linear neuron is the unique optimum).

    As the paper states it of (14), the exact program, and Haar data; for that program it is false. Of (15) it follows
    from the all-ones pattern. Source: P1, Theorem 7.
    """
    n, d = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64))
    return np.where(n < 2 * d, np.exp(-n * kinematic_exponent(n, d)), 1.0)


def theorem11(n: ArrayLike, d: ArrayLike) -> Array:
    """Lower bound 1 - exp(-(n - 2d)^2 / (6n)) (n > 2d, otherwise 0) on the probability of (NNIC-1). P1, Theorem 11."""
    n, d = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64))
    return np.where(n > 2 * d, -np.expm1(-((n - 2 * d) ** 2) / (6 * n)), 0.0)
