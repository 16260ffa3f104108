"""Everything that is estimated from one diagram, computed once on first use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from recovery.config import Until
from recovery.interval import LEVEL
from recovery.report.diagram import Axis, Diagram, default_quantity
from recovery.report.statistics.crossings import Crossing, Crossings, crossings
from recovery.report.statistics.pooled import Threshold, of_panel, of_slices

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
        """One pooled threshold of an event per panel. Empty without pooling."""
        diagram, level_of = self.diagram, levels(self.diagram)
        if not diagram.proportion or diagram.along.pool is None:
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
        """The crossing of each slice of each panel. Empty without an event along a numeric axis."""
        return [one.widened for one in self._crossings]

    @cached_property
    def all_thresholds(self) -> list[Threshold]:
        """The thresholds of all panels: the pooled threshold, or the threshold of each slice."""
        return self.pooled or [one for some in self._crossings for one in of_slices(some)]

    def thresholds_where(self, where: Mapping[str, Any]) -> list[Threshold]:
        """Return the thresholds of panels or slices in which every row has these coordinates."""
        matching = self.diagram.matching([one.panel for one in self.all_thresholds], where)
        return [self.all_thresholds[i] for i in matching]
