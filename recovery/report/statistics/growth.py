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
    """The values at the slices y of each line, and their common exponent p of y^p with its standard errors.

    lines: arrays of shape (2, slices) with y and the values. bootstrap, scatter: the errors from bootstrap samples, and
    from the distances to the power laws, which has `freedom` degrees of freedom; with none it is 0.
    """

    lines: tuple[Array, ...]
    exponent: float
    bootstrap: float
    scatter: float
    freedom: int

    def interval(self, level: float) -> Interval:
        """Return the exponent with its confidence interval.

        The bootstrap's error does not contain what trials of one slice share, such as a draw of X; the scatter around
        the power law does.
        """
        student = float(scipy.special.stdtrit(max(self.freedom, 1), (1 + level) / 2))
        reach = max(normal_reach(level) * self.bootstrap, student * self.scatter)
        return Interval(self.exponent, self.exponent - reach, self.exponent + reach, level)


def growth(panels: Sequence[Panel], along: ThresholdAxis, probabilities: Sequence[float]) -> Growth | None:
    """Fit a power of y to the x at which an event has one probability, or to the distance between two such x.

    Each panel has a factor of its own, and all have one exponent. The lines through the logarithms are weighted by the
    inverse variances of the values, from the bootstrap and from the step of the grid. Panels with one value are left
    out; None if no panel has two. Panels are taken to be
    independent: if they share draws, the interval is too short.
    """
    found = [_values(panel, along, probabilities) for panel in panels]
    lines = [one for one in found if one.shape[1] > 1]
    if not lines:
        return None
    centred, left, weights = [], [], []
    for y, value, variance in lines:
        weight = 1 / variance
        centred.append(np.log(y) - weight @ np.log(y) / weight.sum())
        left.append(np.log(value) - weight @ np.log(value) / weight.sum())
        weights.append(weight)
    x, z, weight = (np.concatenate(part) for part in (centred, left, weights))
    information = float(weight @ x**2)
    slope = float((weight * x) @ z) / information
    freedom = len(x) - len(lines) - 1
    square = float(weight @ (z - slope * x) ** 2) / max(freedom, 1)
    kept = tuple(line[:2] for line in lines)
    return Growth(kept, slope, information**-0.5, float(np.sqrt(square / information)), freedom)


def _values(panel: Panel, along: ThresholdAxis, probabilities: Sequence[float]) -> Array:
    """Return y, the value and the variance of its logarithm for the slices of a panel, shape (3, slices).

    A slice enters if y has a logarithm and its cells lie on both sides of each probability, in the bootstrap samples
    too. Raises `ReportError` if no y has a logarithm.
    """
    every = slices_of(panel, along)
    parts = [part for part in every if along.by and is_positive(part.where[along.by])]
    if every and not parts:
        raise ReportError(f"a power of {along.by} needs positive numbers")
    if not parts:
        return np.zeros((3, 0))
    y = [part.where[str(along.by)] for part in parts]
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
    value, sample = value[kept], sample[:, kept]
    # the place of a jump within its step is uniform, and independent from slice to slice
    hidden = sum(step[kept] ** 2 for _, step, _ in ends) / 12 / value**2
    variance = np.log(np.maximum(sample, 1e-9 * value)).var(axis=0, ddof=1) + hidden
    return np.array([np.array(y, dtype=float)[kept], value, variance])


def is_positive(value: object) -> bool:
    """Return whether a value is a positive number."""
    return isinstance(value, int | float | np.number) and bool(value > 0)
