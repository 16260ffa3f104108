"""Intervals of one cell's proportion."""

import numpy as np
from numpy.typing import ArrayLike
from statsmodels.stats.proportion import proportion_confint

from recovery.types import Array


def wilson(yes: ArrayLike, no: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
    """Wilson score interval of a proportion from counts of either outcome; NaN where both are 0. Wilson 1927."""
    yes, no = np.asarray(yes, dtype=float), np.asarray(no, dtype=float)
    total = yes + no
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = proportion_confint(yes, total, alpha=1 - level, method="wilson")
    none = total == 0
    return np.where(none, np.nan, np.clip(low, 0, 1)), np.where(none, np.nan, np.clip(high, 0, 1))
