"""The result of a claim, how verdicts are combined, and what would decide an inconclusive claim."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal, get_args

import numpy as np

from recovery.interval import Interval
from recovery.report.diagram import unknown_words
from recovery.types import Mask

Judgement = Literal["supported", "contradicted", "inconclusive", "not tested"]
VERDICTS: tuple[Judgement, ...] = get_args(Judgement)
Kinds = dict[type[Any], tuple[Callable[[Any], str], Callable[[Any, Mask, Any], tuple[str, Judgement]]]]
"""Kind of claim -> functions that state it, and that judge it from the estimates of its value and a mask of the rows
that it is about: what was measured, and the verdict."""
AGREE = "numbers agree"
"""Words after the count of numbers with which the measured text of a table begins."""
MOST = 1000
"""Largest factor of replicates that is advised."""


@dataclass(frozen=True)
class ClaimResult:
    """A claim as stated, what the grid measures about it, the verdict, and the place of the claim in its source."""

    stated: str
    measured: str
    verdict: Judgement
    source: str

    @property
    def verdict_words(self) -> str:
        """The verdict, with the count of a table's numbers that agree."""
        count = self.measured.partition(";")[0]
        return f"{self.verdict} ({count})" if count.endswith(AGREE) else self.verdict

    @property
    def sentence(self) -> str:
        """The verdict, the claim, what was measured, and what would decide an inconclusive claim."""
        return f"{self.verdict_words}: claimed {self.stated}; measured {self.measured}"


@dataclass(frozen=True)
class Judged:
    """One test of a claim: where, what was measured, the verdict, and what would decide it if it is inconclusive.

    clearance: how far inside the limits the result is; among tests with equal verdicts, the least clearance decides.
    """

    where: str
    text: str
    verdict: Judgement
    needed: str = ""
    clearance: float = 0.0

    @classmethod
    def of(
        cls, where: str, text: str, inner: Interval, outer: Interval, limits: tuple[float, float], otherwise: str
    ) -> "Judged":
        """Judge an interval: supported if `inner` is within the limits, contradicted if `outer` is outside of them."""
        (least, most), length = limits, inner.high - inner.low
        # the distance from an infinite limit is infinite, or NaN without a bound
        room = float(np.fmin(inner.low - least, most - inner.high))
        clearance = room / length if length > 0 and np.isfinite(room) and np.isfinite(length) else room
        needed = replicates(inner, outer, *limits, otherwise)
        inside, outside = least <= inner.low and inner.high <= most, outer.high < least or outer.low > most
        verdict: Judgement = "supported" if inside else "contradicted" if outside else "inconclusive"
        return cls(where, text, verdict, needed, clearance)


def decided(tests: Sequence[Judged]) -> tuple[str, Judgement]:
    """Return what was measured for a claim that needs all of these tests, as one line, and the worst verdict.

    The line is about the test that decides: of the tests with this verdict, the one with the least clearance.
    """
    verdict = worst([one.verdict for one in tests])
    one = min((one for one in tests if one.verdict == verdict), key=lambda one: one.clearance)
    text = f"{one.where}: {one.text}" if one.where and len(tests) > 1 else one.text
    if len(tests) > 1:
        counts = Counter(test.verdict for test in tests)
        text += f"; the deciding one of {len(tests)}"
        listed = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
        text += f" ({listed})" if len(counts) > 1 else ""
    return concluded(text, verdict, one.needed)


def worst(verdicts: Sequence[Judgement]) -> Judgement:
    """Return contradicted if some verdict is, otherwise inconclusive if some verdict is, otherwise supported."""
    order: list[Judgement] = ["contradicted", "inconclusive", "supported"]
    return min(verdicts, key=order.index)


def undecided(text: str, needed: str) -> tuple[str, Judgement]:
    """Return, as text, what was measured and what would decide the claim; and the verdict inconclusive."""
    return f"{text}; needs {needed}", "inconclusive"


NO_CELLS = undecided("no cells of the grid match", "cells that match")
"""The result of a claim about coordinates that the grid does not have."""


def concluded(text: str, verdict: Judgement, needed: str) -> tuple[str, Judgement]:
    """Return the text and the verdict; the text of an inconclusive claim ends with what it needs to be decided."""
    return undecided(text, needed) if verdict == "inconclusive" else (text, verdict)


def replicates(inner: Interval, outer: Interval, least: float, most: float, otherwise: str = "") -> str:
    """Describe by which factor, at least 2, more replicates would decide: `about 4 times the replicates`.

    The width of an interval scales with the inverse square root of the replicates. The inner interval decides if the
    estimate is within the limits, otherwise the outer one. otherwise: another way to decide.
    """
    found = inner if least <= inner.estimate <= most else outer
    estimate, ends = found.estimate, [end for end in (found.low, found.high) if np.isfinite(end)]
    room, known = min(abs(estimate - least), abs(estimate - most)), [abs(end - estimate) for end in ends]
    also = f", or {otherwise}" if otherwise else ""
    if known and room > 0 and (times := max(ceil((max(known) / room) ** 2), 2)) <= MOST:
        return f"about {times:g} times the replicates{also}"
    if inner.bounded:
        return f"more than {MOST} times the replicates{also or ': the estimate is next to a limit'}"
    return "more replicates"


def results_of(unknown: Mapping[str, int]) -> str:
    """Describe what trials whose value is not known need: `results of the 3 undecided and 88 unmeasured trials`."""
    return f"results of the {unknown_words(unknown)} trials"


def p_value(p: float) -> str:
    """Format a p-value with its relation: `= 0.002`, or `< 1e-15`."""
    return f"= {p:.1g}" if p >= 1e-15 else "< 1e-15"
