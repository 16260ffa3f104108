"""Wendel's law: the exact probability that n symmetric points in general position lie in a half-space."""

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
