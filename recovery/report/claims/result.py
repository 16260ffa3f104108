"""The result of a claim, how verdicts are combined, and what would decide an inconclusive claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, get_args

import numpy as np

from recovery.interval import Interval

Judgement = Literal["supported", "contradicted", "inconclusive", "not tested"]
VERDICTS: tuple[Judgement, ...] = get_args(Judgement)
AGREE = "numbers agree"
"""Words after the count of numbers with which the measured text of a table begins."""
MOST = 1000
"""Largest factor of replicates that is advised."""
RESULTS = "results of the trials without one"


@dataclass(frozen=True)
class ClaimResult:
    """A claim as stated, what the grid measures, one line per panel, and the verdict."""

    stated: str
    text: str
    verdict: Judgement
    source: str

    @property
    def measured(self) -> str:
        """The measured text of all panels, as one line."""
        return self.text.replace("\n", "; ")

    @property
    def verdict_words(self) -> str:
        """The verdict, with the count of a table's numbers that agree."""
        count = self.measured.partition(";")[0]
        return f"{self.verdict} ({count})" if count.endswith(AGREE) else self.verdict

    @property
    def sentence(self) -> str:
        """The verdict, the claim, what was measured, and what would decide an inconclusive claim, a line per panel."""
        lines = self.text.split("\n")
        return "\n".join(f"{self.verdict_words}: claimed {self.stated}; measured {line}" for line in lines)


def of_all(titles: Sequence[str], judged: Sequence[tuple[str, Judgement]]) -> tuple[str, Judgement]:
    """Combine the judgements of panels for a claim about all of them: the texts as lines, and the worst verdict."""
    texts = [f"{title}: {text}" if len(judged) > 1 else text for title, (text, _) in zip(titles, judged, strict=True)]
    return "\n".join(texts), worst([verdict for _, verdict in judged])


def worst(verdicts: list[Judgement]) -> Judgement:
    """Return contradicted if some verdict is, otherwise inconclusive if some verdict is, otherwise supported."""
    order: list[Judgement] = ["contradicted", "inconclusive", "supported"]
    return next(verdict for verdict in order if verdict in verdicts)


def against(inner: Interval, outer: Interval, least: float, most: float) -> Judgement:
    """Return supported if the inner interval lies within the limits, contradicted if the outer one lies outside."""
    if least <= inner.low and inner.high <= most:
        return "supported"
    return "contradicted" if outer.high < least or outer.low > most else "inconclusive"


def undecided(text: str, needed: str) -> tuple[str, Judgement]:
    """Return what was measured and what would decide the claim, with the verdict inconclusive."""
    return f"{text}; needs {needed}", "inconclusive"


NO_CELLS = undecided("no cells of the grid match", "cells that match")
"""The result of a claim about coordinates that the grid does not have."""


def concluded(text: str, verdict: Judgement, needed: str) -> tuple[str, Judgement]:
    """Return the text and the verdict; for an inconclusive claim, also what would decide it."""
    return undecided(text, needed) if verdict == "inconclusive" else (text, verdict)


def times_needed(inner: Interval, outer: Interval, least: float, most: float) -> float:
    """Return by which factor, at least 2, more replicates decide; infinite above `MOST` or if neither end is finite.

    The width of an interval scales with the inverse square root of the replicates. The inner interval decides if the
    estimate is within the limits, otherwise the outer one.
    """
    found = inner if least <= inner.estimate <= most else outer
    estimate, ends = found.estimate, [end for end in (found.low, found.high) if np.isfinite(end)]
    room, known = min(abs(estimate - least), abs(estimate - most)), [abs(end - estimate) for end in ends]
    if not known or not room > 0 or (times := max(ceil((max(known) / room) ** 2), 2)) > MOST:
        return np.inf
    return times


def replicates(inner: Interval, outer: Interval, least: float, most: float, otherwise: str = "") -> str:
    """Describe the replicates that would decide: `about 4 times the replicates`, or more than `MOST` times.

    otherwise: another way to decide, which is added to a finite factor.
    """
    times = times_needed(inner, outer, least, most)
    if np.isinf(times):
        return (
            f"more than {MOST} times the replicates: the estimate is next to a limit"
            if inner.bounded
            else "more replicates"
        )
    return f"about {times:g} times the replicates{f', or {otherwise}' if otherwise else ''}"


def p_value(p: float) -> str:
    """Format a p-value with its relation: `= 0.002`, or `< 1e-15`."""
    return f"= {p:.1g}" if p >= 1e-15 else "< 1e-15"
