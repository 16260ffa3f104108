"""A phase diagram as data: panels of cells for one quantity of one grid, from which every renderer starts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from pandas.api.types import is_numeric_dtype

from recovery.config import ReportSpec, Sweep, Until, from_document, refined
from recovery.config.header import overridden
from recovery.errors import ReportError
from recovery.methods.columns import FIXED
from recovery.report.diagram.grid_cells import Cells, Panel, rows_where, unknown
from recovery.report.diagram.layout import Layout, ThresholdAxis, joint_values, lay_out, levels, with_expressions
from recovery.report.diagram.quantity import Quantity, default_quantity, is_measured, undefined
from recovery.report.diagram.vocabulary import PLAIN, Script, mark_words, shared_parts, unmarked
from recovery.store import Grid
from recovery.store.round_files import added
from recovery.store.row_schema import finished
from recovery.text import command_text
from recovery.user import is_user_name

RUNNING = ("seconds", "iterations", "redraws", "pattern_count")
"""Measured columns that describe how a trial ran; tables show them after the results."""

MOST_COLUMNS = 4
"""Most panels per row, if each row has all values of the last panel coordinate."""


class Mark(NamedTuple):
    """A mark on grid cells, its legend text, and which cells have it."""

    shape: Literal["stroke", "cross", "diamond"]
    words: str
    cells: "pd.Series[bool]"


@dataclass(frozen=True)
class Diagram:
    """A grid with its config, its layout, the quantity that colours its cells, and further ones to show (`beside`).

    frame: the rows. cells: of the grid. probability: of the event at its threshold.
    """

    grid: Grid
    sweep: Sweep
    frame: pd.DataFrame
    layout: Layout
    quantity: Quantity
    cells: Cells
    beside: tuple[Quantity, ...] = ()
    probability: float = 0.5

    @classmethod
    def of(cls, grid: Grid, value: str | Sequence[str] | None = None, settings: Sequence[str] = ()) -> "Diagram":
        """Lay out a grid as its config says. value: COLUMN or COLUMN<=NUMBER, or several, instead of the config's.
        settings: `KEY=VALUE` of the config's `report`."""
        sweep = from_document(refined(grid.sweep["config"], added(grid.rounds)))
        sweep = replace(sweep, report=overridden(sweep.report, settings, "--set"))
        if not len(table := grid.table):
            command = command_text("sweep", sweep.name, "--out", grid.path)
            raise ReportError(f"{grid.path} holds no trials yet; run: {command}")
        # drop the columns that no trial measured, which are most columns; keep all if no trial finished
        if pc.any(finished(table)).as_py():
            names = (name for name in grid.columns if name in table.column_names)
            table = table.drop_columns([name for name in names if table[name].null_count == len(table)])
        frame = with_expressions(replace(grid, table=table).frame, sweep)
        layout = lay_out(frame, sweep, grid.columns)
        asked = (value,) if isinstance(value, str) else tuple(value or ()) or sweep.report.values
        wanted = (default_quantity(frame, name, grid.columns) for name in asked or (None,))
        first, *beside = dict.fromkeys(quantity.labelled(sweep.report.labels) for quantity in wanted)
        cells = Cells.of(frame, layout.keys, sweep.replicates)
        return cls(grid, sweep, frame, layout, first, cells, tuple(beside), sweep.report.probability)

    @property
    def one_by_one(self) -> list["Diagram"]:
        """One diagram per quantity shown."""
        return [replace(self, quantity=quantity, beside=()) for quantity in (self.quantity, *self.beside)]

    @property
    def name(self) -> str:
        """The sweep's name."""
        return self.sweep.name

    @property
    def title(self) -> str:
        """The sweep's title, or its name."""
        return self.sweep.title or self.name

    @property
    def heading(self) -> str:
        """The title; if trials are missing, with the share that is stored; and with user code of several versions."""
        done, missing = self.totals["trials"], self.totals["missing"]
        remarks = [f"{done / (done + missing):.0%} of the trials"] if missing else []
        remarks += [f"rows of several versions of {name}" for name in self.mixed_code]
        return f"{self.title} ({'; '.join(remarks)})" if remarks else self.title

    @cached_property
    def mixed_code(self) -> list[str]:
        """The names of user code of which several versions made the rows, one text per combination of names."""
        places = {*FIXED, *self.sweep.axes}
        texts = [name for name in places if name in self.frame and not is_numeric_dtype(self.frame[name])]
        ran = self.frame.loc[self.frame["own_code"].notna(), [*texts, "own_code"]].drop_duplicates()
        names = [", ".join(sorted(filter(is_user_name, row))) for row in ran[texts].itertuples(index=False)]
        versions = ran["own_code"].groupby(pd.Series(names, ran.index, dtype=str)).nunique()
        return versions.index[versions > 1].tolist()

    @property
    def script(self) -> Script:
        """The `Script` that writes text as plain Unicode, and names coordinates by the labels of the config."""
        return PLAIN.labelled(self.sweep.report.labels, self.shared)

    @cached_property
    def shared(self) -> dict[str, frozenset[str]]:
        """Coordinate -> the parts that all of its values in words have; titles omit them."""
        return {name: shared_parts(levels(self.frame, self.sweep, name)) for name in self.layout.keys}

    @property
    def measured_label(self) -> str:
        """The quantity in words, for a vertical axis; without a label of the config, with the unit of its column."""
        if self.proportion:
            return f"fraction {self.quantity.label}"
        column = None if self.quantity.words else self.grid.columns.get(self.quantity.column)
        unit = unmarked(f" ({column.unit})") if column and column.kind is float and column.unit else ""
        return f"{'' if self.single else 'median '}{self.quantity.label}{unit}"

    @cached_property
    def single(self) -> bool:
        """Whether each cell has one number, because it has one trial or equal values: then it needs no median."""
        tally = self.tally(self.quantity)
        return not self.proportion and bool(((tally["count"] <= 1) | (tally["lowest"] == tally["highest"])).all())

    @property
    def proportion(self) -> bool:
        """Whether cells show a fraction of trials."""
        return self.quantity.proportion(self.frame)

    @property
    def has_ratio(self) -> bool:
        """Whether the diagram shows a proportion over n and d, so that a ratio n/d can be fitted."""
        return self.proportion and self.layout.over_n_and_d

    @property
    def measured(self) -> list[Quantity]:
        """The shown quantity, then every other column that some trial measured."""
        columns = (name for name in self.frame.columns if name not in self.layout.keys)
        names = [name for name in columns if is_measured(self.frame, name, self.grid.columns)]
        names.sort(key=lambda name: name in RUNNING)
        others = (Quantity(name).labelled(self.sweep.report.labels) for name in names)
        return [self.quantity, *(quantity for quantity in others if quantity != self.quantity)]

    def with_threshold(self, what: str, probability: float) -> "Diagram":
        """Return the diagram whose threshold is one of `what`: the pooled expression, x, or an axis that becomes x."""
        diagram, along = replace(self, probability=probability), self.along
        if what == along.what:
            return diagram
        other = diagram if what == along.x else diagram.laid_out(ReportSpec(x=what))
        return replace(other, layout=replace(other.layout, pool=None))

    def laid_out(self, report: ReportSpec) -> "Diagram":
        """Return the diagram with the x, y and panels of another `report` section; its rows keep their order."""
        sweep = replace(self.sweep, report=replace(report, interval=self.sweep.report.interval))
        frame = with_expressions(self.frame, sweep)
        layout = lay_out(frame, sweep, self.grid.columns)
        cells = Cells.of(frame, layout.keys, sweep.replicates)
        return replace(self, sweep=sweep, frame=frame, layout=layout, cells=cells)

    @property
    def along(self) -> ThresholdAxis:
        """The axis, the probability and the pooling of the threshold of each panel: n over n and d, otherwise x."""
        layout, transposed = self.layout, self.layout.over_n_and_d and self.layout.x == "d"
        x, by = ("n", "d") if transposed else (layout.x, layout.y)
        return ThresholdAxis(x, by, layout.pool, self.probability, transposed, self.sweep.report.interval)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per cell: coordinates, counts and the summary of the quantity."""
        keys = self.cells.keys
        more = [name for name in self.along.needed() if name not in keys]
        if missing := [name for name in more if name not in self.frame]:
            raise ReportError(f"report.pool: {missing[0]} is no coordinate of the rows; choose another expression")
        pooled = self.frame[more].groupby(self.cells.code).first() if more else keys[[]]
        return pd.concat([keys, pooled, self.cells.counts(), self.tally(self.quantity)], axis=1)

    def tally(self, quantity: Quantity) -> pd.DataFrame:
        """Return what the finished trials of each cell measured, as `Cells.tally` does, and `undefined`, the number of
        finished trials that have no such value.

        If no trial of a method in a panel has the value and no verdict is undecided, all of them are `undefined`.
        """
        tally, cells = self.cells.tally(quantity), self.cells
        answers = tally["yes"] + tally["no"] if "yes" in tally else tally["count"]
        if "verdict" in self.frame:
            answers = answers + cells.count(cells.finished & (self.frame["verdict"] == "undecided").to_numpy(bool))
        method = np.zeros(len(tally), dtype=int)
        if names := [*self.layout.panels, *({"method"}.intersection(cells.keys) - {*self.layout.panels})]:
            method = cells.keys.groupby(names, dropna=False).ngroup().to_numpy()
        never = np.bincount(method, weights=answers)[method] == 0
        known = {name: tally[name].where(~never, 0) for name in ("undecided", "unmeasured")}
        without = cells.count(cells.finished & undefined(self.frame, quantity.column))
        return tally.assign(**known, undefined=unknown(tally).where(never, 0) + without)

    @cached_property
    def panels(self) -> list[Panel]:
        """The panels in the config's order, on common axes; panels without trials are empty."""
        layout, names = self.layout, self.layout.panels
        x, y = (levels(self.frame, self.sweep, name) for name in (layout.x, layout.y))
        table = self.table.assign(ix=_position(self.table[layout.x], x))
        table["iy"] = 0 if layout.y is None else _position(table[layout.y], y)
        unstarted = list[tuple[Any, ...]]()  # planned grid cells without a stored trial: panels, y, x
        if self.totals["missing"]:
            stored, planned = {*_tuples(table, layout.keys)}, joint_values(self.frame, self.sweep, layout.keys)
            no_y = (None,) if layout.y is None else ()
            unstarted = [(*at[:-1], *no_y, at[-1]) for at in planned if at not in stored]
        if not names:
            return [Panel("", {}, table, x, y, unstarted)]
        combined = joint_values(self.frame, self.sweep, names)
        rank = _position(_tuples(table, names), combined)
        wheres = [dict(zip(names, values, strict=True)) for values in combined]
        titles = map(PLAIN.labelled(self.sweep.report.labels, {}).where, wheres)
        return [
            Panel(title, where, table[rank == i], x, y, [at[-2:] for at in unstarted if at[:-2] == values])
            for i, (values, where, title) in enumerate(zip(combined, wheres, titles, strict=True))
        ]

    @property
    def columns(self) -> int | None:
        """The number of panels per row, if each row has all values of the last panel coordinate; None otherwise."""
        *_, last = ([""], *([panel.where[name] for panel in self.panels] for name in self.layout.panels))
        count = len(dict.fromkeys(last))
        rows = [last[i : i + count] for i in range(0, len(last), count)]
        fits = len(self.layout.panels) > 1 and 1 < count <= MOST_COLUMNS
        return count if fits and all(row == rows[0] for row in rows) else None

    @cached_property
    def marks(self) -> list[Mark]:
        """The marks, if used, of cells with unfinished trials, without finished ones, and with unknown values."""
        table, totals, ok = self.table, self.totals, self.table["ok"]
        found = (
            Mark("stroke", mark_words(totals, "failed", "missing"), ok * (table["failed"] + table["missing"]) > 0),
            Mark("cross", "no trial finished", ok == 0),
            Mark("diamond", mark_words(totals, "undecided", "unmeasured"), unknown(table) > 0),
        )
        return [mark for mark in found if mark.cells.any()]

    def matching(self, panels: Sequence[Panel], where: Mapping[str, Any]) -> list[int]:
        """Return the indices of those panels (or slices, as panels) in which every row has the coordinates `where`."""
        strange = self.cells.count(~rows_where(self.frame, where)) > 0
        fits = [not strange[one.cells.index].any() if len(one.cells) else one.agrees(where) for one in panels]
        return [i for i, fit in enumerate(fits) if fit]

    @cached_property
    def totals(self) -> dict[str, int]:
        """Numbers of trials of the whole grid: trials (stored), ok, failed, missing, undecided and unmeasured."""
        names = ["trials", "ok", "failed", "missing", "undecided", "unmeasured"]
        totals = {name: int(self.table[name].sum()) for name in names}
        planned = int(self.grid.sweep.get("trials", 0))
        if isinstance(self.sweep.sampling, Until):  # for an adaptive sweep the planned number is only a ceiling
            planned = self.grid.rounds[-1]["trials"] if self.grid.rounds else 0
        totals["missing"] = max(totals["missing"], planned - totals["trials"])
        return totals


def _tuples(table: pd.DataFrame, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the rows of these columns, with None for nulls."""
    values = table[list(names)].astype(object)
    return list(values.where(values.notna(), None).itertuples(index=False, name=None))


def _position(values: Iterable[Any], order: Sequence[Any]) -> Any:
    codes = {value: i for i, value in enumerate(order)}
    return np.array([codes[None if pd.api.types.is_scalar(value) and pd.isna(value) else value] for value in values])
