"""Forecast of the interval of a threshold, from the grid and its replicates alone."""

from math import hypot, sqrt
from statistics import NormalDist, median
from typing import NamedTuple

import numpy as np

from recovery.config.slicing import slices_of
from recovery.config.sweep import Sweep
from recovery.config.values import log_spaced

CHERNOFF = 0.998181
"""Half the length of the central 95 % interval of Chernoff's distribution (Groeneboom and Wellner 2001)."""
SCALE = 0.1
"""Assumed scale of the transition, a probit curve, as a share of the range of x; along n it is sqrt n."""
FEW = 5
"""Slices from which on the interval of a pooled value is not made of those of the slices."""


class Precision(NamedTuple):
    """Half widths of the interval of a threshold: from the replicates of the first round, and the least one for a
    success fraction that jumps between two values of x, however many trials there are. rise: over what the fraction
    changes from 16 % to 84 %, by assumption."""

    half: float
    least: float
    rise: str


def precision(sweep: Sweep) -> Precision | None:
    """Return the forecast of a sweep; None without numbers along x, on a log axis, or if it shows no event.

    For a smooth curve of slope f at the threshold, and g trials per unit of x, the isotonic estimate of the place where
    the probability is p errs by (4 p (1 - p) / (f^2 g))^(1/3) times a variable with Chernoff's distribution. The
    interval of a single slice ends at values of x, so half a step is added. With many slices, Student's quantile of
    their scatter is approximated by the first term of its expansion.
    """
    slicing, event = sweep.slicing, sweep.report.event
    column = sweep.columns.get(event)
    if slicing.moving is None or not ("<" in event or (column is not None and column.kind is bool)):
        return None
    slices = slices_of(sweep.cells, slicing)
    if not slices or any(log_spaced(x) for x, _ in slices if x[0] > 0):
        return None
    probability = sweep.report.probability
    slope = NormalDist().pdf(NormalDist().inv_cdf(probability))
    odds = 4 * probability * (1 - probability) / slope**2
    errors, steps, weights = [], [], []
    for x, weight in slices:
        scale = sqrt(max(median(x), 0.0)) if slicing.x == "n" else SCALE * float(np.ptp(x))
        step = float(np.median(np.diff(x)))
        errors.append(CHERNOFF * (odds * scale**2 * step / sweep.replicates) ** (1 / 3))
        steps.append(step)
        weights.append(weight)
    whole = [error + step / 2 for error, step in zip(errors, steps, strict=True)]
    if slicing.pool is None:
        half, least = median(whole), min(steps) / 2
    elif len(slices) < FEW:
        half, least = hypot(*whole) / sum(weights), hypot(*steps) / 2 / sum(weights)
    else:
        student = 1 + 1.21 / (len(slices) - 1)
        half, least = student * hypot(*errors) / sum(weights), sum(steps) / 2 / sum(weights)
    rise = "2 sqrt(n)" if slicing.x == "n" else f"a fifth of the range of {slicing.x}"
    return Precision(half, least, rise)
