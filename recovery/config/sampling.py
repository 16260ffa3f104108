"""Allocation of trials to grid cells: uniform, in rounds near the estimated boundary, or adaptive until a stopping rule
is met. Sampling, claims and report values that no trial of a config can decide are refused before anything runs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import Field

from recovery.config.categorical import distinct
from recovery.config.claims import Claim, PowerClaim, Statement, ThresholdClaim, column_of
from recovery.config.coordinates import TAGGED
from recovery.config.header import Header, ReportSpec
from recovery.config.slicing import Slicing, least_step
from recovery.config.tree import Fault, Path, as_shown
from recovery.config.trials import MOST_TRIALS, SweepCells
from recovery.config.values import same_as
from recovery.errors import ParameterError
from recovery.expressions import is_expression, parse
from recovery.methods.columns import Columns, columns_of
from recovery.text import choices, did_you_mean


@dataclass(frozen=True)
class Even:
    """Every cell gets `replicates` trials."""


@dataclass(frozen=True)
class Boundary:
    """The first of `rounds` rounds has `replicates` trials of each cell; the other rounds bring the total to `budget`.

    They place trials where the threshold of the report along x is uncertain, given the earlier rounds.
    """

    rounds: Annotated[int, Ge(2)]
    budget: Annotated[int, Ge(1)]


RULE = re.compile(r"(?:threshold *(?:\+-|\+/-|\xb1) *(\d*\.?\d+(?:[eE][+-]?\d+)?)|decided) *")


@dataclass(frozen=True)
class Until:
    """The first round has `replicates` trials of each cell; more follow near the boundary until the `rule` is met.

    rule: `threshold +-0.05` stops when the interval of each threshold, pooled or of a slice, has a half-width of at
    most 0.05; `decided` stops when each claim about these thresholds is supported or contradicted. ceiling: each panel
    or slice is capped at this many times the trials of its first round. refine: add values of x to the axis where its
    spacing limits the width of an interval.
    """

    rule: Annotated[str, Field(pattern=f"^{RULE.pattern}$", description="'threshold +-NUMBER' or 'decided'")]
    ceiling: Annotated[int, Ge(2)] = 50
    refine: bool = False

    def __post_init__(self) -> None:
        if self.half == 0:
            raise ParameterError(f"found {self.rule!r}; allowed: half a width above 0")

    @property
    def half(self) -> float | None:
        """The half-width that the interval may have; None for the rule `decided`."""
        found = RULE.fullmatch(self.rule)
        return float(found[1]) if found and found[1] else None


Sampling = Even | Boundary | Until

SAMPLINGS: dict[str, type[Any]] = {"uniform": Even, "boundary": Boundary, "until": Until}


@dataclass(frozen=True)
class Sections(Header):
    """The keys of a config that are neither science fields nor axes."""

    sampling: Sampling = field(kw_only=True)
    claims: tuple[Claim, ...] = field(kw_only=True)
    report: ReportSpec = field(kw_only=True)


def _size_faults(sampling: Sampling, replicates: int, cells: int) -> Iterator[Fault]:
    """Yield the fault of more trials than a sweep can have."""
    at: Path = ("replicates",)
    trials = cells * replicates
    if isinstance(sampling, Boundary) and sampling.budget > trials:
        trials, at = sampling.budget, ("sampling", "budget")
    if isinstance(sampling, Until) and trials <= MOST_TRIALS:
        trials, at = trials * sampling.ceiling, ("sampling", "ceiling")
    if trials > MOST_TRIALS:
        yield Fault(at, f"{trials} trials; at most {MOST_TRIALS} are allowed: lower it, or split the sweep")


def sampling_faults(sections: Sections, slicing: Slicing, cells: SweepCells, columns: Columns) -> Iterator[Fault]:
    """Yield the faults of the sampling: too many trials, or adaptive sampling that is impossible.

    Adaptive sampling needs an event, several numbers along x in some slice, and a budget beyond the first round; the
    rule `decided` needs a claim about the threshold.
    """
    sampling, event, replicates = sections.sampling, sections.report.event, sections.replicates
    yield from _size_faults(sampling, replicates, len(cells))
    if isinstance(sampling, Even):
        return
    kind = next(name for name, made in SAMPLINGS.items() if isinstance(sampling, made))
    numbers = [name for name, column in columns.items() if column.kind in (bool, int, float)]
    truths = [name for name in numbers if columns[name].kind is bool]
    if event not in truths and ("<" not in event or column_of(event) not in numbers):
        allowed = choices([*truths, "COLUMN<=NUMBER"])
        text = f"found {event!r}; allowed with sampling: {{kind: {kind}}}: {allowed}"
        yield Fault(("report", "value"), text + did_you_mean(event, truths))
    yield from _slicing_faults(kind, slicing, cells)
    if isinstance(sampling, Until):
        yield from _until_faults(sampling, sections, slicing, cells)
        return
    coarse = len(cells) * replicates
    if sampling.budget <= coarse:
        text = f"allowed: more than the {coarse} trials of the first round, {replicates} of each of"
        yield Fault(("sampling", "budget"), f"found {sampling.budget}; {text} {len(cells)} cells")


def _slicing_faults(kind: str, slicing: Slicing, cells: SweepCells) -> Iterator[Fault]:
    """Yield the fault of an x without several numbers in any slice."""
    x, with_sampling = slicing.x, f"allowed with sampling: {{kind: {kind}}}"
    if slicing.moving is None:
        text = f"found a threshold along {x}, which has one value here; {with_sampling}: an axis of several numbers"
        yield Fault(("report", "x"), text)
    elif x in cells.coordinates:
        words = [one for one in cells.coordinates[x].distinct if isinstance(one, bool | str | None)]
        if words:
            yield Fault(("report", "x"), f"found {x!r}, which has the value {words[0]}; {with_sampling}: numbers")


def _until_faults(until: Until, sections: Sections, slicing: Slicing, cells: SweepCells) -> Iterator[Fault]:
    """Yield the faults of a stopping rule that can never be met."""
    least = least_step(cells, slicing) / 2 if slicing.pool is None and slicing.moving is not None else 0.0
    if until.half is not None and not until.refine and until.half < least * (1 - 1e-9) < inf:
        text = f"the interval of a slice ends at values of {slicing.x}, so its half width is at least {least:g}"
        yield Fault(("sampling", "rule"), f"found {until.rule!r}; {text}: leave out --no-refine, or give more values")
    report = sections.report
    stated = [claim for claim in sections.claims if isinstance(claim, ThresholdClaim)]
    wanted = (report.event, slicing.what, report.probability)
    about = [(claim.of, claim.what, claim.probability) for claim in stated]
    if until.half is None and wanted not in about:
        known = choices([f"{claim.of} along {claim.what}" for claim in stated])
        key = "ratio" if slicing.what == "n/d" else "along"
        text = f"{{kind: threshold, of: {report.event}, {key}: {slicing.what}, ...}}"
        found = f"thresholds of {known}" if stated else "no threshold"
        yield Fault(("claims",), f"found {found}; allowed with --until decided: {text}, of what the report shows")


def judgeable_faults(
    claims: Sequence[Claim], report: ReportSpec, axes: Sequence[str], cells: SweepCells, columns: Columns
) -> Iterator[Fault]:
    """Yield faults: a value that is null in every cell; a claim along no axis, or at a value that no cell has."""
    measured = _measured(cells)
    for i, value in enumerate(report.values):
        at: Path = ("report", "value") if isinstance(report.value, str) else ("report", "value", i)
        yield from _null_faults(at, value, measured, columns)
    for i, claim in enumerate(claims):
        if not isinstance(claim, Statement):
            yield from _null_faults(("claims", i, "of"), claim.of, measured, columns)
        if isinstance(claim, ThresholdClaim):
            yield from _constant_faults(("claims", i, "ratio" if claim.ratio else "along"), claim.what, axes)
        if isinstance(claim, PowerClaim):
            yield from _constant_faults(("claims", i, "along"), claim.along, axes)
        for name, wanted in claim.where.items():
            if _varies(name, axes):
                continue
            constant = cells.coordinates[name][0] if len(cells) else wanted
            if str(constant) != str(wanted) and same_as(constant) != same_as(wanted):
                text = f"found {as_shown(wanted)}, but {name} is no axis, and is {as_shown(constant)} in every cell"
                yield Fault(("claims", i, "where", name), f"{text}; remove it, or give {name} an axis with this value")


def _constant_faults(at: Path, what: str, axes: Sequence[str]) -> Iterator[Fault]:
    """Yield the fault of a coordinate or an expression that has one value in all cells."""
    names = parse(what).names if is_expression(what) else (what,)
    if not any(_varies(name, axes) for name in names):
        text = f"found {what}, which no axis changes; allowed: an axis, or an expression of axes"
        yield Fault(at, f"{text}: {choices(axes)}")


def _varies(name: str, axes: Sequence[str]) -> bool:
    """Return whether the name is an axis, or the column of an axis: `ensemble` of `data` or `data.ensemble`."""
    return any(axis == name or axis.partition(".")[0] == TAGGED.get(name) for axis in axes)


def _measured(cells: SweepCells) -> set[str]:
    """Return the columns that some cell can measure. A method lists those that it leaves null with noise."""
    parts, names = [cells.parts[name] for name in ("method", "noise")], set[str]()
    for cell in distinct(parts)[0]:
        method, noise = (part[cell].value for part in parts)
        names |= set(columns_of(method)) - set(getattr(method, "noiseless", ()) if noise > 0 else ())
    return names


def _null_faults(at: Path, value: str, measured: set[str], columns: Columns) -> Iterator[Fault]:
    """Yield the fault of a value whose column is null in every cell, because every cell has noise."""
    if (name := column_of(value)) in columns and name not in measured:
        numbers = [one for one in columns if one in measured and columns[one].kind is not str]
        text = f"found {name}, which is null with noise, and every cell has noise"
        yield Fault(at, f"{text}; allowed: noise: 0 in some cells, or another column: {choices(numbers)}")
