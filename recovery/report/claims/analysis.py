"""A diagram with everything that a report says of it: estimates, claims, and both in words."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recovery.report.claims.claims import results
from recovery.report.claims.result import ClaimResult
from recovery.report.claims.threshold import Measured, measured_beside_stated
from recovery.report.claims.words import in_words, rows_in_words, standing, why
from recovery.report.statistics import DIRECTIONS, Crossing, Estimates, Pooled


@dataclass(frozen=True)
class Analysis(Estimates):
    """The estimates of a diagram, and its config's claims."""

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
        for i, found in enumerate(self.pooled):
            model, scaling = found.model, self.collapses[i]
            given = Crossing(np.nan, np.nan, np.nan) if found.withdrawn else found.given
            change = found.directed.change() if found.directed.ends else (np.nan,) * 3
            records.append(
                {
                    "panel": found.panel.title,
                    "n/d": given.estimate,
                    "low": given.low,
                    "high": given.high,
                    "standing": standing(found),
                    "why": why(found),
                    "no_curve": found.common.estimate,
                    "no_curve_low": found.common.low,
                    "no_curve_high": found.common.high,
                    "model": model.estimate,
                    "model_low": model.low,
                    "model_high": model.high,
                    "change": change[0],
                    "change_low": change[1],
                    "change_high": change[2],
                    **{f"{name}_p": found.directed.p_value(name) for name in DIRECTIONS},
                    **_jump(found),
                    "unfinished_as_yes": found.bracket[0],
                    "unfinished_as_no": found.bracket[1],
                    "separated": model.separated,
                    "slope": model.slope,
                    "slope_low": found.slope[0],
                    "slope_high": found.slope[1],
                    "deviance": model.deviance,
                    "df": model.df,
                    "goodness_p": found.goodness,
                    "exponent": scaling.exponent if scaling else np.nan,
                    "exponent_low": scaling.low if scaling else np.nan,
                    "exponent_high": scaling.high if scaling else np.nan,
                    "monotone_p": self.monotone[i],
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
        """One plain record a panel and a size d: the n at 50 % there by the model, by rising fractions alone, and the
        interval that is exact for every rising curve; numbers that do not exist are NaN."""
        return [
            {
                "panel": panel.title,
                "d": d,
                "n": found.estimate,
                "low": found.low,
                "high": found.high,
                "no_curve": free.n50.estimate,
                "no_curve_low": free.n50.low,
                "no_curve_high": free.n50.high,
                "exact_low": free.exact[0],
                "exact_high": free.exact[1],
            }
            for panel, line, whole in zip(self.diagram.panels, self.slices, self.pooled, strict=False)
            for (d, found), free in zip(line, whole.sizes, strict=True)
        ]


def _jump(found: Pooled) -> dict[str, float]:
    """Of a number: the medians before and after its jump, and n/d at a quarter and three quarters of the way."""
    if found.jump is None:
        return {}
    ends = [part.given.estimate for part in found.jump.quarters] or [np.nan, np.nan]
    return {
        "before": found.jump.before,
        "after": found.jump.after,
        "quarter": ends[0],
        "three_quarters": ends[1],
    }
