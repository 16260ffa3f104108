"""Allocation of trials to grid cells: uniform, or adaptive until a stopping rule is met.

Sampling, claims and report values that no trial of a config can decide are refused before anything runs.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any

from annotated_types import Ge
from pydantic import Field

from recovery.config.claims import Claim, PowerClaim, Statement, ThresholdClaim, column_of
from recovery.config.coordinates import TAGGED
from recovery.config.header import Header, ReportSpec
from recovery.config.slicing import Slicing, least_step
from recovery.config.tree import Path, Problem, as_shown
from recovery.config.trials import MOST_TRIALS, Cell
from recovery.config.values import same_as
from recovery.errors import ParameterError
from recovery.expressions import is_expression, parse
from recovery.methods.columns import Columns, columns_of
from recovery.text import choices, did_you_mean


@dataclass(frozen=True)
class Even:
    """Every cell gets `replicates` trials."""


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


Sampling = Even | Until

WITH_UNTIL = "with sampling: {kind: until}"

SAMPLINGS: dict[str, type[Any]] = {"uniform": Even, "until": Until}


@dataclass(frozen=True)
class Sections(Header):
    """The keys of a config that are neither science fields nor axes."""

    sampling: Sampling = field(kw_only=True)
    claims: tuple[Claim, ...] = field(kw_only=True)
    report: ReportSpec = field(kw_only=True)


def sampling_faults(sections: Sections, slicing: Slicing, cells: Sequence[Cell], columns: Columns) -> Iterator[Problem]:
    """Yield the problems of the sampling: too many trials, or adaptive sampling that is impossible.

    Adaptive sampling needs an event and several numbers along x in some slice; the rule `decided` needs a claim about
    the threshold.
    """
    sampling, event, trials = sections.sampling, sections.report.event, len(cells) * sections.replicates
    at: Path = ("replicates",)
    if isinstance(sampling, Until) and trials <= MOST_TRIALS:
        trials, at = trials * sampling.ceiling, ("sampling", "ceiling")
    if trials > MOST_TRIALS:
        yield Problem(at, f"{trials} trials; at most {MOST_TRIALS} are allowed: lower it, or split the sweep")
    if isinstance(sampling, Even):
        return
    numbers = [name for name, column in columns.items() if column.kind in (bool, int, float)]
    truths = [name for name in numbers if columns[name].kind is bool]
    if event not in truths and ("<" not in event or column_of(event) not in numbers):
        allowed = choices([*truths, "COLUMN<=NUMBER"])
        text = f"found {event!r}; allowed {WITH_UNTIL}: {allowed}"
        yield Problem(("report", "value"), text + did_you_mean(event, truths))
    slicing_problems = list(_slicing_faults(slicing, cells))
    yield from slicing_problems
    yield from _until_faults(sampling, sections, slicing, [] if slicing_problems else cells)


def _slicing_faults(slicing: Slicing, cells: Sequence[Cell]) -> Iterator[Problem]:
    """Yield the problem of an x without several numbers in any slice."""
    x = slicing.x
    if slicing.moving is None:
        text = f"found a threshold along {x}, which has one value here; allowed {WITH_UNTIL}"
        yield Problem(("report", "x"), f"{text}: an axis of several numbers")
    values = (cell.coordinates[x] for cell in cells if x in cell.coordinates)
    if words := [value for value in values if isinstance(value, bool | str | None)]:
        yield Problem(("report", "x"), f"found {x!r}, which has the value {words[0]}; allowed {WITH_UNTIL}: numbers")


def _until_faults(until: Until, sections: Sections, slicing: Slicing, cells: Sequence[Cell]) -> Iterator[Problem]:
    """Yield the faults of a stopping rule that can never be met."""
    least = least_step(cells, slicing) / 2 if slicing.pool is None and slicing.moving is not None else 0.0
    if until.half is not None and not until.refine and until.half < least * (1 - 1e-9) < inf:
        text = f"the interval of a slice ends at values of {slicing.x}, so its half width is at least {least:g}"
        yield Problem(("sampling", "rule"), f"found {until.rule!r}; {text}: leave out --no-refine, or give more values")
    report = sections.report
    stated = [claim for claim in sections.claims if isinstance(claim, ThresholdClaim)]
    wanted = (report.event, slicing.what, report.probability)
    about = [(claim.of, claim.what, claim.probability) for claim in stated]
    if until.half is None and wanted not in about:
        known = choices([f"{claim.of} along {claim.what}" for claim in stated])
        key = "ratio" if slicing.what == "n/d" else "along"
        text = f"{{kind: threshold, of: {report.event}, {key}: {slicing.what}, ...}}"
        found = f"thresholds of {known}" if stated else "no threshold"
        yield Problem(("claims",), f"found {found}; allowed with --until decided: {text}, of what the report shows")


def judgeable_faults(
    claims: Sequence[Claim], report: ReportSpec, axes: Sequence[str], cells: Sequence[Cell], columns: Columns
) -> Iterator[Problem]:
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
            constant = cells[0].coordinates[name] if cells else wanted
            if str(constant) != str(wanted) and same_as(constant) != same_as(wanted):
                text = f"found {as_shown(wanted)}, but {name} is no axis, and is {as_shown(constant)} in every cell"
                text += f"; remove it, or give {name} an axis with this value"
                yield Problem(("claims", i, "where", name), text)


def _constant_faults(at: Path, what: str, axes: Sequence[str]) -> Iterator[Problem]:
    """Yield the fault of a coordinate or an expression that has one value in all cells."""
    names = parse(what).names if is_expression(what) else (what,)
    if not any(_varies(name, axes) for name in names):
        text = f"found {what}, which no axis changes; allowed: an axis, or an expression of axes"
        yield Problem(at, f"{text}: {choices(axes)}")


def _varies(name: str, axes: Sequence[str]) -> bool:
    """Return whether the name is an axis, or the column of an axis: `ensemble` of `data` or `data.ensemble`."""
    return any(axis == name or axis.partition(".")[0] == TAGGED.get(name) for axis in axes)


def _measured(cells: Sequence[Cell]) -> set[str]:
    """Return the columns that some cell can measure. A method lists those that it leaves null with noise."""
    names = set[str]()
    for method, noisy in {(cell.parts["method"], cell.parts["noise"].value > 0) for cell in cells}:
        names |= set(columns_of(method.value)) - set(getattr(method.value, "noiseless", ()) if noisy else ())
    return names


def _null_faults(at: Path, value: str, measured: set[str], columns: Columns) -> Iterator[Problem]:
    """Yield the fault of a value whose column is null in every cell, because every cell has noise."""
    if (name := column_of(value)) in columns and name not in measured:
        numbers = [one for one in columns if one in measured and columns[one].kind is not str]
        text = f"found {name}, which is null with noise, and every cell has noise"
        yield Problem(at, f"{text}; allowed: noise: 0 in some cells, or another column: {choices(numbers)}")
