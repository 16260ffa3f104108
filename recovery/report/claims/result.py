"""The result of a claim, and how verdicts are combined."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from recovery.interval import Interval

Judgement = Literal["supported", "contradicted", "inconclusive", "not tested"]
VERDICTS: tuple[Judgement, ...] = get_args(Judgement)
AGREE = "numbers agree"
"""Words after the count of numbers with which the measured text of a table begins."""


@dataclass(frozen=True)
class ClaimResult:
    """A claim as stated, what the grid measures, and the verdict."""

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
        """The verdict, the claim, what was measured, and what would decide an inconclusive claim, as one line."""
        return f"{self.verdict_words}: claimed {self.stated}; measured {self.measured}"


def of_all(titles: Sequence[str], judged: Sequence[tuple[str, Judgement]]) -> tuple[str, Judgement]:
    """Combine the verdicts of panels for a claim about all of them."""
    texts = [f"{title}: {text}" if len(judged) > 1 else text for title, (text, _) in zip(titles, judged, strict=True)]
    return "; ".join(texts), worst([verdict for _, verdict in judged])


def worst(verdicts: list[Judgement]) -> Judgement:
    """Return the verdict on a claim that needs all of several verdicts."""
    order: list[Judgement] = ["contradicted", "inconclusive", "supported"]
    return next(verdict for verdict in order if verdict in verdicts)


def against(inner: Interval, outer: Interval, least: float, most: float) -> Judgement:
    """Return supported if the inner interval lies within the limits, contradicted if the outer one lies outside."""
    if least <= inner.low and inner.high <= most:
        return "supported"
    return "contradicted" if outer.high < least or outer.low > most else "inconclusive"
