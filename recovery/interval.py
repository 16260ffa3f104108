"""An estimate with its confidence interval."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, isinf, isnan

LEVEL = 0.95
"""The confidence level of an interval unless a sweep or a claim sets another."""


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its confidence interval; `level` is always the confidence level.

    The estimate is NaN where the data give none, and an end is infinite where the data give no bound. In a format
    string, `f"{interval:.3f}"` is `1.993 (95 % interval 1.955 to 2.030)`.
    """

    estimate: float
    low: float
    high: float
    level: float = LEVEL

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return not isnan(self.estimate)

    @property
    def bounded(self) -> bool:
        """Whether both ends are finite."""
        return isfinite(self.low) and isfinite(self.high)

    def ends(self, form: str = ".3f") -> str:
        """Return the ends as text: `1.955 to 2.030`, `above 1.955` or `below 2.030` if one is infinite, `unbounded`."""
        if isinf(self.low) and isinf(self.high):
            return "unbounded"
        if isinf(self.low):
            return f"below {self.high:{form}}"
        return f"above {self.low:{form}}" if isinf(self.high) else f"{self.low:{form}} to {self.high:{form}}"

    def words(self, form: str = ".3f") -> str:
        """Return `95 % interval 1.955 to 2.030`."""
        return f"{interval_words([self.level])} {self.ends(form)}"

    def entry(self, form: str = ".3f") -> str:
        """Return `1.955 to 2.030 (95 %)`, for a table whose header says that this is an interval."""
        return f"{self.ends(form)} ({percent(self.level)})"

    def moved(self, down: float, up: float) -> "Interval":
        """Return the interval with `down` added to its lower end and `up` to its upper end."""
        return Interval(self.estimate, self.low + down, self.high + up, self.level)

    def __format__(self, form: str) -> str:
        form = form or ".4g"
        return f"{self.estimate:{form}} ({self.words(form)})" if self.known else self.words(form)


def interval_words(levels: Iterable[float]) -> str:
    """Return the legend text of intervals of these levels: `95 % interval`, or `97.75 % to 99.5 % intervals`."""
    levels = sorted(set(levels)) or [LEVEL]
    if len(levels) == 1:
        return f"{percent(levels[0])} interval"
    return f"{percent(levels[0])} to {percent(levels[-1])} intervals"


def percent(level: float) -> str:
    """Return a confidence level as `95 %` or `97.75 %`."""
    return f"{100 * level:.5g} %"
