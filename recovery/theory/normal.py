"""The standard normal law: phi, Q, quantile. Importing `scipy.stats` instead would delay the start of every worker."""

from statistics import NormalDist

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array


def density(x: ArrayLike) -> Array:
    """Return phi(x) = exp(-x^2/2) / sqrt(2 pi)."""
    return np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)


def tail(x: ArrayLike) -> Array:
    """Return Q(x) = P(z > x), z standard normal."""
    return scipy.special.ndtr(-np.asarray(x, dtype=np.float64))


def normal_reach(level: float) -> float:
    """Return z with P(|N(0, 1)| <= z) = level; z^2 is the quantile of chi-squared at `level`, 1 degree of freedom."""
    return NormalDist().inv_cdf((1 + level) / 2)
