"""What is estimated from one diagram, computed once and when first asked for."""

from dataclasses import dataclass, replace
from functools import cached_property

from recovery.report.diagram import Diagram, default_quantity, is_measured
from recovery.report.statistics.curve_free import CrossedRow, Crossing, has_rows, rows
from recovery.report.statistics.jump import jumps
from recovery.report.statistics.looks import levels
from recovery.report.statistics.model import Threshold, fit, of_rows
from recovery.report.statistics.pooled import Pooled, pooled
from recovery.report.statistics.transition import Collapse, collapse, monotone, poolable, ratio_counts, thinned

TOLERANCES = [10.0**k for k in range(-8, 2)]
COLUMNS = ("max_deviation", "absolute_distance", "test_distance")
"""Columns of which a tolerance makes a recovery."""


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
        return [pooled(panel, level) for panel, level in zip(self.diagram.panels, self.levels, strict=True)]

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
    scaling: Collapse | None
    monotone: float


def sensitivity(diagram: Diagram) -> tuple[str, list[list[tuple[float, Crossing]]]]:
    """(column, for each panel (tolerance, threshold)); no panels where no such column was measured over n and d."""
    asked = diagram.quantity.column
    names = [asked] if asked in COLUMNS else [name for name in COLUMNS if name in diagram.frame]
    names = [name for name in names if is_measured(diagram.frame, name, diagram.grid.columns)]
    if not names or not diagram.layout.over_n_and_d:
        return "", []
    tallies = diagram.cells.tallies(names[0], TOLERANCES)
    curves: list[list[tuple[float, Crossing]]] = []
    for panel, level in zip(diagram.panels, levels(diagram), strict=True):
        series = []
        last: tuple[bytes, Crossing] | None = None
        for tolerance, tally in zip(TOLERANCES, tallies, strict=True):
            cells = panel.cells.drop(columns=tally.columns, errors="ignore").join(tally)
            counts = cells[["yes", "no"]].to_numpy().tobytes()
            if last is None or last[0] != counts:
                last = (counts, pooled(replace(panel, cells=cells), level).given)
            series.append((tolerance, last[1]))
        curves.append(series)
    return names[0], curves
