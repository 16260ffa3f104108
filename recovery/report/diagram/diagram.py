"""A phase diagram as data: panels of cells for one quantity of one grid. Every renderer starts from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from recovery.errors import ReportError
from recovery.report.diagram.cells import Cells
from recovery.report.diagram.layout import Layout, axis_values, lay_out, ordered
from recovery.report.diagram.quantity import Quantity, default_quantity
from recovery.store import Grid
from recovery.types import Array


@dataclass(frozen=True)
class Panel:
    """One combination of the axes other than x and y. `cells` has a row a cell, with the integers ix and iy."""

    title: str
    where: dict[str, Any]
    cells: pd.DataFrame
    x: Sequence[Any]
    y: Sequence[Any]

    @property
    def undefined(self) -> bool:
        """Whether trials finished here whose method does not measure the value."""
        return bool(self.cells["undefined"].any())

    def matrix(self, column: str) -> Array:
        """A column of the cells as (len(y), len(x)) floats; NaN where the grid has no cell."""
        result = np.full((len(self.y), len(self.x)), np.nan)
        result[self.cells["iy"], self.cells["ix"]] = self.cells[column].to_numpy(dtype=float)
        return result


@dataclass(frozen=True)
class Diagram:
    """A grid, how it is laid out, and the quantity that colours its cells."""

    grid: Grid
    frame: pd.DataFrame
    layout: Layout
    quantity: Quantity
    cells: Cells

    @classmethod
    def of(cls, grid: Grid, value: str | None = None) -> "Diagram":
        """Lay a grid out as its config asks; `value` (COLUMN or COLUMN<=NUMBER) overrides what it shows."""
        document = document_of(grid)
        frame = _measured_something(grid).frame
        if not len(frame):
            raise ReportError(f"{grid.path} holds no trials yet; run: recover sweep {document.get('name', 'CONFIG')}")
        layout = lay_out(frame, document, grid.columns)
        wanted = value if value is not None else (document.get("report") or {}).get("value")
        quantity = default_quantity(frame, wanted, grid.columns)
        return cls(grid, frame, layout, quantity, Cells.of(frame, layout.keys, document.get("replicates")))

    @property
    def document(self) -> Mapping[str, Any]:
        """The resolved config."""
        return document_of(self.grid)

    @property
    def name(self) -> str:
        """The sweep's name."""
        return str(self.document.get("name", self.grid.path.name))

    @property
    def title(self) -> str:
        """The sweep's title, or its name."""
        return str(self.document.get("title") or self.name)

    @property
    def proportion(self) -> bool:
        """Whether cells show a fraction of trials."""
        return self.quantity.proportion(self.frame)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a cell: its coordinates, the counts and the tally of the quantity."""
        return pd.concat([self.cells.keys, self.cells.counts(), self.tally(self.quantity)], axis=1)

    def tally(self, quantity: Quantity) -> pd.DataFrame:
        """What the finished trials of each cell measured, as `Cells.tally` has it, and `undefined`: how many could not.
        Where no trial of a panel has the value and no verdict is undecided, its method does not measure it."""
        tally, cells = self.cells.tally(quantity), self.cells
        answers = tally["yes"] + tally["no"] if "yes" in tally else tally["count"]
        if "verdict" in self.frame:
            answers = answers + cells.count(cells.finished & (self.frame["verdict"] == "undecided").to_numpy(bool))
        panel = np.zeros(len(tally), dtype=int)
        if self.layout.panels:
            panel = cells.keys.groupby(list(self.layout.panels), dropna=False).ngroup().to_numpy()
        silent = np.bincount(panel, weights=answers)[panel] == 0
        open_ = tally["undecided"]
        return tally.assign(undecided=open_.where(~silent, 0), undefined=open_.where(silent, 0))

    @cached_property
    def panels(self) -> list[Panel]:
        """The panels in the config's order, on common axes."""
        table, layout = self.table, self.layout
        axes = axis_values(self.document)
        x = ordered(table[layout.x], None)
        y = [None] if layout.y is None else ordered(table[layout.y], None)
        table = table.assign(ix=_position(table[layout.x], x), iy=0)
        if layout.y is not None:
            table["iy"] = _position(table[layout.y], y)
        if not layout.panels:
            return [Panel("", {}, table, x, y)]
        ranks = [
            _position(table[name], ordered(table[name], axes.get(name, axes.get(_path(name)))))
            for name in layout.panels
        ]
        rank = pd.MultiIndex.from_arrays(ranks)
        panels = []
        for key in sorted(set(rank)):
            part = table[rank == key]
            where = {name: part[name].iloc[0] for name in layout.panels}
            panels.append(Panel(describe(where), where, part, x, y))
        return panels

    @cached_property
    def totals(self) -> dict[str, int]:
        """Trials over the whole grid: rows, ok, failed, missing, undecided."""
        names = ["trials", "ok", "failed", "missing", "undecided"]
        totals = {name: int(self.table[name].sum()) for name in names}
        totals["missing"] = max(totals["missing"], int(self.grid.sweep.get("trials", 0)) - totals["trials"])
        return totals


def _measured_something(grid: Grid) -> Grid:
    """The grid without the columns that no trial measured, which are most of them; all, where nothing finished."""
    table = grid.table
    if pc.any(pc.equal(table["status"], "ok")).as_py():
        empty = [name for name in grid.columns if name in table.column_names and table[name].null_count == len(table)]
        table = table.drop_columns(empty)
    return replace(grid, table=table)


def document_of(grid: Grid) -> Mapping[str, Any]:
    """The resolved config of a grid."""
    return grid.sweep.get("config") or {}


def describe(where: Mapping[str, Any]) -> str:
    """Coordinates in words: `noise = 0.1, gaussian`."""
    plain = ("ensemble", "planted", "architecture", "method")
    parts = [
        _words(value) if name in plain else f"{name.split('.')[-1]} = {_words(value)}" for name, value in where.items()
    ]
    return ", ".join(parts)


def _words(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")


def _path(name: str) -> str:
    return {"ensemble": "data.ensemble", "planted": "planted.kind", "method": "method.kind"}.get(name, name)


def _position(values: "pd.Series[Any]", order: Sequence[Any]) -> Any:
    codes = {value: i for i, value in enumerate(order)}
    return np.array([codes[None if pd.isna(value) else value] for value in values], dtype=int)
