"""The coordinates on the x axis, on the y axis, and of the panels, and the values of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from recovery.config import Sweep, is_user_axis
from recovery.config.header import IntervalShape
from recovery.errors import ReportError
from recovery.expressions import ExpressionError, is_expression, parse
from recovery.methods.columns import FIXED, Columns
from recovery.store.row_schema import CIRCUMSTANCE, IDENTITY
from recovery.types import Array


@dataclass(frozen=True)
class ThresholdAxis:
    """The threshold is the value of `x` at which an event has `probability`, in each slice of cells with equal `by`.

    pool: the expression of x and other coordinates whose value at the threshold is taken to be the same in all slices,
    such as n/d; None if each slice has a threshold of its own. transposed: `x` is the vertical axis of the diagram.
    interval: what the threshold's interval assumes about the success curve.
    """

    x: str = "n"
    by: str | None = "d"
    pool: str | None = "n/d"
    probability: float = 0.5
    transposed: bool = False
    interval: IntervalShape = "smooth"

    @property
    def what(self) -> str:
        """The quantity that is estimated: the pooled expression, or the axis."""
        return self.pool or self.x

    @property
    def percent(self) -> str:
        """The probability, as `50 %`."""
        return f"{100 * self.probability:.4g} %"

    def needed(self) -> tuple[str, ...]:
        """Return the names of the coordinates that the pooled expression uses."""
        return () if self.pool is None else parse(self.pool).names if is_expression(self.pool) else (self.pool,)

    def values(self, cells: pd.DataFrame) -> Array:
        """Return the value of the pooled expression in each cell, or x. Raises `ReportError`."""
        if self.pool is None or self.pool in cells:
            return cells[self.what].to_numpy(dtype=float)
        columns = {name: cells[name].to_numpy(dtype=float) for name in self.needed()}
        values = np.broadcast_to(parse(self.pool).array(columns), len(cells)).astype(float)
        if not np.isfinite(values).all():
            raise ReportError(f"report.pool: {self.pool} has no value in some grid cells; choose another expression")
        return values


@dataclass(frozen=True)
class Layout:
    """Names of the coordinates on x and y (None for a grid along one line), and of those that differ between panels.
    pool: as in `ThresholdAxis`."""

    x: str
    y: str | None
    panels: tuple[str, ...]
    pool: str | None = None

    @property
    def keys(self) -> list[str]:
        """The columns that identify a grid cell."""
        return [*self.panels, *([] if self.y is None else [self.y]), self.x]

    @property
    def over_n_and_d(self) -> bool:
        """Whether n and d are the two axes, so that a threshold n/d is defined."""
        return {self.x, self.y} == {"n", "d"}


def coordinates(frame: pd.DataFrame, columns: Columns) -> list[str]:
    """Return the coordinate columns of the rows in their order; columns: what the methods measure."""
    return [name for name in frame.columns if name not in IDENTITY and name not in CIRCUMSTANCE and name not in columns]


def lay_out(frame: pd.DataFrame, sweep: Sweep, columns: Columns) -> Layout:
    """Choose x, y and panels by the config's `report` section; by default n is x and d is y if they vary."""
    spec, names = sweep.report, coordinates(frame, columns)
    if not names:
        raise ReportError(f"the rows have no coordinate columns; found: {', '.join(map(str, frame.columns)) or 'none'}")
    varying = [name for name in names if len(joint_values(frame, sweep, (name,))) > 1]
    for axis, wanted in (("x", spec.x), ("y", spec.y)):
        if wanted is not None and wanted not in names:
            raise ReportError(f"report.{axis} is {wanted!r}; the grid's coordinates are {', '.join(names)}")
    x, y = spec.x, spec.y
    if x is not None and x == y:
        raise ReportError(f"report.x and report.y are both {x!r}; choose another coordinate for one of them")
    # coordinates that other coordinates determine (`said`) are chosen for x only as a last resort and never for y,
    # because over the other coordinates the cells form a rectangle
    said = [*sweep.computed]
    said += [name for other in (x, y) if other in expressions(sweep) for name in parse(other).names[:1]]
    free: list[str] = [name for name in ("n", "d") if name in varying and name not in said]
    free += [name for name in varying if name not in (*free, *said) and is_number(frame[name])]
    if x is None:
        x = next(name for name in [*free, *varying, *names] if name != y)
    if y is None:
        y = next((name for name in free if name not in (x, spec.panel)), None)
    others = [name for name in varying if name not in (x, y)]
    operands = [name for other in (x, y) if other in expressions(sweep) for name in parse(other).names]
    meant = [*sweep.computed, *operands, *filter(is_user_axis, sweep.axes)]
    if y is not None and not is_number(frame[y]):  # words on y, such as optimisers, may determine others: their rates
        meant += reversed(others)
    for name in [*meant, *reversed(others)]:
        if name not in others or name == spec.panel:
            continue
        rest = [other for other in others if other != name]
        given = [*(one for one in (x, y) if one is not None and name in meant), *rest]
        if given and len(joint_values(frame, sweep, given)) == len(joint_values(frame, sweep, [*given, name])):
            others = rest
    pool = spec.pooled_by("n/d" if {x, y} == {"n", "d"} else None)
    return Layout(x, y, tuple(others), pool)


def expressions(sweep: Sweep) -> list[str]:
    """Return the coordinates of the config's report that are expressions of others, such as n/d."""
    spec, known = sweep.report, (*FIXED, *sweep.axes)
    asked = [name for name in (spec.x, spec.y, spec.panel) if name is not None]
    return [name for name in dict.fromkeys(asked) if name not in known and is_expression(name)]


def with_expressions(frame: pd.DataFrame, sweep: Sweep) -> pd.DataFrame:
    """Return the rows with a column for each expression of the report, to 12 digits. Raises `ReportError`."""
    for text in expressions(sweep):
        try:
            names = list(parse(text, frame.columns).names)
        except ExpressionError as error:
            raise ReportError(str(error)) from error
        if words := [name for name in names if not is_number(frame[name])]:
            raise ReportError(f"{text!r} is arithmetic, but {words[0]} has values that are not numbers")
        points = frame[names].drop_duplicates()
        values = [_value(text, dict(zip(names, row, strict=True))) for row in points.itertuples(index=False, name=None)]
        frame = frame.merge(points.assign(**{text: np.array(values, dtype=float)}), on=names, how="left")
    return frame


def _value(text: str, numbers: dict[str, Any]) -> float | None:
    if any(pd.isna(value) for value in numbers.values()):
        return None
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in numbers.items()}
    try:
        return float(f"{float(parse(text).number(plain)):.12g}")
    except ExpressionError as error:
        raise ReportError(str(error)) from error


def joint_values(frame: pd.DataFrame, sweep: Sweep, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the combinations of these coordinates that cells have; the last changes fastest.

    Numbers rise; words have the config's order, followed by words that only the rows have.
    """
    texts = [not is_number(frame[name]) for name in names]
    planned = [
        tuple(str(value) if text and value is not None else value for value, text in zip(values, texts, strict=True))
        for values in _planned(sweep, names)
    ]
    for k, (name, text) in enumerate(zip(names, texts, strict=True)):
        if words := [values[k] for values in planned if isinstance(values[k], str) and not text]:
            raise ReportError(f"{name}: the config has {words[0]!r}, where the rows have numbers; was it edited?")
    # `unique` takes a tenth of the time of `drop_duplicates`
    stored = frame[list(names)].drop_duplicates() if len(names) > 1 else None
    columns = [frame[name].unique() if stored is None else stored[name] for name in names]
    known = [zip(column.tolist(), pd.isna(column), strict=True) for column in columns]
    rows = list(zip(*([None if lost else value for value, lost in column] for column in known), strict=True))
    combined = list(dict.fromkeys([*planned, *rows]))
    ranks = []
    for k, text in enumerate(texts):
        found = {values[k] for values in (rows if text else combined)} - {None}
        ordered = [*(values[k] for values in planned if text), *sorted(found, key=str if text else None), None]
        ranks.append({value: i for i, value in enumerate(dict.fromkeys(ordered))})
    return sorted(combined, key=lambda values: [rank[value] for rank, value in zip(ranks, values, strict=True)])


def _planned(sweep: Sweep, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the combinations of values that the config plans for these coordinates or expressions such as n/d."""
    computed = {name: parse(name).names for name in names if name in expressions(sweep)}
    if not computed:
        return sweep.combinations(names)
    plain = list(dict.fromkeys(part for name in names for part in computed.get(name, (name,))))
    points = [dict(zip(plain, values, strict=True)) for values in sweep.combinations(plain)]
    for point in points:
        point |= {name: _value(name, {part: point[part] for part in parts}) for name, parts in computed.items()}
    return [tuple(point[name] for name in names) for point in points]


def is_number(column: "pd.Series[Any]") -> bool:
    """Return whether a coordinate's values are numbers or truth values."""
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def levels(frame: pd.DataFrame, sweep: Sweep, name: str | None) -> list[Any]:
    """Return the values of a coordinate: numbers rise, words have the config's order, None is last; [None] for none."""
    if name is None:
        return [None]
    return sorted((value for (value,) in joint_values(frame, sweep, (name,))), key=lambda value: value is None)
