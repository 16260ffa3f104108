"""Rewriting of parts, also while other processes read, write or compact the same folder.

New parts are complete on disk before the old ones are deleted, so every row is in a part at any moment. In between it
is in two, and readers keep one. A part is named by its content: two compactions of equal parts write the same file.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.methods.columns import Columns
from recovery.store.files import Damaged
from recovery.store.folder import Folder
from recovery.store.parts import PROVENANCE, TRIALS, list_parts, makers, merge, read_part, read_parts
from recovery.store.row_schema import RECORD, row_schema
from recovery.types import Mask, Scalar

ROWS_PER_PART = 500_000
BYTES_PER_PART = 256 * 2**20
"""Largest size of a part before compression; a row with a longer record is a part by itself."""


def compact(folder: Folder) -> tuple[int, int]:
    """Rewrite the parts as few, with one row per trial; return their numbers before and after. Raises `StoreError`."""
    parts = read_parts(folder.trials, records=True)
    join(folder, parts)
    return len(parts), len(list_parts(folder.trials))


def present(paths: Sequence[Path]) -> list[tuple[Path, pa.Table]]:
    """Return, with their tables, the parts at these paths that are not damaged or replaced by a compaction."""
    parts = []
    for path in paths:
        with suppress(FileNotFoundError):
            if not isinstance(table := read_part(path, records=True), Damaged):
                parts.append((path, table))
    return parts


def join(folder: Folder, parts: Sequence[tuple[Path, pa.Table]]) -> None:
    """Rewrite parts as few parts with one row per trial, unless that is what they are. Raises `StoreError`."""
    if len(parts) > 1:
        tables = [table for _, table in parts]
        entries = dict.fromkeys(json.dumps(maker, sort_keys=True) for table in tables for maker in makers(table.schema))
        rows = merge(tables).replace_schema_metadata({PROVENANCE: f"[{', '.join(entries)}]"})
        count = min(ROWS_PER_PART, max(1, BYTES_PER_PART * len(rows) // max(rows.nbytes, 1)))
        starts = range(0, len(rows), count)
        if len(starts) < len(parts) or len(rows) < sum(map(len, tables)):
            _replace(folder, parts, (rows.slice(start, count) for start in starts))


def take_out(folder: Folder, trials: Collection[str], prefix: str) -> None:
    """Move rows of these trials, which are then missing, to the dataset `prefix` + `trials`. Raises `StoreError`."""
    for path, table in read_parts(folder.trials, records=True):
        chosen = pc.is_in(table["trial_id"], pa.array(sorted(trials), pa.string()))
        if pc.any(chosen).as_py():
            folder.write(table.filter(chosen), f"{prefix}{TRIALS}")
            kept = table.filter(pc.invert(chosen))
            _replace(folder, [(path, table)], [kept] if len(kept) else [])


def add_columns(
    folder: Folder,
    paths: Sequence[Path],
    types: Mapping[str, pa.DataType],
    columns: Columns,
    coordinates: Callable[[pa.ChunkedArray], tuple[Mask, Mapping[str, Sequence[Scalar]]]],
) -> None:
    """Add the columns of a plan that has more trials or columns to the parts at `paths` that lack some.

    types: coordinate -> type in the larger plan. columns: its measured columns. coordinates: maps trial ids to the mask
    of the planned ones and the coordinates of these. Rows of other trials, and measured columns that the larger plan
    does not have, stay as they are. Raises `StoreError`.
    """
    planned = row_schema(types, columns)
    for path, table in present(paths):
        others = [field for field in table.schema if field.name not in planned.names]
        schema = pa.schema([*planned, *others])
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
            arrays.append(stored if field.name.startswith(RECORD) else stored.cast(field.type))
        grown = pa.table(arrays, schema=schema).replace_schema_metadata(table.schema.metadata)
        _replace(folder, [(path, table)], [grown])


def _replace(folder: Folder, parts: Sequence[tuple[Path, pa.Table]], tables: Iterable[pa.Table]) -> None:
    """Replace parts of the folder with parts that hold `tables`."""
    written = {folder.write(table) for table in tables}
    for path, _ in parts:
        if path not in written:
            path.unlink(missing_ok=True)
