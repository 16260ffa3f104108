"""What a config claims, tested on its grid: stated, measured with its interval, and a verdict."""

from collections.abc import Callable, Mapping
from typing import Any

from recovery.errors import ReportError
from recovery.report.claims.claim_curve import judge_curve, state_curve
from recovery.report.claims.claim_order import judge_order, state_order
from recovery.report.claims.claim_threshold import judge_threshold, state_threshold
from recovery.report.claims.finding import Finding, Verdict
from recovery.report.diagram.diagram import describe
from recovery.report.diagram.selection import panels_where
from recovery.report.statistics.estimates import Estimates

Judge = Callable[[Estimates, list[int], Mapping[str, Any]], tuple[str, Verdict]]
TESTS: dict[str, tuple[Callable[[Mapping[str, Any]], str], Judge]] = {
    "threshold": (state_threshold, judge_threshold),
    "curve": (state_curve, judge_curve),
    "order": (state_order, judge_order),
}
"""Kind of claim -> how it is worded, and how the panels of these numbers judge it. Other kinds are not tested."""


def findings(estimates: Estimates) -> list[Finding]:
    """Every claim of the grid's config, in order."""
    return [_finding(estimates, claim) for claim in estimates.diagram.document.get("claims") or []]


def _finding(estimates: Estimates, claim: Mapping[str, Any]) -> Finding:
    kind, source = str(claim.get("kind")), str(claim.get("source") or "")
    if kind not in TESTS:
        return Finding(str(claim.get("text", kind)), "left to the reader", "not tested", source)
    where = claim.get("where") or {}
    stated, judge = TESTS[kind]
    words = stated(claim) + (f" ({describe(where)})" if where else "")
    try:
        shown = estimates.showing(str(claim["of"]))
        panels = panels_where(shown.diagram, where)
        if not panels:
            return Finding(words, "no such cells in the grid", "cannot tell", source)
        return Finding(words, *judge(shown, panels, claim), source)
    except ReportError as error:
        return Finding(words, str(error), "cannot tell", source)
