"""Claims and report values that no trial of a config can decide: they are refused before anything runs."""

from collections.abc import Iterator, Sequence

from recovery.config.categorical import distinct
from recovery.config.claims import Claim, PowerClaim, Statement, ThresholdClaim, column_of
from recovery.config.coordinates import TAGGED
from recovery.config.header import ReportSpec
from recovery.config.tree import Fault, Path, as_shown
from recovery.config.trials import SweepCells
from recovery.config.values import same_as
from recovery.expressions import is_expression, parse
from recovery.methods.columns import Columns, columns_of
from recovery.text import choices


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
        for field, wanted in claim.where.items():
            if _varies(field, axes):
                continue
            constant = cells.coordinates[field][0] if len(cells) else wanted
            if str(constant) != str(wanted) and same_as(constant) != same_as(wanted):
                text = f"found {as_shown(wanted)}, but {field} is no axis, and is {as_shown(constant)} in every cell"
                yield Fault(
                    ("claims", i, "where", field), f"{text}; remove it, or give {field} an axis with this value"
                )


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
