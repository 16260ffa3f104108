"""Claims that a threshold has a value or lies within limits, judged by its interval."""

from dataclasses import dataclass

import numpy as np

from recovery.config.claims import PowerClaim, ThresholdClaim
from recovery.errors import ReportError
from recovery.report.claims.result import (
    NO_CELLS,
    Judgement,
    against,
    concluded,
    of_all,
    replicates,
    times_needed,
    undecided,
    worst,
)
from recovery.report.claims.sentences import at, form_of, jump_words, possible_change, unknown_words
from recovery.report.statistics import Estimates, Threshold


def state_threshold(claim: ThresholdClaim) -> str:
    chance = "" if claim.probability is None else f" ({100 * claim.probability:g} %)"
    return f"threshold{chance} of '{claim.of}' at {claim.what} {stated_limits(claim, '= ')}"


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


@dataclass(frozen=True)
class Measured:
    """The threshold of the event `of` in a panel or slice, with the one that a claim states for it, if one does."""

    of: str
    found: Threshold
    stated: str = ""
    verdict: str = ""
    source: str = ""


def measured_beside_stated(estimates: Estimates) -> list[Measured]:
    """Return the measured thresholds, displayed or claimed: an entry per claim about each, or one without claims."""
    diagram = estimates.diagram
    claims: dict[tuple[str, float, str], list[ThresholdClaim]] = {
        (str(diagram.quantity), diagram.probability, diagram.along.what): []
    }
    for claim in diagram.sweep.claims:
        if isinstance(claim, ThresholdClaim):
            claims.setdefault((claim.of, claim.probability or diagram.probability, claim.what), []).append(claim)
    rows = []
    for key, stated in claims.items():
        try:
            shown = estimates.showing(*key)
        except ReportError:
            continue  # the claim itself reports that nothing measured it
        about = [(claim, shown.thresholds_where(claim.where)) for claim in stated]
        for found in shown.all_thresholds:
            if found.panel.undefined or not len(found.panel.cells):
                continue
            beside = [_beside(found, claim) for claim, some in about if any(found is one for one in some)]
            rows += beside or [Measured(key[0], found)]
    return rows


def _beside(found: Threshold, claim: ThresholdClaim) -> Measured:
    verdict = judge_panel(found, *claim.limits)[1]
    return Measured(claim.of, found, stated_limits(claim), verdict, claim.source)


def judge_panel(pooled: Threshold, least: float, most: float) -> tuple[str, Judgement]:
    """Judge the threshold of a frequency, or the three thresholds of a jump: at 1/4, 1/2 and 3/4 of the way.

    A claim about a jump is supported if all three thresholds support it, and contradicted if all three contradict it.
    """
    text, verdict = _judge(pooled, least, most)
    if pooled.jump is None:
        return text, verdict
    if not pooled.interval.known:
        return undecided(jump_words(pooled), _missing(pooled))
    text = f"{jump_words(pooled)}; the midpoint at {text}"
    verdicts = {verdict, *(_judge(part, least, most)[1] for part in pooled.jump.quarters)}
    if len(verdicts) > 1 and verdict != "inconclusive":
        text += "; the thresholds at a quarter and three quarters of the way do not agree"
        return undecided(text, "limits that all three are on one side of")
    return text, verdict


def _judge(pooled: Threshold, least: float, most: float) -> tuple[str, Judgement]:
    """Judge a threshold: supported if its interval is within the limits, contradicted if its outer interval is outside.

    Both are widened by `missing_shift`. Where a constant is rejected, the claim is about each slice: supported if the
    intervals of all slices lie within, and contradicted if the outer interval of their mean, or of some slice, lies
    outside.
    """
    found, shift = pooled.interval, pooled.missing_shift
    if not found.known:
        return undecided(unknown_words(pooled, pooled.along.percent), _missing(pooled))
    form = form_of(pooled.along)
    text = at(pooled)
    if pooled.constant:
        text = f"{pooled.along.what} = {found.estimate:{form}}, {found.words(form)}{possible_change(pooled)}"
    if any(shift):
        ends = " to ".join(f"{found.estimate + by:{form}}" for by in shift)
        text += f"; {ends} if unfinished trials are counted either way"
    inner, outer = found.moved(*shift), pooled.outer_interval.moved(*shift)
    verdict = against(inner, outer, least, most)
    if not pooled.constant:
        parts = [(one.interval.moved(*shift), one.outer.moved(*shift)) for one in pooled.each]
        slices = [against(*part, least, most) for part in parts]
        verdict = "contradicted" if verdict == "contradicted" else worst(slices)
        left = [part for part, one in zip(parts, slices, strict=True) if one == "inconclusive"]
        inner, outer = max(left, key=lambda part: times_needed(part[0], part[1], least, most), default=(inner, outer))
        text = f"{text}; judged at each {pooled.along.by}"
    return concluded(text, verdict, replicates(inner, outer, least, most, f"a finer grid of {pooled.along.x}"))


def _missing(pooled: Threshold) -> str:
    """Describe the grid cells or trials that a threshold without an estimate needs."""
    panel, x = pooled.panel, pooled.along.x
    if panel.unstarted or not panel.answers:
        return f"{'the remaining' if panel.unstarted else 'finished'} trials"
    low, high = np.isfinite([pooled.interval.low, pooled.interval.high])
    if low or high:
        return f"grid cells with {'smaller' if high else 'larger'} {x}"
    few = pooled.jump is not None and pooled.jump.few
    return f"more replicates, or more values of {x}" if few else f"grid cells on both sides of it along {x}"
