"""The names of columns, coordinates and curves in claims and in a report: checks that trials can give their values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from recovery.config.claims import BoundClaim, Claim, MonotoneClaim, PowerClaim, ScalingClaim, Statement, ThresholdClaim
from recovery.config.compose import TAGGED, columns_of_cells
from recovery.config.header import NamedCurve, ReportSpec
from recovery.config.tree import Path, Tree, as_shown
from recovery.config.trials import Cell
from recovery.config.values import same_as
from recovery.expressions import ExpressionError, is_expression, parse
from recovery.methods.columns import Columns, columns_of, parse_event
from recovery.text import choices, did_you_mean

if TYPE_CHECKING:
    from recovery.theory import Curve

WORDS = {
    "column": "a measured column",
    "limit": "a theory curve or a measured column",
    "coordinate": "a coordinate",
    "expression": "a coordinate",
    "where": "a coordinate",
    "label": "a coordinate, column or curve",
    "curve": "a theory curve",
}
"""Kind of thing that a name is of -> its words in messages."""


class Use(NamedTuple):
    """A name in a claim or report. what: the kind of thing that it must name. varies: an axis must change its value."""

    at: Path
    name: str
    what: Literal["column", "limit", "coordinate", "expression", "where", "label", "curve"]
    varies: bool = False


def claim_uses(claims: Mapping[int, Claim]) -> Iterator[Use]:
    """Yield the names in claims. claims: number -> claim."""
    for i, claim in claims.items():
        at: Path = ("claims", i)
        if not isinstance(claim, Statement):
            yield Use((*at, "of"), claim.of, "column")
        if isinstance(claim, BoundClaim):
            sides = {"at_least": claim.at_least, "at_most": claim.at_most}
            yield from (Use((*at, side), limit, "limit") for side, limit in sides.items() if isinstance(limit, str))
        what = isinstance(claim, ThresholdClaim | MonotoneClaim | ScalingClaim)
        for key in ("ratio", "axis", "across", "along", "threshold"):
            if (name := getattr(claim, key, None)) is not None:
                varies = isinstance(claim, ThresholdClaim) or (isinstance(claim, PowerClaim) and key == "along")
                yield Use((*at, key), name, "expression" if what else "coordinate", varies)
        yield from (Use((*at, "where", name), name, "where") for name in claim.where)


def report_uses(report: ReportSpec) -> Iterator[Use]:
    """Yield the names in a report."""
    for i, value in enumerate(report.values):
        yield Use(("report", "value") if isinstance(report.value, str) else ("report", "value", i), value, "column")
    for key in ("x", "y", "pool", "panel"):
        name = getattr(report, key)
        if name is not None and (key, name) != ("pool", "none"):
            yield Use(("report", key), name, "expression")
    for name in set(report.labels) - {report.x, report.y}:
        yield Use(("report", "labels", name), name, "label")
    for i, curve in enumerate(report.lines):
        if isinstance(curve, NamedCurve) and curve.name not in report.values:  # not a contour of a shown column
            yield Use(("report", "curves", i), curve.name, "curve")


def columns_of_uses(uses: Iterable[Use]) -> frozenset[str]:
    """Return the columns that claims and a report need in every trial."""
    return frozenset(column_of(use.name) for use in uses if use.what in ("column", "limit"))


def report_unknown_names(tree: Tree, uses: Iterable[Use], axes: Sequence[str], columns: Columns) -> None:
    """Add to the tree's problems each name that is not a column, coordinate or theory curve where it should be one."""
    coordinates, measured = columns_of_cells(tree, axes), (*columns, "seconds")
    known = {"column": measured, "limit": measured, "label": (*coordinates, *measured), "curve": ()}
    for at, used, what, _ in uses:
        name, allowed = column_of(used) if what == "column" else used, known.get(what, coordinates)
        if name in allowed or (what == "label" and {"=", ":"} & set(name)):  # a value, which only rows name in full
            continue
        if what == "expression" and is_expression(name):
            try:
                parse(name, coordinates)
            except ExpressionError as error:
                tree.report(at, str(error))
            continue
        if what in ("limit", "label", "curve"):
            allowed = (*theory_curves(), *columns) if what == "limit" else (*allowed, *theory_curves())
        if name not in allowed:
            text = f"found {name!r}; allowed: {WORDS[what]}: {choices(allowed)}{did_you_mean(name, allowed)}"
            tree.report(at, text, key=what in ("where", "label"))


def report_undecidable(
    tree: Tree,
    uses: Iterable[Use],
    claims: Sequence[Claim],
    axes: Sequence[str],
    cells: Sequence[Cell],
    columns: Columns,
) -> None:
    """Add a problem for each name that no trial can decide: a column that is null in every cell, because every cell has
    noise; a claim along no axis, or at a value that no cell has."""
    measured = _measured(cells)
    for at, used, what, varies in uses:
        name = column_of(used)
        if what == "column" and name in columns and name not in measured:
            numbers = [one for one in columns if one in measured and columns[one].kind is not str]
            text = f"found {name}, which is null with noise, and every cell has noise"
            tree.report(at, f"{text}; allowed: noise: 0 in some cells, or another column: {choices(numbers)}")
        if varies and not any(_varies(one, axes) for one in parse(used).names):
            text = f"found {used}, which no axis changes; allowed: an axis, or an expression of axes"
            tree.report(at, f"{text}: {choices(axes)}")
    for i, claim in enumerate(claims):
        for name, wanted in claim.where.items():
            constant = cells[0].coordinates[name] if cells else wanted
            if not _varies(name, axes) and str(constant) != str(wanted) and same_as(constant) != same_as(wanted):
                text = f"found {as_shown(wanted)}, but {name} is no axis, and is {as_shown(constant)} in every cell"
                text += f"; remove it, or give {name} an axis with this value"
                tree.report(("claims", i, "where", name), text)


def _varies(name: str, axes: Sequence[str]) -> bool:
    """Return whether the name is an axis, or an axis is in its section, as `data.size` for `ensemble`."""
    return any(axis == name or axis.partition(".")[0] == TAGGED.get(name) for axis in axes)


def _measured(cells: Sequence[Cell]) -> set[str]:
    """Return the columns that some cell can measure; a cell with noise lacks the method's `noiseless` columns."""
    names = set[str]()
    for method, noisy in {(cell.parts["method"], bool(cell.coordinates.get("noise"))) for cell in cells}:
        names |= set(columns_of(method.value)) - set(getattr(method.value, "noiseless", ()) if noisy else ())
    return names


def column_of(value: str) -> str:
    """Return the column that a value such as `max_deviation` or the event `max_deviation<=1e-4` is about."""
    try:
        return parse_event(value)[0]
    except ValueError:  # an invalid event is reported elsewhere, as an unknown column
        return value


def theory_curves() -> "Mapping[str, Curve]":
    """Return the theory curves by name; imported only for a config that names one."""
    from recovery.theory import CURVES

    return CURVES
