"""What a config claims, tested on its grid: stated, measured with its interval, and a verdict."""

from collections.abc import Callable
from typing import Any

import numpy as np

from recovery.config import (
    BinomialClaim,
    BoundClaim,
    Claim,
    CurveClaim,
    MonotoneClaim,
    OrderClaim,
    Statement,
    TableClaim,
    ThresholdClaim,
    ValueClaim,
)
from recovery.errors import ReportError
from recovery.report.claims.cells import (
    judge_binomial,
    judge_bound,
    judge_monotone,
    judge_table,
    judge_value,
    state_binomial,
    state_bound,
    state_monotone,
    state_table,
    state_value,
)
from recovery.report.claims.curve import judge_curve, state_curve
from recovery.report.claims.order import judge_order, state_order
from recovery.report.claims.result import ClaimResult, Judgement
from recovery.report.claims.threshold import judge_threshold, state_threshold
from recovery.report.diagram import PLAIN, Diagram, has
from recovery.report.statistics import Estimates
from recovery.types import Mask

State = Callable[[Any], str]
KINDS: dict[type[Any], tuple[State, Callable[[Estimates, list[int], Any], tuple[str, Judgement]]]] = {
    ThresholdClaim: (state_threshold, judge_threshold),
    CurveClaim: (state_curve, judge_curve),
    OrderClaim: (state_order, judge_order),
}
"""Kind of claim -> how it is worded, and how the panels of these numbers judge it. Statements are not tested."""
ROWS: dict[type[Any], tuple[State, Callable[[Estimates, Mask, Any], tuple[str, Judgement]]]] = {
    ValueClaim: (state_value, judge_value),
    BoundClaim: (state_bound, judge_bound),
    BinomialClaim: (state_binomial, judge_binomial),
    MonotoneClaim: (state_monotone, judge_monotone),
    TableClaim: (state_table, judge_table),
}
"""The same of kinds that these rows judge, which need not be whole panels."""
NESTED = ("sampled", "searched", "all")
"""Patterns of the rows, and of a statement: what holds for those of one word may fail for those of a later one."""


def results(estimates: Estimates) -> list[ClaimResult]:
    """Every claim of the grid's config, in order."""
    return [_result(estimates, claim) for claim in estimates.diagram.sweep.claims]


def _result(estimates: Estimates, claim: Claim) -> ClaimResult:
    if isinstance(claim, Statement):
        return ClaimResult(claim.text, "left to the reader", "not tested", claim.source)
    state, judge = (ROWS if type(claim) in ROWS else KINDS)[type(claim)]
    about = getattr(claim, "patterns", None)
    where = [PLAIN.where(claim.where)] if claim.where else []
    where += [f"{about} patterns"] if about else []
    stated = state(claim) + (f" ({', '.join(where)})" if where else "")
    try:
        shown = estimates.showing(claim.of)
        rows = rows_where(shown.diagram, claim.where)
        panels = shown.diagram.panels_where(claim.where)
        if not (rows.any() if type(claim) in ROWS else panels):
            return ClaimResult(stated, "no such cells in the grid", "cannot tell", claim.source)
        text, verdict = judge(shown, rows if type(claim) in ROWS else panels, claim)  # type: ignore[arg-type]
        return ClaimResult(stated, *_of_patterns(shown.diagram, rows, claim, text, verdict), claim.source)
    except ReportError as error:
        return ClaimResult(stated, str(error), "cannot tell", claim.source)


def rows_where(diagram: Diagram, where: Any) -> Mask:
    """The rows with these coordinates."""
    rows = np.ones(len(diagram.frame), dtype=np.bool_)
    for name, value in where.items():
        rows &= has(diagram.frame, name, value)
    return rows


def _of_patterns(diagram: Diagram, rows: Mask, claim: Claim, text: str, verdict: Judgement) -> tuple[str, Judgement]:
    """A verdict on fewer patterns than the statement is about is open.

    More patterns only make recovery rarer and an isometry condition harder, so that the threshold of fewer is a lower
    bound of the one that is stated: where it lies above already, the statement is contradicted all the same.
    """
    about, there = getattr(claim, "patterns", None), patterns_of(diagram, rows)
    if about is None or there is None or NESTED.index(there) >= NESTED.index(about):
        return text, verdict
    if verdict not in ("holds", "contradicted"):
        return f"{text}; for the {there} patterns", verdict
    more = f"{text}; for the {there} patterns, and all the more for {about} ones"
    if verdict == "contradicted" and isinstance(claim, BoundClaim) and diagram.proportion and claim.at_most is None:
        return more, verdict
    if verdict == "contradicted" and isinstance(claim, ThresholdClaim):
        one_sided = ThresholdClaim(claim.of, claim.ratio, at_most=claim.limits[1], where=claim.where)
        if np.isfinite(claim.limits[1]):
            shown = Estimates(diagram)
            if judge_threshold(shown, diagram.panels_where(claim.where), one_sided)[1] == "contradicted":
                return more, verdict
    return f"{text}; {verdict.replace('holds', 'it holds')} for the {there} patterns only", "cannot tell"


def patterns_of(diagram: Diagram, rows: Mask) -> str | None:
    """Which arrangement patterns the programs of these rows had, the fewest if several; None where they have none."""
    frame = diagram.frame
    if "pattern_count" not in frame or not frame.loc[rows, "pattern_count"].notna().any():
        return None
    given = diagram.sweep.document.get("patterns")
    kind = given.get("kind", "sampled") if isinstance(given, dict) else "sampled"
    kinds = frame.loc[rows, "patterns.kind"].dropna().unique() if "patterns.kind" in frame else [kind]
    return min(("all" if one == "exhaustive" else str(one) for one in kinds), key=NESTED.index, default=None)
