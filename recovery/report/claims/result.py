"""What became of a claim."""

from dataclasses import dataclass
from typing import Literal

Judgement = Literal["holds", "contradicted", "cannot tell", "not tested"]


@dataclass(frozen=True)
class ClaimResult:
    """One claim beside what the grid says."""

    stated: str
    measured: str
    verdict: Judgement
    source: str


def worst(verdicts: list[Judgement]) -> Judgement:
    """What several verdicts come to for a claim about all of them."""
    order: list[Judgement] = ["contradicted", "cannot tell", "holds"]
    return next(verdict for verdict in order if verdict in verdicts)
