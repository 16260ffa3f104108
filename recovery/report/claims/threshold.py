"""Claims that a threshold has a value or lies within limits, judged by its interval."""

from dataclasses import replace

import numpy as np

from recovery.config.claims import Limited, ThresholdClaim
from recovery.errors import ReportError
from recovery.report.claims.lines import Line, lacking
from recovery.report.claims.result import NO_CELLS, Judged, Judgement, Kinds, decided
from recovery.report.statistics import Estimates, Threshold
from recovery.types import Mask


def state_threshold(claim: ThresholdClaim) -> str:
    return f"threshold of '{claim.of}' at {100 * claim.probability:g} %: {claim.what} {stated_limits(claim, '= ')}"


def stated_limits(claim: Limited, equals: str = "") -> str:
    """Return the limits of a claim as text: `2 ± 0.15`, `>= 2`, `<= 3` or `2 to 3`. equals: precedes value or range."""
    if claim.value is not None:
        return f"{equals}{claim.value:g} ± {claim.tolerance:g}"
    if claim.at_least is None or claim.at_most is None:
        return f">= {claim.at_least:g}" if claim.at_least is not None else f"<= {claim.at_most:g}"
    return f"{equals}{claim.at_least:g} to {claim.at_most:g}"


def judge_threshold(estimates: Estimates, rows: Mask, claim: ThresholdClaim) -> tuple[str, Judgement]:
    """Judge the threshold of each panel, or of each slice if slices are not pooled; the claim is about all of them."""
    shown = estimates.showing(claim.of, claim.probability, claim.what)
    if not shown.all_thresholds:
        raise ReportError(f"{claim.of} is no event along {claim.what}")
    about = shown.thresholds_where(claim.where)
    if not about:  # a slice that the report pools is judged by its own trials
        slices = [one for some in shown.slices for one in some]
        about = [slices[i] for i in shown.diagram.matching([one.panel for one in slices], claim.where)]
    return decided([test for one in about for test in tests_of(one, claim.limits)]) if about else NO_CELLS


def lines(estimates: Estimates) -> list[Line]:
    """Return the line of each threshold, displayed or claimed: one per claim about it, or one without claims."""
    claims = [claim for claim in estimates.diagram.sweep.claims if isinstance(claim, ThresholdClaim)]
    found = []
    for key in dict.fromkeys([estimates.key, *(claim.key for claim in claims)]):
        try:
            shown = estimates.showing(*key)
        except ReportError:
            continue  # the claim itself reports that nothing measured it
        for one in shown.all_thresholds:
            if not one.panel.undefined and len(one.panel.cells):
                line = Line.of(one, key[0])
                found += [_beside(line, one, claim) for claim in claims_about(shown, one)] or [line]
                if one.changes:  # no pooled number stands for the slices, so each has its line
                    found += [Line.of(each) for each in one.each]
    return found


def claims_about(estimates: Estimates, found: Threshold) -> list[ThresholdClaim]:
    """Return the claims of the config about `found`, one of the thresholds of `estimates`."""
    claims = (one for one in estimates.diagram.sweep.claims if isinstance(one, ThresholdClaim))
    return [one for one in claims if one.key == estimates.key and estimates.diagram.matching([found.panel], one.where)]


def _beside(line: Line, found: Threshold, claim: ThresholdClaim) -> Line:
    verdict = decided(tests_of(found, claim.limits))[1]
    return replace(line, stated=stated_limits(claim), verdict=verdict, source=claim.source, limits=claim.limits)


def tests_of(found: Threshold, limits: tuple[float, float]) -> list[Judged]:
    """Judge a threshold by its interval, or by the interval of each slice if one value for all slices is rejected.

    Intervals are widened by what unfinished trials may change (`missing_shift`).
    """
    line, title, shift = Line.of(found), found.panel.title, found.missing_shift
    if not line.known:
        return [Judged(title, line.words, "inconclusive", lacking(found)[1])]
    finer = lacking(found)[1] if found.extremes else f"a finer grid of {found.along.x}"
    tests = []
    for one, inner, outer in found.tested:
        words = Line.of(one).caption if found.changes else line.words
        test = Judged.of(one.panel.title, words, inner.moved(*shift), outer.moved(*shift), limits, finer)
        if any(one.gap[0] < limit < one.gap[1] for limit in limits):  # replicates cannot decide a limit in a gap
            test = replace(test, needed=finer, clearance=-np.inf)
        tests.append(test)
    return tests


THRESHOLDS: Kinds = {ThresholdClaim: (state_threshold, judge_threshold)}
