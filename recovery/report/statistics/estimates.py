"""What is estimated from one diagram, computed once and when first asked for."""

from dataclasses import dataclass, replace
from functools import cached_property

from recovery.report.diagram import Diagram, Panel, default_quantity, is_measured
from recovery.report.statistics.crossings import CrossedRow, has_rows, rows
from recovery.report.statistics.jump import jumps
from recovery.report.statistics.likelihood import Counts
from recovery.report.statistics.pooled import Pooled, pooled
from recovery.report.statistics.threshold import Threshold, fit, of_rows
from recovery.report.statistics.transition import (
    Collapse,
    at_sizes,
    collapse,
    monotone,
    poolable,
    ratio_counts,
    slices,
    thinned,
)

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
    def pooled(self) -> list[Pooled]:
        """One threshold n/d a panel: of a frequency its 50 %, of a number where it jumps."""
        if not self.diagram.layout.over_n_and_d:
            return []
        return [pooled(panel) for panel in self.diagram.panels] if self.diagram.proportion else jumps(self.diagram)

    @cached_property
    def slices(self) -> list[list[tuple[float, Threshold]]]:
        """For each panel, n50 at every d, or at `transition.SIZES` of them."""
        return [slices(at_sizes(panel)) for panel in self._panels]

    @cached_property
    def collapses(self) -> list[Collapse | None]:
        """For each panel, the exponent of finite-size scaling."""
        return [collapse(thinned(panel)) for panel in self._panels]

    @cached_property
    def monotone(self) -> list[float]:
        """For each panel, the p-value of success never becoming rarer with n."""
        return [monotone(thinned(panel)) for panel in self._panels]

    @cached_property
    def rows(self) -> list[list[CrossedRow]]:
        """For each panel of a proportion over other axes than n and d, the x at 50 % for each y."""
        other = has_rows(self.diagram) and not poolable(self.diagram)
        return [rows(panel) for panel in self.diagram.panels] if other else []

    @property
    def _panels(self) -> list[Panel]:
        return [found.panel for found in self.pooled]


def sensitivity(diagram: Diagram) -> tuple[str, list[list[tuple[float, Threshold]]]]:
    """(column, for each panel (tolerance, threshold)); no panels where no such column was measured over n and d.
    A panel too fine to be fitted so often is thinned (`transition.thinned`)."""
    asked = diagram.quantity.column
    names = [asked] if asked in COLUMNS else [name for name in COLUMNS if name in diagram.frame]
    names = [name for name in names if is_measured(diagram.frame, name, diagram.grid.columns)]
    if not names or not diagram.layout.over_n_and_d:
        return "", []
    tallies = diagram.cells.tallies(names[0], TOLERANCES)
    found: list[list[tuple[float, Threshold]]] = []
    for panel in diagram.panels:
        cells = thinned(panel).cells[["n", "d"]]
        series = []
        last: tuple[bytes, Threshold] | None = None
        for tolerance, tally in zip(TOLERANCES, tallies, strict=True):
            counts = ratio_counts(cells.join(tally))
            if last is None or last[0] != _fingerprint(counts):
                last = (_fingerprint(counts), of_rows(fit(counts)))
            series.append((tolerance, last[1]))
        found.append(series)
    return names[0], found


def _fingerprint(counts: Counts) -> bytes:
    return counts.yes.tobytes() + counts.no.tobytes()
