"""The all-ones event: Wendel's exact law for symmetric rows in general position, and the bounds of the papers."""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array


def wendel(n: ArrayLike, d: ArrayLike) -> Array:
    """Return P(exists h != 0: X h >= 0) = 2^{1-n} sum_{k<d} C(n-1, k) for n > d, and 1 for n <= d.

    n, d: broadcast together; real numbers interpolate. It is the binomial tail
    P(Bin(n-1, 1/2) <= d-1) = I_{1/2}(n-d, d), so n in the thousands loses no digits; exactly 1/2 at n = 2d.
    Holds for X with symmetric rows in general position (the all-ones event). Source: Wendel 1962, Cover 1965.
    """
    n, d = _sizes(n, d)
    return _tail(n, d, n - d, d, np.where(d > 0, 1.0, 0.0))


def no_all_ones(n: ArrayLike, d: ArrayLike) -> Array:
    """Return 1 - `wendel`, the other tail P(Bin(n-1, 1/2) >= d), without loss of digits where it is small."""
    n, d = _sizes(n, d)
    return _tail(n, d, d, n - d, np.where(d > 0, 0.0, 1.0))


def _tail(n: Array, d: Array, a: Array, b: Array, outside: Array) -> Array:
    """Return I_{1/2}(a, b) where n > d > 0, `outside` elsewhere, and NaN where a size is NaN."""
    inside = (n > d) & (d > 0)
    tail = scipy.special.betainc(np.where(inside, a, 1.0), np.where(inside, b, 1.0), 0.5)
    return np.where(np.isnan(n + d), np.nan, np.where(inside, tail, outside))


def _exponent(n: ArrayLike, d: ArrayLike) -> Array:
    """Return alpha = (n/2 - d)^2 / (64 n^2). Source: P1, Proposition 6."""
    n, d = _sizes(n, d)
    return (n / 2 - d) ** 2 / (64 * n**2)


def theorem5(n: ArrayLike, d: ArrayLike) -> Array:
    """Return 1 - e^{-alpha n} (0 for n <= 2d), the paper's lower bound on the probability of (NIC-L).

    The proof by Proposition 6 has a factor 4 before the exponential, which the statement omits.
    Source: P1, Theorems 5 and 7.
    """
    n, d = _sizes(n, d)
    return np.where(n > 2 * d, -np.expm1(-n * _exponent(n, d)), 0.0)


def theorem7_failure(n: ArrayLike, d: ArrayLike) -> Array:
    """Return e^{-alpha n} (1 for n >= 2d), the paper's upper bound on P(the planted neuron is the unique optimum).

    The paper states it for (14), the exact program, and Haar data, where it is false. For (15), the gated program, it
    follows from the all-ones pattern. Source: P1, Theorem 7.
    """
    n, d = _sizes(n, d)
    return np.where(n < 2 * d, np.exp(-n * _exponent(n, d)), 1.0)


def theorem11(n: ArrayLike, d: ArrayLike) -> Array:
    """Return 1 - exp(-(n - 2d)^2 / (6n)) (0 for n <= 2d), a lower bound on P(NNIC-1). Source: P1, Theorem 11."""
    n, d = _sizes(n, d)
    return np.where(n > 2 * d, -np.expm1(-((n - 2 * d) ** 2) / (6 * n)), 0.0)


def _sizes(n: ArrayLike, d: ArrayLike) -> list[Array]:
    return list(np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64)))
