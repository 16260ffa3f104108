"""Rewriting of parts, also while other processes read, write or compact the same folder.

New parts are complete on disk before the old ones are deleted, so every row is in a part at any moment. In between it
is in two, and readers keep one. A part is named by its content: two compactions of equal parts write the same file.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recovery.methods.columns import Columns
from recovery.store.folder import Folder
from recovery.store.grid import with_version
from recovery.store.parts import PROVENANCE, TRIALS, list_parts, merge, read_parts, refuse
from recovery.store.records import TRAJECTORIES, merge_records, split_records
from recovery.store.row_schema import row_schema
from recovery.types import Mask, Scalar

ROWS_PER_PART = 500_000
BYTES_PER_PART = 64 * 2**20
"""Size of a part of records before compression; a longer record is a part by itself."""


def compact(folder: Folder) -> tuple[int, int]:
    """Rewrite the parts as few parts with one row per trial; return the numbers of parts before and after.

    Raises `StoreError`.
    """
    before = after = 0
    for name, rewrite in ((TRIALS, _merge_rows), (TRAJECTORIES, _merge_records)):
        parts = _undamaged_parts(folder.path / name)
        if len(parts) > 1:
            _replace(folder, name, parts, rewrite([table for _, table in parts]))
        before += len(parts)
        after += len(list_parts(folder.path / name))
    return before, after


def _merge_rows(tables: list[pa.Table]) -> Iterable[pa.Table]:
    rows = merge([with_version(table) for table in tables]).replace_schema_metadata(_provenance(tables))
    return (rows.slice(start, ROWS_PER_PART) for start in range(0, len(rows), ROWS_PER_PART))


def _merge_records(tables: list[pa.Table]) -> Iterable[pa.Table]:
    records = merge_records(tables)
    return split_records(records, BYTES_PER_PART * len(records) // records.nbytes)


def take_out(folder: Folder, trials: Collection[str], prefix: str) -> None:
    """Move the rows and records of these trials to datasets named with `prefix`, so that the trials count as missing.

    Raises `StoreError`.
    """
    for name in (TRIALS, TRAJECTORIES):
        for path, table in _undamaged_parts(folder.path / name):
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
    """Add the columns of a larger plan to the parts that were written under a smaller one.

    types: coordinate -> type in the larger plan. columns: its measured columns. coordinates: maps trial ids to the mask
    of the planned ones and the coordinates of these. Rows of other trials, and measured columns that the larger plan
    does not have, stay as they are. Raises `StoreError`.
    """
    planned = row_schema(types, columns)
    if not any(_lacks(path, types) for path in list_parts(folder.trials)):
        return
    for path, table in _undamaged_parts(folder.trials):
        schema = pa.schema([*planned, *(field for field in table.schema if field.name not in planned.names)])
        if table.schema.equals(schema):
            continue
        known, values = coordinates(table["trial_id"])
        place = pa.array(np.where(known, np.cumsum(known) - 1, 0), mask=~known)
        arrays = []
        for field in schema:
            stored = table[field.name] if field.name in table.schema.names else pa.nulls(len(table))
            if field.name in values:
                computed = pa.array(values[field.name], field.type).take(place)
                stored = pc.if_else(pa.array(known), computed, stored.cast(field.type))
            arrays.append(stored.cast(field.type))
        grown = pa.table(arrays, schema=schema).replace_schema_metadata(table.schema.metadata)
        _replace(folder, TRIALS, [(path, table)], [grown])


def _lacks(path: Path, types: Mapping[str, pa.DataType]) -> bool:
    """Return whether a part lacks one of these columns, has it with another type, or is gone."""
    try:
        schema = pq.read_schema(path)
    except FileNotFoundError:  # a compaction has replaced the part since it was listed
        return True
    return any(name not in schema.names or schema.field(name).type != kind for name, kind in types.items())


def _undamaged_parts(directory: Path) -> list[tuple[Path, pa.Table]]:
    parts, damaged = read_parts(directory)
    refuse(damaged)
    return parts


def _replace(folder: Folder, name: str, parts: list[tuple[Path, pa.Table]], tables: Iterable[pa.Table]) -> None:
    """Replace parts of the folder's dataset `name` with parts that hold `tables`."""
    written = {folder.write(table, name) for table in tables}
    for path, _ in parts:
        if path not in written:
            path.unlink(missing_ok=True)


def _provenance(tables: list[pa.Table]) -> dict[bytes, str]:
    """Return metadata with the distinct provenance entries of all tables, in order."""
    entries: dict[str, None] = {}
    for table in tables:
        for entry in json.loads((table.schema.metadata or {}).get(PROVENANCE, b"[]")):
            entries.setdefault(json.dumps(entry, sort_keys=True))
    return {PROVENANCE: json.dumps([json.loads(entry) for entry in entries])}
