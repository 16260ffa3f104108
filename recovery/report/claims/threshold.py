"""Claims of the form "recovered reaches 50 % at n/d = 2", or above 2, judged by the threshold's interval."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from recovery.config import ThresholdClaim
from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.report.claims.result import Judgement, against, of_all
from recovery.report.claims.words import drift_words, jump_words, measured, unknown_words
from recovery.report.statistics import Estimates, Pooled

MOST = 1000
"""More times the replicates are not advised."""


def state_threshold(claim: ThresholdClaim) -> str:
    return f"threshold of '{claim.of}' at n/d {stated_limits(claim, '= ')}"


def stated_limits(claim: ThresholdClaim, equals: str = "") -> str:
    """`2 ± 0.15`, `>= 2`, or `2 to 3`."""
    if claim.value is not None:
        return f"{equals}{claim.value:g} ± {claim.tolerance:g}"
    if claim.at_least is None or claim.at_most is None:
        return f">= {claim.at_least:g}" if claim.at_least is not None else f"<= {claim.at_most:g}"
    return f"{equals}{claim.at_least:g} to {claim.at_most:g}"


def judge_threshold(estimates: Estimates, panels: list[int], claim: ThresholdClaim) -> tuple[str, Judgement]:
    """Each panel on its own; the claim is about all of them."""
    if not estimates.diagram.layout.over_n_and_d:
        raise ReportError(f"{estimates.diagram.quantity} is not shown over n and d")
    about = [estimates.pooled[i] for i in panels]
    return of_all([pooled.panel.title for pooled in about], [judge_panel(pooled, *claim.limits) for pooled in about])


@dataclass(frozen=True)
class Measured:
    """One panel's threshold, beside the one that a claim states for it if any does."""

    of: str
    panel: str
    measured: str
    interval: Interval
    stated: str
    verdict: str
    source: str


def measured_beside_stated(estimates: Estimates) -> list[Measured]:
    """A row for each panel and each value that is shown or claimed, as far as the panel measures it."""
    claims = [claim for claim in estimates.diagram.sweep.claims if isinstance(claim, ThresholdClaim)]
    shown = str(estimates.diagram.quantity)
    rows = []
    for of in dict.fromkeys([shown, *(claim.of for claim in claims)]):
        try:
            values = estimates.showing(of)
        except ReportError:
            continue  # the claim itself says that nothing measured it
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
    """A frequency by its threshold; a jump by three: where a trial is beyond a quarter, half and three quarters of the
    way. The claim holds if it does of all of them, and is contradicted if it is of all."""
    text, verdict = _judge(pooled, least, most)
    if pooled.jump is None:
        return text, verdict
    text = jump_words(pooled) if not pooled.interval.known else f"{jump_words(pooled)}; half way {text}"
    verdicts = {verdict, *(_judge(part, least, most)[1] for part in pooled.jump.quarters)}
    if len(verdicts) > 1 and verdict != "inconclusive":
        text += "; but not so for a quarter and three quarters of the way"
    return text, verdict if len(verdicts) == 1 else "inconclusive"


def _judge(pooled: Pooled, least: float, most: float) -> tuple[str, Judgement]:
    """Holds if the interval lies within the limits, contradicted if the outer interval lies outside; both moved by
    what failed and undecided trials could make of the estimate. Where n/d drifts with d, both ends of the trend must
    agree too."""
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
    """How many times the replicates would tell: an interval's width goes with the square root of their number."""
    estimate, ends = found.estimate, [end for end in (found.low, found.high) if np.isfinite(end)]
    room, known = min(abs(estimate - least), abs(estimate - most)), [abs(end - estimate) for end in ends]
    if not known or room <= 0 or (times := max(ceil((max(known) / room) ** 2), 2)) > MOST:
        return "; the estimate is so close to an end of the tolerance that more replicates do not decide it"
    return f"; needs about {times} times the replicates, or a finer grid of n"
