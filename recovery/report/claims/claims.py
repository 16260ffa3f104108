"""What a config claims, tested on its grid: stated, measured with its interval, and a verdict."""

from collections.abc import Callable
from typing import Any

from recovery.config import Claim, CurveClaim, OrderClaim, Statement, TableClaim, ThresholdClaim
from recovery.errors import ReportError
from recovery.report.claims.curve import judge_curve, state_curve
from recovery.report.claims.order import judge_order, state_order
from recovery.report.claims.result import ClaimResult, Judgement
from recovery.report.claims.table import judge_table, state_table
from recovery.report.claims.threshold import judge_threshold, state_threshold
from recovery.report.diagram import describe
from recovery.report.statistics import Estimates

Judge = Callable[[Estimates, list[int], Any], tuple[str, Judgement]]
KINDS: dict[type[Any], tuple[Callable[[Any], str], Judge]] = {
    ThresholdClaim: (state_threshold, judge_threshold),
    CurveClaim: (state_curve, judge_curve),
    OrderClaim: (state_order, judge_order),
    TableClaim: (state_table, judge_table),
}
"""Kind of claim -> how it is worded, and how the panels of these numbers judge it. Statements are not tested."""


def results(estimates: Estimates) -> list[ClaimResult]:
    """Every claim of the grid's config, in order."""
    return [_result(estimates, claim) for claim in estimates.diagram.sweep.claims]


def _result(estimates: Estimates, claim: Claim) -> ClaimResult:
    if isinstance(claim, Statement):
        return ClaimResult(claim.text, "left to the reader", "not tested", claim.source)
    state, judge = KINDS[type(claim)]
    stated = state(claim) + (f" ({describe(claim.where)})" if claim.where else "")
    try:
        shown = estimates.showing(claim.of)
        panels = shown.diagram.panels_where(claim.where)
        if not panels:
            return ClaimResult(stated, "no such cells in the grid", "cannot tell", claim.source)
        return ClaimResult(stated, *judge(shown, panels, claim), claim.source)
    except ReportError as error:
        return ClaimResult(stated, str(error), "cannot tell", claim.source)
