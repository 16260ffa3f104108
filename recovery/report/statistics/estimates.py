"""Everything that is estimated from one diagram, computed once on first use.

For a frequency, the threshold is the n/d at which it is 50 %. For a number, it is the n/d at which the number jumps:
half of the trials there lie on each side of the midpoint between the values before and after the jump. The jump is
placed where the values up to a factor of two below and above an n/d differ most, and exists only if an interval
establishes that the values are level away from it. "Beyond the midpoint" is then an event, whose threshold is estimated
in the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy

from recovery.config import Until
from recovery.interval import LEVEL, Interval
from recovery.report.diagram import Axis, Diagram, Panel, Quantity, ThresholdAxis, default_quantity, is_measured
from recovery.report.statistics.crossings import Crossing, Crossings, crossings
from recovery.report.statistics.pooled import RATIO, Jump, Threshold, of_panel, of_slices, pooled
from recovery.report.statistics.samples import median_interval
from recovery.theory.normal import normal_reach
from recovery.types import Array

TOLERANCES = [10.0**k for k in range(-8, 2)]
COLUMNS = ("max_deviation", "absolute_distance", "test_distance")
"""Columns on which a tolerance defines an event."""
REACH = 2.0
"""Values are compared up to this factor of n/d on each side: further away they may change for other reasons."""
FEWEST = 10
"""Trials needed on each side of a jump."""
CHANGE = 0.1
"""Values do not jump if a test at 10 % shows that they change beside the jump by more than this share of it."""
MOST_CHANGE = 0.35
"""Values jump only if a test at 10 % shows that they change beside the jump by less than this share of it. (1/n changes
by 59 %, and exp(-n/d) by 47 % at n/d = 2.)"""
BESIDE = 0.5, 1.5
"""Powers of two of the factors of n/d between which values count as beside a jump: nearer values may be inside the
transition."""
CHANGED = 1e-3
"""Error rate of the test that both sides of a jump differ, divided by the number of n/d that were tried."""
TAILS = 0.05
"""Values are clipped at this quantile and at one minus it, so that single outliers do not attract the jump."""
TRIMMED = 0.1
"""Share of the smallest and of the largest values that a trimmed mean leaves out."""


FIRST = 0.1
"""Share of the error rate that the first interim analysis of an adaptive sweep uses: few sweeps can stop there."""


def interim_level(number: int) -> float:
    """Return the confidence level of the first, second, ... interim analysis of a panel: 99.5 %, 97.75 %, ....

    A sweep that stops at the first interval that is narrow enough would miss too often at a fixed level. The error
    rates 0.005, 0.0225, 0.01125, ... sum to 0.05, so that the interval at which the sweep stops covers 95 % of the
    time, however the analyses are correlated (Bonferroni; error spending as in Lan and DeMets 1983, without a last
    analysis). The time of the next analysis depends on the width so far, before the trials of that analysis are drawn.
    """
    return 1 - (1 - LEVEL) * (FIRST if number == 1 else (1 - FIRST) / 2 ** (number - 1))


def is_adaptive(diagram: Diagram) -> bool:
    """Return whether a rule decides when the sweep stops."""
    ruled = bool(diagram.grid.rounds) and "until" in diagram.grid.rounds[-1]
    return ruled or isinstance(diagram.sweep.sampling, Until)


def levels(diagram: Diagram) -> Callable[[str], float]:
    """Return a function: title of a threshold -> its confidence level, 95 % except in adaptive sweeps.

    There it is the level of the last interim analysis if the target is met or no trials are left, otherwise of the
    next.
    """
    if not is_adaptive(diagram):
        return lambda title: LEVEL
    last = diagram.grid.rounds[-1].get("until") if diagram.grid.rounds else None
    number_of = {panel["title"]: panel["level_of"] for panel in last["panels"]} if last else {}
    return lambda title: interim_level(number_of.get(title, 1))


@dataclass(frozen=True)
class Estimates:
    """Thresholds of a diagram's panels and of their slices; empty where they are not defined."""

    diagram: Diagram

    @cached_property
    def _shown(self) -> "dict[tuple[str, float, str], Estimates]":
        return {(str(self.diagram.quantity), self.diagram.probability, self.diagram.along.what): self}

    def showing(self, value: str, probability: float | None = None, along: str | None = None) -> "Estimates":
        """Return the estimates of the same grid for another value, at another probability or along another axis.

        They are computed once. Raises `ReportError` for an unknown value.
        """
        diagram = self.diagram
        quantity = default_quantity(diagram.frame, value, diagram.grid.columns)
        key = (str(quantity), probability or diagram.probability, along or diagram.along.what)
        if key not in self._shown:
            self._shown[key] = Estimates(replace(diagram.with_threshold(key[2], key[1]), quantity=quantity))
        return self._shown[key]

    @cached_property
    def levels(self) -> list[float]:
        """The confidence level of each threshold: 95 %, or higher in a sweep with interim analyses."""
        return [one.interval.level for one in self.all_thresholds] or [LEVEL]

    @cached_property
    def pooled(self) -> list[Threshold]:
        """One pooled threshold per panel: of an event, or the n/d of the jump of a number. Empty without pooling."""
        diagram, level_of = self.diagram, levels(self.diagram)
        if not diagram.proportion:
            return jumps(diagram) if diagram.layout.over_n_and_d and diagram.along.pool == RATIO.pool else []
        if diagram.along.pool is None:
            return []
        found = zip(diagram.panels, self._crossings, strict=True)
        adaptive = is_adaptive(diagram)
        return [of_panel(panel, crossings, level_of(panel.title), adaptive=adaptive) for panel, crossings in found]

    @cached_property
    def _crossings(self) -> list[Crossings]:
        """The crossing of each slice of each panel, for an event along a numeric axis."""
        diagram, level_of = self.diagram, levels(self.diagram)
        numeric = all(Axis(panel.y if diagram.along.transposed else panel.x).kind != "even" for panel in diagram.panels)
        if not diagram.proportion or not (numeric or diagram.along.pool):
            return []
        return [crossings(panel, diagram.along, level_of) for panel in diagram.panels]

    @property
    def slices(self) -> list[tuple[Crossing, ...]]:
        """The crossing of each slice of each panel, also of the jump of a number. Empty without an event along a
        numeric axis and without a jump."""
        return [one.widened for one in self._crossings] or [one.slices for one in self.pooled]

    @cached_property
    def all_thresholds(self) -> list[Threshold]:
        """The thresholds of all panels: the pooled threshold, or the threshold of each slice."""
        return self.pooled or [one for some in self._crossings for one in of_slices(some)]

    def thresholds_where(self, where: Mapping[str, Any]) -> list[Threshold]:
        """Return the thresholds of panels or slices in which every row has these coordinates."""
        matching = self.diagram.matching([one.panel for one in self.all_thresholds], where)
        return [self.all_thresholds[i] for i in matching]


def sensitivity(diagram: Diagram) -> tuple[str, list[list[tuple[float, Interval]]]]:
    """Return the column with a tolerance, and for each panel its pairs (tolerance, threshold).

    There are no panels if no such column was measured over n and d.
    """
    shown = diagram.quantity.column
    names = [shown] if shown in COLUMNS else [name for name in COLUMNS if name in diagram.frame]
    names = [name for name in names if is_measured(diagram.frame, name, diagram.grid.columns)]
    if not names or not diagram.layout.over_n_and_d:
        return "", []
    tallies = diagram.cells.tallies(names[0], TOLERANCES)
    curves: list[list[tuple[float, Interval]]] = []
    for panel in diagram.panels:
        level, series = levels(diagram)(panel.title), []
        last: tuple[bytes, Interval] | None = None
        for tolerance, tally in zip(TOLERANCES, tallies, strict=True):
            cells = panel.cells.drop(columns=tally.columns, errors="ignore").join(tally)
            counts = cells[["yes", "no"]].to_numpy().tobytes()
            if last is None or last[0] != counts:
                last = (counts, pooled(replace(panel, cells=cells), level, diagram.along).interval)
            series.append((tolerance, last[1]))
        curves.append(series)
    return names[0], curves


def jumps(diagram: Diagram) -> list[Threshold]:
    """Return one threshold per panel of a number over n and d, with `Threshold.jump` set.

    A panel without a jump gets a threshold without trials.
    """
    rows = diagram.frame[["n", "d"]].astype(float)
    values = np.where(diagram.cells.finished, diagram.quantity.values(diagram.frame), np.nan)
    thresholds = []
    for panel in diagram.panels:
        level = levels(diagram)(panel.title)
        inside = np.isin(diagram.cells.code, panel.cells.index) & np.isfinite(values)
        thresholds.append(_jump(diagram, panel, level, (rows["n"] / rows["d"]).to_numpy()[inside], values[inside]))
    return thresholds


def _jump(diagram: Diagram, panel: Panel, level: float, ratio: Array, value: Array) -> Threshold:
    at = split(ratio, value)
    parts = [] if at is None else beside(ratio / at, value)
    change = change_beside(parts) if min((len(one.value) for one in parts), default=0) >= FEWEST else None
    if at is None or change is None or change.low > CHANGE or change.high > MOST_CHANGE:
        few = all(min(len(part.value) for part in beside(ratio / one, value)) < FEWEST for one in np.unique(ratio))
        few |= change is not None and change.low <= CHANGE
        none = panel.cells.assign(**dict.fromkeys(("yes", "no", "undecided"), 0))
        return replace(pooled(replace(panel, cells=none), level, _middle(diagram)), jump=Jump(np.nan, np.nan, (), few))
    before, after = _plateau(parts[:2]), _plateau(parts[2:])
    near = panel.cells["n"] / panel.cells["d"] / at
    near_by = replace(panel, cells=panel.cells[(near >= 1 / REACH) & (near <= REACH)])
    jump, rising = Jump(before.estimate, after.estimate, ()), after.estimate > before.estimate

    def passed(share: float, start: float, end: float) -> Threshold:
        bound = start + share * (end - start)
        return replace(pooled(_passed(diagram, near_by, bound, rising), level, _middle(diagram)), jump=jump)

    quarter, half, three = (passed(share, before.estimate, after.estimate) for share in (0.25, 0.5, 0.75))
    # the midpoint is as uncertain as the levels before and after the jump, which may lie as much further apart as the
    # values change beside it: the interval also covers the thresholds at the midpoints of their lower and upper ends
    further = max(change.estimate, 0.0) * abs(after.estimate - before.estimate)
    far = passed(0.5, before.low - further, after.low), passed(0.5, before.high, after.high + further)
    return replace(
        half,
        interval=_hull(half.interval, *(one.interval for one in far)),
        outer_interval=_hull(half.outer_interval, *(one.outer_interval for one in far)),
        jump=replace(jump, quarters=(quarter, three)),
    )


def _hull(first: Interval, *others: Interval) -> Interval:
    """Return the first estimate with the least low and the greatest high end."""
    ends = [first, *others]
    return replace(first, low=min(one.low for one in ends), high=max(one.high for one in ends))


class Beside(NamedTuple):
    """Values beside a jump, and log2 of the ratio of their n/d to the n/d of the jump."""

    along: Array
    value: Array


def beside(along: Array, value: Array) -> list[Beside]:
    """Return the values below and above a jump at along = 1, each side in two halves, from small to large `along`."""
    order = np.argsort(along, kind="stable")
    power, value = np.log2(along[order]), value[order]
    near, far = BESIDE
    sides = ((power >= -far) & (power < -near), (power >= near) & (power < far))
    halves = [np.array_split(np.flatnonzero(side), 2) for side in sides]
    return [Beside(power[half], value[half]) for side in halves for half in side]


def change_beside(parts: Sequence[Beside]) -> Interval:
    """Return the change of the values of `beside` on both sides of the jump per factor of sqrt 2, as a share of it.

    A change in the direction of the jump is positive. The levels are trimmed means with winsorised variances (Tukey and
    McLaughlin 1963). Each end of the interval has the error rate 10 %.
    """
    levels, errors = np.transpose([_trimmed(part.value) for part in parts])
    places = np.array([part.along.mean() for part in parts])
    jump = (levels[2] + levels[3] - levels[0] - levels[1]) / 2
    with np.errstate(all="ignore"):
        per = 0.5 / np.repeat(np.diff(places)[::2], 2) / jump
        change, reach = np.array([-1, 1, -1, 1]) * per @ levels, normal_reach(0.8) * np.hypot.reduce(per * errors)
    if not np.isfinite(change):
        return Interval(np.nan, -np.inf, np.inf, 0.8)
    return Interval(float(change), float(change - reach), float(change + reach), 0.8)


def _trimmed(values: Array) -> tuple[float, float]:
    """Return the trimmed mean and its standard error."""
    count, cut = len(values), int(TRIMMED * len(values))
    kept = np.sort(values)[cut : count - cut]
    spread = np.clip(values, kept[0], kept[-1]).std(ddof=1)
    return float(kept.mean()), float(spread / np.sqrt(count) / (1 - 2 * cut / count))


def _plateau(parts: Sequence[Beside]) -> Interval:
    """Return the median of one side of a jump, with the intervals of the medians of both halves."""
    values = [part.value for part in parts]
    return replace(_hull(*map(median_interval, values)), estimate=float(np.median(np.concatenate(values))))


def _middle(diagram: Diagram) -> ThresholdAxis:
    """Return the threshold axis at probability 1/2, where half of the trials are beyond a number."""
    return replace(diagram.along, probability=RATIO.probability)


def split(ratio: Array, value: Array) -> float | None:
    """Return the n/d of the best least-squares step of the values along n/d.

    Only values up to a factor `REACH` away count. None if both sides do not differ.
    """
    if not len(value):
        return None
    order = np.argsort(ratio, kind="stable")
    ratio, value = ratio[order], value[order]
    # with the values in the order of n/d, cumulative sums give the mean on both sides of a step at every n/d
    sums = np.concatenate([[0.0], np.cumsum(np.clip(value, *np.quantile(value, [TAILS, 1 - TAILS])))])
    levels = np.unique(ratio)
    # steps are tried at the geometric means of neighbouring n/d, because REACH is a factor
    tried = np.sqrt(levels[:-1] * levels[1:])
    start, at, end = (np.searchsorted(ratio, tried * by) for by in (1 / REACH, 1.0, REACH))
    left, right = at - start, end - at
    kept = (left >= FEWEST) & (right >= FEWEST)
    if not kept.any():
        return None
    start, at, end, left, right, tried = (a[kept] for a in (start, at, end, left, right, tried))
    step = (sums[end] - sums[at]) / right - (sums[at] - sums[start]) / left
    # the best step lowers the sum of squares most: with height s between l and r trials, by s^2 l r / (l + r)
    best = int(np.argmax(step**2 * left * right / (left + right)))
    before, after = value[start[best] : at[best]], value[at[best] : end[best]]
    # the step is the best of all steps tried, so its p-value is multiplied by their number (Bonferroni)
    if np.median(before) == np.median(after) or scipy.stats.mannwhitneyu(before, after).pvalue * len(tried) > CHANGED:
        return None
    return float(tried[best])


def _passed(diagram: Diagram, panel: Panel, bound: float, rising: bool) -> Panel:
    """Return the panel with `yes` counting the trials whose value lies beyond `bound` on the side of larger n."""
    tally: Any = diagram.tally(Quantity(diagram.quantity.column, bound)).loc[panel.cells.index]
    yes, no = (tally["no"], tally["yes"]) if rising else (tally["yes"], tally["no"])
    return replace(panel, cells=panel.cells.assign(yes=yes, no=no, undecided=tally["undecided"]))
