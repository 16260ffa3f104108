"""Coverage of thresholds along axes other than n, by simulation: slice by slice, and pooled over slices.

    python -m benchmarks.axes [--grids 1000]

Each law is the probability of success along x; the truth is the x at which it equals the probability. Slices share the
truth where they are pooled. The table has the shares of grids without an estimate and of intervals that cover.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm

from benchmarks import arguments, table, written
from recovery.interval import Interval
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics import threshold_of
from recovery.types import Array


@dataclass(frozen=True, eq=False)
class Law:
    """P(success) = curve((x - at) / width) along the values x; width: a factor per slice. decreasing: one minus it."""

    x: Array
    at: float
    width: float
    curve: Callable[[Array], Array]
    decreasing: bool = False
    y: tuple[float, ...] = (10, 20, 40, 80, 160, 320)

    def chances(self, shift: float) -> Array:
        """Return the probabilities, shape (slices, x), with the location moved by `shift`."""
        widths = self.width * (np.array(self.y) / self.y[0])[:, None] ** -0.5
        chance = self.curve((self.x - self.at - shift) / widths)
        return 1 - chance if self.decreasing else chance

    def truths(self, shift: float, probability: float) -> Array:
        """Return the x at which each slice has the probability, by interpolation on a fine grid."""
        fine = np.linspace(self.x[0], self.x[-1], 20_001)
        chance = replace(self, x=fine).chances(shift)
        order = -1 if self.decreasing else 1
        return np.array([np.interp(probability, row[::order], fine[::order]) for row in chance])


def gompertz(z: Array) -> Array:
    return 1 - np.exp(-np.log(2) * np.exp(z))


def ramp(z: Array) -> Array:
    return np.clip(0.5 + z / 2, 0, 1)


ALPHA, SMALL = np.arange(1.0, 4.01, 0.2), np.linspace(-1, 1, 21)
LAWS = {
    "probit in alpha": Law(ALPHA, 2.5, 0.5, norm.cdf),
    "logistic in alpha": Law(ALPHA, 2.3, 0.3, expit),
    "gompertz in alpha": Law(ALPHA, 2.5, 0.4, gompertz),
    "ramp in alpha": Law(ALPHA, 2.6, 0.8, ramp),
    "decreasing probit": Law(ALPHA, 2.4, 0.5, norm.cdf, decreasing=True),
    "decreasing gompertz": Law(ALPHA, 2.5, 0.5, gompertz, decreasing=True),
    "negative x": Law(SMALL, -0.1, 0.25, expit),
    "negative x, decreasing": Law(SMALL, 0.05, 0.3, norm.cdf, decreasing=True),
    "few slices": Law(ALPHA, 2.5, 0.5, norm.cdf, y=(1, 2)),
}


def panel(law: Law, replicates: int, seed: int, probability: float) -> tuple[Panel, Array]:
    """Return a drawn panel and the truth of each slice."""
    rng = np.random.default_rng([list(LAWS.values()).index(law), replicates, seed])
    step = float(law.x[1] - law.x[0])
    shift = step * rng.uniform(-0.5, 0.5)
    yes = rng.binomial(replicates, law.chances(shift))
    x, y = np.meshgrid(law.x, law.y)
    counts: dict[str, Any] = {"x": x.ravel(), "y": y.ravel(), "yes": yes.ravel(), "no": replicates - yes.ravel()}
    counts |= dict.fromkeys(("missing", "failed", "undecided", "unmeasured", "undefined"), 0)
    return Panel("", {}, pd.DataFrame(counts), list(law.x), list(law.y)), law.truths(shift, probability)


def slice_intervals(law: Law, replicates: int, seed: int, probability: float) -> list[tuple[Interval, float]]:
    """Return the interval and the truth of each slice."""
    drawn, truths = panel(law, replicates, seed, probability)
    found = threshold_of(drawn, ThresholdAxis("x", "y", None, probability)).alone()
    return [(one.interval, float(truth)) for one, truth in zip(found, truths, strict=True)]


def pooled_interval(law: Law, replicates: int, seed: int) -> tuple[Interval, float]:
    """Return the pooled interval at one half, and the truth that all slices share for a symmetric law."""
    drawn, truths = panel(law, replicates, seed, 0.5)
    return threshold_of(drawn, ThresholdAxis("x", "y", "x")).interval, float(truths[0])


COLUMNS = ("law", "probability", "replicates", "slices without", "slices cover", "pooled without", "pooled covers")


def rows(grids: int) -> Iterator[list[str]]:
    """Yield the cells of each row."""
    for name, law in LAWS.items():
        for probability in (0.5, 0.9):
            for replicates in (5, 20):
                single = [pair for seed in range(grids) for pair in slice_intervals(law, replicates, seed, probability)]
                whole = [pooled_interval(law, replicates, seed) for seed in range(grids)] if probability == 0.5 else []
                yield [name, f"{probability:g}", f"{replicates}", *_shares(single), *_shares(whole)]


def _shares(pairs: list[tuple[Interval, float]]) -> tuple[str, str]:
    if not pairs:
        return "", ""
    without = np.mean([not interval.known for interval, _ in pairs])
    covers = np.mean([interval.low <= truth <= interval.high for interval, truth in pairs])
    return f"{without:.3f}", f"{covers:.3f}"


if __name__ == "__main__":
    GRIDS = arguments(__doc__, grids=1000).grids
    written(__file__, [f"{GRIDS} grids per row.", "", *table(COLUMNS, rows(GRIDS))])
