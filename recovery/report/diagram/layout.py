"""Which coordinate goes across, which goes up, which tell panels apart, and the values that each takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from recovery.config import Sweep
from recovery.errors import ReportError
from recovery.methods.columns import Columns
from recovery.store.schema import CIRCUMSTANCE, IDENTITY


@dataclass(frozen=True)
class Layout:
    """Names of coordinate columns: across, up (None for a grid along one line), and those that tell panels apart.

    columns: how many of the last of these are those of the columns of panels; None for panels one after another.
    """

    x: str
    y: str | None
    panels: tuple[str, ...]
    columns: int | None = None

    @property
    def keys(self) -> list[str]:
        """The columns that identify a cell."""
        return [*self.panels, *([] if self.y is None else [self.y]), self.x]

    @property
    def over_n_and_d(self) -> bool:
        """Whether n and d are the two axes, so that there may be a threshold n/d."""
        return {self.x, self.y} == {"n", "d"}


def coordinates(frame: pd.DataFrame, columns: Columns) -> list[str]:
    """The coordinate columns of the rows, in their order: those that are not the methods' `columns`."""
    return [name for name in frame.columns if name not in IDENTITY and name not in CIRCUMSTANCE and name not in columns]


def lay_out(frame: pd.DataFrame, sweep: Sweep, columns: Columns) -> Layout:
    """Follow the config's `report` section; without one, n across and d up as far as they vary in config or rows."""
    spec, names = sweep.report, coordinates(frame, columns)
    if not names:
        raise ReportError(f"the rows have no coordinate columns; found: {', '.join(map(str, frame.columns)) or 'none'}")
    varying = [name for name in names if len(joint_values(frame, sweep, (name,))) > 1]
    for axis, wanted in (("x", spec.x), ("y", spec.y)):
        if wanted is not None and wanted not in names:
            raise ReportError(f"report.{axis} is {wanted!r}; the grid's coordinates are {', '.join(names)}")
    x, y = spec.x, spec.y
    free: list[str] = [name for name in ("n", "d") if name in varying]
    free += [name for name in varying if name not in free and is_number(frame[name])]
    if x is None:
        x = next(name for name in [*free, *varying, *names] if name != y)
    if y is None:
        y = next((name for name in free if name not in (x, spec.panel, spec.rows, spec.columns)), None)
    others = [name for name in varying if name not in (x, y)]
    if spec.rows is None and spec.columns is None:
        return Layout(x, y, _distinguishing(frame, sweep, others))
    asked = [name for name in (spec.rows, spec.columns) if name in others]
    kept = _distinguishing(frame, sweep, [*asked, *(name for name in others if name not in asked)])
    across = [name for name in kept if (name == spec.columns if spec.columns else name != spec.rows)]
    return Layout(x, y, (*(name for name in kept if name not in across), *across), len(across))


def _distinguishing(frame: pd.DataFrame, sweep: Sweep, names: list[str]) -> tuple[str, ...]:
    """The fewest of the names, in their order, that tell apart what all of them tell apart."""
    distinct = pd.DataFrame(joint_values(frame, sweep, names), columns=pd.Index(names), dtype=object)
    kept = list(names)
    for name in reversed(names):
        others = [other for other in kept if other != name]
        if others and len(distinct[others].drop_duplicates()) == len(distinct):
            kept = others
    return tuple(kept)


def joint_values(frame: pd.DataFrame, sweep: Sweep, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The values that these coordinates take together: the last changing fastest. Numbers rise; words stand in the
    config's order, and then what only the rows have."""
    texts = [not is_number(frame[name]) for name in names]
    planned = [
        tuple(str(value) if text and value is not None else value for value, text in zip(values, texts, strict=True))
        for values in sweep.combinations(names)
    ]
    stored = frame[list(names)].drop_duplicates().sort_values(list(names), key=_sortable)
    rows = stored.astype(object).where(stored.notna(), None).itertuples(index=False, name=None)
    combined = list(dict.fromkeys([*planned, *rows]))
    ranks = [
        {value: i for i, value in enumerate(dict.fromkeys(values) if text else _rising(values))}
        for values, text in zip(zip(*combined, strict=True), texts, strict=True)
    ]
    return sorted(combined, key=lambda values: [rank[value] for rank, value in zip(ranks, values, strict=True)])


def _rising(values: Sequence[Any]) -> list[Any]:
    """The distinct numbers, the least first, and what is none last."""
    there = {value for value in values if value is not None}
    return [*sorted(there), *([None] if None in values else [])]


def _sortable(column: "pd.Series[Any]") -> "pd.Series[Any]":
    return column if is_number(column) else column.astype(str)


def is_number(column: "pd.Series[Any]") -> bool:
    """Whether a coordinate's values are numbers, truth values among them."""
    return bool(pd.api.types.is_numeric_dtype(column.dtype))


def levels(frame: pd.DataFrame, sweep: Sweep, name: str | None) -> list[Any]:
    """The values along one axis of a diagram: numbers rising, words in the config's order; [None] without an axis."""
    if name is None:
        return [None]
    values = [value for (value,) in joint_values(frame, sweep, (name,))]
    there = [value for value in values if value is not None]
    return [*(sorted(there) if is_number(frame[name]) else there), *([None] if len(there) < len(values) else [])]
