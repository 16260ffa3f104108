"""Finite-size scaling: the limit of a threshold for large sizes, x(y) = x_inf + a y^-r."""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.interval import LEVEL, Interval
from recovery.types import Array

POWERS = np.geomspace(0.1, 4.0, 3000)
"""Exponents that are tried: below 0.1 a power is a logarithm, and above 4 the smallest size alone differs."""


@dataclass(frozen=True)
class Scaling:
    """The limit and the exponent with their intervals, and the p-value of the fit, NaN for three sizes: they fit."""

    limit: Interval
    exponent: Interval
    p: float


def scaling(y: Array, x: Array, error: Array, level: float = LEVEL) -> Scaling | None:
    """Fit x_inf and r of thresholds x with standard errors by least squares; None for fewer than three sizes y.

    For each power r the fit is linear; intervals are from the profile of the sum of squares. The quantile is Student's
    if the sizes scatter more than their errors explain. An end is infinite, or 0, where no tried power bounds it.
    """
    if len(y) < 3:
        return None
    weight, columns = error**-2, (y / y.min()) ** -POWERS[:, None]

    def squares(limit: Array | float) -> Array:
        """Return the weighted sum of squares for each power, with its best a; limit: one number, or one per power."""
        left = x - np.reshape(limit, (-1, 1))
        found: Array = (weight * left**2).sum(axis=1)
        return found - ((weight * columns * left).sum(axis=1)) ** 2 / (weight * columns**2).sum(axis=1)

    mean = (columns @ weight)[:, None] / weight.sum()
    slope = ((columns - mean) * weight) @ x / ((columns - mean) ** 2 @ weight)
    limits = weight @ x / weight.sum() - slope * mean[:, 0]
    free = squares(limits)
    best, at, freedom = float(free.min()), float(limits[free.argmin()]), len(y) - 3
    excess = max(best / freedom, 1.0) if freedom else 1.0
    quantile = scipy.special.stdtrit(freedom, (1 + level) / 2) if excess > 1 else scipy.special.ndtri((1 + level) / 2)
    most = best + excess * float(quantile) ** 2

    def end(side: int) -> float:
        far = at + side * 20 * (float(np.ptp(x)) + float(error.max()))
        if squares(far).min() <= most:
            return side * np.inf
        return float(scipy.optimize.brentq(lambda limit: squares(limit).min() - most, at, far))

    kept = POWERS[free <= most]
    low = float(kept.min()) if kept.min() > POWERS[0] else 0.0
    high = float(kept.max()) if kept.max() < POWERS[-1] else np.inf
    exponent = Interval(float(POWERS[free.argmin()]), low, high, level)
    p = float(scipy.special.chdtrc(freedom, best)) if freedom else np.nan
    return Scaling(Interval(at, end(-1), end(1), level), exponent, p)
