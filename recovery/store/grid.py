"""Stored rows as one table: the sweep's own, one a trial.

A part says which configs made it; where one is another config, the ids of its trials tell whether they are planned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.errors import RecoverError, StoreError
from recovery.methods.columns import Columns
from recovery.store.folder import Folder
from recovery.store.parts import PROVENANCE, merge, read_parts, refuse
from recovery.store.round_files import Round, counts, read_rounds
from recovery.store.row_schema import keys_of, row_schema, stored_columns
from recovery.types import Array

if TYPE_CHECKING:
    import pandas as pd

OBEYED = r"[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{202a}-\x{202e}\x{2066}-\x{2069}]"
"""Control characters and marks of direction, as Arrow's expressions write them."""


@dataclass(frozen=True)
class Grid:
    """The rows of a results folder, one a trial, its sweep.json, and the rounds of a boundary sweep."""

    path: Path
    sweep: dict[str, Any]
    table: pa.Table
    rounds: Sequence[Round] = ()
    left_out: LeftOut | None = None
    """Rows that are not the sweep's; they are not in the table."""
    makers: Sequence[Mapping[str, Any]] = ()
    """What produced the rows: program, libraries, machine, as the parts say it."""

    @cached_property
    def columns(self) -> Columns:
        """The columns that the sweep's methods measure."""
        return stored_columns(self.sweep.get("columns"))

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as pandas: `boolean` and `Int64` for measured columns that may be null, plain types elsewhere."""
        import pandas as pd  # heavy, and a sweep does not need it

        frame: pd.DataFrame = self.table.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
        counts = [name for name, column in self.columns.items() if column.kind is int and name in frame]
        return frame.astype(dict.fromkeys(counts, "Int64"))


def read(path: str | Path, columns: Sequence[str] | None = None) -> Grid:
    """Read a results folder, also while a sweep writes it; of its rows, these columns (`trial_id` among them) or all.

    Rows of another sweep are left out, and named in `left_out`.

    Raises `StoreError` for a missing or damaged one.
    """
    folder = Folder(Path(path))
    content = folder.load()
    parts, damaged = read_parts(folder.trials, columns)
    rounds, more = read_rounds(folder.rounds)
    refuse([*damaged, *more])
    refuse_other_types(content, parts)
    own, left_out = own_rows(content, rounds, parts)
    made_by = [maker for table in own for maker in makers(table)]
    return Grid(folder.path, content, _shown(merge(own)), rounds, left_out, made_by)


def refuse_other_types(content: Mapping[str, Any], parts: Sequence[tuple[Path, pa.Table]]) -> None:
    """Raise `StoreError` for a part that has a column of another type than its rows were written with."""
    measured = row_schema({"n": pa.int64(), "d": pa.int64()}, stored_columns(content.get("columns")))
    scalars = {pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.large_string(), pa.null()}
    for path, table in parts:
        for field in table.schema:
            kinds = {measured.field(field.name).type, pa.null()} if field.name in measured.names else scalars
            if field.type not in kinds and not (field.type == pa.large_string() and pa.string() in kinds):
                raise StoreError(
                    f"{path}: its column {field.name!r} is {field.type}, which no sweep of this program writes; "
                    "move the part away, and `recover sweep` runs its trials again"
                )


def _shown(rows: pa.Table) -> pa.Table:
    """The rows with `?` for what a terminal obeys, or that turns the direction of text, wherever a part has it."""
    for i, field in enumerate(rows.schema):
        if field.type == pa.string() and pc.any(pc.match_substring_regex(rows[i], OBEYED)).as_py():
            rows = rows.set_column(i, field, pc.replace_substring_regex(rows[i], OBEYED, "?"))
    return rows


def answers(folder: Folder, column: str) -> dict[str, bool | None]:
    """trial_id -> the value of a boolean column, of every stored trial that is ok."""
    parts, _ = read_parts(folder.trials, columns=["trial_id", "status", "started_at", column])
    rows = merge([table for _, table in parts])
    rows = rows.filter(pc.equal(rows["status"], "ok"))
    return dict(zip(rows["trial_id"].to_pylist(), rows[column].to_pylist(), strict=True))


class LeftOut(NamedTuple):
    """How many rows are not the sweep's, and in which parts they are."""

    rows: int
    paths: Sequence[Path]

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        what = "rows of another sweep, or of trials that this one does not plan, are left out"
        return f"{self.paths[0]}{more}: {self.rows} {what}"


def own_rows(
    content: Mapping[str, Any], rounds: Sequence[Round], parts: Sequence[tuple[Path, pa.Table]]
) -> tuple[list[pa.Table], LeftOut | None]:
    """Of each part the rows of the sweep that `content` of sweep.json and its rounds plan, and what was left out.

    A part that this very config made is the sweep's, and so is one that does not say what made it. Others may come from
    a smaller plan of the same sweep, or from another one: their rows are the sweep's if their trials are planned. Where
    the trials cannot be composed without running the user's code or without a data file, configs are compared instead.
    """
    kept, paths, lost = [], [], 0
    for path, table in parts:
        made_by, own = makers(table), table
        if any(maker.get("digest") != content["digest"] for maker in made_by):
            planned = _planned(json.dumps(content["config"]), json.dumps(dict(counts(rounds))))
            if planned is not None:
                own = table.filter(pa.array(np.isin(keys_of(table["trial_id"]), planned)))
            elif not any(_may_be_same(content["config"], maker.get("config")) for maker in made_by):
                own = table.slice(0, 0)
        if len(own):
            kept.append(own)
        if len(own) < len(table):
            paths.append(path)
            lost += len(table) - len(own)
    return kept, LeftOut(lost, paths) if lost else None


def makers(table: pa.Table) -> list[dict[str, Any]]:
    """What produced a part's rows, as it says itself; [] where it says nothing that can be read."""
    try:
        makers = json.loads((table.schema.metadata or {}).get(PROVENANCE, b"[]"))
    except ValueError:
        return []
    return [maker for maker in makers if isinstance(maker, dict)] if isinstance(makers, list) else []


@lru_cache(maxsize=2)
def _planned(config: str, asked: str) -> Array | None:
    """The keys of the planned trials; None where they cannot be composed here."""
    from recovery.config import from_document  # takes longer than all else here, and few grids ask for it

    try:
        return from_document(json.loads(config)).trials(json.loads(asked)).keys
    except RecoverError:
        return None


def _may_be_same(config: Mapping[str, Any], other: object) -> bool:
    """Whether two configs may have trials in common: the same seed, and the same fields where neither has an axis."""
    from recovery.config.components import COMPONENTS  # as above

    if not isinstance(other, Mapping) or config.get("seed") != other.get("seed"):
        return False
    axes = json.dumps([config.get("axes"), other.get("axes")])
    return all(config.get(name) == other.get(name) for name in COMPONENTS if f'"{name}' not in axes)
