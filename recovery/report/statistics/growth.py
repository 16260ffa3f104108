"""How the threshold of a panel, or the width of its transition, grows from slice to slice: a power of the slices' y."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from recovery.errors import ReportError
from recovery.interval import LEVEL, Interval
from recovery.report.diagram import PLAIN, Panel, ThresholdAxis
from recovery.report.statistics.panels import Threshold, is_number, threshold_of
from recovery.theory.normal import normal_reach
from recovery.types import Array


@dataclass(frozen=True)
class Growth:
    """The values at the slices y of each line, and their common exponent p of y^p with its standard errors.

    lines: arrays of shape (2, slices) with y and the values. error, scatter: the standard errors from the trials, and
    from the distances to the power laws, which has `freedom` degrees of freedom; with none it is 0. missing: the
    slices without a value, and what they lack.
    """

    lines: tuple[Array, ...]
    exponent: float
    error: float
    scatter: float
    freedom: int
    missing: tuple[str, ...] = ()

    def interval(self, level: float) -> Interval:
        """Return the exponent with its interval from the larger of `error` and `scatter`: a power law may fit badly."""
        student = float(scipy.special.stdtrit(max(self.freedom, 1), (1 + level) / 2))
        reach = max(normal_reach(level) * self.error, student * self.scatter)
        return Interval(self.exponent, self.exponent - reach, self.exponent + reach, level)


def growth(panels: Sequence[Panel], along: ThresholdAxis, probabilities: Sequence[float]) -> Growth | None:
    """Fit a power of y to the x at which an event has one probability, or to the distance between two such x.

    Each panel has a factor of its own, and all have one exponent. Panels with one value are left out; None if no panel
    has two. Panels are taken to be independent: if they share draws, the interval is too short.
    """
    wholes = [threshold_of(panel, along) for panel in panels]
    for whole in wholes:
        if along.by and whole.parts and not any(is_number(one.y) and one.y > 0 for one in whole.slices):
            raise ReportError(f"a power of {along.by} needs positive numbers")
    found = [places_of(whole, probabilities) for whole in wholes]
    return power([points for points, _ in found], [text for _, missing in found for text in missing])


def places_of(whole: Threshold, probabilities: Sequence[float], level: float = LEVEL) -> tuple[Array, list[str]]:
    """Return an array (3, slices), of each slice with y > 0: y, its value (see `place`) and the error of its logarithm;
    and the slices without a value, in words."""
    values, missing = list[tuple[float, float, float]](), list[str]()
    for one in whole.alone(level):
        at = place(one, probabilities)
        if isinstance(at, str):
            missing.append(f"{PLAIN.pair(whole.along.by or 'y', one.y)}: {at}")
        elif is_number(one.y) and one.y > 0:
            values.append((float(one.y), *at))
    return np.array(values).reshape(-1, 3).T, missing


def power(lines: Sequence[Array], missing: Sequence[str] = ()) -> Growth | None:
    """Fit a power of y by least squares in logarithms; lines: arrays (3, k) of y, values and errors of logarithms."""
    lines = [one for one in lines if one.shape[1] > 1]
    if not lines:
        return None
    weights = [error**-2 for *_, error in lines]
    logs = [np.log(line[:2]) for line in lines]
    x, z = np.hstack([one - (one @ w / w.sum())[:, None] for one, w in zip(logs, weights, strict=True)])
    weight = np.concatenate(weights)
    information = float(weight @ x**2)
    slope = float((weight * x) @ z) / information
    freedom = len(x) - len(lines) - 1
    square = float(weight @ (z - slope * x) ** 2) / max(freedom, 1) if freedom else 0.0
    kept = tuple(line[:2] for line in lines)
    return Growth(kept, slope, information**-0.5, float(np.sqrt(square / information)), freedom, tuple(missing))


def place(one: Threshold, probabilities: Sequence[float]) -> tuple[float, float] | str:
    """Return the x of a slice at one probability, or the distance between two, and the standard error of its logarithm;
    or the reason why there is none, such as the probability that the cells do not show."""
    found = [replace(one, along=replace(one.along, probability=p)) for p in probabilities]
    if not found[0].monotone:
        return "success is not monotone"
    ends = [at.interval for at in found]
    if outside := [p for p, end in zip(probabilities, ends, strict=True) if not end.bounded]:
        return f"{100 * outside[0]:g} % is outside its cells"
    value = ends[0].estimate if len(ends) == 1 else abs(ends[1].estimate - ends[0].estimate)
    reach = float(np.hypot.reduce([(end.high - end.low) / 2 for end in ends])) / normal_reach(ends[0].level)
    return (value, max(reach / value, 1e-9)) if value > 0 else "both ends are in one step of its cells"
