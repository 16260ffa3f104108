"""The standard normal law: phi, Q, quantile. `scipy.stats` has them too, but every worker would wait for its import."""

from statistics import NormalDist

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array


def density(x: ArrayLike) -> Array:
    """phi(x) = exp(-x^2/2) / sqrt(2 pi)."""
    return np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)


def tail(x: ArrayLike) -> Array:
    """Q(x) = P(z > x)."""
    return scipy.special.ndtr(-np.asarray(x, dtype=np.float64))


def normal_reach(level: float) -> float:
    """Standard deviations to either side that hold the share `level`; its square is that quantile of chi-squared with
    one degree of freedom."""
    return NormalDist().inv_cdf((1 + level) / 2)
