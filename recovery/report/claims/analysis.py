"""A diagram with everything that a report says of it: estimates, claims, and both in words."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recovery.report.claims.claims import results
from recovery.report.claims.result import ClaimResult
from recovery.report.statistics import Estimates, Pooled


@dataclass(frozen=True)
class Analysis(Estimates):
    """The estimates of a diagram, and its config's claims."""

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The config's claims, tested."""
        return results(self)

    def thresholds(self) -> list[dict[str, Any]]:
        """One plain record a panel, for tables; numbers that do not exist are NaN."""
        records = []
        for i, found in enumerate(self.pooled):
            ratio, scaling = found.ratio, self.collapses[i] if self.collapses else None
            records.append(
                {
                    "panel": found.panel.title,
                    "n/d": ratio.estimate,
                    "low": ratio.low,
                    "high": ratio.high,
                    "unfinished_as_yes": found.bracket[0],
                    "unfinished_as_no": found.bracket[1],
                    "separated": ratio.separated,
                    "slope": ratio.slope,
                    "slope_low": found.slope[0],
                    "slope_high": found.slope[1],
                    "deviance": ratio.deviance,
                    "df": ratio.df,
                    "goodness_p": found.goodness,
                    "exponent": scaling.exponent if scaling else np.nan,
                    "exponent_low": scaling.low if scaling else np.nan,
                    "exponent_high": scaling.high if scaling else np.nan,
                    "monotone_p": self.monotone[i] if self.monotone else np.nan,
                }
            )
        return records

    def sizes(self) -> list[dict[str, Any]]:
        """One plain record a panel and a size d: the n at 50 % there; numbers that do not exist are NaN."""
        return [
            {"panel": panel.title, "d": d, "n": found.estimate, "low": found.low, "high": found.high}
            for panel, line in zip(self.diagram.panels, self.slices, strict=False)
            for d, found in line
        ]


def in_words(found: Pooled) -> str:
    """`n/d = 1.993 (1.955 to 2.030)`, or what the data leave open."""
    ratio = found.ratio
    if np.isnan(ratio.estimate):
        low, high = ratio.between
        if np.isfinite(high):
            return f"the grid begins beyond the transition: 50 % lies below n/d = {high:.3g}"
        if np.isfinite(low):
            return f"the grid ends before the transition: 50 % lies above n/d = {low:.3g}"
        return "not measured here" if found.panel.undefined else "no finished trials"
    words = f"50 % at n/d = {ratio.estimate:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"
    if ratio.separated:
        words += ", separated"
    if ratio.slope < 0:
        words += ", falling with n"
    if found.poor_fit:
        words += f", but no one ratio fits all sizes (p {_p_value(found.goodness)}): read the thresholds at each d"
    return words


def _p_value(p: float) -> str:
    return f"= {p:.1g}" if p >= 1e-15 else "< 1e-15"


def brief(found: Pooled) -> str:
    """`n/d = 1.99 [1.96, 2.03]` for a panel's corner; empty without an estimate."""
    ratio = found.ratio
    if np.isnan(ratio.estimate):
        return ""
    words = f"50 %: n/d = {ratio.estimate:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
    return words + (", poor fit" if found.poor_fit else "")
