"""How replicates are placed: evenly over the cells, in rounds at the boundary that earlier rounds show, or there until
a threshold is known."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import Field

from recovery.config.build import Fault
from recovery.config.claims import Claim, ThresholdClaim
from recovery.config.describe import choices
from recovery.config.header import Header, ReportSpec
from recovery.config.problems import Path
from recovery.errors import ParameterError
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


RULE = re.compile(r"(?:threshold *(?:\+-|\+/-|\xb1) *(\d*\.?\d+(?:[eE][+-]?\d+)?)|decided) *")


@dataclass(frozen=True)
class Until:
    """`replicates` trials of each cell are the first round; more at the boundary follow until the `rule` is met.

    rule: `threshold +-0.05`, until half the interval of the threshold n/d is at most 0.05 in every panel; or `decided`,
    until each threshold claim holds or is contradicted. ceiling: a panel gets at most so many times its first round.
    """

    rule: Annotated[str, Field(pattern=f"^{RULE.pattern}$", description="'threshold +-NUMBER' or 'decided'")]
    ceiling: Annotated[int, Ge(2)] = 50

    def __post_init__(self) -> None:
        if self.half == 0:
            raise ParameterError(f"found {self.rule!r}; allowed: half a width above 0")

    @property
    def half(self) -> float | None:
        """Half the width that the interval may have; None where claims are to be decided."""
        told = RULE.fullmatch(self.rule)
        return float(told[1]) if told and told[1] else None


Sampling = Even | Boundary | Until

MOST_TRIALS = 10_000_000
"""Of one sweep: each is planned in memory."""

SAMPLINGS: dict[str, type[Any]] = {"uniform": Even, "boundary": Boundary, "until": Until}


def _size_faults(sampling: Sampling, replicates: int, cells: int) -> Iterator[Fault]:
    """More trials than a sweep can have."""
    at: Path = ("replicates",)
    trials = cells * replicates
    if isinstance(sampling, Boundary) and sampling.budget > trials:
        trials, at = sampling.budget, ("sampling", "budget")
    if isinstance(sampling, Until) and trials <= MOST_TRIALS:
        trials, at = trials * sampling.ceiling, ("sampling", "ceiling")
    if trials > MOST_TRIALS:
        yield Fault(at, f"{trials} trials; at most {MOST_TRIALS} are allowed: lower it, or split the sweep")


def sampling_faults(
    sampling: Sampling,
    head: Header,
    claims: Sequence[Claim],
    report: ReportSpec,
    axes: Sequence[str],
    computed: Sequence[str],
    cells: int,
    sizes: Mapping[str, int],
    columns: Columns,
) -> Iterator[Fault]:
    """More trials than a sweep can have. Why a boundary cannot be followed: a value that is not true or false, a single
    n, a budget that is used up; or why a rule can never be met: no threshold n/d, no claim of one.

    computed: the axes that expressions give. sizes: how many values n and d take.
    """
    yield from _size_faults(sampling, head.replicates, cells)
    if isinstance(sampling, Even):
        return
    kind = next(name for name, made in SAMPLINGS.items() if isinstance(sampling, made))
    truths = [name for name, column in columns.items() if column.kind is bool]
    if report.event not in truths:
        text = f"found {report.event!r}; allowed with sampling: {{kind: {kind}}}: {choices(truths)}"
        yield Fault(("report", "value"), text + did_you_mean(report.event, truths))
    if computed:
        text = f"found {kind}, which moves n alone; {computed[0]} is computed from other axes: use uniform"
        yield Fault(("sampling", "kind"), text)
    if isinstance(sampling, Until):
        yield from _until_faults(sampling, claims, report, axes, sizes)
        return
    if sizes["n"] < 2:
        which = "n has one value" if "n" in axes else "n is no axis"
        yield Fault(("sampling", "kind"), f"found boundary, which is a transition along n; {which} here, add others")
    coarse = cells * head.replicates
    if sampling.budget <= coarse:
        text = f"allowed: more than the {coarse} trials of the first round, {head.replicates} of each of"
        yield Fault(("sampling", "budget"), f"found {sampling.budget}; {text} {cells} cells")


def _until_faults(
    until: Until, claims: Sequence[Claim], report: ReportSpec, axes: Sequence[str], sizes: Mapping[str, int]
) -> Iterator[Fault]:
    for name, count in sizes.items():
        if count < 2:
            which = f"{name} has one value" if name in axes else f"{name} is no axis"
            yield Fault(("axes", name), f"{which}; allowed with --until: several n and several d, as a threshold needs")
    for key in ("x", "y", "panel", "rows", "columns"):
        name = getattr(report, key)
        if name is not None and (name in ("n", "d")) != (key in ("x", "y")):
            yield Fault(("report", key), f"found {name!r}; allowed with --until: n and d as x and y, and no other")
    stated = [claim for claim in claims if isinstance(claim, ThresholdClaim)]
    if until.half is None and not any(claim.of == report.event for claim in stated):
        there = f"thresholds of {choices([claim.of for claim in stated])}" if stated else "no threshold"
        wanted = f"{{kind: threshold, of: {report.event}, ...}}"
        yield Fault(("claims",), f"found {there}; allowed with --until decided: {wanted}, of what the report shows")
