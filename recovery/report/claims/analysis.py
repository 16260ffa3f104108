"""The claims of a config, tested on its grid: what is stated, what is measured with its interval, and a verdict.

`Analysis` is a diagram with everything that a report states about it: its estimates and its claims.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recovery.config import BoundClaim, Claim, CurveClaim, OrderClaim, Statement, ThresholdClaim
from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.report.claims.cell_claims import ROWS
from recovery.report.claims.curve import judge_curve, state_curve
from recovery.report.claims.order import judge_order, state_order
from recovery.report.claims.result import ClaimResult, Judgement
from recovery.report.claims.sentences import in_words, rows_in_words
from recovery.report.claims.threshold import Measured, judge_threshold, measured_beside_stated, state_threshold
from recovery.report.diagram import PLAIN, Axis, Diagram, has
from recovery.report.statistics import Estimates
from recovery.types import Array, Mask

KINDS: dict[type[Any], tuple[Callable[[Any], str], Callable[[Estimates, list[int], Any], tuple[str, Judgement]]]] = {
    ThresholdClaim: (state_threshold, judge_threshold),
    CurveClaim: (state_curve, judge_curve),
    OrderClaim: (state_order, judge_order),
}
"""Kind of claim -> functions that state it and that judge it from the numbers of its panels."""
NESTED = ("sampled", "searched", "all")
"""Pattern sets from the smallest to the largest: what holds for one may fail for a later one."""


def results(estimates: Estimates) -> list[ClaimResult]:
    """Return the result of every claim of the grid's config, in order."""
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
            return ClaimResult(stated, "no cells of the grid match", "inconclusive", claim.source)
        text, verdict = judge(shown, rows if type(claim) in ROWS else panels, claim)  # type: ignore[arg-type]
        return ClaimResult(stated, *_for_pattern_set(shown.diagram, rows, claim, text, verdict), claim.source)
    except ReportError as error:
        return ClaimResult(stated, str(error), "inconclusive", claim.source)


def rows_where(diagram: Diagram, where: Any) -> Mask:
    """Return the rows with these coordinates."""
    rows = np.ones(len(diagram.frame), dtype=np.bool_)
    for name, value in where.items():
        rows &= has(diagram.frame, name, value)
    return rows


def _for_pattern_set(
    diagram: Diagram, rows: Mask, claim: Claim, text: str, verdict: Judgement
) -> tuple[str, Judgement]:
    """Return the text and the verdict for the pattern set that the statement is about.

    A verdict on fewer patterns is inconclusive, with one exception. More patterns only make recovery rarer and an
    isometry condition harder, so the threshold on fewer patterns is a lower bound. Where it already lies above the
    stated threshold, the statement is contradicted.
    """
    about, drawn = getattr(claim, "patterns", None), patterns_of(diagram, rows)
    if about is None or drawn is None or NESTED.index(drawn) >= NESTED.index(about):
        return text, verdict
    if verdict not in ("supported", "contradicted"):
        return f"{text}; on {drawn} patterns", verdict
    more = f"{text}; on {drawn} patterns, and therefore on {about} patterns"
    if verdict == "contradicted" and isinstance(claim, BoundClaim) and diagram.proportion and claim.at_most is None:
        return more, verdict
    if verdict == "contradicted" and isinstance(claim, ThresholdClaim):
        one_sided = ThresholdClaim(claim.of, claim.ratio, at_most=claim.limits[1], where=claim.where)
        if np.isfinite(claim.limits[1]):
            shown = Estimates(diagram)
            if judge_threshold(shown, diagram.panels_where(claim.where), one_sided)[1] == "contradicted":
                return more, verdict
    return f"{text}; {verdict} on {drawn} patterns, but the statement is about {about} patterns", "inconclusive"


def patterns_of(diagram: Diagram, rows: Mask) -> str | None:
    """Return the pattern set of these rows, the smallest if there are several; None without patterns."""
    frame = diagram.frame
    if "pattern_count" not in frame or not frame.loc[rows, "pattern_count"].notna().any():
        return None
    given = diagram.sweep.document.get("patterns")
    kind = given.get("kind", "sampled") if isinstance(given, dict) else "sampled"
    kinds = frame.loc[rows, "patterns.kind"].dropna().unique() if "patterns.kind" in frame else [kind]
    return min(("all" if one == "exhaustive" else str(one) for one in kinds), key=NESTED.index, default=None)


@dataclass(frozen=True)
class Analysis(Estimates):
    """The estimates of a diagram and its config's claims. full: reports also show the probit model's second opinion."""

    full: bool = False

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The results of the config's claims."""
        return results(self)

    @cached_property
    def measured_beside_stated(self) -> list[Measured]:
        """The thresholds of all panels, each with the threshold that a claim states for it."""
        return measured_beside_stated(self)

    def thresholds(self) -> list[dict[str, Any]]:
        """Return one record per panel, for tables; numbers that do not exist are NaN."""
        records = []
        for pooled in self.pooled:
            change = pooled.drift.change if pooled.drift else Interval(np.nan, np.nan, np.nan, pooled.interval.level)
            record = {"panel": pooled.panel.title} | asdict(pooled.interval) | change.columns("change")
            if pooled.jump is not None:
                record |= {"before": pooled.jump.before, "after": pooled.jump.after}
            records.append(record | {"words": in_words(pooled)})
        return records

    def models(self) -> list[dict[str, Any]]:
        """Return one record per panel of the probit model's second opinion."""
        records = []
        for pooled, model in zip(self.pooled, self.second_opinions, strict=True):
            fit, scaling = model.fit, model.scaling or Interval(np.nan, np.nan, np.nan)
            records.append(
                {"panel": pooled.panel.title}
                | {name: getattr(fit, name) for name in ("estimate", "low", "high", "level", "slope")}
                | scaling.columns("exponent")
                | {"rising_p": model.monotone}
            )
        return records

    def panel_words(self, i: int) -> str:
        """Describe the transition of panel i: its ratio n/d, or where each of its rows crosses one half."""
        if self.pooled:
            return in_words(self.pooled[i])
        return rows_in_words(self.rows[i], self.diagram.layout.x, self.diagram.layout.y) if self.rows else ""

    def crossings(self) -> list[dict[str, Any]]:
        """Return one record per panel and value of y: the x at 50 %, for axes other than n and d."""
        layout = self.diagram.layout
        return [
            {"panel": panel.title, layout.y or "y": row.y} | asdict(row.half)
            for panel, rows in zip(self.diagram.panels, self.rows, strict=False)
            for row in rows
        ]

    def sizes(self) -> list[dict[str, Any]]:
        """Return one record per panel and value of d: the n at 50 %; numbers that do not exist are NaN."""
        return [
            {"panel": panel.title, "d": size.d} | asdict(size.n50)
            for panel, sizes in zip(self.diagram.panels, self.by_size, strict=False)
            for size in sizes
        ]


def contour(analysis: Analysis, i: int) -> list[Array]:
    """Return the 50 % contour of a panel with a numeric y axis, as polylines of shape (k, 2).

    It joins the crossings of neighbouring rows and is interrupted at rows without a crossing.
    """
    layout, panel = analysis.diagram.layout, analysis.diagram.panels[i]
    if not analysis.rows or layout.y is None or Axis(panel.y).kind == "even":
        return []
    points = np.array([[row.half.estimate, y] for row, y in zip(analysis.rows[i], Axis(panel.y).at, strict=True)])
    crossed = np.flatnonzero(np.isfinite(points[:, 0]))
    runs = np.split(crossed, np.flatnonzero(np.diff(crossed) > 1) + 1)
    return [points[run] for run in runs if len(run) > 1]
