"""Everything that is estimated from one diagram, computed once on first use."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from recovery.config import Until
from recovery.interval import LEVEL
from recovery.report.diagram import Axis, Diagram, default_quantity
from recovery.report.statistics.counts import Draws
from recovery.report.statistics.panels import Threshold, threshold_of

FIRST = 0.1
"""Share of the error rate that the first interim analysis of an adaptive sweep uses: few sweeps can stop there."""


def interim_level(number: int) -> float:
    """Return the confidence level of the first, second, ... interim analysis of a panel: 99.5 %, 97.75 %, ....

    At a fixed level, a sweep that stops at the first narrow interval would miss too often. The error rates 0.005,
    0.0225, 0.01125, ... sum to 0.05, so that the last interval covers 95 % of the time, however the analyses are
    correlated (Bonferroni; error spending as in Lan and DeMets 1983). The next one is timed by the width so far.
    """
    return 1 - (1 - LEVEL) * (FIRST if number == 1 else (1 - FIRST) / 2 ** (number - 1))


def level_of(diagram: Diagram, title: str) -> float:
    """Return the confidence level of the threshold of a panel or slice: 95 %, and in adaptive sweeps that of the last
    interim analysis if the target is met or no trials are left, otherwise of the next."""
    if not (any("until" in one for one in diagram.grid.rounds) or isinstance(diagram.sweep.sampling, Until)):
        return LEVEL
    records = records_of(diagram, title)
    return interim_level(records[-1]["level_of"] if records else 1)


def records_of(diagram: Diagram, title: str) -> list[Mapping[str, Any]]:
    """Return the records of the threshold of a panel or slice in the rounds so far."""
    wanted = (title, diagram.probability)
    panels = (panel for one in diagram.grid.rounds if "until" in one for panel in one["until"]["panels"])
    return [panel for panel in panels if (panel["title"], panel.get("probability", wanted[1])) == wanted]


UNSEEN_BY_DATA = ("method", "architecture", "patterns", "planted", "noise", "noise_scale")
"""Axes that the random stream of X does not depend on: trials that differ in these alone share X in a replicate."""


def shared_draws(diagram: Diagram) -> Draws | None:
    """Return the trials, with the outcomes of the event, if cells share draws of X by design; otherwise None.

    Two trials share X if they have the same replicate and differ in axes alone that the stream of X does not depend on.
    The `cell` of a trial is the index of its grid cell, and its outcome is NaN if it was not measured.
    """
    frame, cells, panels = diagram.frame, diagram.cells, [*diagram.layout.panels]
    axes = dict.fromkeys(["n", "d", *diagram.sweep.axes])
    names = [name for name in axes if name in frame and name.split(".")[0] not in UNSEEN_BY_DATA]
    group = frame.groupby([*panels, *names], dropna=False).ngroup().to_numpy() if names or panels else cells.code * 0
    first = group[np.unique(cells.code, return_index=True)[1]]
    if len(np.unique(first)) == len(first):
        return None
    outcome = np.where(cells.finished, diagram.quantity.values(frame), np.nan)
    draw = frame.groupby([*panels, *names, "replicate"], dropna=False).ngroup().to_numpy().astype(np.intp)
    known = ~np.isnan(outcome) | (cells.finished & diagram.quantity.unmeasured(frame))
    return Draws(cells.code[known].astype(np.intp), outcome[known], draw[known])


@dataclass(frozen=True)
class Estimates:
    """Thresholds of a diagram's panels and of their slices; empty where they are not defined."""

    diagram: Diagram

    @property
    def key(self) -> tuple[str, float, str]:
        """The quantity, the probability of the event at its threshold, and what the threshold is a value of."""
        return str(self.diagram.quantity), self.diagram.probability, self.diagram.along.what

    @cached_property
    def _shown(self) -> "dict[tuple[str, float, str], Estimates]":
        return {self.key: self}

    def showing(self, value: str, probability: float | None = None, along: str | None = None) -> "Estimates":
        """Return the estimates for another value, probability or axis, computed once; may raise `ReportError`."""
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
    def by_panel(self) -> list[Threshold]:
        """The threshold of each panel, with all of its slices; empty without an event along a numeric axis."""
        diagram = self.diagram
        numeric = all(Axis(panel.y if diagram.along.transposed else panel.x).kind != "even" for panel in diagram.panels)
        if not diagram.proportion or not (numeric or diagram.along.pool):
            return []
        draws = shared_draws(diagram)
        return [threshold_of(panel, diagram.along, level_of(diagram, panel.title), draws) for panel in diagram.panels]

    @property
    def pooled(self) -> list[Threshold]:
        """One pooled threshold of an event per panel. Empty without pooling."""
        return self.by_panel if self.diagram.along.pool is not None else []

    @cached_property
    def slices(self) -> list[tuple[Threshold, ...]]:
        """The threshold of each slice of each panel. Empty without an event along a numeric axis."""
        if self.pooled:
            return [one.slices for one in self.pooled]
        alone, own = [one.alone() for one in self.by_panel], self.diagram
        return [tuple(replace(one, level=level_of(own, one.panel.title)) for one in some) for some in alone]

    @cached_property
    def all_thresholds(self) -> list[Threshold]:
        """The thresholds of all panels: the pooled threshold, or the threshold of each slice."""
        return self.pooled or [one for some in self.slices for one in some]

    def thresholds_where(self, where: Mapping[str, Any]) -> list[Threshold]:
        """Return the thresholds of panels or slices in which every row has these coordinates."""
        matching = self.diagram.matching([one.panel for one in self.all_thresholds], where)
        return [self.all_thresholds[i] for i in matching]
