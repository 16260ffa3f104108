"""Claims of the form "recovered reaches 50 % at n/d = 2", tested by intervals."""

import numpy as np

from recovery.config import ThresholdClaim
from recovery.errors import ReportError
from recovery.report.claims.result import Judgement, worst
from recovery.report.statistics import Estimates, Pooled, by_size, poolable, pooled


def state_threshold(claim: ThresholdClaim) -> str:
    return f"{claim.of} reaches 50 % at n/d = {claim.value:g} ± {claim.tolerance:g}"


def judge_threshold(estimates: Estimates, panels: list[int], claim: ThresholdClaim) -> tuple[str, Judgement]:
    """Each panel on its own; the claim is about all of them."""
    if not poolable(estimates.diagram):
        raise ReportError(f"{estimates.diagram.quantity} is no proportion over n and d")
    least, most = claim.value - claim.tolerance, claim.value + claim.tolerance
    results = [_judge(estimates.pooled[i], least, most) for i in panels]
    titles = [f"{estimates.diagram.panels[i].title}: " if len(panels) > 1 else "" for i in panels]
    texts = [title + text for title, (text, _) in zip(titles, results, strict=True)]
    return "; ".join(texts), worst([verdict for _, verdict in results])


def _judge(found: Pooled, least: float, most: float) -> tuple[str, Judgement]:
    """Holds if the 95 % interval, widened to what unfinished trials could make of the estimate, lies within the
    tolerance; contradicted if it lies outside.

    Where no one ratio fits all sizes, the pooled interval says nothing: then the interval at each size does, and the
    claim holds, or is contradicted, if all of them say so.
    """
    ratio = found.ratio
    if np.isnan([*_widened(found), ratio.estimate]).any():
        return "no transition in the grid", "cannot tell"
    text = f"n/d = {ratio.estimate:.3f}, 95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    if found.bracket[0] != found.bracket[1]:
        text += f"; {found.bracket[0]:.3f} or {found.bracket[1]:.3f} if unfinished trials were all yes or all no"
    if not found.poor_fit:
        return text, _against(found, least, most)
    alone = [(d, pooled(panel)) for d, panel in by_size(found.panel)]
    verdicts = [_against(one, least, most) for _, one in alone]
    there = [(one.ratio.estimate, d) for d, one in alone if np.isfinite(one.ratio.estimate)]
    range_ = " to ".join(f"{estimate:.3f} (d = {d:g})" for estimate, d in (min(there), max(there))) if there else "none"
    text += (
        f"; but no one ratio fits all sizes: each alone has {range_}, and of {len(alone)} sizes "
        f"{verdicts.count('holds')} lie within the tolerance, {verdicts.count('contradicted')} outside"
    )
    return text, verdicts[0] if len(set(verdicts)) == 1 else "cannot tell"


def _widened(found: Pooled) -> tuple[float, float]:
    return min(found.ratio.low, *found.bracket), max(found.ratio.high, *found.bracket)


def _against(found: Pooled, least: float, most: float) -> Judgement:
    low, high = _widened(found)
    if least <= low and high <= most:
        return "holds"
    return "contradicted" if high < least or low > most else "cannot tell"
