"""Claims that a threshold n/d has a value or lies within limits, judged by its interval."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from recovery.config import ThresholdClaim
from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.report.claims.result import Judgement, against, of_all
from recovery.report.claims.sentences import drift_words, jump_words, measured, unknown_words
from recovery.report.statistics import Estimates, Pooled

MOST = 1000
"""Largest factor of replicates that is advised."""


def state_threshold(claim: ThresholdClaim) -> str:
    return f"threshold of '{claim.of}' at n/d {stated_limits(claim, '= ')}"


def stated_limits(claim: ThresholdClaim, equals: str = "") -> str:
    """Return `2 ± 0.15`, `>= 2`, or `2 to 3`."""
    if claim.value is not None:
        return f"{equals}{claim.value:g} ± {claim.tolerance:g}"
    if claim.at_least is None or claim.at_most is None:
        return f">= {claim.at_least:g}" if claim.at_least is not None else f"<= {claim.at_most:g}"
    return f"{equals}{claim.at_least:g} to {claim.at_most:g}"


def judge_threshold(estimates: Estimates, panels: list[int], claim: ThresholdClaim) -> tuple[str, Judgement]:
    """Judge each panel; the claim is about all of them."""
    if not estimates.diagram.layout.over_n_and_d:
        raise ReportError(f"{estimates.diagram.quantity} is not shown over n and d")
    about = [estimates.pooled[i] for i in panels]
    return of_all([pooled.panel.title for pooled in about], [judge_panel(pooled, *claim.limits) for pooled in about])


@dataclass(frozen=True)
class Measured:
    """One panel's threshold with the threshold that a claim states for it, if one does."""

    of: str
    panel: str
    measured: str
    interval: Interval
    stated: str
    verdict: str
    source: str


def measured_beside_stated(estimates: Estimates) -> list[Measured]:
    """Return one entry per panel and per value that is shown or claimed, as far as it was measured."""
    claims = [claim for claim in estimates.diagram.sweep.claims if isinstance(claim, ThresholdClaim)]
    shown = str(estimates.diagram.quantity)
    rows = []
    for of in dict.fromkeys([shown, *(claim.of for claim in claims)]):
        try:
            values = estimates.showing(of)
        except ReportError:
            continue  # the claim itself reports that nothing measured it
        for i, pooled in enumerate(values.pooled):
            if pooled.panel.undefined or not len(pooled.panel.cells):
                continue
            about = [claim for claim in claims if claim.of == of and i in values.diagram.panels_where(claim.where)]
            rows += [_beside(of, pooled, claim) for claim in about] or [_beside(of, pooled, None)]
    return rows


def _beside(of: str, pooled: Pooled, claim: ThresholdClaim | None) -> Measured:
    shown = (of, pooled.panel.title, measured(pooled), pooled.interval)
    if claim is None:
        return Measured(*shown, "", "", "")
    return Measured(*shown, stated_limits(claim), judge_panel(pooled, *claim.limits)[1], claim.source)


def judge_panel(pooled: Pooled, least: float, most: float) -> tuple[str, Judgement]:
    """Judge the threshold of a frequency, or the three thresholds of a jump: at 1/4, 1/2 and 3/4 of the way.

    A claim about a jump is supported if all three thresholds support it, and contradicted if all three contradict it.
    """
    text, verdict = _judge(pooled, least, most)
    if pooled.jump is None:
        return text, verdict
    text = jump_words(pooled) if not pooled.interval.known else f"{jump_words(pooled)}; the midpoint at {text}"
    verdicts = {verdict, *(_judge(part, least, most)[1] for part in pooled.jump.quarters)}
    if len(verdicts) > 1 and verdict != "inconclusive":
        text += "; the thresholds at a quarter and three quarters of the way do not agree"
    return text, verdict if len(verdicts) == 1 else "inconclusive"


def _judge(pooled: Pooled, least: float, most: float) -> tuple[str, Judgement]:
    """Supported if the interval lies within the limits, contradicted if the outer interval lies outside.

    Both are widened by `missing_shift`. Where n/d changes with d, both ends of the trend must agree as well.
    """
    found, (down, up) = pooled.interval, pooled.missing_shift
    if not found.known:
        return unknown_words(pooled, "50 %"), "inconclusive"
    text = f"n/d = {found.estimate:.3f}, {found.words()}"
    if down or up:
        text += (
            f"; {found.estimate + down:.3f} to {found.estimate + up:.3f} if unfinished trials are counted either way"
        )
    inner, outer = found.moved(down, up), pooled.outer_interval.moved(down, up)
    verdict = against(inner, outer, least, most)
    text += f"; {drift_words(pooled)}" if drift_words(pooled) else ""
    if pooled.drift is not None and pooled.drift.shown and verdict != "inconclusive":
        inside = [least <= ratio <= most for _, ratio in pooled.drift.ends]
        if (verdict == "supported" and not all(inside)) or (verdict == "contradicted" and any(inside)):
            return text, "inconclusive"
    return text + (_advice(inner, least, most) if verdict == "inconclusive" else ""), verdict


def _advice(found: Interval, least: float, most: float) -> str:
    """Return how many times the replicates are needed: the width of an interval scales with their inverse square
    root."""
    estimate, ends = found.estimate, [end for end in (found.low, found.high) if np.isfinite(end)]
    room, known = min(abs(estimate - least), abs(estimate - most)), [abs(end - estimate) for end in ends]
    if not known or room <= 0 or (times := max(ceil((max(known) / room) ** 2), 2)) > MOST:
        return "; the estimate is so close to an end of the tolerance that more replicates do not decide it"
    return f"; needs about {times} times the replicates, or a finer grid of n"
