"""The transition of one slice from few trials: P(yes) = Phi(a (n - n50) / sqrt n), the family of the reports.

A report fits by maximum likelihood, which has no maximum where a slice is separated, as it is early on. Here the
likelihood is times Jeffreys' prior, the square root of the determinant of the information: then it always has one.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array

LOG_TAU = math.log(2 * math.pi)


@dataclass(frozen=True)
class Transition:
    """n50 and the slope a, negative where success becomes rarer with n.

    covariance: of (n50, log |a|), the inverse of the information of the trials, shape (2, 2).
    """

    half: float
    slope: float
    covariance: Array

    @property
    def error(self) -> float:
        """The standard error of n50."""
        return float(np.sqrt(self.covariance[0, 0]))


def estimate(n: ArrayLike, yes: ArrayLike, no: ArrayLike) -> Transition | None:
    """The transition of a slice from its counts at each n.

    None if all trials ended alike, or if n50 lies more than two standard errors beyond the least or greatest n.
    """
    n, yes, no = (np.asarray(values, dtype=np.float64) for values in (n, yes, no))
    drawn = yes + no > 0
    if not (yes.any() and no.any() and len(np.unique(n[drawn])) > 1):
        return None
    at, won, lost = n[drawn], yes[drawn], no[drawn]
    basis, triangle = np.linalg.qr(np.column_stack([np.sqrt(at), -1 / np.sqrt(at)]))
    products = (won + lost) * np.array([basis[:, 0] ** 2, basis[:, 1] ** 2, basis[:, 0] * basis[:, 1]])

    def loss(b: Array) -> float:
        eta = basis @ b
        above, below = scipy.special.log_ndtr(eta), scipy.special.log_ndtr(-eta)
        first, second, mixed = products @ np.exp(-(eta**2) - LOG_TAU - above - below)
        determinant = first * second - mixed**2
        return -float(won @ above + lost @ below) - math.log(determinant) / 2 if determinant > 0 else math.inf

    start = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    minimum = scipy.optimize.minimize(
        loss, start[0], method="Nelder-Mead", options={"initial_simplex": start, "xatol": 1e-6, "fatol": 1e-8}
    )
    slope, offset = np.linalg.solve(triangle, minimum.x)
    half = float(offset / slope)
    result = Transition(half, float(slope), covariance(n, yes + no, half, float(slope)))
    return result if n.min() - 2 * result.error <= half <= n.max() + 2 * result.error else None


def covariance(n: ArrayLike, trials: ArrayLike, half: float, slope: float) -> Array:
    """The inverse of the expected information about (n50, log |a|) of so many trials at each n."""
    directions, weight = gradients(n, half, slope)
    return np.linalg.inv((directions * (weight * np.asarray(trials))[:, None]).T @ directions)


def gradients(n: ArrayLike, half: float, slope: float) -> tuple[Array, Array]:
    """For eta = a (n - n50) / sqrt n: d eta / d (n50, log |a|), shape (cells, 2), and what one trial says about eta,
    phi(eta)^2 / (Phi(eta) (1 - Phi(eta))), shape (cells,)."""
    n = np.asarray(n, dtype=np.float64)
    eta = slope * (n - half) / np.sqrt(n)
    information = np.exp(-np.square(eta) - LOG_TAU - scipy.special.log_ndtr(eta) - scipy.special.log_ndtr(-eta))
    return np.column_stack([-slope / np.sqrt(n), eta]), information
