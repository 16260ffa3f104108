"""What is estimated from one diagram, computed once and when first asked for.

Of a measured number the threshold is where it jumps along n: the n/d at which a trial lies on either side of half way
with even chances. The jump is looked for where values up to a factor of two below and above an n/d differ most. There,
"beyond half way" is an event that only becomes more frequent with n, and its threshold is estimated as any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from recovery.interval import Interval
from recovery.report.diagram import Diagram, Panel, Quantity, default_quantity, is_measured
from recovery.report.statistics.curve_free import CrossedRow, has_rows, rows
from recovery.report.statistics.looks import levels
from recovery.report.statistics.model import Threshold, fit, of_rows
from recovery.report.statistics.pooled import Jump, Pooled, of_sizes, pooled
from recovery.report.statistics.sizes import Size, Sizes, size_by_size
from recovery.report.statistics.transition import collapse, monotone, poolable, ratio_counts, thinned
from recovery.types import Array

TOLERANCES = [10.0**k for k in range(-8, 2)]
COLUMNS = ("max_deviation", "absolute_distance", "test_distance")
"""Columns of which a tolerance makes a recovery."""
REACH = 2.0
"""Values are compared up to this factor of n/d on either side: beyond, they may rise or fall for other reasons."""
FEWEST = 10
"""Trials that either side needs."""
LEVEL = 1e-3
"""Both sides differ at this level, shared among all n/d that were tried; else there is no jump."""
TAILS = 0.05
"""Values beyond these quantiles count as the quantiles, so that single ones do not draw the search to them."""


@dataclass(frozen=True)
class Estimates:
    """Thresholds, widths, scaling and monotonicity of a diagram; empty where they make no sense."""

    diagram: Diagram

    @cached_property
    def _shown(self) -> "dict[str, Estimates]":
        return {str(self.diagram.quantity): self}

    def showing(self, value: str) -> "Estimates":
        """The same grid's estimates for another value, grouped once. Raises `ReportError` for one that is not there."""
        quantity = default_quantity(self.diagram.frame, value, self.diagram.grid.columns)
        if str(quantity) not in self._shown:
            self._shown[str(quantity)] = Estimates(replace(self.diagram, quantity=quantity))
        return self._shown[str(quantity)]

    @cached_property
    def levels(self) -> list[float]:
        """The level of each panel's intervals: 95 %, or higher where the sweep looks several times."""
        return levels(self.diagram)

    @cached_property
    def pooled(self) -> list[Pooled]:
        """One threshold n/d a panel: of a frequency its 50 %, of a number where it jumps."""
        if not self.diagram.layout.over_n_and_d:
            return []
        if not self.diagram.proportion:
            return jumps(self.diagram, self.levels)
        levels = zip(self.diagram.panels, self._told, self.levels, strict=True)
        return [of_sizes(panel, told, level) for panel, told, level in levels]

    @cached_property
    def _told(self) -> list[Sizes]:
        """What the sizes of each panel tell, of a frequency over n and d."""
        return [size_by_size(panel, level) for panel, level in zip(self.diagram.panels, self.levels, strict=True)]

    @property
    def by_size(self) -> list[tuple[Size, ...]]:
        """n50 at each d of each panel, as `pooled` has them, without what only the ratio of a frequency needs."""
        if self.diagram.layout.over_n_and_d and self.diagram.proportion:
            return [told.widened for told in self._told]
        return [one.sizes for one in self.pooled]

    @cached_property
    def second_opinions(self) -> list["SecondOpinion"]:
        """For each panel, what the probit model says of the same cells."""
        panels = [thinned(one.panel) for one in self.pooled]
        return [
            SecondOpinion(of_rows(fit(ratio_counts(panel.cells))), collapse(panel), monotone(panel)) for panel in panels
        ]

    @cached_property
    def rows(self) -> list[list[CrossedRow]]:
        """For each panel of a proportion over other axes than n and d, the x at 50 % for each y."""
        other = has_rows(self.diagram) and not poolable(self.diagram)
        return [rows(panel) for panel in self.diagram.panels] if other else []


@dataclass(frozen=True)
class SecondOpinion:
    """The ratio and slope of P(yes) = Phi(a (n - ratio d) / sqrt n), the exponent nu of finite-size scaling for which
    curves of all d fall on one, and the p-value of success never becoming rarer with n."""

    fit: Threshold
    scaling: Interval | None
    monotone: float


def sensitivity(diagram: Diagram) -> tuple[str, list[list[tuple[float, Interval]]]]:
    """(column, for each panel (tolerance, threshold)); no panels where no such column was measured over n and d."""
    asked = diagram.quantity.column
    names = [asked] if asked in COLUMNS else [name for name in COLUMNS if name in diagram.frame]
    names = [name for name in names if is_measured(diagram.frame, name, diagram.grid.columns)]
    if not names or not diagram.layout.over_n_and_d:
        return "", []
    tallies = diagram.cells.tallies(names[0], TOLERANCES)
    curves: list[list[tuple[float, Interval]]] = []
    for panel, level in zip(diagram.panels, levels(diagram), strict=True):
        series = []
        last: tuple[bytes, Interval] | None = None
        for tolerance, tally in zip(TOLERANCES, tallies, strict=True):
            cells = panel.cells.drop(columns=tally.columns, errors="ignore").join(tally)
            counts = cells[["yes", "no"]].to_numpy().tobytes()
            if last is None or last[0] != counts:
                last = (counts, pooled(replace(panel, cells=cells), level).interval)
            series.append((tolerance, last[1]))
        curves.append(series)
    return names[0], curves


def jumps(diagram: Diagram, levels: Sequence[float]) -> list[Pooled]:
    """For each panel of a number over n and d, the threshold of "half way from the values before to those after", with
    `Pooled.jump`; without a jump, a threshold of no trials.
    """
    rows = diagram.frame[["n", "d"]].astype(float)
    values = np.where(diagram.cells.finished, diagram.quantity.values(diagram.frame), np.nan)
    thresholds = []
    for panel, level in zip(diagram.panels, levels, strict=True):
        inside = np.isin(diagram.cells.code, panel.cells.index) & np.isfinite(values)
        thresholds.append(_jump(diagram, panel, level, (rows["n"] / rows["d"]).to_numpy()[inside], values[inside]))
    return thresholds


def _jump(diagram: Diagram, panel: Panel, level: float, ratio: Array, value: Array) -> Pooled:
    sides = split(ratio, value)
    if sides is None:
        none = panel.cells.assign(**dict.fromkeys(("yes", "no", "undecided"), 0))
        return replace(pooled(replace(panel, cells=none), level), jump=Jump(np.nan, np.nan, ()))
    at, before, after = sides
    near = panel.cells["n"] / panel.cells["d"] / at
    near_by = replace(panel, cells=panel.cells[(near >= 1 / REACH) & (near <= REACH)])
    quarter, half, three = (
        replace(
            pooled(_passed(diagram, near_by, before + share * (after - before), after > before), level),
            jump=Jump(before, after, ()),
        )
        for share in (0.25, 0.5, 0.75)
    )
    return replace(half, jump=Jump(before, after, (quarter, three)))


def split(ratio: Array, value: Array) -> tuple[float, float, float] | None:
    """(n/d, median of the values up to `REACH` below it, median of those above) where a step fits best by least
    squares; None where the two sides do not differ."""
    if not len(value):
        return None
    order = np.argsort(ratio, kind="stable")
    ratio, value = ratio[order], value[order]
    # Least squares of a step needs sums only, once sorted; clipped values keep one outlier from being the step.
    sums = np.concatenate([[0.0], np.cumsum(np.clip(value, *np.quantile(value, [TAILS, 1 - TAILS])))])
    levels = np.unique(ratio)
    # between two neighbouring n/d, in the geometric middle, as reach is a factor
    tried = np.sqrt(levels[:-1] * levels[1:])
    start, at, end = (np.searchsorted(ratio, tried * by) for by in (1 / REACH, 1.0, REACH))
    left, right = at - start, end - at
    kept = (left >= FEWEST) & (right >= FEWEST)
    if not kept.any():
        return None
    start, at, end, left, right, tried = (a[kept] for a in (start, at, end, left, right, tried))
    step = (sums[end] - sums[at]) / right - (sums[at] - sums[start]) / left
    # a step of height s between l and r trials lowers the squares by s^2 l r / (l + r)
    best = int(np.argmax(step**2 * left * right / (left + right)))
    before, after = value[start[best] : at[best]], value[at[best] : end[best]]
    middle = float(np.median(before)), float(np.median(after))
    # the place was chosen as the best of many, so the level is shared among them (Bonferroni)
    if middle[0] == middle[1] or scipy.stats.mannwhitneyu(before, after).pvalue * len(tried) > LEVEL:
        return None
    return float(tried[best]), *middle


def _passed(diagram: Diagram, panel: Panel, level: float, rising: bool) -> Panel:
    """The panel's cells with, as yes, the trials whose value lies beyond the level on the side of larger n."""
    tally: Any = diagram.tally(Quantity(diagram.quantity.column, level)).loc[panel.cells.index]
    yes, no = (tally["no"], tally["yes"]) if rising else (tally["yes"], tally["no"])
    return replace(panel, cells=panel.cells.assign(yes=yes, no=no, undecided=tally["undecided"]))
