"""The threshold of some slices, with one interval: of a smooth curve, or the bracket by the cells.

A smooth curve is used if the cells show a transition, and if no test prefers a jump. The choice does not depend on
which interval is shorter.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from recovery.config.header import IntervalShape
from recovery.interval import LEVEL, Interval
from recovery.report.statistics.bracket import Bracket, equal_crossings
from recovery.report.statistics.counts import Counts
from recovery.report.statistics.curve import SmoothCurve, near_threshold, seen
from recovery.report.statistics.shape import REJECTED, Dispersion, constant, dispersion, is_smooth, monotone

Method = Literal["probit", "smooth curve", "bracket by the cells"]
FEWEST = 3.0
"""Least degrees of freedom of Student's law in the interval of a curve."""


@dataclass(frozen=True)
class Estimated:
    """The threshold of some slices. monotone, constant: no test rejects monotone success, and one threshold for all.

    factors: the least and the greatest factor of the threshold that a slice may have; NaN if not known.
    """

    method: Method
    estimate: float
    bracket: Bracket
    dispersion: Dispersion
    monotone: bool
    constant: bool
    factors: tuple[float, float] = (np.nan, np.nan)
    curve: SmoothCurve | None = None

    def interval(self, level: float = LEVEL) -> Interval:
        """Return the estimate with its interval, also if tests reject `monotone` or `constant`."""
        if self.curve is None:
            return Interval(self.estimate, *self.bracket.reach(level), level)
        # A probit is a normal variable of which the sign alone is seen, so the trials hold as much information as a
        # number of normal observations. What the curve and its place take is subtracted, as in any regression.
        fit, inner = self.curve.fit(self.estimate), self.bracket.ends[[1, -2]]
        spent = 1 + float(np.trace(np.linalg.solve(fit.information, (fit.columns.T * fit.weight) @ fit.columns)))
        freedom = min(max(float(fit.weight.sum()) - spent, FEWEST), self.dispersion.freedom)
        reach = float(scipy.special.stdtrit(freedom, (1 + level) / 2))
        low, high = (
            self.curve.end(self.estimate, side, reach, abs(float(last) - self.estimate))
            for side, last in zip((-1, 1), inner, strict=True)
        )
        return Interval(self.estimate, low, high, level)


def estimate(counts: Counts, probability: float = 0.5, shape: IntervalShape = "smooth") -> Estimated:
    """Return the threshold of all slices together."""
    bracket, rises = Bracket.of(counts, probability), monotone(counts) >= REJECTED
    curve, t, spread = _curve(counts, bracket, probability, shape)
    # the brackets of the slices show thresholds outside the window of the curve
    equal = equal_crossings(counts, probability, spread.factor) >= REJECTED
    if curve and (not curve.bent or (seen(curve, t) and is_smooth(curve, t))):
        name: Method = "smooth curve" if curve.bent else "probit"
        p, factors = constant(curve, t, spread)
        found = Estimated(name, t, bracket, spread, rises, equal and p >= REJECTED, factors, curve)
        if found.interval().bounded:
            return found
    bracket = Bracket.of(counts, probability, spread.factor)
    some = np.isfinite(bracket.reach(LEVEL)).any()
    middle = bracket.middle if some and np.isfinite(bracket.gap).all() else np.nan
    equal = equal and _overlap(counts, probability, shape)
    return Estimated("bracket by the cells", middle, bracket, spread, rises, equal)


def _overlap(counts: Counts, probability: float, shape: IntervalShape) -> bool:
    """Return whether some place is in the intervals of all slices, which together cover with probability 1 - REJECTED.

    A bracket does not assume a shape. Where slices differ too much in width for one curve, the curve of each still
    tells its threshold better than the bracket.
    """
    if counts.slices < 2:
        return True
    level = 1 - REJECTED / counts.slices
    found = [estimate(one, probability, shape).interval(level) for one in counts.each]
    return max(one.low for one in found) <= min(one.high for one in found)


def _curve(
    counts: Counts, bracket: Bracket, probability: float, shape: IntervalShape
) -> tuple[SmoothCurve | None, float, Dispersion]:
    """Return the curve, if the cells show one, of counts divided by their dispersion; its threshold; the dispersion."""
    inner, fitted = bracket.ends[1:-1], None
    if shape != "free" and len(inner) > 2:
        low, high = np.clip(bracket.reach(LEVEL), inner[0], inner[-1]).tolist()
        places = np.unique([*np.linspace(low, high, 24), bracket.middle])
        fitted = near_threshold(counts, places, probability, shape == "smooth")
    if fitted is None:
        return None, np.nan, Dispersion(np.inf if counts.draws else 1.0)
    curve, t = fitted
    spread, first = Dispersion(), curve.counts
    for _ in range(3 if first.draws else 0):
        # a curve through dependent counts follows their scatter, so the dispersion is estimated again
        found = dispersion(curve, t)
        spread = found._replace(factor=max(found.factor / spread.factor, 1.0))
        if not np.isfinite(spread.factor):
            return None, np.nan, spread
        curve = replace(curve, counts=replace(first, k=first.k / spread.factor, n=first.n / spread.factor))
    return curve, curve.top(t), spread
