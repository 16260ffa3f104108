"""Claims about the power with which a threshold, or the width of a transition, grows."""

from recovery.config.claims import GrowthClaim
from recovery.errors import ReportError
from recovery.interval import LEVEL
from recovery.report.claims.result import Judgement, against, concluded, of_all, replicates
from recovery.report.claims.threshold import stated_limits
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics import Estimates
from recovery.report.statistics.growth import growth
from recovery.report.statistics.pooled import outer_level


def state_growth(claim: GrowthClaim) -> str:
    return f"{_what(claim)} of '{claim.of}' grows with a power {stated_limits(claim)}"


def _what(claim: GrowthClaim) -> str:
    chances = [f"{100 * one:g} %" for one in claim.probabilities]
    if len(chances) == 1:
        return f"{claim.along} at {chances[0]}"
    return f"the distance along {claim.along} between {chances[0]} and {chances[1]}"


def judge_growth(estimates: Estimates, panels: list[int], claim: GrowthClaim) -> tuple[str, Judgement]:
    """Judge the exponent in each panel by its interval, as a threshold is judged by its own."""
    diagram = estimates.showing(claim.of, None, claim.along).diagram
    if not diagram.proportion or diagram.along.by is None:
        raise ReportError(f"{claim.of} is no event along {claim.along} at several values of another coordinate")
    about = [diagram.panels[i] for i in panels]
    return of_all([panel.title for panel in about], [_judge(panel, diagram.along, claim) for panel in about])


def _judge(panel: Panel, along: ThresholdAxis, claim: GrowthClaim) -> tuple[str, Judgement]:
    found = growth(panel, along, claim.probabilities)
    inner, far = (found.interval(level) for level in (LEVEL, outer_level(LEVEL)))
    first, last = (f"{found.values[k]:.3g} at {along.by} = {found.y[k]:g}" for k in (0, -1))
    text = f"{first}, {last}; power {inner.estimate:.3g} of {along.by}, {inner.words('.3g')}"
    verdict = against(inner, far, *claim.limits)
    return concluded(text, verdict, replicates(inner, far, *claim.limits, f"more values of {along.by}"))
