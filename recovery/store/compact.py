"""Many parts as few, while others may be reading, writing or compacting the same folder.

New parts are whole on disk before the old ones go, so every row is in some part at every moment; in between it is
in two, and readers keep one. Parts are named by their content: two compactions of the same parts write one file.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from recovery.errors import StoreError
from recovery.store.folder import Folder
from recovery.store.grid import merge
from recovery.store.parts import list_parts, read_parts
from recovery.store.schema import Coordinate, row_schema

ROWS_A_PART = 500_000
PROVENANCE = b"recover"
"""The key of a part's metadata: a JSON list of what produced its rows."""


def compact(folder: Folder) -> tuple[int, int]:
    """Rewrite the parts as few, one row a trial; returns how many parts there were and are. Raises `StoreError`."""
    parts = _whole_parts(folder)
    if len(parts) > 1:
        tables = [table for _, table in parts]
        _replace(folder, parts, merge(tables).replace_schema_metadata(_provenance(tables)))
    return len(parts), len(list_parts(folder.trials))


def add_columns(
    folder: Folder, types: Mapping[str, pa.DataType], coordinates: Mapping[str, Mapping[str, Coordinate]]
) -> None:
    """Give the rows of parts written under a smaller plan the coordinate columns of the grown one.

    `types`: column -> type; `coordinates`: trial id -> its coordinates. Rows of no planned trial stay as they are.
    """
    schema = row_schema(types)
    for path, table in _whole_parts(folder):
        if table.schema.equals(schema):
            continue
        rows = [{**row, **coordinates.get(row["trial_id"], {})} for row in table.to_pylist()]
        columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
        grown = pa.table(columns, schema=schema).replace_schema_metadata(table.schema.metadata)
        _replace(folder, [(path, table)], grown)


def _whole_parts(folder: Folder) -> list[tuple[Path, pa.Table]]:
    parts, damaged = read_parts(folder.trials)
    if damaged:
        raise StoreError(f"{damaged[0].path}: {damaged[0].reason}; run `recover sweep` first: it sets it aside")
    return parts


def _replace(folder: Folder, parts: list[tuple[Path, pa.Table]], rows: pa.Table) -> None:
    written = {folder.write(rows.slice(start, ROWS_A_PART)) for start in range(0, len(rows), ROWS_A_PART)}
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
