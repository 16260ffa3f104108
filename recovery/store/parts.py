"""Immutable Parquet part files. A part's name carries a checksum of its bytes, so no two writers can collide
and damage is seen. A part is written beside under a temporary name, fsynced, and renamed."""

import ctypes
import errno
import json
import os
import re
import socket
import stat
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recovery.errors import StoreError
from recovery.methods.columns import COLUMNS
from recovery.store.row_schema import CIRCUMSTANCE, EVERY_ROW, IDENTITY, row_schema
from recovery.text import printable

TRIALS = "trials"
"""The folder of the parts that have the rows."""
SUFFIX = ".parquet"
_NAME = re.compile(r"part-(?P<digest>[0-9a-f]{32})\.parquet")
_TEMPORARY = re.compile(r"\.(?P<host>.+)\.(?P<pid>\d+)\.[0-9a-f]{32}\.tmp")
ABANDONED_AFTER = 86_400.0
"""Seconds after which a temporary file of another host's is taken for abandoned; writing one takes milliseconds."""

WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""What file systems that have no hard links answer, as FAT, some SMB shares and container mounts."""
WITHOUT_FLAGS = (errno.EINVAL, errno.ENOSYS)
"""What file systems answer that rename but cannot refuse to replace, as exFAT through FUSE."""
ALONE_SECONDS = 10.0
"""Who has been alone for so long was killed meanwhile; looking and renaming take milliseconds."""
_HERE, _NO_REPLACE = -100, 1
"""AT_FDCWD and RENAME_NOREPLACE of renameat2, Linux."""
MAGIC = b"PAR1"
"""The first and last bytes of a Parquet file."""
MOST_ROWS = 10_000_000
"""Of a part: as many as the trials that a sweep may have; those of trajectories are 64 MiB large."""
PROVENANCE = b"recover"
"""The key of a part's metadata: a JSON list of what produced its rows."""


class Damaged(NamedTuple):
    """A file whose bytes are not those that were written."""

    path: Path
    reason: str


def checksum(data: bytes | memoryview | pa.Buffer) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def document_checksum(document: Mapping[str, Any]) -> str:
    """That of a JSON document, however it is laid out."""
    return checksum(json.dumps(document, sort_keys=True).encode())


def write_part(folder: Path, table: pa.Table) -> Path:
    """Store a table as one new part of `folder`; once this returns, the rows survive a crash of the machine."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue()
    path = folder / f"part-{checksum(data)}{SUFFIX}"
    write_atomically(path, data)
    return path


def write_atomically(path: Path, data: bytes | pa.Buffer, *, replace: bool = True) -> bool:
    """Write beside, fsync, rename, fsync the folder. With `replace` off, False if the path exists already."""
    temporary = path.with_name(f".{socket.gethostname()}.{os.getpid()}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            _name_once(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return True


def write_file(path: Path, data: bytes) -> None:
    """Write a file that is whole or as it was before, whenever this process is killed; a pipe or device as it is."""
    real = Path(os.path.realpath(path))
    if real.exists() and not real.is_file():  # /dev/stdout, or a pipe
        path.write_bytes(data)
    else:
        write_atomically(real, data)


def _name_once(temporary: Path, path: Path) -> None:
    """Give a file a name that none has. Raises FileExistsError, and OSError where the file system cannot."""
    try:
        path.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        if code := _rename_once(temporary, path):
            if code not in WITHOUT_FLAGS:
                raise OSError(code, os.strerror(code), str(path)) from error
            _rename_alone(temporary, path)


def _rename_once(temporary: Path, path: Path) -> int:
    """0, or the number of the error."""
    if sys.platform != "linux":
        return errno.ENOSYS
    names = os.fsencode(temporary), os.fsencode(path)
    failed = ctypes.CDLL(None, use_errno=True).renameat2(_HERE, names[0], _HERE, names[1], _NO_REPLACE)
    return ctypes.get_errno() if failed else 0


def _rename_alone(temporary: Path, path: Path) -> None:
    """Look, then rename, while no other process does: only one can make the same folder."""
    alone = path.with_name(f".{path.name}.alone")
    for _ in range(100):
        try:
            alone.mkdir()
            break
        except FileExistsError:
            time.sleep(ALONE_SECONDS / 100)
    try:
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        temporary.rename(path)
    finally:
        with suppress(FileNotFoundError):
            alone.rmdir()


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def list_parts(folder: Path) -> list[Path]:
    """The finished parts, in the order of their names."""
    return sorted(folder.glob(f"[!.]*{SUFFIX}"))


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table | Damaged:
    """The part's table, or what is wrong with it. Raises FileNotFoundError if a compaction has replaced it."""
    name = _NAME.fullmatch(path.name)
    if name is None or not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
        return Damaged(path, "is not a part that this program wrote")
    try:
        with pa.OSFile(str(path)) as file:  # Arrow's own memory: its threads may drop it last, while Python shuts down
            data = file.read_buffer()
        if checksum(data) != name["digest"]:
            return Damaged(path, f"its {len(data)} bytes do not match the checksum in its name")
        parquet = pq.ParquetFile(pa.BufferReader(data))
        if fault := _fault(parquet, rows=path.parent.name == TRIALS):
            return Damaged(path, fault)
        present = parquet.schema_arrow.names
        return parquet.read(columns=None if columns is None else [name for name in columns if name in present])
    except MemoryError as error:
        raise StoreError(f"{path}: there is not enough memory to read it; it stays where it is") from error
    except pa.ArrowException as error:
        if data[:4] == data[-4:] == MAGIC:  # written so, and no damage: reading it needs something that is not there
            raise StoreError(f"{path}: is whole and cannot be read: {printable(str(error))}") from error
        return Damaged(path, f"is no Parquet file: {printable(str(error))}")


def _fault(parquet: pq.ParquetFile, rows: bool) -> str | None:
    """What a part holds that this program never writes, before anything of it is unpacked; None if there is nothing.

    rows: whether it is one of trials.
    """
    schema, count = parquet.schema_arrow, parquet.metadata.num_rows
    if "trial_id" not in schema.names or not _is_text(schema.field("trial_id").type):
        return "holds no trials"
    if count > MOST_ROWS:
        return f"has {count} rows, which no part of this program has"
    if rows and (lacking := [name for name in EVERY_ROW if name not in schema.names]):
        return f"has no column {', '.join(map(repr, lacking))}, which every sweep of this program writes"
    fixed = IDENTITY | CIRCUMSTANCE if set(IDENTITY) <= set(schema.names) else {}
    for name, kind in fixed.items():
        if name in schema.names:
            there = schema.field(name).type
            if there != kind and not (_is_text(there) and _is_text(kind)):
                return f"its column {name!r} is {there}, not {kind}"
    return None


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string())


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of a file. Raises `ValueError` for one that is larger, and for what is no file: a pipe never ends."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode):
            raise ValueError("is no regular file")
        if kind.st_size > most:
            raise ValueError(f"has {kind.st_size} bytes; at most {most} are read")
        return file.read(most)


def read_parts(folder: Path, columns: Sequence[str] | None = None) -> tuple[list[tuple[Path, pa.Table]], list[Damaged]]:
    """Every finished part with its table, and the damaged ones; consistent while others write and compact."""
    for _ in range(100):
        try:
            tables = [(path, read_part(path, columns)) for path in list_parts(folder)]
        except FileNotFoundError:  # compacted away since it was listed: its rows are in a new part
            continue
        except OSError as error:
            raise StoreError(f"{folder}: cannot be read: {error}") from error
        whole = [(path, table) for path, table in tables if not isinstance(table, Damaged)]
        return whole, [table for _, table in tables if isinstance(table, Damaged)]
    raise StoreError(f"{folder}: parts keep disappearing while they are read; is another program deleting them?")


def merge(tables: list[pa.Table]) -> pa.Table:
    """Rows of several parts, one a trial: `ok` wins, then the later start, then the earlier part."""
    if not tables:
        return row_schema({}, COLUMNS).empty_table()
    try:
        rows = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise StoreError(f"parts disagree about the type of a column: {error}; are they of one sweep?") from error
    if len(pc.unique(rows["trial_id"])) == len(rows):
        return rows
    keyed = pa.table(
        {
            "trial_id": rows["trial_id"],
            "ok": pc.equal(rows["status"], "ok"),
            "started_at": rows["started_at"],
            "position": pa.array(range(len(rows))),
        }
    )
    keyed = keyed.sort_by(
        [("trial_id", "ascending"), ("ok", "descending"), ("started_at", "descending"), ("position", "ascending")]
    )
    ids = keyed["trial_id"].combine_chunks()
    first = pa.concat_arrays([pa.array([True]), pc.not_equal(ids[1:], ids[:-1])])
    positions = keyed.filter(first)["position"]
    return rows.take(positions.take(pc.array_sort_indices(positions)))


def refuse(damaged: Sequence[Damaged]) -> None:
    """Raise `StoreError` if there are any: what reads a folder never leaves something out in silence."""
    if damaged:
        lines = [f"{path}: {reason}" for path, reason in damaged]
        raise StoreError("\n".join([*lines, "`recover sweep` sets damaged parts aside and runs their trials again."]))


def clean_temporaries(folder: Path) -> None:
    """Remove temporary files whose writer is gone."""
    for path in folder.glob(".*.tmp"):
        name = _TEMPORARY.fullmatch(path.name)
        if name is None:
            continue
        try:
            gone = not _alive(int(name["pid"])) if name["host"] == socket.gethostname() else _old(path)
            if gone:
                path.unlink()
        except OSError:  # removed by another, or not ours to remove: readers ignore it in any case
            continue


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > ABANDONED_AFTER
