"""Many parts as few, rows and trajectories, while others may be reading, writing or compacting the same folder.

New parts are whole on disk before the old ones go, so every row is in some part at every moment; in between it is
in two, and readers keep one. Parts are named by their content: two compactions of the same parts write one file.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.methods.columns import Columns
from recovery.store.folder import Folder
from recovery.store.parts import PROVENANCE, TRIALS, list_parts, merge, read_parts, refuse
from recovery.store.records import TRAJECTORIES, merge_records, split_records
from recovery.store.row_schema import row_schema
from recovery.types import Mask, Scalar

ROWS_A_PART = 500_000
BYTES_A_PART = 64 * 2**20
"""Of trajectories, before compression; a longer record is a part of its own."""


def compact(folder: Folder) -> tuple[int, int]:
    """Rewrite the parts as few, one row and one record a trial; returns how many parts there were and are.

    Raises `StoreError`.
    """
    before = after = 0
    for name, rewrite in ((TRIALS, _fewer_rows), (TRAJECTORIES, _fewer_records)):
        parts = _whole_parts(folder.path / name)
        if len(parts) > 1:
            _replace(folder, name, parts, rewrite([table for _, table in parts]))
        before += len(parts)
        after += len(list_parts(folder.path / name))
    return before, after


def _fewer_rows(tables: list[pa.Table]) -> Iterable[pa.Table]:
    rows = merge(tables).replace_schema_metadata(_provenance(tables))
    return (rows.slice(start, ROWS_A_PART) for start in range(0, len(rows), ROWS_A_PART))


def _fewer_records(tables: list[pa.Table]) -> Iterable[pa.Table]:
    records = merge_records(tables)
    return split_records(records, BYTES_A_PART * len(records) // records.nbytes)


def take_out(folder: Folder, trials: Collection[str], prefix: str) -> None:
    """Move what is stored of these trials into datasets named with `prefix`, so that they count as missing.

    Raises `StoreError`.
    """
    for name in (TRIALS, TRAJECTORIES):
        for path, table in _whole_parts(folder.path / name):
            chosen = pc.is_in(table["trial_id"], pa.array(sorted(trials), pa.string()))
            if pc.any(chosen).as_py():
                folder.write(table.filter(chosen), f"{prefix}{name}")
                kept = table.filter(pc.invert(chosen))
                _replace(folder, name, [(path, table)], [kept] if len(kept) else [])


def add_columns(
    folder: Folder,
    types: Mapping[str, pa.DataType],
    columns: Columns,
    coordinates: Callable[[pa.ChunkedArray], tuple[Mask, Mapping[str, Sequence[Scalar]]]],
) -> None:
    """Give the rows of parts written under a smaller plan the columns of the grown one.

    `types`: coordinate -> type; `columns`: the measured ones; `coordinates`: of trial ids, which are planned, and the
    coordinates of these. Rows of no planned trial, and measured columns that the plan does not have, stay as they are.
    """
    planned = row_schema(types, columns)
    for path, table in _whole_parts(folder.trials):
        schema = pa.schema([*planned, *(field for field in table.schema if field.name not in planned.names)])
        if table.schema.equals(schema):
            continue
        known, values = coordinates(table["trial_id"])
        place = pa.array(np.where(known, np.cumsum(known) - 1, 0), mask=~known)
        arrays = []
        for field in schema:
            there = table[field.name] if field.name in table.schema.names else pa.nulls(len(table))
            if field.name in values:
                told = pa.array(values[field.name], field.type).take(place)
                there = pc.if_else(pa.array(known), told, there.cast(field.type))
            arrays.append(there.cast(field.type))
        grown = pa.table(arrays, schema=schema).replace_schema_metadata(table.schema.metadata)
        _replace(folder, TRIALS, [(path, table)], [grown])


def _whole_parts(directory: Path) -> list[tuple[Path, pa.Table]]:
    parts, damaged = read_parts(directory)
    refuse(damaged)
    return parts


def _replace(folder: Folder, name: str, parts: list[tuple[Path, pa.Table]], tables: Iterable[pa.Table]) -> None:
    """Parts of the folder's dataset `name` by the parts that hold `tables`."""
    written = {folder.write(table, name) for table in tables}
    for path, _ in parts:
        if path not in written:
            path.unlink(missing_ok=True)


def _provenance(tables: list[pa.Table]) -> dict[bytes, str]:
    """The distinct entries of all tables, in order."""
    entries: dict[str, None] = {}
    for table in tables:
        for entry in json.loads((table.schema.metadata or {}).get(PROVENANCE, b"[]")):
            entries.setdefault(json.dumps(entry, sort_keys=True))
    return {PROVENANCE: json.dumps([json.loads(entry) for entry in entries])}
