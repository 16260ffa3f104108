"""The fields of a config that no trial depends on: names, counts, claims and the report's specification."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Interval, MinLen
from pydantic import Field

from recovery.config.build import Fault, Invalid, build, build_kind
from recovery.config.describe import choices, keys_of
from recovery.config.problems import ConfigError, Path, Place, Problem, as_shown
from recovery.errors import ParameterError
from recovery.methods.columns import FIXED, Columns, parse_event
from recovery.text import FOLDER_NAME, did_you_mean
from recovery.types import Scalar

Where = Annotated[Mapping[str, Scalar], Field(description="a mapping of coordinates to values")]


@dataclass(frozen=True)
class Header:
    """What a sweep is called, where it comes from, how often each cell is drawn, and where trials run by default.

    needs: what its data file must hold and where it is from, for a user who does not have it.
    """

    name: Annotated[
        str,
        Field(
            pattern=f"^{FOLDER_NAME}$",
            description="a name for a folder: up to 100 letters, digits, '.', '_' or '-', the first a letter or digit",
        ),
    ]
    title: str = ""
    source: str = ""
    seed: Annotated[int, Ge(0)] = 0
    replicates: Annotated[int, Ge(1)] = 1
    backend: Literal["processes", "threading", "dask", "ray"] = "processes"
    needs: str = ""


HEADER = (*keys_of(Header), "sampling", "claims", "report", "axes")
"""The keys of a config that are no science fields."""


@dataclass(frozen=True)
class ThresholdClaim:
    """The success probability of column `of` crosses 1/2 where `ratio` is `value`, to within `tolerance`; a column of
    numbers jumps there."""

    of: str
    ratio: Literal["n/d"]
    value: Annotated[float, Gt(0)]
    tolerance: Annotated[float, Gt(0)]
    where: Where = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class CurveClaim:
    """The frequency of column `of` agrees with the theory curve `curve` at significance level `level`."""

    of: str
    curve: str
    level: Annotated[float, Interval(gt=0, lt=1)] = 1e-3
    where: Where = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class OrderClaim:
    """Column `of` succeeds sooner under each of the `values` of `axis` than under the next, at level `level`; values
    that stand in a list of their own are not compared with each other."""

    of: str
    axis: str
    values: Annotated[tuple[Scalar | tuple[Scalar, ...], ...], MinLen(2)]
    level: Annotated[float, Interval(gt=0, lt=1)] = 1e-3
    where: Where = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class TableClaim:
    """The mean of column `of` in each cell is that of the source's table: a row for each value of `axis`, a column for
    each of the values `at` of `across`. error: the standard error of the source's numbers, for each column or for all;
    errors: that of single rows. Numbers that differ by more than three standard errors contradict it.
    """

    of: str
    axis: str
    across: str
    at: Annotated[tuple[Scalar, ...], MinLen(1)]
    values: Mapping[str, tuple[float, ...]]
    error: Annotated[float, Gt(0)] | tuple[Annotated[float, Gt(0)], ...]
    errors: Mapping[str, Annotated[float, Gt(0)]] = field(default_factory=dict)
    where: Where = field(default_factory=dict)
    source: str = ""

    def __post_init__(self) -> None:
        wanted = len(self.at)
        rows = {**self.values, **({"error": self.error} if isinstance(self.error, tuple) else {})}
        for name, numbers in rows.items():
            if len(numbers) != wanted:
                raise ParameterError(f"{name} has {len(numbers)} numbers for {wanted} values of {self.across}")
        unknown = [name for name in self.errors if name not in self.values]
        if unknown:
            raise ParameterError(f"errors: {unknown[0]!r} is no row of values")

    def errors_of(self, row: str) -> tuple[float, ...]:
        """The standard errors of one row of the source's numbers."""
        if row in self.errors:
            return (self.errors[row],) * len(self.at)
        return self.error if isinstance(self.error, tuple) else (self.error,) * len(self.at)


@dataclass(frozen=True)
class Statement:
    """A claim in words, printed beside the diagram and left to the reader's eye."""

    text: Annotated[str, MinLen(1)]
    where: Where = field(default_factory=dict)
    source: str = ""


Claim = ThresholdClaim | CurveClaim | OrderClaim | TableClaim | Statement

CLAIMS: dict[str, type[Any]] = {
    "threshold": ThresholdClaim,
    "curve": CurveClaim,
    "order": OrderClaim,
    "table": TableClaim,
    "statement": Statement,
}


@dataclass(frozen=True)
class RatioCurve:
    """The line y = x / ratio: {ratio: 2.0} is n = 2d in a diagram of n across and d up."""

    ratio: Annotated[float, Gt(0)]


@dataclass(frozen=True)
class NamedCurve:
    """A theory curve by name, drawn where it has the value `level` (its own choice if that is null)."""

    name: Annotated[str, MinLen(1)]
    level: float | None = None


CurveSpec = Annotated[
    str | NamedCurve | RatioCurve, Field(description="a theory curve's name, {name, level} or {ratio: 2.0}")
]


@dataclass(frozen=True)
class StyleSpec:
    """How figures look: `width` of a journal's column or page, or of a slide; `auto` is a column for one panel and a
    page for more. fonts: `serif`, or `latex` for the shapes of a LaTeX article. title: whether one is drawn."""

    width: Literal["auto", "column", "page", "slide"] = "auto"
    fonts: Literal["sans", "serif", "latex"] = "sans"
    colours: Literal["cividis", "viridis", "inferno", "gray"] = "cividis"
    title: bool = True


def build_style(style: StyleSpec, options: Sequence[str]) -> StyleSpec:
    """The style with `KEY=VALUE` options over it. Raises `ConfigError`."""
    value: dict[str, Any] = asdict(style)
    for text in options:
        key, equals, chosen = text.partition("=")
        place = Place(1, 0, 0, f"--style {text}")
        if not equals:
            raise ConfigError([Problem(place, "", "allowed: KEY=VALUE, such as `--style width=slide`")])
        value[key.strip()] = {"true": True, "false": False}.get(chosen.strip().lower(), chosen.strip())
        try:
            style = build(StyleSpec, value)
        except Invalid as error:
            raise ConfigError(Problem(place, ".".join(map(str, f.path)), f.text) for f in error.faults) from None
    return style


@dataclass(frozen=True)
class ReportSpec:
    """How a grid is drawn: `value` over the coordinates x and y, one panel for each value of `panel`.

    value: a measured column, or an event such as max_deviation<=1e-4; without it the first usual one that the methods
    measure, such as recovered. Of a list, figures show all side by side, and the first one is estimated. x, y: without
    them, n across and d up as far as they vary. Without `panel`, a panel for each combination of the remaining axes.
    rows, columns: coordinates whose values are the rows and the columns of panels; where one is not given, it takes the
    remaining axes. curves: drawn into the diagram, {ratio: 2.0} or a theory curve's name. scale, limits: of the
    colours; without `scale`, by the value's kind. figure: a map of the plane, fractions against the `ratios` n/d, or a
    profile: a line along x for each y; `auto` takes the one that says most.
    """

    value: str | Annotated[tuple[str, ...], MinLen(1)] | None = None
    x: str | None = None
    y: str | None = None
    panel: str | None = None
    rows: str | None = None
    columns: str | None = None
    curves: tuple[CurveSpec, ...] = ()
    scale: Literal["linear", "log"] | None = None
    limits: tuple[float, float] | None = None
    figure: Literal["auto", "map", "ratios", "profile"] = "auto"
    style: StyleSpec = StyleSpec()

    @property
    def event(self) -> str:
        """What a boundary is followed of."""
        return next(iter(self.values), "recovered")

    @property
    def values(self) -> tuple[str, ...]:
        """What is shown, the first one estimated; none where the config leaves it to the rows."""
        return (self.value,) if isinstance(self.value, str) else self.value or ()

    @property
    def lines(self) -> tuple[NamedCurve | RatioCurve, ...]:
        """The curves, a bare name as {name}."""
        return tuple(NamedCurve(curve) if isinstance(curve, str) else curve for curve in self.curves)

    def __post_init__(self) -> None:
        if self.limits is not None and not self.limits[0] < self.limits[1]:
            raise ParameterError(f"limits are [low, high] with low < high, found {list(self.limits)}")


def build_claims(value: object) -> tuple[Claim, ...]:
    """The claims of a config. Raises `Invalid` with the faults of all of them."""
    if not isinstance(value, list):
        raise Invalid(
            [Fault((), f"found {as_shown(value)}; allowed: a list of claims such as {{kind: threshold, ...}}")]
        )
    claims, faults = [], list[Fault]()
    for i, item in enumerate(value):
        try:
            claims.append(build_kind(CLAIMS, item))
        except Invalid as error:
            faults += [Fault((i, *fault.path), fault.text, fault.key) for fault in error.faults]
    if faults:
        raise Invalid(faults)
    return tuple(claims)


def name_faults(claims: Sequence[Claim], report: ReportSpec, axes: Sequence[str], columns: Columns) -> Iterator[Fault]:
    """Names of columns, coordinates and curves that the sweep's rows or the theory room do not have."""
    coordinates, measured = tuple(dict.fromkeys([*FIXED, *axes])), (*columns, "seconds")
    for i, claim in enumerate(claims):
        at: Path = ("claims", i)
        if not isinstance(claim, Statement):
            yield from _unknown((*at, "of"), column_of(claim.of), measured, "a measured column")
        if isinstance(claim, CurveClaim):
            yield from _unknown((*at, "curve"), claim.curve, curve_names(), "a theory curve")
        if isinstance(claim, OrderClaim):
            yield from _unknown((*at, "axis"), claim.axis, coordinates, "a coordinate")
        if isinstance(claim, TableClaim):
            for key in ("axis", "across"):
                yield from _unknown((*at, key), getattr(claim, key), coordinates, "a coordinate")
        for name in claim.where:
            yield from _unknown((*at, "where", name), name, coordinates, "a coordinate", key=True)
    for i, value in enumerate(report.values):
        at = ("report", "value") if isinstance(report.value, str) else ("report", "value", i)
        yield from _unknown(at, column_of(value), measured, "a measured column")
    for key in ("x", "y", "panel", "rows", "columns"):
        name = getattr(report, key)
        if name is not None:
            yield from _unknown(("report", key), name, coordinates, "a coordinate")
    for key, others in (("y", "x"), ("panel", "x y"), ("rows", "x y"), ("columns", "x y rows")):
        name = getattr(report, key)
        if name is not None and any(getattr(report, other) == name for other in others.split()):
            text = f"found {name!r}, which {' or '.join(others.split())} shows already; give another coordinate"
            yield Fault(("report", key), text)
    for i, curve in enumerate(report.lines):
        if isinstance(curve, NamedCurve):
            yield from _unknown(("report", "curves", i), curve.name, curve_names(), "a theory curve")


def column_of(value: str) -> str:
    """The column of `max_deviation` or of the event `max_deviation<=1e-4`."""
    try:
        return parse_event(value)[0]
    except ValueError:  # it is no column either
        return value


def curve_names() -> tuple[str, ...]:
    """The names of the theory curves; imported only for a config that names one."""
    from recovery.theory import CURVES

    return tuple(CURVES)


def _unknown(path: Path, name: str, allowed: Sequence[str], what: str, *, key: bool = False) -> Iterator[Fault]:
    if name not in allowed:
        yield Fault(path, f"found {name!r}; allowed: {what}: {choices(allowed)}{did_you_mean(name, allowed)}", key)
