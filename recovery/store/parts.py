"""Immutable Parquet part files.

The name of a part is the checksum of its bytes, so writers cannot collide and damage is detected. A part is written to
a temporary file, fsynced, and renamed.
"""

import json
import re
import stat
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recovery.errors import StoreError
from recovery.methods.columns import COLUMNS
from recovery.store.files import Damaged, checksum, listed, refuse, write_atomically
from recovery.store.row_schema import NEVER_NULL, RECORD, fault_of, finished, row_schema
from recovery.text import printable

TRIALS = "trials"
"""Name of the folder of the parts with the rows."""
SUFFIX = ".parquet"
_NAME = re.compile(r"part-(?P<digest>[0-9a-f]{32})\.parquet")
MOST_PART_BYTES, MOST_ROWS = 2**34, 10**7
"""Largest part that is read, and its largest number of rows, which is that of trials of a sweep."""
BLOCK = 2**20
MAGIC = b"PAR1"
"""The last bytes of a Parquet file."""
PROVENANCE = b"recover"
"""Key in a part's metadata: a JSON list of the provenance of its rows."""


def write_part(folder: Path, table: pa.Table) -> Path:
    """Store a table as a new part of `folder`. When this returns, the rows survive a crash of the machine."""
    sink = pa.BufferOutputStream()
    leaves = dict(map(_leaf, table.schema))
    numbers = [path for path, kind in leaves.items() if kind == pa.float64()]
    others = [path for path in leaves if path not in numbers]
    # measured numbers have few equal values: their bytes are compressed place by place, which saves a fifth
    pq.write_table(table, sink, compression="zstd", use_dictionary=others, use_byte_stream_split=numbers)
    data = sink.getvalue()
    path = folder / f"part-{checksum(data)}{SUFFIX}"
    write_atomically(path, data)
    return path


def _leaf(field: pa.Field) -> tuple[str, pa.DataType]:
    """Return the Parquet path and the type of a column's innermost values, which may be in nested lists."""
    path, kind = field.name, field.type
    while pa.types.is_list(kind):
        path, kind = f"{path}.list.element", kind.value_type
    return path, kind


def list_parts(folder: Path) -> list[Path]:
    """Return the finished parts, ordered by name. Raises `StoreError` if the folder cannot be read at present."""
    return listed(folder, f"[!.]*{SUFFIX}")


def read_part(path: Path, columns: Sequence[str] | None = None, *, records: bool = False) -> pa.Table | Damaged:
    """Return the part's table, or its damage. Raises FileNotFoundError if a compaction has replaced it.

    columns: by default all, without the records. records: also read these.
    """
    name = _NAME.fullmatch(path.name)
    if path.is_symlink() and not path.exists():
        raise StoreError(f"{path}: is a symbolic link to no file; restore the file, or delete the link and its rows")
    # only regular files are opened, because opening a pipe could block
    if name is None or not stat.S_ISREG(path.stat().st_mode):
        return Damaged(path, "is not a part that this program wrote")
    try:
        # read into Arrow's own memory, because Arrow's threads may free it after Python has ended
        with pa.OSFile(str(path)) as file:
            size, digest = file.size(), blake2b(digest_size=16)
            if size > MOST_PART_BYTES or file.read_at(len(MAGIC), max(size - len(MAGIC), 0)) != MAGIC:
                return Damaged(path, f"its {size} bytes are not a Parquet file")
            file.seek(0)
            # block by block, because a sparse file has more bytes than the memory
            for block in iter(partial(file.read, BLOCK), b""):
                digest.update(block)
            if digest.hexdigest() != name["digest"]:
                return Damaged(path, f"its {size} bytes do not match the checksum in its name")
            file.seek(0)
            data = file.read_buffer()
        parquet = pq.ParquetFile(pa.BufferReader(data))
        if parquet.metadata.num_rows > MOST_ROWS:
            return Damaged(path, f"has {parquet.metadata.num_rows} rows; at most {MOST_ROWS} are read")
        schema = parquet.schema_arrow
        configs = [maker.get("config") for maker in makers(schema)]
        if fault := fault_of(schema, any(isinstance(one, dict) and one.get("data") != "none" for one in configs)):
            return Damaged(path, fault)
        others = [name for name in schema.names if not name.startswith(RECORD)]
        chosen = [name for name in others if columns is None or name in columns]
        chosen += [name for name in schema.names if records and name not in others]
        table = parquet.read(columns=chosen)
        empty = [name for name in NEVER_NULL if name in chosen and table[name].null_count]
        return Damaged(path, f"its column {empty[0]!r} has empty rows") if empty else table
    except MemoryError as error:
        raise StoreError(f"{path}: there is not enough memory to read it; the file is unchanged") from error
    except pa.ArrowException as error:
        # for example because a codec is missing
        raise StoreError(f"{path}: is intact but cannot be read: {printable(str(error))}") from error


def read_all(
    folder: Path,
    columns: Sequence[str] | None = None,
    *,
    records: bool = False,
    known: Mapping[Path, pa.Table | Damaged] | None = None,
) -> dict[Path, pa.Table | Damaged]:
    """Return the table of every finished part, or its damage; consistent while others write and compact.

    known: parts that were read before, which are not read again, because parts never change. Raises `StoreError`.
    """
    found = dict(known or {})
    for _ in range(100):
        paths = list_parts(folder)
        try:
            for path in paths:
                if path not in found:
                    found[path] = read_part(path, columns, records=records)
        # a compaction has replaced a part since it was listed; its rows are in a new part, so list again
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{folder}: cannot be read: {error}") from error
        return {path: found[path] for path in paths}
    raise StoreError(f"{folder}: parts keep disappearing while they are read; is another program deleting them?")


def read_parts(
    folder: Path, columns: Sequence[str] | None = None, *, records: bool = False
) -> list[tuple[Path, pa.Table]]:
    """Return every finished part with its table. Raises `StoreError`, also for a damaged part."""
    found = read_all(folder, columns, records=records)
    refuse([part for part in found.values() if isinstance(part, Damaged)])
    return list(found.items())


def merge(tables: list[pa.Table]) -> pa.Table:
    """Return one row per trial from several parts: finished before failed, then the later start, then the first."""
    if not tables:
        return row_schema({}, COLUMNS).empty_table()
    try:
        rows = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise StoreError(f"parts disagree about the type of a column: {error}; do they belong to one sweep?") from error
    ids = rows["trial_id"].combine_chunks().dictionary_encode()
    if len(ids.dictionary) == len(rows):
        return rows
    trial, failed = ids.indices.to_numpy(), np.array(pc.invert(finished(rows)).to_pylist())
    order = np.lexsort((-np.array(rows["started_at"].cast(pa.int64()).to_pylist()), failed, trial))
    return rows.take(np.sort(order[np.diff(trial[order], prepend=-1) > 0]))


def makers(schema: pa.Schema) -> list[dict[str, Any]]:
    """Return the provenance entries in a part's metadata, [] if there are none that can be read."""
    try:
        makers = json.loads((schema.metadata or {}).get(PROVENANCE, b"[]"))
    except ValueError:
        return []
    return [maker for maker in makers if isinstance(maker, dict)] if isinstance(makers, list) else []
