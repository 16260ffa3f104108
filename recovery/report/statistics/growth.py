"""How the threshold of a panel, or the width of its transition, grows from slice to slice: a power of the slices' y."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics.crossings import OUTSIDE, slices_of, trend_along
from recovery.report.statistics.slices import crossed, resampled, stack
from recovery.report.statistics.transition import numbers
from recovery.theory.normal import normal_reach
from recovery.types import Array


@dataclass(frozen=True)
class Growth:
    """The values at the slices y, and the exponent p of y^p with its standard errors.

    bootstrap, scatter: its standard errors from bootstrap samples, and from the distances to the power law, which are
    0 for two values.
    """

    y: Array
    values: Array
    exponent: float
    bootstrap: float
    scatter: float

    def interval(self, level: float) -> Interval:
        """Return the exponent with its confidence interval.

        The bootstrap's error does not contain what trials of one slice share, such as a draw of X; the scatter around
        the power law does.
        """
        student = float(scipy.special.stdtrit(max(len(self.y) - 2, 1), (1 + level) / 2))
        reach = max(normal_reach(level) * self.bootstrap, student * self.scatter)
        return Interval(self.exponent, self.exponent - reach, self.exponent + reach, level)


def growth(panel: Panel, along: ThresholdAxis, probabilities: Sequence[float]) -> Growth:
    """Fit a power of y to the x at which an event has one probability, or to the distance between two such x.

    A slice enters if its cells lie on both sides of each probability, in the bootstrap samples too. The line through
    the logarithms is weighted by the inverse variances of the values, from the bootstrap and from the step of the grid.
    Raises `ReportError` with fewer than two such slices.
    """
    parts = slices_of(panel, along)
    y = [part.where[along.by] if along.by else None for part in parts]
    if not all(is_positive(one) for one in y):
        raise ReportError(f"a power of {along.by} needs positive numbers")
    places = [numbers(part.cells, along.x) for part in parts]
    cells = [part.cells for part in parts]
    falling = trend_along(places, cells) < 0
    ends, kept = list[tuple[Array, Array, Array]](), np.ones(len(parts), dtype=np.bool_)
    for probability in probabilities:
        slices = stack(places, cells, falling, probability)
        at, step, cut = crossed(slices, slices.rising)
        samples, _, sides = resampled(slices)  # the same samples for each probability, because the counts are the same
        ends.append((at, step, samples))
        kept &= ~cut[0] & ~cut[1] & (np.mean(sides, axis=1) <= OUTSIDE).all(axis=0)
    value, sample = (np.abs(np.diff([end[k] for end in ends], axis=0, prepend=0)[-1]) for k in (0, 2))
    kept &= value > 0
    if kept.sum() < 2:
        text = f"{int(kept.sum())} of {len(parts)} values of {along.by} have grid cells on both sides"
        raise ReportError(f"{text}; a power needs two")
    value, sample, at_y = value[kept], sample[:, kept], np.array(y, dtype=float)[kept]
    # the place of a jump within its step is uniform, and independent from slice to slice
    hidden = sum(step[kept] ** 2 for _, step, _ in ends) / 12 / value**2
    variance = np.log(np.maximum(sample, 1e-9 * value)).var(axis=0, ddof=1) + hidden
    weight = 1 / variance
    weight /= weight.sum()
    centred = np.log(at_y) - weight @ np.log(at_y)
    lever = weight * centred / float(weight @ centred**2)
    slope = float(lever @ np.log(value))
    left = np.log(value) - weight @ np.log(value) - slope * centred
    scatter = np.sqrt(float(weight @ left**2) / max(len(value) - 2, 1) / float(weight @ centred**2))
    return Growth(at_y, value, slope, float(np.sqrt(lever**2 @ variance)), float(scatter))


def is_positive(value: object) -> bool:
    """Return whether a value is a positive number."""
    return isinstance(value, int | float | np.number) and bool(value > 0)
