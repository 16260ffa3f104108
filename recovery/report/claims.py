"""What a config claims, tested on its grid: stated, measured with its interval, and a verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlogy
from scipy.stats import chi2

from recovery.errors import ReportError
from recovery.report.diagram import Diagram, Panel, describe
from recovery.report.transition import poolable, pooled
from recovery.theory import CURVES
from recovery.types import Array

Verdict = Literal["holds", "contradicted", "cannot tell", "not tested"]
DRAWS = 9999
SHIFT = 0.05
"""A curve holds only if the grid pins it down along n to 5 %."""


@dataclass(frozen=True)
class Finding:
    """One claim beside what the grid says."""

    stated: str
    measured: str
    verdict: Verdict
    source: str


def findings(diagram: Diagram) -> list[Finding]:
    """Every claim of the grid's config, in order."""
    return [_finding(diagram, claim) for claim in diagram.document.get("claims") or []]


def _finding(diagram: Diagram, claim: Mapping[str, Any]) -> Finding:
    kind, source = str(claim.get("kind")), str(claim.get("source") or "")
    where = describe(claim.get("where") or {})
    if kind not in TESTS:
        return Finding(str(claim.get("text", kind)), "left to the reader", "not tested", source)
    stated, test = TESTS[kind]
    words = stated(claim) + (f" ({where})" if where else "")
    try:
        shown = Diagram.of(diagram.grid, str(claim["of"]))
        panels = [panel for panel in shown.panels if _matches(panel, shown.frame, claim.get("where") or {})]
        if not panels:
            return Finding(words, "no such cells in the grid", "cannot tell", source)
        results = [test(shown, panel, claim, len(panels)) for panel in panels]
    except ReportError as error:
        return Finding(words, str(error), "cannot tell", source)
    parts = [
        (f"{panel.title}: " if len(panels) > 1 else "") + text for panel, (text, _) in zip(panels, results, strict=True)
    ]
    verdicts = [verdict for _, verdict in results]
    worst: list[Verdict] = ["contradicted", "cannot tell", "holds"]
    return Finding(words, "; ".join(parts), next(v for v in worst if v in verdicts), source)


def _matches(panel: Panel, frame: pd.DataFrame, where: Mapping[str, Any]) -> bool:
    """Whether all of a panel's rows have the claim's coordinates; an axis path or its last part names a column."""
    part = _of_panel(panel, frame)
    for path, wanted in where.items():
        name = path if path in part else path.split(".")[-1]
        values = list(part[name].unique()) if name in part else []
        if len(values) != 1 or not (str(values[0]) == str(wanted) or _same_number(values[0], wanted)):
            return False
    return True


def _of_panel(panel: Panel, frame: pd.DataFrame) -> pd.DataFrame:
    for name, value in panel.where.items():
        frame = frame[frame[name].isna() if pd.isna(value) else frame[name] == value]
    return frame


def _same_number(a: Any, b: Any) -> bool:
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        return False


def _state_threshold(claim: Mapping[str, Any]) -> str:
    return f"{claim['of']} reaches 50 % at n/d = {claim['value']:g} ± {claim['tolerance']:g}"


def _test_threshold(diagram: Diagram, panel: Panel, claim: Mapping[str, Any], tests: int) -> tuple[str, Verdict]:
    """Holds if the 95 % interval, widened to what unfinished trials could make of the estimate, lies within the
    tolerance; contradicted if it lies outside."""
    if not poolable(diagram):
        raise ReportError(f"{diagram.quantity} is no proportion over n and d")
    result = pooled(panel)
    ratio = result.ratio
    low, high = min(ratio.low, *result.bracket), max(ratio.high, *result.bracket)
    text = f"n/d = {ratio.estimate:.3f}, 95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    if result.bracket[0] != result.bracket[1]:
        text += f"; {result.bracket[0]:.3f} or {result.bracket[1]:.3f} if unfinished trials were all yes or all no"
    if np.isnan(low) or np.isnan(high) or np.isnan(ratio.estimate):
        return "no transition in the grid", "cannot tell"
    least, most = claim["value"] - claim["tolerance"], claim["value"] + claim["tolerance"]
    if least <= low and high <= most:
        return text, "holds"
    return text, "contradicted" if high < least or low > most else "cannot tell"


def _state_curve(claim: Mapping[str, Any]) -> str:
    curve = CURVES.get(str(claim["curve"]))
    label = curve.label if curve else str(claim["curve"])
    return f"the frequency of {claim['of']} follows {label} (level {claim.get('level', 1e-3):g})"


def _test_curve(diagram: Diagram, panel: Panel, claim: Mapping[str, Any], tests: int) -> tuple[str, Verdict]:
    """Contradicted if the likelihood ratio of all cells (its law drawn from the curve) or the best shift of the curve
    along n departs at the level, which is shared among both and among the panels (Bonferroni: panels may share X).
    Holds if the shift's interval lies within 5 %."""
    if not poolable(diagram):
        raise ReportError(f"{diagram.quantity} is no proportion over n and d")
    if claim["curve"] not in CURVES or CURVES[claim["curve"]].axes != ("n", "d"):
        raise ReportError(f"there is no theory curve {claim['curve']} over n and d")
    cells = panel.cells[panel.cells["yes"] + panel.cells["no"] > 0]
    if not len(cells):
        return "nothing finished", "cannot tell"
    n, d, yes, no = (cells[name].to_numpy(dtype=float) for name in ("n", "d", "yes", "no"))
    function = CURVES[claim["curve"]].function
    expected = np.clip(function(n, d), 0.0, 1.0)
    level = float(claim.get("level", 1e-3)) / (2 * tests)
    draws = int(np.clip(4e8 / len(cells), 999, DRAWS))
    null = _simulated(np.random.default_rng(0), yes + no, expected, draws)
    observed = float(_ratio(yes, yes + no, expected))
    p = float((1 + np.sum(null >= observed - 1e-9)) / (1 + draws))
    text = f"G = {observed:.1f} over {len(cells)} cells, p = {p:.2g}"
    if p < level:
        return text, "contradicted"

    def deviance(shift: float) -> float:
        return float(_ratio(yes, yes + no, np.clip(function(n / (1 + shift), d), 1e-300, 1 - 1e-16)))

    shift, low, high = _minimum(deviance, float(chi2.ppf(0.95, 1)))
    text += f"; moved by {shift:+.1%} of n, 95 % interval {low:+.1%} to {high:+.1%}"
    if deviance(0.0) - deviance(shift) > chi2.ppf(1 - level, 1):
        return text, "contradicted"
    return text, "holds" if low >= -SHIFT and high <= SHIFT else "cannot tell"


def _minimum(deviance: Callable[[float], float], rise: float) -> tuple[float, float, float]:
    """Where a function of the shift is least, and the ends between which it stays within `rise` of that."""
    reach = 0.9
    coarse = np.linspace(-reach, reach, 181)
    start = float(coarse[int(np.argmin([deviance(shift) for shift in coarse]))])
    best = minimize_scalar(deviance, bounds=(max(start - 0.02, -reach), start + 0.02), method="bounded")

    def excess(shift: float) -> float:
        return deviance(shift) - float(best.fun) - rise

    low, high = (float(brentq(excess, best.x, end)) if excess(end) > 0 else end for end in (-reach, reach))
    return float(best.x), low, high


def _simulated(rng: np.random.Generator, total: Array, expected: Array, draws: int) -> Array:
    """The statistic of that many tables drawn from the law that it is measured against."""
    chunk = max(1, 2_000_000 // len(total))
    parts = []
    for start in range(0, draws, chunk):
        size = (min(chunk, draws - start), len(total))
        parts.append(_ratio(rng.binomial(total.astype(int), expected, size=size).astype(float), total, expected))
    return np.concatenate(parts)


def _ratio(yes: Array, total: Array, expected: Array) -> Array:
    """2 sum (yes log(yes / (total p)) + no log(no / (total (1 - p)))) over the last axis."""
    no = total - yes
    with np.errstate(divide="ignore"):
        free = xlogy(yes, yes / total) + xlogy(no, no / total)
        fixed = xlogy(yes, expected) + xlogy(no, 1 - expected)
    result: Array = 2 * np.sum(free - fixed, axis=-1)
    return result


Test = Callable[[Diagram, Panel, Mapping[str, Any], int], tuple[str, Verdict]]
TESTS: dict[str, tuple[Callable[[Mapping[str, Any]], str], Test]] = {
    "threshold": (_state_threshold, _test_threshold),
    "curve": (_state_curve, _test_curve),
}
"""Kind of claim -> how it is worded, how a panel tests it. Kinds that are not here are not tested."""
