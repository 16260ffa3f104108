"""Claims that success comes sooner, or a number is larger or smaller, under one value of an axis than under the next.

Trials of two values are paired by grid cell and replicate. If both values were equally good, a pair of different
outcomes would fall to either side with probability 1/2. The test is exact, whether or not the pairs share draws.
"""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import scipy

from recovery.config import ReportSpec
from recovery.config.claims import OrderClaim
from recovery.errors import ReportError
from recovery.report.claims.lines import Line
from recovery.report.claims.result import MOST, Judgement, concluded, p_value, worst
from recovery.report.statistics import Estimates


def state_order(claim: OrderClaim) -> str:
    steps = [", ".join(str(value).replace("_", " ") for value in group) for group in _groups(claim)]
    how = "highest" if claim.direction == "falls" else "lowest"
    return f"{claim.of} is {how} under {', then '.join(steps)} (level {claim.level:g})"


def judge_order(estimates: Estimates, panels: list[int], claim: OrderClaim) -> tuple[str, Judgement]:
    """Judge whether every value of a group comes before every value of the next group; see `_judge_pair`."""
    diagram, layout = estimates.diagram, estimates.diagram.layout
    if claim.axis in (layout.x, layout.y):
        diagram = diagram.laid_out(ReportSpec(x=layout.y if claim.axis == layout.x else layout.x, panel=claim.axis))
        estimates, panels = Estimates(diagram), diagram.panels_where(claim.where)
    panel_of: dict[Any, int] = {}
    for value in (value for group in _groups(claim) for value in group):
        matching = [i for i in diagram.panels_where({claim.axis: value}) if i in panels]
        if len(matching) != 1:
            number = "no panel" if not matching else f"{len(matching)} panels"
            raise ReportError(f"{number} with {claim.axis} = {value}; `where` names other coordinates")
        panel_of[value] = matching[0]
    names = _short([str(value) for value in panel_of])
    named = dict(zip(panel_of, names, strict=True))
    pairs = [pair for a, b in pairwise(_groups(claim)) for pair in product(a, b)]
    level = claim.level / len(pairs)
    ends = (0.0, 1.0) if diagram.proportion else (-np.inf, np.inf)
    if claim.direction == "rises":
        ends = -ends[1], -ends[0]
    texts, verdicts = [_thresholds(estimates, [panel_of[value] for value in panel_of], names)], list[Judgement]()
    for first, second in pairs:
        rows = _outcomes(estimates, panel_of[first], panel_of[second])
        if claim.direction == "rises":
            rows[["first", "second"]] *= -1
        text, verdict = _judge_pair(rows, ends, level)
        texts.append(f"{named[first]} before {named[second]}: {text}")
        verdicts.append(verdict)
    return "; ".join(filter(None, texts)), worst(verdicts)


def _judge_pair(rows: pd.DataFrame, ends: tuple[float, float], level: float) -> tuple[str, Judgement]:
    """Judge whether the first value is better, from pairs of trials; ends: the worst and the best outcome of any trial.

    Supported if the first is better in significantly more pairs, even if all undecided trials count against it, and at
    no slice the second is. Contradicted if the second is, with undecided trials against it, overall or at some slice.
    """
    (worst_one, best), first, second = ends, rows["first"], rows["second"]
    against = _split(first.fillna(worst_one), second.fillna(best))
    in_favour = _split(first.fillna(best), second.fillna(worst_one))
    known = _split(first, second)
    text = f"{known[0]} pairs for, {known[1]} against, p {p_value(_tail(*known))}"
    sizes: list[tuple[Any, pd.DataFrame]] = list(rows.groupby(rows.columns[0]))
    splits = [(d, _split(part["first"].fillna(best), part["second"].fillna(worst_one))) for d, part in sizes]
    turned = [f"{d:g}" for d, (a, b) in splits if b > a and _tail(b, a) < level / len(sizes)]
    if turned:
        return f"{text}; in the opposite order at {rows.columns[0]} = {', '.join(turned)}", "contradicted"
    if in_favour[1] > in_favour[0] and _tail(in_favour[1], in_favour[0]) < level:
        return text, "contradicted"
    verdict: Judgement = "supported" if against[0] > against[1] and _tail(*against) < level else "inconclusive"
    return concluded(text, verdict, _needed(*known, level))


def _needed(first: int, second: int, level: float) -> str:
    """Describe how many times the replicates would decide, if the numbers of pairs for either side keep their ratio."""
    if first == second:
        return "trials whose outcomes differ" if not first else "more replicates: as many pairs are for it as against"
    more, less = max(first, second), min(first, second)
    times = next((times for times in range(1, MOST) if _tail(times * more, times * less) < level), MOST)
    return f"about {times} times the replicates" if times > 1 else "results of the trials without one"


def _groups(claim: OrderClaim) -> list[tuple[Any, ...]]:
    """Return the values of the claim in order, as groups whose members are not compared; most groups are one value."""
    return [value if isinstance(value, tuple) else (value,) for value in claim.values]


def _outcomes(estimates: Estimates, first: int, second: int) -> pd.DataFrame:
    """Return one row per pair of trials: y, x, replicate, and outcomes `first` and `second`, NaN if undecided."""
    diagram = estimates.diagram
    layout, cells = diagram.layout, diagram.cells
    keys = [name for name in (layout.y, layout.x) if name is not None]
    values = np.where(cells.finished, diagram.quantity.values(diagram.frame), np.nan)
    sides = []
    for name, i in (("first", first), ("second", second)):
        inside = np.isin(cells.code, diagram.panels[i].cells.index)
        sides.append(diagram.frame.loc[inside, [*keys, "replicate"]].assign(**{name: values[inside]}))
    merged: pd.DataFrame = sides[0].merge(sides[1], on=[*keys, "replicate"], how="outer")
    return merged


def _split(first: "pd.Series[float]", second: "pd.Series[float]") -> tuple[int, int]:
    """Return the number of pairs in which the first outcome is larger, and in which the second outcome is."""
    return int((first > second).sum()), int((first < second).sum())


def _tail(more: int, less: int) -> float:
    """Return the exact p-value of `more` or more successes among more + less at probability 1/2; 1 without pairs."""
    return float(scipy.stats.binomtest(more, more + less, alternative="greater").pvalue) if more + less else 1.0


def _thresholds(estimates: Estimates, panels: list[int], names: list[str]) -> str:
    """Return the pooled thresholds of these panels as text, each after its name; empty without pooled thresholds."""
    if not estimates.pooled:
        return ""
    words = [f"{name} {Line.of(estimates.pooled[i]).estimate}" for i, name in zip(panels, names, strict=True)]
    return f"{estimates.diagram.along.percent} at {estimates.diagram.along.what}: {', '.join(words)}"


def _short(labels: list[str]) -> list[str]:
    """Remove the words that all labels share; a label that would be empty is kept."""
    common = set.intersection(*(set(label.split()) for label in labels))
    return [" ".join(word for word in label.split() if word not in common) or label for label in labels]
