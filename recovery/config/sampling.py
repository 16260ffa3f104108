"""How replicates are placed: evenly over the cells, or in rounds at the boundary that earlier rounds show."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge

from recovery.config.build import Fault
from recovery.config.describe import choices
from recovery.config.header import Header, ReportSpec
from recovery.config.problems import Path
from recovery.methods.columns import Columns
from recovery.text import did_you_mean


@dataclass(frozen=True)
class Even:
    """Every cell gets `replicates` trials."""


@dataclass(frozen=True)
class Boundary:
    """`replicates` trials of each cell are the first of `rounds` rounds; the others bring the trials to `budget`.

    They go where the transition of the report's value along n is uncertain, by the outcomes of the rounds before.
    """

    rounds: Annotated[int, Ge(2)]
    budget: Annotated[int, Ge(1)]


Sampling = Even | Boundary

MOST_TRIALS = 10_000_000
"""Of one sweep: each is planned in memory."""

SAMPLINGS: dict[str, type[Any]] = {"uniform": Even, "boundary": Boundary}


def size_faults(sampling: Sampling, replicates: int, cells: int) -> Iterator[Fault]:
    """More trials than a sweep can have."""
    at: Path = ("replicates",)
    trials = cells * replicates
    if isinstance(sampling, Boundary) and sampling.budget > trials:
        trials, at = sampling.budget, ("sampling", "budget")
    if trials > MOST_TRIALS:
        yield Fault(at, f"{trials} trials; at most {MOST_TRIALS} are allowed: lower it, or split the sweep")


def sampling_faults(
    sampling: Sampling,
    head: Header,
    report: ReportSpec,
    axes: Sequence[str],
    computed: Sequence[str],
    sizes: Sequence[int],
    columns: Columns,
) -> Iterator[Fault]:
    """Why a boundary cannot be followed: a value that is not true or false, a single n, a budget that is used up.

    computed: the axes that expressions give. sizes: n of each cell.
    """
    if isinstance(sampling, Even):
        return
    truths = [name for name, column in columns.items() if column.kind is bool]
    if report.event not in truths:
        text = f"found {report.event!r}; allowed with sampling: {{kind: boundary}}: {choices(truths)}"
        yield Fault(("report", "value"), text + did_you_mean(report.event, truths))
    if computed:
        text = f"found boundary, which moves n alone; {computed[0]} is computed from other axes: use uniform"
        yield Fault(("sampling", "kind"), text)
    if len(set(sizes)) < 2:
        which = "n has one value" if "n" in axes else "n is no axis"
        yield Fault(("sampling", "kind"), f"found boundary, which is a transition along n; {which} here, add others")
    coarse = len(sizes) * head.replicates
    if sampling.budget <= coarse:
        text = f"allowed: more than the {coarse} trials of the first round, {head.replicates} of each of"
        yield Fault(("sampling", "budget"), f"found {sampling.budget}; {text} {len(sizes)} cells")
