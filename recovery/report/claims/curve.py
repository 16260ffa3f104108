"""Claims that a frequency follows a theory curve: a likelihood-ratio test of all cells, and the best shift of the
curve."""

from collections.abc import Callable

import numpy as np
import scipy

from recovery.config.claims import CurveClaim
from recovery.errors import ReportError
from recovery.interval import LEVEL, Interval
from recovery.report.claims.result import Judgement, concluded, of_all, replicates, undecided
from recovery.report.diagram import Panel
from recovery.report.statistics import Estimates, poolable
from recovery.report.statistics.tail import tail
from recovery.theory import CURVES
from recovery.theory.normal import normal_reach
from recovery.types import Array

RISE = normal_reach(LEVEL) ** 2
"""Rise of the deviance at which a profile interval ends (Wilks)."""
TESTS = 3
"""Tests of a panel that share the error rate."""
SHIFT = 0.05
"""A curve is supported only if the grid determines its shift along n to 5 %."""


def state_curve(claim: CurveClaim) -> str:
    curve = CURVES.get(claim.curve)
    label = curve.label if curve else claim.curve
    return f"the frequency of {claim.of} follows {label} (level {claim.level:g})"


def judge_curve(estimates: Estimates, panels: list[int], claim: CurveClaim) -> tuple[str, Judgement]:
    """Judge whether every panel follows the claim's curve; panels share the error rate, because they may share X."""
    diagram = estimates.diagram
    if not poolable(diagram):
        raise ReportError(f"{diagram.quantity} is not a proportion over n and d")
    if claim.curve not in CURVES or CURVES[claim.curve].axes != ("n", "d"):
        raise ReportError(f"there is no theory curve {claim.curve} over n and d")
    about = [diagram.panels[i] for i in panels]
    return of_all([panel.title for panel in about], [_judge(panel, claim, len(about)) for panel in about])


def _judge(panel: Panel, claim: CurveClaim, tests: int) -> tuple[str, Judgement]:
    """Judge one panel by the likelihood ratio of all cells, its steepness, and the best shift of the curve along n.

    Contradicted if one of the three departs at its share of the error rate (Bonferroni). Supported if the interval of
    the shift lies within 5 % and some outcome of these cells would have contradicted the curve.
    """
    cells = panel.cells[panel.cells["yes"] + panel.cells["no"] > 0]
    if not len(cells):
        return undecided("no trial finished", "finished trials")
    n, d, yes, no = (cells[name].to_numpy(dtype=float) for name in ("n", "d", "yes", "no"))
    function = CURVES[claim.curve].function
    level = claim.level / (TESTS * tests)
    fit = tail(yes, yes + no, np.clip(function(n, d), 0.0, 1.0))
    text = f"G = {fit.ratio:.1f} over {len(cells)} cells, p = {fit.p:.2g}"
    if fit.most < level:
        return text, "contradicted"
    if fit.steep < level:
        way = "steeper" if fit.steeper else "flatter"
        return f"{text}; {way} than the curve, p < {fit.steep:.2g}", "contradicted"
    if fit.least >= level:
        return undecided(f"{text}; no outcome of these trials has p < {level:.1g}", "more replicates")

    def deviance(shift: float) -> float:
        return _ratio(yes, yes + no, np.clip(function(n / (1 + shift), d), 1e-300, 1 - 1e-16))

    shift = _minimum(deviance)
    text += f"; best shift {shift.estimate:+.1%} of n, {shift.words('+.1%')}"
    if deviance(0.0) - deviance(shift.estimate) > scipy.special.chdtri(1, level):
        return text, "contradicted"
    verdict: Judgement = "supported" if shift.low >= -SHIFT and shift.high <= SHIFT else "inconclusive"
    return concluded(text, verdict, replicates(shift, shift, -SHIFT, SHIFT))


def _minimum(deviance: Callable[[float], float]) -> Interval:
    """Minimise a deviance over shifts from -0.9 to 0.9; the interval ends where the deviance has risen by `RISE`."""
    reach = 0.9
    coarse = np.linspace(-reach, reach, 181)
    start = float(coarse[int(np.argmin([deviance(shift) for shift in coarse]))])
    best = scipy.optimize.minimize_scalar(deviance, bounds=(max(start - 0.02, -reach), start + 0.02), method="bounded")

    def excess(shift: float) -> float:
        return deviance(shift) - float(best.fun) - RISE

    root = scipy.optimize.brentq
    low, high = (float(root(excess, best.x, end)) if excess(end) > 0 else end for end in (-reach, reach))
    return Interval(float(best.x), low, high)


def _ratio(yes: Array, total: Array, expected: Array) -> float:
    """Return 2 sum (yes log(yes / (total p)) + no log(no / (total (1 - p)))) with p = expected."""
    no = total - yes
    free = scipy.special.xlogy(yes, yes / total) + scipy.special.xlogy(no, no / total)
    return 2 * float(np.sum(free - scipy.special.xlogy(yes, expected) - scipy.special.xlogy(no, 1 - expected)))
