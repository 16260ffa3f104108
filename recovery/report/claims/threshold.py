"""Claims of the form "recovered reaches 50 % at n/d = 2", tested by intervals, with a curve and without."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from recovery.config import ThresholdClaim
from recovery.errors import ReportError
from recovery.report.claims.result import Judgement, of_all
from recovery.report.claims.words import at_ratio, interval, measured, way, why
from recovery.report.statistics import Estimates, Pooled, Size, numbers
from recovery.types import Array

STRAY = 0.2
"""A few sizes may lie elsewhere because single cells went wrong: with 2 % of all cells turned round, 4 % of the sizes
of a coarse grid do (benchmarks/truths.md), and more than 20 % of ten sizes in 0.6 % of grids."""
MOST = 1000
"""More times the replicates are not advised."""
SHOWN = 4
"""So many sizes are named one by one."""


def state_threshold(claim: ThresholdClaim) -> str:
    return f"{claim.of} has its threshold at n/d {stated_limits(claim, '= ')}"


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
    least, most = claim.limits
    about = [estimates.pooled[i] for i in panels]
    return of_all([found.panel.title for found in about], [judge_panel(found, least, most) for found in about])


@dataclass(frozen=True)
class Measured:
    """One panel's threshold in words, beside the one that a claim states for it if any does."""

    of: str
    panel: str
    measured: str
    interval: str
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
        for i, found in enumerate(values.pooled):
            if found.panel.undefined or not len(found.panel.cells):
                continue
            about = [claim for claim in claims if claim.of == of and i in values.diagram.panels_where(claim.where)]
            rows += [_beside(of, found, claim) for claim in about] or [_beside(of, found, None)]
    return rows


def _beside(of: str, found: Pooled, claim: ThresholdClaim | None) -> Measured:
    shown = (of, found.panel.title, *measured(found))
    if claim is None:
        return Measured(*shown, "", "", "")
    verdict = judge_panel(found, *claim.limits)[1]
    return Measured(*shown, stated_limits(claim), verdict, claim.source)


def judge_panel(found: Pooled, least: float, most: float) -> tuple[str, Judgement]:
    """A frequency by its threshold; a jump by three: where a trial is beyond a quarter, half and three quarters of the
    way. The claim holds if it does of all of them, and is contradicted if it is of all."""
    text, verdict = _judge(found, least, most)
    if found.jump is None:
        return text, verdict
    text = way(found) if np.isnan(found.ratio.estimate) else f"{way(found)}; half way {text}"
    verdicts = {verdict, *(_judge(part, least, most)[1] for part in found.jump.quarters)}
    if len(verdicts) > 1 and verdict != "cannot tell":
        text += "; but not so for a quarter and three quarters of the way"
    return text, verdict if len(verdicts) == 1 else "cannot tell"


def _judge(found: Pooled, least: float, most: float) -> tuple[str, Judgement]:
    """Holds if the 95 % interval, widened to what unfinished trials could make of the estimate, lies within the
    tolerance, so does the interval without a curve, and so do the ratios that a drift would give the least and the
    largest d; contradicted if both intervals lie outside.

    Where no one ratio is given, the exact intervals at each d decide: the claim holds if all of them lie within, and is
    contradicted if more than `STRAY` of them lie outside and none within.
    """
    if np.isnan(found.ratio.estimate) or np.isnan(found.widened).any():
        return "no transition in the grid", "cannot tell"
    if found.withdrawn:
        return _by_size(found, least, most)
    text = f"{at_ratio(found)}, 95 % interval {interval(found.given)}"
    if found.bracket[0] != found.bracket[1]:
        text += f"; {found.bracket[0]:.3f} or {found.bracket[1]:.3f} if unfinished trials were all yes or all no"
    if found.reasons:
        text += f"; without a curve, because {why(found)}"
    else:
        text += f"; without a curve {interval(found.common)}"
    verdicts = {_against(*found.widened, least, most), _against(*found.reach, least, most)}
    if verdicts == {"contradicted"}:
        return text, "contradicted"
    strays = [f"{r:.3f} at d = {d:g}" for d, r, _ in found.directed.ends if not least <= r <= most]
    if verdicts == {"holds"} and not strays:
        return text, "holds"
    if verdicts == {"holds"}:
        text += f"; but the trend over d reaches {', '.join(strays)}"
    return text + _would(found, least, most), "cannot tell"


def _by_size(found: Pooled, least: float, most: float) -> tuple[str, Judgement]:
    verdicts = [_at_size(size, least, most) for size in found.sizes]
    there = [(size.n50.estimate / size.d, size.d) for size in found.sizes if np.isfinite(size.n50.estimate)]
    range_ = " to ".join(f"{estimate:.3f} (d = {d:g})" for estimate, d in (min(there), max(there))) if there else "none"
    outside = verdicts.count("contradicted")
    text = (
        f"no one n/d, because {why(found)}: each size alone has {range_}, and of {len(verdicts)} sizes "
        f"{verdicts.count('holds')} lie within the tolerance, {outside} outside"
    )
    if verdicts.count("holds") == len(verdicts):
        return text, "holds"
    if "holds" not in verdicts and (outside == len(verdicts) or outside > max(1, STRAY * len(verdicts))):
        return text, "contradicted"
    return text + _would_at(found, least, most), "cannot tell"


def _at_size(size: Size, least: float, most: float) -> Judgement:
    """Nothing where no rising curve fits: its interval is empty."""
    low, high = size.exact[0] / size.d, size.exact[1] / size.d
    return _against(low, high, least, most) if low <= high else "cannot tell"


def _against(low: float, high: float, least: float, most: float) -> Judgement:
    if least <= low and high <= most:
        return "holds"
    return "contradicted" if high < least or low > most else "cannot tell"


def _would(found: Pooled, least: float, most: float) -> str:
    """What would decide: finer n where the grid's own steps are wider than the room, else more replicates."""
    estimate = found.given.estimate
    ends = [*found.widened, *found.reach]
    if least <= estimate <= most:
        ends += [r for _, r, _ in found.directed.ends]
    cells = found.panel.cells
    if not _resolved(numbers(cells, "n") / numbers(cells, "d"), estimate, least, most):
        low, high = _to_tell(estimate, least, most)
        return f"; n between {low:.3g} d and {high:.3g} d would tell more"
    times = _times(estimate, ends, _room(estimate, least, most))
    if times > MOST:
        return "; the estimate lies so near the end of the tolerance that more replicates do not tell"
    return f"; about {times} times the replicates would tell"


def _would_at(found: Pooled, least: float, most: float) -> str:
    """The same for the sizes that do not decide: which of them need n in finer steps, which more replicates."""
    finer, more = list[float](), dict[float, int]()
    for size in found.sizes:
        estimate = size.n50.estimate / size.d
        if _at_size(size, least, most) != "cannot tell" or not np.isfinite(estimate):
            continue
        at = numbers(found.panel.cells, "d") == size.d
        if not _resolved(numbers(found.panel.cells, "n")[at] / size.d, estimate, least, most):
            finer.append(size.d)
            continue
        times = _times(estimate, [end / size.d for end in size.exact], _room(estimate, least, most))
        if times <= MOST:
            more[size.d] = times
    words = [f"n in finer steps at d = {_listed(finer)}"] if finer else []
    if more:
        words.append(f"about {max(more.values())} times the replicates at d = {_listed(list(more))}")
    return f"; {' and '.join(words)} would tell more" if words else ""


def _room(estimate: float, least: float, most: float) -> float:
    """From the estimate to the nearer end of the tolerance."""
    return min(abs(estimate - least), abs(estimate - most))


def _to_tell(estimate: float, least: float, most: float) -> tuple[float, float]:
    """The n/d among which the grid has to tell: the tolerance, or as far around an estimate outside it."""
    room = _room(estimate, least, most)
    return (estimate - room, estimate + room) if estimate < least or estimate > most else (least, most)


def _resolved(ratios: Array, estimate: float, least: float, most: float) -> bool:
    """Whether cells lie on both sides of the estimate, nearer than what is to be told from it."""
    low, high = _to_tell(estimate, least, most)
    return bool(np.any((low <= ratios) & (ratios <= estimate)) and np.any((estimate <= ratios) & (ratios <= high)))


def _times(estimate: float, ends: list[float], room: float) -> int:
    """By how many times the replicates must grow for an interval with these ends to shrink to the room: its width goes
    with the square root of their number. More than `MOST` where no number is known to do."""
    known = [abs(end - estimate) for end in ends if np.isfinite(end)]
    if not known or room <= 0:
        return MOST + 1
    return int(min(max(ceil((max(known) / room) ** 2), 2), MOST + 1))


def _listed(sizes: list[float]) -> str:
    """`10, 20, 30`, or the first and the last of many."""
    if len(sizes) <= SHOWN:
        return ", ".join(f"{d:g}" for d in sizes)
    return f"{sizes[0]:g} to {sizes[-1]:g} ({len(sizes)} sizes)"
