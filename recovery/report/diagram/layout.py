"""Which axis of a grid goes across, which goes up, and which combinations of the others make the panels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from recovery.errors import ReportError
from recovery.methods.columns import Columns
from recovery.store.schema import CIRCUMSTANCE, IDENTITY


@dataclass(frozen=True)
class Layout:
    """Names of coordinate columns: across, up (None for a grid along one line), and those that tell panels apart."""

    x: str
    y: str | None
    panels: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        """The columns that identify a cell."""
        return [*self.panels, *([] if self.y is None else [self.y]), self.x]


def coordinates(frame: pd.DataFrame, columns: Columns) -> list[str]:
    """The coordinate columns of the rows, in their order: those that are not the methods' `columns`."""
    return [name for name in frame.columns if name not in IDENTITY and name not in CIRCUMSTANCE and name not in columns]


def axis_values(document: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    """The axes of a resolved config that are plain lists, by dotted path: they give panels their order."""
    axes = document.get("axes") or {}
    if not isinstance(axes, Mapping):
        return {}
    return {str(path): values for path, values in axes.items() if isinstance(values, Sequence)}


def lay_out(frame: pd.DataFrame, document: Mapping[str, Any], columns: Columns) -> Layout:
    """Follow the config's `report` section; without one, n across and d up as far as they vary."""
    spec = document.get("report") or {}
    names = coordinates(frame, columns)
    if not names:
        raise ReportError(f"the rows have no coordinate columns; found: {', '.join(map(str, frame.columns)) or 'none'}")
    varying = [name for name in names if frame[name].nunique(dropna=False) > 1]
    for axis in ("x", "y"):
        if spec.get(axis) is not None and spec[axis] not in names:
            raise ReportError(f"report.{axis} is {spec[axis]!r}; the grid's coordinates are {', '.join(names)}")
    x, y = spec.get("x"), spec.get("y")
    free: list[str] = [name for name in ("n", "d") if name in varying]
    free += [name for name in varying if name not in free and pd.api.types.is_numeric_dtype(frame[name].dtype)]
    if x is None:
        x = next(name for name in [*free, *varying, *names] if name != y)
    if y is None:
        panel = spec.get("panel")
        kept = [panel] if isinstance(panel, str) else panel or []
        y = next((name for name in free if name != x and name not in kept), None)
    panels = _distinguishing(frame, [name for name in varying if name not in (x, y)])
    return Layout(str(x), None if y is None else str(y), panels)


def _distinguishing(frame: pd.DataFrame, names: list[str]) -> tuple[str, ...]:
    """The fewest of the names, in their order, that tell apart what all of them tell apart."""
    distinct = frame[names].drop_duplicates() if names else frame.iloc[:1, :0]
    kept = list(names)
    for name in reversed(names):
        others = [other for other in kept if other != name]
        if others and len(distinct[others].drop_duplicates()) == len(distinct):
            kept = others
    return tuple(kept)


def ordered(values: "pd.Series[Any]", config_order: Sequence[Any] | None) -> list[Any]:
    """The distinct values as the config lists them, or else sorted; nulls last."""
    present = list(values.dropna().unique())
    listed = list(config_order or ())

    def rank(value: Any) -> int:
        return next((i for i, item in enumerate(listed) if _names(item, value)), len(listed))

    try:
        present.sort(key=lambda v: (rank(v), v))
    except TypeError:
        present.sort(key=lambda v: (rank(v), str(v)))
    return present + ([None] if values.isna().any() else [])


def _names(item: Any, value: Any) -> bool:
    """Whether a config's axis value is that of the rows: 0 is 0.0, and a mapping is labelled by some of its entries."""
    if isinstance(item, Mapping):
        words = {str(entry) for entry in item.values()} | {f"{key}={entry}" for key, entry in item.items()}
        return set(str(value).split()) <= words
    numbers = isinstance(item, (int, float)) and isinstance(value, (int, float, np.number))
    return float(item) == float(value) if numbers else str(item) == str(value)
