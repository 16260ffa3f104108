"""The fields of a config that no trial depends on: names, counts, and the specification of the report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Gt, Interval, Le, MaxLen, MinLen
from pydantic import Field

from recovery.backends import Backend
from recovery.config.reader import read_value
from recovery.config.tree import ConfigError, Place, Problem
from recovery.config.trials import MOST_TRIALS
from recovery.config.validate import build, names_of
from recovery.errors import ParameterError
from recovery.text import FOLDER_NAME

LONGEST_TITLE = 1000


@dataclass(frozen=True)
class Header:
    """The name of a sweep, its source, the number of trials per grid cell, and where trials run by default."""

    name: Annotated[
        str,
        Field(
            pattern=f"^{FOLDER_NAME}$",
            description="a name for a folder: up to 100 letters, digits, '.', '_' or '-', the first a letter or digit",
        ),
    ]
    title: Annotated[str, MaxLen(LONGEST_TITLE)] = ""
    source: Annotated[str, MaxLen(LONGEST_TITLE)] = ""
    seed: Annotated[int, Ge(0)] = 0
    replicates: Annotated[int, Ge(1), Le(MOST_TRIALS)] = 1
    backend: Backend = "processes"


HEADER = (*names_of(Header), "sampling", "claims", "report", "axes")
"""The keys of a config that are not science fields."""


@dataclass(frozen=True)
class RatioCurve:
    """The line y = x / ratio: {ratio: 2.0} is n = 2d in a diagram with n on the x axis and d on the y axis. label: in
    the key, by default `n = 2d`. where: the coordinates of the panels that it is about, by default all."""

    ratio: Annotated[float, Gt(0)]
    label: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NamedCurve:
    """A theory curve by name, drawn where it has the value `level` (null: the default level of the curve). where: the
    coordinates of the panels that it is about, by default all. The name of the shown column gives a contour of it."""

    name: Annotated[str, MinLen(1)]
    level: float | None = None
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class FunctionCurve:
    """The line that your function of one coordinate gives: {function: module:NAME}."""

    function: Annotated[str, MinLen(1)]
    label: str = ""


@dataclass(frozen=True)
class PointsCurve:
    """The line through points (x, y), as which a stored sweep keeps the curve of a function."""

    points: Annotated[tuple[tuple[float, float], ...], MinLen(2)]
    x: str
    y: str
    label: str = ""


CurveSpec = Annotated[
    str | NamedCurve | RatioCurve | FunctionCurve | PointsCurve,
    Field(description="a theory curve's name, {name, level}, {ratio: 2.0}, or {function: module:NAME} with a label"),
]
Line = NamedCurve | RatioCurve | FunctionCurve | PointsCurve


LENGTH = r"(\d+(?:\.\d+)?) ?(mm|cm|in|pt)"
Length = Annotated[str, Field(pattern=f"^{LENGTH}$", description="a length such as 86mm (mm, cm, in or pt)")]


@dataclass(frozen=True)
class StyleSpec:
    """The style of figures. width: of a journal's column or page, of a slide, or a length; `auto` is a column for one
    panel and a page for more. fonts: `latex` imitates the fonts of a LaTeX article. font_size: of the axis labels in
    points, which other text and lines follow.
    title: whether the title is drawn; by default unless the width is `column` or a length, because journals print
    captions. caption: whether the threshold stands above its panel."""

    width: Literal["auto", "column", "page", "slide"] | Length = "auto"
    fonts: Literal["sans", "serif", "latex"] = "sans"
    font_size: Annotated[float, Interval(ge=4, le=40)] | None = None
    colours: Literal["cividis", "viridis", "inferno", "gray"] = "cividis"
    title: bool | None = None
    caption: bool = True


Section = TypeVar("Section", "StyleSpec", "ReportSpec")


def overridden(section: Section, options: Sequence[str], flag: str) -> Section:
    """Return the section with other values, which are options `KEY=VALUE` of this flag. Raises `ConfigError`."""
    value: dict[str, Any] = asdict(section)
    for text in options:
        key, equals, chosen = text.partition("=")
        place = Place(source=f"{flag} {text}")
        if not equals:
            raise ConfigError([Problem((), f"allowed: `{flag} KEY=VALUE`, such as `{FLAGS[flag]}`", place=place)])
        try:
            value[key.strip().removeprefix("report.")] = read_value(chosen)
            section = build(type(section), value)
        except ConfigError as error:
            raise ConfigError(replace(one, place=place) for one in error.problems) from None
    return section


FLAGS = {"--style": "--style width=slide", "--set": "--set x=n/d"}
"""Option of `recover report` -> an example."""
Record = Literal["loss", "paths", "pairing", "landscape", "network"]
FigureName = Literal["auto", "map", "ratios", "collapse", "profile", "forest", "table", Record]
"""The figures that a report may have first; the last five show training records. A `table` is none in
the gallery, which has the numbers of its grid cells instead."""


IntervalShape = Literal["probit", "smooth", "free"]
"""What the interval of a threshold assumes about success along x: a probit, a smooth curve, or only that it rises."""


@dataclass(frozen=True)
class ReportSpec:
    """The diagram of a report: `value` over the coordinates x and y, with one panel for each value of `panel`.

    value: a measured column, or an event such as max_deviation<=1e-4; by default the first common column that the
    methods measure, such as recovered. Figures show all values of a list side by side; estimates use the first. x, y: a
    coordinate, or an expression of several, such as n/d; by default n on the x axis and d on the y axis, if they vary.
    probability: of the event at its threshold along x. pool: an expression of x and other coordinates, such as
    n/(planted.k*d), whose value at the threshold is the same for all y, so that one number is estimated; by default n/d
    if x and y are n and d, otherwise, and with `none`, each y has a threshold of its own. interval: what the interval
    of a threshold assumes about success along x: `probit`, `smooth` (no sharp bend), or `free` (that it rises or
    falls). Without `panel`, each combination of the remaining axes has a panel. curves: drawn into the diagram: a
    theory curve's name, {ratio: 2.0}, or your function of one coordinate as {function: module:NAME}, with a label.
    labels: names of axes, measured columns, theory curves and values in pictures, pages and the terminal, such as
    {alpha: "$\\alpha = n/d$", "method.polish=lm": polished}; tables keep the names of the config. scale, limits: of the
    colours; the default scale depends on the kind of the value. figure: a map of the plane, fractions against the
    `ratios` n/d, their `collapse` on (n/d - limit) d^k, a profile (a line along x for each y), a forest plot (a row
    for each threshold, or for each grid cell without one), or in the gallery a `table`; `auto` chooses one. The name of
    a figure of training records, such as `landscape`, puts that one first. records: the figures of training records to
    draw, if the rows have the records.
    """

    value: str | Annotated[tuple[str, ...], MinLen(1)] | None = None
    x: str | None = None
    y: str | None = None
    probability: Annotated[float, Interval(gt=0, lt=1)] = 0.5
    pool: str | None = None
    interval: IntervalShape = "smooth"
    panel: str | None = None
    curves: tuple[CurveSpec, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    scale: Literal["linear", "log"] | None = None
    limits: tuple[float, float] | None = None
    figure: FigureName = "auto"
    records: tuple[Record, ...] = ("loss", "paths", "pairing", "landscape", "network")
    style: StyleSpec = StyleSpec()

    @property
    def event(self) -> str:
        """The event whose boundary adaptive sampling follows."""
        return next(iter(self.values), "recovered")

    @property
    def values(self) -> tuple[str, ...]:
        """The columns and events to show, the first one for estimates; empty if the config gives none."""
        return (self.value,) if isinstance(self.value, str) else self.value or ()

    def pooled_by(self, default: str | None) -> str | None:
        """Return the pooled expression, `default` if the config gives none; None for a threshold per slice."""
        return None if self.pool == "none" else self.pool or default

    @property
    def lines(self) -> tuple[Line, ...]:
        """The curves, with a bare name as a `NamedCurve`."""
        return tuple(NamedCurve(curve) if isinstance(curve, str) else curve for curve in self.curves)

    def __post_init__(self) -> None:
        if self.limits is not None and not self.limits[0] < self.limits[1]:
            raise ParameterError(f"limits are [low, high] with low < high, found {list(self.limits)}")
