"""Claims that a threshold has a value or lies within limits, judged by its interval."""

from dataclasses import replace

import numpy as np

from recovery.config.claims import PowerClaim, ThresholdClaim
from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.report.claims.lines import Line, form_of
from recovery.report.claims.result import (
    NO_CELLS,
    Judgement,
    against,
    concluded,
    of_all,
    replicates,
    undecided,
    worst,
)
from recovery.report.diagram import PLAIN
from recovery.report.statistics import Estimates, Threshold


def state_threshold(claim: ThresholdClaim) -> str:
    return f"threshold of '{claim.of}' at {100 * claim.probability:g} %: {claim.what} {stated_limits(claim, '= ')}"


def stated_limits(claim: ThresholdClaim | PowerClaim, equals: str = "") -> str:
    """Return the limits of a claim as text: `2 ± 0.15`, `>= 2`, `<= 3` or `2 to 3`. equals: precedes value or range."""
    if claim.value is not None:
        return f"{equals}{claim.value:g} ± {claim.tolerance:g}"
    if claim.at_least is None or claim.at_most is None:
        return f">= {claim.at_least:g}" if claim.at_least is not None else f"<= {claim.at_most:g}"
    return f"{equals}{claim.at_least:g} to {claim.at_most:g}"


def judge_threshold(estimates: Estimates, panels: list[int], claim: ThresholdClaim) -> tuple[str, Judgement]:
    """Judge the threshold of each panel, or of each slice if slices are not pooled; the claim is about all of them."""
    shown = estimates.showing(claim.of, claim.probability, claim.what)
    if not shown.all_thresholds:
        raise ReportError(f"{claim.of} is no event along {claim.what}")
    about = shown.thresholds_where(claim.where)
    if not about:
        return NO_CELLS
    return of_all([one.panel.title for one in about], [judge_panel(one, *claim.limits) for one in about])


def lines(estimates: Estimates) -> list[Line]:
    """Return the line of each threshold, displayed or claimed: one per claim about it, or one without claims."""
    diagram = estimates.diagram
    claims: dict[tuple[str, float, str], list[ThresholdClaim]] = {
        (str(diagram.quantity), diagram.probability, diagram.along.what): []
    }
    for claim in diagram.sweep.claims:
        if isinstance(claim, ThresholdClaim):
            claims.setdefault((claim.of, claim.probability, claim.what), []).append(claim)
    found = []
    for key, stated in claims.items():
        try:
            shown = estimates.showing(*key)
        except ReportError:
            continue  # the claim itself reports that nothing measured it
        about = [(claim, shown.thresholds_where(claim.where)) for claim in stated]
        for one in shown.all_thresholds:
            if not one.panel.undefined and len(one.panel.cells):
                line = Line.of(one, key[0])
                beside = [_beside(line, one, claim) for claim, some in about if any(one is other for other in some)]
                found += beside or [line]
                if one.changes:  # no pooled number stands for the slices, so each has its line
                    found += [Line.of_slice(part, one.panel.title, one.along, key[0]) for part in one.slices]
    return found


def _beside(line: Line, found: Threshold, claim: ThresholdClaim) -> Line:
    verdict = judge_panel(found, *claim.limits)[1]
    return replace(line, stated=stated_limits(claim), verdict=verdict, source=claim.source)


def judge_panel(found: Threshold, least: float, most: float) -> tuple[str, Judgement]:
    """Judge a threshold: supported if its interval is within the limits, contradicted if its outer interval is outside.

    Both are widened by `missing_shift`. Where a constant is rejected, the claim is about each slice, and the line names
    the slice that decides: supported if the intervals of all slices lie within, contradicted if the outer interval of
    some slice lies outside.
    """
    line, shift = Line.of(found), found.missing_shift
    if not line.known:
        return undecided(line.words, _missing(found))
    if not found.changes:
        inner, outer = found.interval.moved(*shift), found.outer_interval.moved(*shift)
        verdict, text = against(inner, outer, least, most), line.words
    else:
        parts = [(one.interval.moved(*shift), one.outer.moved(*shift)) for one in found.each]
        verdict = worst([against(*part, least, most) for part in parts])
        same = [i for i, part in enumerate(parts) if against(*part, least, most) == verdict]
        i = min(same, key=lambda i: _room(*parts[i], least, most))
        inner, outer = parts[i]
        decides = f"{PLAIN.pair(found.along.by or '', found.each[i].y)} decides: {inner:{form_of(found.along)}}"
        text = f"{line.words}; {decides}"
    return concluded(text, verdict, replicates(inner, outer, least, most, f"a finer grid of {found.along.x}"))


def _room(inner: Interval, outer: Interval, least: float, most: float) -> float:
    """Return how far an interval lies inside the limits; negative where its estimate is outside."""
    middle = inner.estimate if inner.known else (outer.low + outer.high) / 2
    return float(min(middle - least, most - middle))


def _missing(pooled: Threshold) -> str:
    """Describe the grid cells or trials that a threshold without an estimate needs."""
    panel, x = pooled.panel, pooled.along.x
    if not pooled.monotone:
        return f"a range of {x} in which success is monotone"
    if panel.unstarted or not panel.answers:
        return f"{'the remaining' if panel.unstarted else 'finished'} trials"
    low, high = np.isfinite([pooled.interval.low, pooled.interval.high])
    if low or high:
        return f"grid cells with {'smaller' if high else 'larger'} {x}"
    return f"grid cells on both sides of it along {x}"
