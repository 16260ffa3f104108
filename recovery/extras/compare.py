"""`recovery.compare`: two results folders, or the values of an axis of one, with every difference as a table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from recovery.config import ReportSpec
from recovery.errors import ReportError
from recovery.extras.comparison import STORED_AS, Comparison, compare_each, stacked
from recovery.extras.comparison_words import after, before, tables
from recovery.report.diagram import PLAIN, Cells, Diagram, coordinates, has, is_number, joint_values
from recovery.store import Grid, read
from recovery.text import did_you_mean


class Stored(Protocol):
    """Stored results, as `recovery.read` returns them."""

    @property
    def grid(self) -> Grid: ...


@dataclass(frozen=True)
class Comparisons:
    """Each further sweep, or value of an axis, compared with the first: `overall`, `thresholds`, `slices` and `cells`
    as frames. `difference` is the second minus the first, with the ends `low` and `high` of its interval."""

    parts: tuple[Comparison, ...]

    @cached_property
    def overall(self) -> pd.DataFrame:
        """One row per comparison: the difference over all common grid cells, and why trials are not paired."""
        return self._frame(
            one.whole.assign(
                cells=len(one.cells),
                cells_that_differ=len(one.different),
                paired=one.paired,
                not_paired_because=" and ".join(one.unpaired),
            )
            for one in self.parts
        )

    @cached_property
    def slices(self) -> pd.DataFrame:
        """One row per slice along x: the difference over its grid cells."""
        return self._frame(one.slices for one in self.parts)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per common grid cell."""
        return stacked(self.parts)

    @cached_property
    def thresholds(self) -> pd.DataFrame:
        """One row per threshold: the pooled ones first, then those of the slices. Empty if the value is no event along
        a numeric axis."""
        rows = []
        for part in self.parts:
            along = part.first.along
            for panel, one in part.thresholds:
                slice_ = {} if one.pooled or along.by is None else {along.by: one.y}
                rows.append(
                    {"first": part.names[0], "second": part.names[1]}
                    | {"along": along.what if one.pooled else along.x, "where": panel.where | slice_}
                    | {"pooled": one.pooled, "left_out": list(one.left_out), "probability": along.probability}
                    | {"threshold_first": one.first, "threshold_second": one.second}
                    | one.difference.columns("difference")
                    | {"level": one.difference.level}
                )
        table = pd.DataFrame(rows).rename(columns={"difference_low": "low", "difference_high": "high"})
        return table.sort_values("pooled", ascending=False, kind="stable", ignore_index=True) if rows else table

    def _frame(self, frames: Any) -> pd.DataFrame:
        """Return the tables of all comparisons as one, with the names of both sides."""
        named = []
        for one, frame in zip(self.parts, frames, strict=True):
            frame = frame.rename(columns={"first": "value_first", "second": "value_second"})
            frame.insert(0, "first", one.names[0])
            frame.insert(1, "second", one.names[1])
            named.append(frame)
        return pd.concat(named, ignore_index=True)

    def as_json(self) -> str:
        """Return the four tables as one JSON object; numbers that do not exist are null."""
        names = ("overall", "thresholds", "slices", "cells")
        content = {name: [_plain(row) for row in getattr(self, name).to_dict("records")] for name in names}
        return json.dumps({"value": str(self.parts[0].first.quantity), **content}, default=str)

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(line)}</p>" for line in before(self.parts)]
        for title, heads, rows in tables(self.parts):
            shown = pd.DataFrame(rows, columns=heads).to_html(index=False, border=0)
            parts.append(f"<p><b>{escape(title)}</b></p>{shown}")
        return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in after(self.parts))])

    def __repr__(self) -> str:
        return "\n".join([*before(self.parts), *after(self.parts)])


def _plain(value: Any) -> Any:
    """Return a value for JSON, with null for NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def compare(
    a: Stored | str | Path,
    b: Stored | str | Path | None = None,
    *,
    by: str | None = None,
    value: str | None = None,
    tolerance: float | None = None,
) -> Comparisons:
    """Compare two results folders, or with `by` the values of an axis within one, as `recover compare` does.

    value: a column or COLUMN<=NUMBER, by default the value of the config. tolerance: count the pairs of a number that
    differ by more. Raises `ReportError`, and `StoreError` for a damaged folder.
    """
    given = [one for one in (a, b) if one is not None]
    grids = [read(one) if isinstance(one, str | Path) else one.grid for one in given]
    return compare_grids(grids, by, value, tolerance)


def sides_of(diagram: Diagram, by: str) -> list[Diagram]:
    """Return one diagram per value of an axis of the sweep, named after the value. Raises `ReportError`."""
    names = coordinates(diagram.frame, diagram.grid.columns)
    by = STORED_AS.get(by, by)
    if by not in names:
        by = next((name for name in names if name.split(".")[-1] == by), by)
    varying = [name for name in names if diagram.frame[name].nunique(dropna=False) > 1]
    if by not in varying:
        why = "has one value" if by in names else "is no axis"
        axes = f"allowed: {', '.join(varying)}" if varying else "no axis of it has two values"
        raise ReportError(f"{diagram.grid.path}: {by} {why}; {axes}{did_you_mean(by, varying)}")
    if by in (diagram.layout.x, diagram.layout.y):
        x = next((name for name in diagram.layout.keys[::-1] if name != by and is_number(diagram.frame[name])), by)
        if x == by:
            raise ReportError(f"{diagram.grid.path}: {by} is the only axis; a comparison needs another one as x")
        diagram = diagram.laid_out(ReportSpec(x=x, panel=by))
    present = set(diagram.frame[by].unique())
    values = [value for (value,) in joint_values(diagram.frame, diagram.sweep, (by,)) if value in present]
    frames = [diagram.frame[has(diagram.frame, by, value)].reset_index(drop=True) for value in values]
    # coordinates that the axis `by` determines have one value within each side, so they give no panels
    panels = tuple(name for name in diagram.layout.panels if any(frame[name].nunique() > 1 for frame in frames))
    layout = replace(diagram.layout, panels=panels, columns=None)
    sides = []
    for value, frame in zip(values, frames, strict=True):
        cells = Cells.of(frame, layout.keys, diagram.sweep.replicates)
        sweep = replace(diagram.sweep, name=value if isinstance(value, str) else PLAIN.pair(by, value))
        sides.append(replace(diagram, sweep=sweep, frame=frame, layout=layout, cells=cells))
    return sides


def compare_grids(
    grids: Sequence[Grid], by: str | None, value: str | None = None, tolerance: float | None = None
) -> Comparisons:
    """Compare each further grid with the first, or the values of an axis of one grid."""
    if by is not None and len(grids) > 1:
        found = f"found {len(grids)} results folders, allowed is one"
        raise ReportError(f"--by {by}: {found}; leave out the others, or leave out --by")
    diagrams = [Diagram.of(grid, value) for grid in grids]
    sides = diagrams if by is None else sides_of(diagrams[0], by)
    return Comparisons(tuple(compare_each(*sides, tolerance=tolerance)))
