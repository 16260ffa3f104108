"""One panel's threshold n/d: the model's estimate, widened and tested, beside what needs no curve."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from recovery.report.diagram import Panel
from recovery.report.statistics.curve_free import Crossing, common, crossing, exact
from recovery.report.statistics.directed import UNTESTED, Directed, directed
from recovery.report.statistics.threshold import Threshold, fit, goodness, of_rows, slope_interval
from recovery.report.statistics.transition import FINE, by_size, numbers, over_both, ratio_counts, unfinished
from recovery.types import Array

POOR_FIT = 1e-3
"""Below this p-value of the deviance no such curve fits."""
FLAT = 0.1
"""A ratio is one number over all d only if the grid shows that it changes by less than a factor of e^0.1, 10 %."""


@dataclass(frozen=True)
class Size:
    """n50 at one d without a curve; `exact`: an interval that covers for every rising curve, at all d at once and
    whatever the unfinished trials would have been."""

    d: float
    n50: Crossing
    exact: tuple[float, float]


@dataclass(frozen=True)
class Pooled:
    """One panel's threshold as a ratio n/d.

    `model`: the fit of P(yes) = Phi(a (n - ratio d) / sqrt n); Wendel's law has 2 and 1. `ratio`: the same where the
    curve may be skew, of other tails and of another exponent. `directed`: what speaks against the model; nothing where
    its likelihood has no maximum. `slope`: the interval of a. `goodness`: p-value of the fit. `bracket`: the estimate
    if every failed, undecided and missing trial counted as a yes, and as a no. `common`: one ratio without any curve,
    `reach`: its interval with the bracket's. `sizes`: n50 at each d without a curve.
    `jump`: of a number rather than a frequency, what it jumps between; yes is then a trial beyond half way.
    """

    panel: Panel
    ratio: Threshold
    model: Threshold
    directed: Directed
    slope: tuple[float, float]
    goodness: float
    bracket: tuple[float, float]
    common: Crossing
    reach: tuple[float, float]
    sizes: tuple[Size, ...]
    jump: "Jump | None" = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the model fails in, worst first: `drift`, `exponent`, `skew`, `tails`, `scatter`; none if it stands.

        No curve is expected of a jump: where the model's shape fails, sizes that lie `apart` speak against one ratio,
        and the model's drift does not count.
        """
        found = (*self.directed.rejected, *(("scatter",) if self.goodness < POOR_FIT else ()))
        shapes = tuple(name for name in found if name != "drift")
        if self.jump is None or not shapes:
            return found
        return (("apart",) if self.apart else ()) + shapes

    @property
    def withdrawn(self) -> bool:
        """Whether no one ratio is given, and n50 is to be read at each d: it drifts, or no such curve fits."""
        if self.jump is not None:
            return "drift" in self.reasons or "apart" in self.reasons
        return "drift" in self.reasons or "scatter" in self.reasons

    @property
    def apart(self) -> bool:
        """Whether no one ratio lies in the exact intervals of all sizes, as far as those are not empty."""
        known = [(low / size.d, high / size.d) for size in self.sizes for low, high in [size.exact] if low <= high]
        return bool(known) and max(low for low, _ in known) > min(high for _, high in known)

    @property
    def given(self) -> Crossing:
        """The ratio that is given, with its interval: the widened model's; the common one of rising curves, where the
        model's shape fails."""
        return self.common if self.reasons else Crossing(self.ratio.estimate, self.ratio.low, self.ratio.high)

    @property
    def widened(self) -> tuple[float, float]:
        """The given interval, and what unfinished trials could make of the estimate."""
        if self.reasons:
            return self.reach
        return min(self.ratio.low, *self.bracket), max(self.ratio.high, *self.bracket)

    @property
    def beyond(self) -> bool:
        """Whether the given ratio lies outside the n/d of all cells, so that the model alone says it."""
        at = numbers(self.panel.cells, "n") / numbers(self.panel.cells, "d")
        return not at.min() <= self.given.estimate <= at.max()

    @property
    def is_mean(self) -> bool:
        """Whether the ratio may change with d by more than `FLAT`, so that the pooled one is a mean."""
        if len(self.sizes) < 2:
            return False
        if not self.directed.ends:
            return True
        _, low, high = self.directed.change()
        return bool(low < np.expm1(-FLAT) or high > np.expm1(FLAT))

    def width(self, d: float) -> float:
        """n at 90 % less n at 10 %: (q/a) sqrt((q/a)^2 + 4 ratio d), q = 1.28; 0 for separated data."""
        spread = float(ndtri(0.9)) / abs(self.model.slope)
        return spread * float(np.sqrt(spread**2 + 4 * self.model.estimate * d))


@dataclass(frozen=True)
class Jump:
    """The medians of a number just before and after it jumps, and the thresholds at which a trial is beyond a quarter
    and beyond three quarters of the way (none of those themselves); NaN and none where it does not jump."""

    before: float
    after: float
    quarters: tuple[Pooled, ...]


def pooled(panel: Panel) -> Pooled:
    """The threshold n/d of a panel over n and d, all slices at once."""
    cells = panel.cells
    yes, no, open_ = numbers(cells, "yes"), numbers(cells, "no"), unfinished(cells)
    counts = ratio_counts(cells)
    model = of_rows(fit(counts))
    slope = slope_interval(counts, model) if len(counts) <= FINE else (np.nan, np.nan)
    tested = UNTESTED
    if np.isfinite([model.estimate, model.slope]).all():
        there = yes + no > 0
        n, d = numbers(cells, "n")[there], numbers(cells, "d")[there]
        tested = directed(n, d, yes[there], no[there], model.estimate, model.slope)
    ratio = of_rows(_widened(model, tested))
    bracket = (ratio.estimate, ratio.estimate)
    if open_.any():
        near = (model.estimate, model.slope)
        as_yes = fit(over_both(cells, yes + open_, no), intervals=False, near=near)
        as_no = fit(over_both(cells, yes, no + open_), intervals=False, near=near)
        moved = ratio.estimate - model.estimate
        bracket = (_above_zero(as_yes.estimate + moved), _above_zero(as_no.estimate + moved))
    falling = model.slope < 0
    shared = _shared(panel, 0.0, 0.0, falling)
    either = [_shared(panel, share, 1 - share, falling) for share in (0.0, 1.0)] if open_.any() else []
    reach = (min(one.low for one in [shared, *either]), max(one.high for one in [shared, *either]))
    parts = by_size(panel)
    alone = tuple(_size(d, part.cells, falling, 1 - 0.05 / len(parts)) for d, part in parts)
    return Pooled(panel, ratio, model, tested, slope, goodness(counts, model), bracket, shared, reach, alone)


def _above_zero(ratio: float) -> float:
    return 0.0 if ratio < 0 else ratio


def _widened(model: Threshold, tested: Directed) -> Threshold:
    """The model's profile interval, moved and stretched to what it is if the curve may have another shape."""
    if not tested.z:
        return model
    middle, stretch = tested.ratio[0], tested.widening
    low, high = middle - stretch * (model.estimate - model.low), middle + stretch * (model.high - model.estimate)
    return replace(model, estimate=middle, low=low, high=high)


def _counts(cells: pd.DataFrame, as_yes: float, as_no: float, falling: bool) -> tuple[Array, Array, Array]:
    """n, and the outcomes that become more frequent and rarer as it grows, with shares of the unfinished."""
    open_ = unfinished(cells)
    yes, no = numbers(cells, "yes") + as_yes * open_, numbers(cells, "no") + as_no * open_
    return (numbers(cells, "n"), no, yes) if falling else (numbers(cells, "n"), yes, no)


def _shared(panel: Panel, as_yes: float, as_no: float, falling: bool) -> Crossing:
    parts = []
    for d, part in by_size(panel):
        n, rising, other = _counts(part.cells, as_yes, as_no, falling)
        parts.append((n / d, rising, other))
    return common(parts)


def _size(d: float, cells: pd.DataFrame, falling: bool, level: float) -> Size:
    shares = (0.0, 1.0) if unfinished(cells).any() else (0.0,)
    ends = [exact(*_counts(cells, share, 1 - share, falling), level) for share in shares]
    reach = (min(low for low, _ in ends), max(high for _, high in ends))
    return Size(d, crossing(*_counts(cells, 0.0, 0.0, falling)), reach)
