"""What became of a claim."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["holds", "contradicted", "cannot tell", "not tested"]


@dataclass(frozen=True)
class Finding:
    """One claim beside what the grid says."""

    stated: str
    measured: str
    verdict: Verdict
    source: str


def worst(verdicts: list[Verdict]) -> Verdict:
    """What several verdicts come to for a claim about all of them."""
    order: list[Verdict] = ["contradicted", "cannot tell", "holds"]
    return next(verdict for verdict in order if verdict in verdicts)
