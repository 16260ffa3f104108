"""The claims of a config, tested on its grid: what is stated, what is measured with its interval, and a verdict.

`Analysis` is a diagram with everything that a report states about it: its estimates and its claims.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from recovery.config.claims import BoundClaim, Claim, CurveClaim, OrderClaim, Statement, ThresholdClaim
from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.report.claims.cell_claims import ROWS
from recovery.report.claims.curve import judge_curve, state_curve
from recovery.report.claims.order import judge_order, state_order
from recovery.report.claims.result import NO_CELLS, ClaimResult, Judgement, undecided
from recovery.report.claims.sentences import in_words, slices_in_words
from recovery.report.claims.threshold import Measured, judge_threshold, measured_beside_stated, state_threshold
from recovery.report.diagram import PLAIN, Axis, Diagram, Panel, rows_where
from recovery.report.statistics import Estimates, Threshold
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
        rows = rows_where(shown.diagram.frame, claim.where)
        panels = shown.diagram.panels_where(claim.where)
        if not (rows.any() if type(claim) in ROWS else panels or isinstance(claim, ThresholdClaim)):
            return ClaimResult(stated, *NO_CELLS, claim.source)
        text, verdict = judge(shown, rows if type(claim) in ROWS else panels, claim)  # type: ignore[arg-type]
        return ClaimResult(stated, *_for_pattern_set(shown.diagram, rows, claim, text, verdict), claim.source)
    except ReportError as error:
        return ClaimResult(stated, *undecided(str(error), "a claim about what this grid measures"), claim.source)


def _for_pattern_set(
    diagram: Diagram, rows: Mask, claim: Claim, text: str, verdict: Judgement
) -> tuple[str, Judgement]:
    """Return the text and the verdict for the pattern set that the statement is about.

    A verdict on fewer patterns is inconclusive, with two exceptions. More patterns only make recovery rarer and an
    isometry condition harder, so the frequency on fewer patterns is an upper bound, and the threshold a lower bound.
    Where these bounds already decide a stated frequency or contradict a stated threshold, the verdict stands.
    """
    about, drawn = getattr(claim, "patterns", None), patterns_of(diagram, rows)
    if about is None or drawn is None or NESTED.index(drawn) >= NESTED.index(about):
        return text, verdict
    if verdict not in ("supported", "contradicted"):
        return f"{text}; on {drawn} patterns", verdict
    more = f"{text}; on {drawn} patterns, and therefore on {about} patterns"
    decides = "contradicted" if getattr(claim, "at_most", None) is None else "supported"
    if isinstance(claim, BoundClaim) and diagram.proportion and verdict == decides:
        return more, verdict
    if verdict == "contradicted" and isinstance(claim, ThresholdClaim) and np.isfinite(claim.limits[1]):
        one_sided = replace(claim, value=None, tolerance=None, at_least=None, at_most=claim.limits[1])
        if judge_threshold(Estimates(diagram), [], one_sided)[1] == "contradicted":
            return more, verdict
    text = f"{text}; {verdict} on {drawn} patterns, but the statement is about {about} patterns"
    return undecided(text, f"trials with patterns {{kind: {about}}}")


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
    """The estimates of a diagram, with the results of its config's claims."""

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The results of the config's claims."""
        return results(self)

    @cached_property
    def measured_beside_stated(self) -> list[Measured]:
        """The measured thresholds, displayed or claimed, each with what a claim states for it."""
        return measured_beside_stated(self)

    def thresholds(self) -> list[dict[str, Any]]:
        """Return one record per pooled threshold, then one per slice; numbers that do not exist are NaN."""
        return [self._pooled_record(one) for one in self.pooled] + [
            self._record(panel, one.interval, self.diagram.along.x, {self.diagram.along.by: one.y}) | {"pooled": False}
            for panel, slices in zip(self.diagram.panels, self.slices, strict=False)
            for one in slices
        ]

    def _record(self, panel: Panel, interval: Interval, along: str, slice_: dict[str | None, Any]) -> dict[str, Any]:
        where = panel.where | {name: value for name, value in slice_.items() if name is not None}
        what = {"panel": panel.title, "along": along, "where": where, "probability": self.diagram.probability}
        return what | asdict(interval)

    def _pooled_record(self, pooled: Threshold) -> dict[str, Any]:
        record = self._record(pooled.panel, pooled.interval, pooled.along.what, {}) | {"pooled": True}
        record["assumption"] = pooled.assumption
        change = pooled.drift.change if pooled.drift else Interval(np.nan, np.nan, np.nan, pooled.interval.level)
        record |= change.columns("change")
        if pooled.jump is not None:
            record |= {"before": pooled.jump.before, "after": pooled.jump.after}
        return record | {"words": in_words(pooled)}

    def panel_words(self, i: int) -> str:
        """Describe the transition of panel i: its pooled threshold, or the threshold of each slice."""
        if self.pooled:
            return in_words(self.pooled[i])
        return slices_in_words(self.slices[i], self.diagram.along) if self.slices else ""

    def crossings(self) -> list[dict[str, Any]]:
        """Return the panel, y and the interval of each slice, for axes other than n and d; kept for one release."""
        return [] if self.diagram.layout.over_n_and_d else self._slices(self.diagram.along.by or "y")

    def sizes(self) -> list[dict[str, Any]]:
        """Return the panel, d and the interval of each slice, over n and d; kept for one release."""
        return self._slices("d") if self.diagram.layout.over_n_and_d else []

    def _slices(self, by: str) -> list[dict[str, Any]]:
        return [
            {"panel": panel.title, by: one.y} | asdict(one.interval)
            for panel, slices in zip(self.diagram.panels, self.slices, strict=False)
            for one in slices
        ]


def contour(analysis: Analysis, i: int) -> list[Array]:
    """Return the contour of the thresholds of a panel with a numeric y axis, as polylines of shape (k, 2).

    Each joins the crossings of neighbouring slices, and ends at a slice without a crossing. Empty if slices are pooled.
    """
    layout, panel = analysis.diagram.layout, analysis.diagram.panels[i]
    if analysis.pooled or not analysis.slices or layout.y is None or Axis(panel.y).kind == "even":
        return []
    known = {one.y: one.interval.estimate for one in analysis.slices[i]}
    points = np.array([[known.get(y, np.nan), at] for y, at in zip(panel.y, Axis(panel.y).at, strict=True)])
    crossed = np.flatnonzero(np.isfinite(points[:, 0]))
    runs = np.split(crossed, np.flatnonzero(np.diff(crossed) > 1) + 1)
    return [points[run] for run in runs if len(run) > 1]
