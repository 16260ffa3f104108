"""The claims of a config, tested on its grid: what is stated, what is measured with its interval, and a verdict.

`Analysis` is a diagram with everything that a report states about it: its estimates and its claims.
"""

from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from recovery.config import Until
from recovery.config.claims import BoundClaim, Claim, Statement, ThresholdClaim
from recovery.config.tree import value_at
from recovery.errors import ReportError
from recovery.interval import Interval, interval_words
from recovery.report.claims.cell_claims import NUMBERS
from recovery.report.claims.lines import OUTSIDE, Line, form_of
from recovery.report.claims.order import ORDERS
from recovery.report.claims.result import NO_CELLS, ClaimResult, Judgement, Kinds, undecided
from recovery.report.claims.scale import SCALING, limit_line, width_line
from recovery.report.claims.threshold import THRESHOLDS, judge_threshold, lines
from recovery.report.claims.trend import TRENDS
from recovery.report.diagram import PLAIN, Axis, Diagram, rows_where
from recovery.report.statistics import Estimates, Threshold
from recovery.text import many
from recovery.types import Array, Mask

KINDS: Kinds = THRESHOLDS | NUMBERS | TRENDS | SCALING | ORDERS
NESTED = ("sampled", "searched", "all")
"""Pattern sets from the smallest to the largest: what holds for one may fail for a later one."""


def _result(estimates: Estimates, claim: Claim) -> ClaimResult:
    if isinstance(claim, Statement):
        return ClaimResult(claim.text, "left to the reader", "not tested", claim.source)
    state, judge = KINDS[type(claim)]
    about = getattr(claim, "patterns", None)
    where = PLAIN.where({**claim.where, "patterns.kind": about} if about else claim.where)
    stated = f"{state(claim)} ({where})" if where else state(claim)
    try:
        shown = estimates.showing(claim.of)
        rows = rows_where(shown.diagram.frame, claim.where)
        if not rows.any():
            return ClaimResult(stated, *NO_CELLS, claim.source)
        text, verdict = judge(shown, rows, claim)
        return ClaimResult(stated, *_for_pattern_set(shown.diagram, rows, claim, text, verdict), claim.source)
    except ReportError as error:
        return ClaimResult(stated, *undecided(str(error), "a claim about what this grid measures"), claim.source)


def _for_pattern_set(
    diagram: Diagram, rows: Mask, claim: Claim, text: str, verdict: Judgement
) -> tuple[str, Judgement]:
    """Return `text` and `verdict`, which are about the rows' pattern set, for the pattern set of the claim.

    If the rows have fewer patterns, the claim is inconclusive, with two exceptions. More patterns only make recovery
    rarer and an isometry condition harder: the rows' frequency is an upper bound, and their threshold a lower bound.
    Where these bounds already decide a stated frequency or contradict a stated threshold, the verdict stands.
    """
    about, drawn = getattr(claim, "patterns", None), patterns_of(diagram, rows)
    if about is None or drawn is None or NESTED.index(drawn) >= NESTED.index(about):
        return text, verdict
    if verdict not in ("supported", "contradicted"):
        return f"{text}; on {drawn} patterns", verdict
    more = f"{text}; on {drawn} patterns, and therefore on {about} patterns"
    decides = "contradicted" if getattr(claim, "at_most", None) is None else "supported"
    plain = diagram.proportion and str(getattr(claim, "of", "")).isidentifier()  # not recovered<=0
    if plain and isinstance(claim, BoundClaim) and verdict == decides:
        return more, verdict
    if plain and verdict == "contradicted" and isinstance(claim, ThresholdClaim) and np.isfinite(claim.limits[1]):
        one_sided = replace(claim, value=None, tolerance=None, at_least=None, at_most=claim.limits[1])
        if judge_threshold(Estimates(diagram), rows, one_sided)[1] == "contradicted":
            return more, verdict
    text = f"{text}; {verdict} on {drawn} patterns, but the statement is about {about} patterns"
    return undecided(text, f"trials with patterns {{kind: {about}}}")


def patterns_of(diagram: Diagram, rows: Mask) -> str | None:
    """Return the pattern set of these rows, the smallest if there are several; None if no row counts patterns."""
    frame = diagram.frame
    if "pattern_count" not in frame or not frame.loc[rows, "pattern_count"].notna().any():
        return None
    kind = value_at(diagram.sweep.document, "patterns.kind") or "sampled"
    kinds = frame.loc[rows, "patterns.kind"].dropna().unique() if "patterns.kind" in frame else [kind]
    names = {"all" if one == "exhaustive" else str(one) for one in kinds}
    return min(names & {*NESTED}, key=NESTED.index, default=None)  # an edited config may have others


@dataclass(frozen=True)
class Analysis(Estimates):
    """The estimates of a diagram, with the results of its config's claims."""

    @cached_property
    def claims(self) -> list[ClaimResult]:
        """The results of the config's claims, in order."""
        return [_result(self, claim) for claim in self.diagram.sweep.claims]

    @cached_property
    def lines(self) -> list[Line]:
        """A line per threshold that is displayed or claimed; a threshold has one for each claim about it."""
        return lines(self)

    @cached_property
    def limits(self) -> list[Line]:
        """A line per pooled threshold with the limit for large sizes, where three or more sizes bound it."""
        return [line for one in self.pooled if (line := limit_line(one, str(self.diagram.quantity)))]

    @cached_property
    def widths(self) -> list[Line]:
        """A line per threshold with the width of its transition, if the rule of the sweep is about widths."""
        sampling, value = self.diagram.sweep.sampling, str(self.diagram.quantity)
        if not (isinstance(sampling, Until) and sampling.quarters):
            return []
        low, high = (self.showing(value, end).all_thresholds for end in sampling.quarters)
        return [line for pair in zip(low, high, strict=True) if (line := width_line(*pair, value))]

    @cached_property
    def slice_lines(self) -> list[Line]:
        """A line per slice that a pooled threshold combines; empty without pooling."""
        value, parts = str(self.diagram.quantity), self.slices if self.pooled else []
        return [Line.of(one, value, in_x=True) for slices in parts for one in slices]

    def caption(self, i: int) -> str:
        """Return the text for the corner of panel i: its pooled threshold, or that it is outside the grid; or empty."""
        if not self.pooled:
            return ""
        line = Line.of(self.pooled[i])
        outside = f"{line.what}: {line.estimate}" if line.estimate == OUTSIDE else ""
        return f"{line.caption}, by {self.diagram.along.by}" if line.changes else line.caption or outside

    def band(self, i: int) -> Interval | None:
        """Return the interval of the pooled ratio n/d of panel i; None if an end is infinite or misses a slice's."""
        if self.diagram.along.pool != "n/d" or not self.pooled or not self.pooled[i].interval.bounded:
            return None
        found, slices = self.pooled[i].interval, [one.interval for one in self.pooled[i].each]
        return found if all(one.low <= found.high and one.high >= found.low for one in slices) else None

    @property
    def answer(self) -> str:
        """The thresholds and the verdicts in one line: `n/d at 50 % = 1.993, ...; 3 claims: 2 supported, ...`."""
        known, along = [one for one in self.pooled if one.interval.known], self.diagram.along
        parts = [Line.of(one).caption for one in known[:1]]
        if len(known) > 1:
            low, high = (f"{end(one.interval.estimate for one in known):{form_of(along)}}" for end in (min, max))
            parts = [f"{Line.of(known[0]).what} = {low} to {high} in {many(len(known), 'panel')}"]
        if verdicts := Counter(claim.verdict for claim in self.claims):
            counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
            parts.append(f"{many(len(self.claims), 'claim')}: {counts}")
        return "; ".join(parts)

    def thresholds(self) -> list[dict[str, Any]]:
        """Return one record per pooled threshold, then one per slice; numbers that do not exist are NaN."""
        panels = zip(self.diagram.panels, self.slices, strict=False)
        parts = [_record(one, panel.title, in_x=True) for panel, slices in panels for one in slices]
        return [_record(one, one.panel.title, in_x=False) for one in self.pooled] + parts


def _record(one: Threshold, panel: str, in_x: bool) -> dict[str, Any]:
    along, (low, high) = one.along, one.factors
    record: dict[str, Any] = {"panel": panel, "along": along.x if in_x else along.what, "where": one.panel.where}
    record |= {"probability": along.probability, **asdict(one.along_x if in_x else one.interval), "pooled": not in_x}
    record |= {"constant": one.constant, "monotone": one.monotone, "factor_low": low, "factor_high": high}
    return record | {"method": one.found and one.found.method, "words": Line.of(one, in_x=in_x).sentence}


def half_crossings(analysis: Analysis, i: int) -> list[tuple[int, Interval]]:
    """Return, per slice of panel i, its index on the other axis, and the x where success has the probability.

    Slices with several crossings, without an estimate, or with an interval open at both ends are left out.
    """
    return [(k, one.along_x) for k, one in _slices(analysis, i) if one.crosses_once]


def lone_crossings(analysis: Analysis, i: int) -> list[tuple[int, float]]:
    """Return (index, x), as `half_crossings`, of each crossing of the slices that it leaves out, if success changes
    there in the direction of the panel's trend; these have no intervals."""
    return [(k, x) for k, one in _slices(analysis, i) if not one.crosses_once for x in one.along_trend]


def crossing_label(analysis: Analysis, i: int) -> str:
    """Return the legend text of the crossings of panel i."""
    along = analysis.diagram.along
    each = f" at each {along.by}" if analysis.pooled and along.by else ""
    return f"{along.percent}{each}, with {interval_words(analysis.levels)}"


def lone_label(analysis: Analysis) -> str:
    """Return the legend text of crossings without intervals."""
    trend = "falls" if any(one.falling for one in analysis.by_panel) else "rises"
    return f"{analysis.diagram.along.percent} where the fraction {trend}, no interval"


def _slices(analysis: Analysis, i: int) -> list[tuple[int, Threshold]]:
    """Return the index on the other axis, and the threshold, of each slice of panel i."""
    along, panel = analysis.diagram.along, analysis.diagram.panels[i]
    values = list(panel.x if along.transposed else panel.y)
    return [(values.index(one.y), one) for one in analysis.slices[i]] if analysis.slices and along.by else []


def contour(analysis: Analysis, i: int) -> list[Array]:
    """Return the contour of the thresholds of a panel along a numeric axis, as polylines of points (x, y).

    A polyline joins the crossings of neighbouring slices up to a slice without one. Empty if slices are pooled.
    """
    along, panel = analysis.diagram.along, analysis.diagram.panels[i]
    slices, crossings = Axis(panel.x if along.transposed else panel.y), dict(half_crossings(analysis, i))
    if analysis.pooled or slices.kind == "even":
        return []
    crossed = np.array(sorted(crossings), dtype=int)
    runs = np.split(crossed, np.flatnonzero(np.diff(crossed) > 1) + 1)
    lines = [np.array([(crossings[k].estimate, slices.at[k]) for k in run]) for run in runs if len(run) > 1]
    return [line[:, ::-1] if along.transposed else line for line in lines]
