"""What is estimated from one diagram, computed once and when first asked for."""

from dataclasses import dataclass, replace
from functools import cached_property

from recovery.report.diagram.diagram import Diagram, Panel
from recovery.report.diagram.quantity import default_quantity
from recovery.report.statistics.threshold import Threshold
from recovery.report.statistics.transition import (
    Collapse,
    Pooled,
    at_sizes,
    collapse,
    monotone,
    poolable,
    pooled,
    slices,
    thinned,
)


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
        """One threshold n/d a panel."""
        return [pooled(panel) for panel in self._panels]

    @cached_property
    def slices(self) -> list[list[tuple[float, Threshold]]]:
        """For each panel, n50 at every d, or at `transition.SIZES` of them."""
        return [slices(at_sizes(panel), "n", "d") for panel in self._panels]

    @cached_property
    def collapses(self) -> list[Collapse | None]:
        """For each panel, the exponent of finite-size scaling."""
        return [collapse(thinned(panel)) for panel in self._panels]

    @cached_property
    def monotone(self) -> list[float]:
        """For each panel, the p-value of success never becoming rarer with n."""
        return [monotone(thinned(panel), "n", "d") for panel in self._panels]

    @property
    def _panels(self) -> list[Panel]:
        return self.diagram.panels if poolable(self.diagram) else []
