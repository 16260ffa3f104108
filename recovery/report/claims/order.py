"""Claims that success comes sooner, or a number is larger or smaller, under one value of an axis than under the next.

Trials of two values are paired by replicate and by all other coordinates. If both values were equally good, a pair of
different outcomes would fall to either side with probability 1/2. The test is exact, whether or not the pairs share
draws.
"""

from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

from recovery.config import ReportSpec
from recovery.config.claims import OrderClaim
from recovery.errors import ReportError
from recovery.report.claims.result import MOST, Judged, Judgement, Kinds, decided, p_value
from recovery.report.diagram import PLAIN, Diagram, has, unknown_words
from recovery.report.statistics import Estimates
from recovery.report.statistics.differences import sign_test
from recovery.report.statistics.samples import Sample
from recovery.text import many
from recovery.types import Mask

_tail = partial(sign_test, side="greater")


def state_order(claim: OrderClaim) -> str:
    steps = [", ".join(str(value).replace("_", " ") for value in group) for group in _groups(claim)]
    how = "highest" if claim.direction == "falls" else "lowest"
    return f"{claim.of} is {how} under {', then '.join(steps)} (level {claim.level:g})"


def judge_order(estimates: Estimates, rows: Mask, claim: OrderClaim) -> tuple[str, Judgement]:
    """Judge whether every value of a group comes before every value of the next group; see `_judge_pair`."""
    diagram, layout = estimates.diagram, estimates.diagram.layout
    if claim.axis not in layout.panels:
        x = layout.y if claim.axis == layout.x else layout.x
        diagram = diagram.laid_out(ReportSpec(x=x, panel=claim.axis))
    groups = _groups(claim)
    side_of = {value: rows & has(diagram.frame, claim.axis, value) for group in groups for value in group}
    if absent := [value for value, side in side_of.items() if not side.any()]:
        raise ReportError(f"no trials with {claim.axis} = {absent[0]}; `values` names values of this grid")
    named = dict(zip(side_of, _short([str(value) for value in side_of]), strict=True))
    compared = [pair for a, b in pairwise(groups) for pair in product(a, b)]
    sign = -1.0 if claim.direction == "rises" else 1.0
    tests = []
    for first, second in compared:
        pairs, alone = _pairs(diagram, side_of[first], side_of[second], claim.axis, sign)
        where = f"{named[first]} before {named[second]}"
        unknown = {named[one]: Sample.of(diagram, diagram.quantity, side_of[one]).unknown for one in (first, second)}
        words = " and ".join(f"{unknown_words(some)} trials of {name}" for name, some in unknown.items() if some)
        tests.append(_judge_pair(where, pairs, alone, words, claim.level / len(compared)))
    return decided(tests)


def _judge_pair(where: str, pairs: pd.DataFrame, alone: int, unknown: str, level: float) -> Judged:
    """Judge whether the first value is better, from pairs of trials.

    Supported if the first value is better in significantly more pairs, even if all unknown outcomes count against it.
    Contradicted if the second value is, overall or at some slice, even if all unknown outcomes count for the first.
    alone: the number of trials without a partner, which are in no test. unknown: trials of unknown outcome, in words.
    """
    against = _split(pairs["first_low"], pairs["second_high"])
    in_favour = _split(pairs["first_high"], pairs["second_low"])
    both = pairs[(pairs["first_low"] == pairs["first_high"]) & (pairs["second_low"] == pairs["second_high"])]
    known = _split(both["first_low"], both["second_low"])
    text = f"{known[0]} pairs for, {known[1]} against, p {p_value(_tail(*known))}"
    text += f"; {unknown}, p {p_value(_tail(*against))} if all are against" if unknown else ""
    text += f"; {many(alone, 'trial')} without a partner" if alone else ""
    slices: list[tuple[Any, pd.DataFrame]] = list(pairs.groupby("slice"))
    splits = [(name, _split(part["first_high"], part["second_low"])) for name, part in slices]
    turned = [str(name) for name, (a, b) in splits if b > a and _tail(b, a) < level / len(slices)]
    if turned:
        return Judged(where, f"{text}; in the opposite order at {'; '.join(turned)}", "contradicted")
    if in_favour[1] > in_favour[0] and _tail(in_favour[1], in_favour[0]) < level:
        return Judged(where, text, "contradicted")
    supported = against[0] > against[1] and _tail(*against) < level
    verdict: Judgement = "supported" if supported else "inconclusive"
    return Judged(where, text, verdict, _needed(*known, level, unknown), -_tail(*against))


def _needed(first: int, second: int, level: float, unknown: str) -> str:
    """Describe how many times the replicates would decide, if the numbers of pairs for each value keep their ratio."""
    more, less = max(first, second), min(first, second)
    if unknown and (more == less or _tail(more, less) < level):
        return f"results of {unknown}"
    if more == less:
        return "trials whose outcomes differ" if not more else "more replicates: as many pairs are for it as against"
    times = next((times for times in range(1, MOST) if _tail(times * more, times * less) < level), MOST)
    return f"about {times} times the replicates"


def _groups(claim: OrderClaim) -> list[tuple[Any, ...]]:
    """Return the values of the claim in order, as groups whose members are not compared; most groups are one value."""
    return [value if isinstance(value, tuple) else (value,) for value in claim.values]


def _pairs(diagram: Diagram, first: Mask, second: Mask, axis: str, sign: float) -> tuple[pd.DataFrame, int]:
    """Return one row per pair of trials: its slice, and the least and the greatest possible outcome of both, times
    `sign`, in the columns `first_low` to `second_high`; and the number of trials without a partner.

    Partners have one replicate, and agree in each coordinate but `axis` that varies on a side. Raises `ReportError`.
    """
    frame, keys = diagram.frame, [name for name in diagram.layout.keys if name != axis]
    sides = [frame[side] for side in (first, second)]
    keys = [name for name in keys if max(side[name].nunique(dropna=False) for side in sides) > 1] or keys[-1:]
    far = np.array([0.0, 1.0]) if diagram.proportion else np.array([-np.inf, np.inf])
    ends = np.where(diagram.cells.finished, diagram.quantity.ends(frame), far[:, None])
    low, high = np.sort(sign * ends, axis=0)
    outcomes = [frame.loc[side, [*keys, "replicate"]] for side in (first, second)]
    if any(side.duplicated().any() for side in outcomes):
        names = ", ".join([*keys, "replicate"])
        raise ReportError(f"several trials have the same {names}; `where` names other coordinates")
    named = [
        side.assign(**{f"{name}_low": low[mask], f"{name}_high": high[mask]})
        for side, name, mask in zip(outcomes, ("first", "second"), (first, second), strict=True)
    ]
    pairs = named[0].merge(named[1], on=[*keys, "replicate"])
    slices = [name for name in keys if name != diagram.layout.x] or keys
    words = [PLAIN.where(dict(zip(slices, row, strict=True))) for row in pairs[slices].itertuples(index=False)]
    return pairs.assign(slice=words), len(named[0]) + len(named[1]) - 2 * len(pairs)


def _split(first: "pd.Series[float]", second: "pd.Series[float]") -> tuple[int, int]:
    """Return the number of pairs in which the first outcome is larger, and in which the second outcome is."""
    return int((first > second).sum()), int((first < second).sum())


def _short(labels: list[str]) -> list[str]:
    """Remove the words that all labels share, except from a label that would become empty."""
    common = set.intersection(*(set(label.split()) for label in labels))
    return [" ".join(word for word in label.split() if word not in common) or label for label in labels]


ORDERS: Kinds = {OrderClaim: (state_order, judge_order)}
