"""Allocation of trials to grid cells: uniform, in rounds near the estimated boundary, or adaptive until a stopping rule
is met."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import Field

from recovery.config.claims import Claim, ThresholdClaim
from recovery.config.header import Header, ReportSpec
from recovery.config.points import SIZES, Block, axes_of, computed_axes
from recovery.config.tree import Fault, Path
from recovery.config.trials import SweepCells
from recovery.errors import ParameterError
from recovery.methods.columns import Columns
from recovery.text import choices, did_you_mean


@dataclass(frozen=True)
class Even:
    """Every cell gets `replicates` trials."""


@dataclass(frozen=True)
class Boundary:
    """The first of `rounds` rounds has `replicates` trials of each cell; the other rounds bring the total to `budget`.

    They place trials where the transition of the report's value along n is uncertain, given the earlier rounds.
    """

    rounds: Annotated[int, Ge(2)]
    budget: Annotated[int, Ge(1)]


RULE = re.compile(r"(?:threshold *(?:\+-|\+/-|\xb1) *(\d*\.?\d+(?:[eE][+-]?\d+)?)|decided) *")


@dataclass(frozen=True)
class Until:
    """The first round has `replicates` trials of each cell; more follow near the boundary until the `rule` is met.

    rule: `threshold +-0.05` stops when the interval of the threshold n/d has a half-width of at most 0.05 in every
    panel; `decided` stops when each threshold claim is supported or contradicted. ceiling: each panel is capped at this
    many times the trials of its first round.
    """

    rule: Annotated[str, Field(pattern=f"^{RULE.pattern}$", description="'threshold +-NUMBER' or 'decided'")]
    ceiling: Annotated[int, Ge(2)] = 50

    def __post_init__(self) -> None:
        if self.half == 0:
            raise ParameterError(f"found {self.rule!r}; allowed: half a width above 0")

    @property
    def half(self) -> float | None:
        """The half-width that the interval may have; None for the rule `decided`."""
        found = RULE.fullmatch(self.rule)
        return float(found[1]) if found and found[1] else None


Sampling = Even | Boundary | Until

MOST_TRIALS = 10_000_000
"""Most trials of one sweep: all are planned in memory."""

SAMPLINGS: dict[str, type[Any]] = {"uniform": Even, "boundary": Boundary, "until": Until}


def _size_faults(sampling: Sampling, replicates: int, cells: int) -> Iterator[Fault]:
    """The fault of more trials than a sweep can have."""
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
    blocks: Sequence[Block],
    cells: SweepCells,
    columns: Columns,
) -> Iterator[Fault]:
    """Faults of the sampling: too many trials, or adaptive sampling that is impossible.

    Adaptive sampling needs a value that is true or false, several n, and a budget beyond the first round; a stopping
    rule needs a threshold n/d or a claim about one.
    """
    yield from _size_faults(sampling, head.replicates, len(cells))
    if isinstance(sampling, Even):
        return
    kind = next(name for name, made in SAMPLINGS.items() if isinstance(sampling, made))
    truths = [name for name, column in columns.items() if column.kind is bool]
    if report.event not in truths:
        text = f"found {report.event!r}; allowed with sampling: {{kind: {kind}}}: {choices(truths)}"
        yield Fault(("report", "value"), text + did_you_mean(report.event, truths))
    axes, sizes = axes_of(blocks), {name: len(cells.coordinates[name].distinct) for name in SIZES}
    if computed := computed_axes(blocks):
        text = f"found {kind}, which moves n alone; {computed[0]} is computed from other axes: use uniform"
        yield Fault(("sampling", "kind"), text)
    if isinstance(sampling, Until):
        yield from _until_faults(sampling, claims, report, axes, sizes)
        return
    if sizes["n"] < 2:
        which = "n has one value" if "n" in axes else "n is no axis"
        yield Fault(("sampling", "kind"), f"found boundary, which is a transition along n; {which} here, add others")
    coarse = len(cells) * head.replicates
    if sampling.budget <= coarse:
        text = f"allowed: more than the {coarse} trials of the first round, {head.replicates} of each of"
        yield Fault(("sampling", "budget"), f"found {sampling.budget}; {text} {len(cells)} cells")


def _until_faults(
    until: Until, claims: Sequence[Claim], report: ReportSpec, axes: Sequence[str], sizes: Mapping[str, int]
) -> Iterator[Fault]:
    """The faults of a stopping rule that can never be met."""
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
