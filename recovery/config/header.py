"""The fields of a config that no trial depends on: names, counts, and the report's specification."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge, Gt, MinLen
from pydantic import Field

from recovery.backends import Backend
from recovery.config.build import Fault, Invalid, build
from recovery.config.claims import column_of, unknown
from recovery.config.describe import keys_of
from recovery.config.problems import ConfigError, Place, Problem
from recovery.errors import ParameterError
from recovery.expressions import ExpressionError, is_expression, parse
from recovery.methods.columns import FIXED, Columns
from recovery.text import FOLDER_NAME
from recovery.user import is_user_name

if TYPE_CHECKING:
    from recovery.theory import Curve


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
    backend: Backend = "processes"
    needs: str = ""


HEADER = (*keys_of(Header), "sampling", "claims", "report", "axes")
"""The keys of a config that are no science fields."""


@dataclass(frozen=True)
class RatioCurve:
    """The line y = x / ratio: {ratio: 2.0} is n = 2d in a diagram of n across and d up."""

    ratio: Annotated[float, Gt(0)]


@dataclass(frozen=True)
class NamedCurve:
    """A theory curve by name, drawn where it has the value `level` (its own choice if that is null)."""

    name: Annotated[str, MinLen(1)]
    level: float | None = None


@dataclass(frozen=True)
class FileCurve:
    """The line through the points of a CSV file, whose first line names two coordinates: `delta,rho`."""

    file: Annotated[str, MinLen(1)]
    label: str = ""


@dataclass(frozen=True)
class ExpressionCurve:
    """The line that arithmetic gives: {expression: 2 * d} of one coordinate gives the other one of the plane; one of
    both, as n - 2 * d, is drawn where it is 0."""

    expression: Annotated[str, MinLen(1)]
    label: str = ""


@dataclass(frozen=True)
class PointsCurve:
    """The line through points (x, y); what a stored sweep keeps of a file or of a function."""

    points: Annotated[tuple[tuple[float, float], ...], MinLen(2)]
    x: str
    y: str
    label: str = ""


CurveSpec = Annotated[
    str | NamedCurve | RatioCurve | FileCurve | ExpressionCurve | PointsCurve,
    Field(
        description="a theory curve's name, {name, level}, {ratio: 2.0}, {expression: 2 * d}, {file: curve.csv} or "
        "your own function module:NAME"
    ),
]
Line = NamedCurve | RatioCurve | FileCurve | ExpressionCurve | PointsCurve


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
    measure, such as recovered. Of a list, figures show all side by side, and the first one is estimated. x, y: a
    coordinate, or arithmetic of several, such as n/d; without them, n across and d up as far as they vary. Without
    `panel`, a panel for each combination of the remaining axes.
    rows, columns: coordinates whose values are the rows and the columns of panels; where one is not given, it takes the
    remaining axes. curves: drawn into the diagram: a theory curve's name, {ratio: 2.0}, {expression: 2 * d}, {file:
    curve.csv}, or a function of one coordinate as module:NAME. scale, limits: of the
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
    def lines(self) -> tuple[Line, ...]:
        """The curves, a bare name as {name}."""
        return tuple(NamedCurve(curve) if isinstance(curve, str) else curve for curve in self.curves)

    def __post_init__(self) -> None:
        if self.limits is not None and not self.limits[0] < self.limits[1]:
            raise ParameterError(f"limits are [low, high] with low < high, found {list(self.limits)}")


def report_faults(report: ReportSpec, axes: Sequence[str], columns: Columns) -> Iterator[Fault]:
    """Names of columns, coordinates and curves that the sweep's rows or the theory room do not have."""
    coordinates, measured = tuple(dict.fromkeys([*FIXED, *axes])), (*columns, "seconds")
    for i, value in enumerate(report.values):
        at = ("report", "value") if isinstance(report.value, str) else ("report", "value", i)
        yield from unknown(at, column_of(value), measured, "a measured column")
    for key in ("x", "y", "panel", "rows", "columns"):
        name = getattr(report, key)
        if name is not None and name not in coordinates and is_expression(name):
            try:
                parse(name, coordinates)
            except ExpressionError as error:
                yield Fault(("report", key), str(error))
        elif name is not None:
            yield from unknown(("report", key), name, coordinates, "a coordinate")
    for key, others in (("y", "x"), ("panel", "x y"), ("rows", "x y"), ("columns", "x y rows")):
        name = getattr(report, key)
        if name is not None and any(getattr(report, other) == name for other in others.split()):
            text = f"found {name!r}, which {' or '.join(others.split())} shows already; give another coordinate"
            yield Fault(("report", key), text)
    for i, curve in enumerate(report.lines):
        if isinstance(curve, NamedCurve) and not is_user_name(curve.name):
            yield from unknown(("report", "curves", i), curve.name, curve_names(), "a theory curve")


def curve_names() -> tuple[str, ...]:
    """The names of the theory curves."""
    return tuple(theory_curves())


def theory_curves() -> "Mapping[str, Curve]":
    """The theory's curves; imported only for a config that names one."""
    from recovery.theory import CURVES

    return CURVES
