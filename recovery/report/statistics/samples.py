"""The values of some trials with the confidence intervals of their mean and their median.

The interval of a proportion is exact. No interval for the mean of other values is exact for every law: theirs is
approximate, and needs `SAMPLES` trials.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy

from recovery.interval import LEVEL, Interval
from recovery.report.diagram import Diagram, unknown_words
from recovery.report.diagram.quantity import Quantity
from recovery.report.statistics.differences import exact_interval
from recovery.types import Array, Mask

SAMPLES = 30
"""Fewest values for an approximate bound of their mean: fewer lack rare values too often."""


def approximate_upper(values: Array, level: float) -> float:
    """Return an upper bound of the mean by exponential tilting (Efron 1981); infinite for few or equal values.

    The values are drawn with weights exp(t z) of the standardised values z, under which the mean is larger. The bound
    is the mean at which a sample mean as small as the observed one has the probability of Student's quantile. For
    two-valued data it is nearly the exact bound of a proportion.
    """
    n = len(values)
    spread = float(values.std()) if n >= SAMPLES else 0.0
    if spread <= 1e-12 * np.abs(values).max(initial=0.0):
        return np.inf
    z = (values - values.mean()) / spread
    top = float(z.max())
    # Student's quantile is rescaled, because the spread here is divided by n, not by n - 1
    quantile = -float(scipy.special.stdtrit(n - 1, level)) * np.sqrt(n / (n - 1))

    def score(t: float) -> float:
        """Return the normal quantile of the tail at tilt t (Lugannani and Rice 1980), minus the target quantile."""
        root = np.sqrt(2 * n * (t * top + np.log(np.exp(t * (z - top)).mean())))
        return float(np.log(root / (t * np.sqrt(n))) / root - root - quantile)

    low, high = 1e-3 / np.sqrt(n), 1.0
    while score(high) > 0:
        high *= 2
    # a level near 1/2 needs no tilt: the bound is then the sample mean
    t = scipy.optimize.brentq(score, low, high) if score(low) > 0 else 0.0
    return float(values.mean() + spread * (scipy.special.softmax(t * z) @ z))


def median_interval(values: Array, level: float = LEVEL, unknown: int = 0) -> Interval:
    """Return the interval of the median, which holds for any distribution and wherever `unknown` more values lie.

    The estimate is the middle of the possible medians, NaN if these have no bounds.
    """
    far = np.full(unknown, np.inf)
    low, high = np.sort(np.concatenate([-far, values])), np.sort(np.concatenate([values, far]))
    # k is the largest number for which the k-th smallest value exceeds the median with a probability, P(Binomial(N,
    # 1/2) < k), below (1 - level) / 2
    k = int(scipy.stats.binom.ppf((1 - level) / 2, len(low), 0.5))
    ends = (float(low[k - 1]), float(high[-k])) if k else (-np.inf, np.inf)
    middle = (np.median(low) + np.median(high)) / 2 if len(values) > unknown else np.nan
    return Interval(float(middle), *ends, level)


@dataclass(frozen=True)
class Sample:
    """Values of trials, 1 and 0 for a proportion. unknown: how many more are `undecided`, `unmeasured` or `failed`."""

    values: Array
    proportion: bool
    unknown: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, diagram: Diagram, quantity: Quantity, rows: Mask) -> "Sample":
        """Return what the finished trials among these rows measured, except where the value is undefined."""
        return next(cls.each(diagram, quantity, [rows]))

    @classmethod
    def each(cls, diagram: Diagram, quantity: Quantity, parts: Iterable[Mask]) -> "Iterator[Sample]":
        """Yield the sample of each part of the rows, as `of` does."""
        frame, finished, proportion = diagram.frame, diagram.cells.finished, quantity.proportion(diagram.frame)
        values, unmeasured = quantity.values(frame), finished & quantity.unmeasured(frame)
        undecided = finished & quantity.unknown(frame) & ~unmeasured
        masks = {"undecided": undecided, "unmeasured": unmeasured, "failed": ~finished}
        for rows in parts:
            found = values[rows & finished]
            unknown = +Counter({name: int((rows & mask).sum()) for name, mask in masks.items()})
            yield cls(found[~np.isnan(found)], proportion, unknown)

    @property
    def mean(self) -> float:
        """The mean of the values; NaN without a value, or with an unmeasured one."""
        return float(self.values.mean()) if len(self.values) and not self.unknown["unmeasured"] else np.nan

    @property
    def error(self) -> float:
        """The standard error of the mean; NaN with fewer than two values, or with an unmeasured one."""
        known = len(self.values) > 1 and not self.unknown["unmeasured"]
        return float(self.values.std(ddof=1)) / np.sqrt(len(self.values)) if known else np.nan

    @property
    def caveat(self) -> str:
        """Why the interval of the mean is infinite or approximate; empty if it is exact."""
        if self.proportion:
            return ""
        if self.unknown:
            return f"the mean has no bound from {unknown_words(self.unknown)} trials"
        if len(self.values) < SAMPLES:
            return "too few trials for a mean of values without a known range"
        if np.ptp(self.values) == 0:
            return "equal values show no spread, so their mean has no interval"
        return "the interval is approximate: exponential tilting"

    def interval(self, statistic: str, level: float = LEVEL) -> Interval:
        """Return the interval of the mean or the median; for `every`, the least and the greatest value.

        A proportion's interval is exact (Clopper and Pearson 1934), and a median's comes from order statistics. Both
        hold whatever the unknown values are. With unknown values, the interval of a mean of numbers is infinite.
        """
        values, count = np.sort(self.values), len(self.values)
        if statistic == "every":
            return Interval(np.nan, *((float(values[0]), float(values[-1])) if count else (-np.inf, np.inf)), level)
        if statistic == "median":
            return median_interval(values, level, self.unknown.total())
        if self.proportion:
            yes, more = float(values.sum()), self.unknown["unmeasured"]
            low, high = map(float, exact_interval(yes, count - yes, self.unknown.total(), level))
            fraction = (yes + more / 2) / (count + more) if count else np.nan
            return Interval(fraction, low, high, level) if count else Interval(np.nan, 0.0, 1.0, level)
        mean, side = self.mean, (1 + level) / 2
        if self.unknown:
            return Interval(mean, -np.inf, np.inf, level)
        return Interval(mean, -approximate_upper(-values, side), approximate_upper(values, side), level)
