"""A diagram with everything that a report says of it: estimates, claims, and both in words."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recovery.report.claims.claims import results
from recovery.report.claims.result import ClaimResult
from recovery.report.claims.threshold import Measured, measured_beside_stated
from recovery.report.claims.words import in_words, rows_in_words
from recovery.report.diagram import Axis
from recovery.report.statistics import Estimates
from recovery.types import Array


@dataclass(frozen=True)
class Analysis(Estimates):
    """The estimates of a diagram, and its config's claims. full: reports show the probit model's second opinion too."""

    full: bool = False

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The config's claims, tested."""
        return results(self)

    @cached_property
    def measured_beside_stated(self) -> list[Measured]:
        """The thresholds of all panels, each beside the one that a claim states for it."""
        return measured_beside_stated(self)

    def thresholds(self) -> list[dict[str, Any]]:
        """One plain record a panel, for tables; numbers that do not exist are NaN."""
        records = []
        for found in self.pooled:
            given, drift = found.given, found.drift
            change = (drift.change, drift.low, drift.high) if drift else (np.nan,) * 3
            record = {"panel": found.panel.title, "n/d": given.estimate, "low": given.low, "high": given.high}
            record |= dict(zip(("change", "change_low", "change_high"), change, strict=True))
            if found.jump is not None:
                record |= {"before": found.jump.before, "after": found.jump.after}
            records.append(record | {"words": in_words(found)})
        return records

    def models(self) -> list[dict[str, Any]]:
        """The second opinion of the probit model: one plain record a panel."""
        records = []
        for found, model in zip(self.pooled, self.second_opinions, strict=True):
            scaling = model.scaling
            records.append(
                {
                    "panel": found.panel.title,
                    "n/d": model.fit.estimate,
                    "low": model.fit.low,
                    "high": model.fit.high,
                    "slope": model.fit.slope,
                    "exponent": scaling.exponent if scaling else np.nan,
                    "exponent_low": scaling.low if scaling else np.nan,
                    "exponent_high": scaling.high if scaling else np.nan,
                    "rising_p": model.monotone,
                }
            )
        return records

    def panel_words(self, i: int) -> str:
        """What is said of a panel's transition: its ratio n/d, or where each of its rows crosses one half."""
        if self.pooled:
            return in_words(self.pooled[i])
        return rows_in_words(self.rows[i], self.diagram.layout.x, self.diagram.layout.y) if self.rows else ""

    def crossings(self) -> list[dict[str, Any]]:
        """One plain record a panel and a value of y: the x at 50 %, of diagrams over other axes than n and d."""
        layout = self.diagram.layout
        return [
            {"panel": panel.title, layout.y or "y": row.y, layout.x: row.half.estimate}
            | {"low": row.half.low, "high": row.half.high}
            for panel, found in zip(self.diagram.panels, self.rows, strict=False)
            for row in found
        ]

    def sizes(self) -> list[dict[str, Any]]:
        """One plain record a panel and a size d: the n at 50 % there; numbers that do not exist are NaN."""
        return [
            {"panel": panel.title, "d": size.d, "n": size.n50.estimate, "low": size.n50.low, "high": size.n50.high}
            for panel, found in zip(self.diagram.panels, self.pooled, strict=False)
            for size in found.sizes
        ]


def contour(analysis: Analysis, i: int) -> list[Array]:
    """The 50 % contour of a panel whose y is a number: the crossings of neighbouring rows joined, shape (k, 2), in
    parts where a row between them has none."""
    layout, panel = analysis.diagram.layout, analysis.diagram.panels[i]
    if not analysis.rows or layout.y is None or Axis(panel.y).kind == "even":
        return []
    points = np.array([[row.half.estimate, y] for row, y in zip(analysis.rows[i], Axis(panel.y).at, strict=True)])
    there = np.isfinite(points[:, 0])
    runs = np.split(np.flatnonzero(there), np.flatnonzero(np.diff(np.flatnonzero(there)) > 1) + 1)
    return [points[run] for run in runs if len(run) > 1]
