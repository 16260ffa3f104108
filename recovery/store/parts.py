"""Immutable Parquet part files, and atomic writes.

The name of a part is the checksum of its bytes, so writers cannot collide and damage is detected. A part is written to
a temporary file, fsynced, and renamed.
"""

import errno
import fnmatch
import json
import os
import re
import socket
import stat
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from recovery.errors import StoreError
from recovery.methods.columns import COLUMNS
from recovery.store.row_schema import NEVER_NULL, RECORD, fault_of, finished, row_schema
from recovery.text import path_text, printable

TRIALS = "trials"
"""Name of the folder of the parts with the rows."""
SUFFIX = ".parquet"
_NAME = re.compile(r"part-(?P<digest>[0-9a-f]{32})\.parquet")
_RUN = re.compile(r"\.(?P<host>[\w.-]+)\.(?P<process>\d+)-[0-9a-f]{32}\.tmp")
ABANDONED_AFTER = 86_400.0
"""Age in seconds at which a temporary file of another host counts as abandoned; writing one takes milliseconds."""

WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Error numbers from file systems without hard links: FAT, some SMB shares and container mounts."""
MOST_BYTES = 64 * 2**20
"""Largest sweep.json and largest file of a round that are read."""
MOST_PART_BYTES, MOST_ROWS = 2**34, 10**7
"""Largest part that is read, and its largest number of rows, which is that of trials of a sweep."""
BLOCK = 2**20
MAGIC = b"PAR1"
"""The last bytes of a Parquet file."""
PROVENANCE = b"recover"
"""Key in a part's metadata: a JSON list of the provenance of its rows."""


class Damaged(NamedTuple):
    """A file whose bytes are not the bytes that were written."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.reason}"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Context that raises `StoreError` in place of OSError: `path` cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}; give another place") from error


def checksum(data: bytes | memoryview | pa.Buffer) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def document_checksum(document: Mapping[str, Any]) -> str:
    """Return the checksum of a JSON document, independent of its layout."""
    return checksum(json.dumps(document, sort_keys=True).encode())


def sealed(document: Mapping[str, Any], indent: int) -> bytes:
    """Return the bytes of a JSON document with its checksum."""
    return (json.dumps({**document, "checksum": document_checksum(document)}, indent=indent) + "\n").encode()


def unsealed(data: bytes) -> dict[str, Any]:
    """Return the document in the bytes of `sealed`. Raises `ValueError` with what is wrong with them."""
    document = json.loads(data)
    if not isinstance(document, dict):
        raise ValueError("is not a mapping")
    if document.pop("checksum", None) != document_checksum(document):
        raise ValueError("does not match its checksum")
    return document


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
    """Return the Parquet path and the type of the values of a column, inside its nested lists."""
    path, kind = field.name, field.type
    while pa.types.is_list(kind):
        path, kind = f"{path}.list.element", kind.value_type
    return path, kind


def write_atomically(path: Path, data: bytes | pa.Buffer, *, replace: bool = True) -> bool:
    """Write, fsync and rename a temporary file, and fsync the folder. Without `replace`, False if the path exists."""
    temporary = path.with_name(f".{socket.gethostname()}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            with suppress(OSError):  # some network file systems have no locks
                flock(file, LOCK_EX)
            if not temporary.exists():  # a sweep that cleans up has locked it first
                return write_atomically(path, data, replace=replace)
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
    """Write a file atomically; write to a pipe or device directly. Raises `StoreError`."""
    real = Path(os.path.realpath(path))
    with writing(path):
        if real.exists() and not real.is_file():  # the path is a device or a pipe, such as /dev/stdout
            path.write_bytes(data)
        else:
            write_atomically(real, data)


def _name_once(temporary: Path, path: Path) -> None:
    """Give a file another name. Raises FileExistsError if the name is taken.

    On a file system without hard links, the last of two processes that do this within microseconds names its file.
    """
    try:
        path.hardlink_to(temporary)
    except OSError as error:
        if error.errno not in WITHOUT_LINKS:
            raise
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        temporary.rename(path)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def list_parts(folder: Path) -> list[Path]:
    """Return the finished parts, ordered by name. Raises `StoreError` if the folder cannot be read at present."""
    return listed(folder, f"[!.]*{SUFFIX}")


def listed(folder: Path, pattern: str) -> list[Path]:
    """Return the entries of a folder whose names match, ordered by name; none if there is no folder.

    Raises `StoreError` if it cannot be read at present. `Path.glob` returns nothing then.
    """
    try:
        names = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror or error}") from error
    return sorted(folder / name for name in fnmatch.filter(names, pattern))


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


def read_regular(path: Path) -> bytes:
    """Return the bytes of a file. Raises `ValueError` if it is larger than `MOST_BYTES` or not a regular file."""
    if path.is_dir():  # which `fdopen` refuses as unreadable
        raise ValueError("is not a regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        kind = os.fstat(descriptor)
        if not stat.S_ISREG(kind.st_mode):
            raise ValueError("is not a regular file")
        if kind.st_size > MOST_BYTES:
            raise ValueError(f"has {kind.st_size} bytes; at most {MOST_BYTES} are read")
        return file.read(MOST_BYTES)


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


def refuse(damaged: Sequence[Damaged]) -> None:
    """Raise `StoreError` if there are damaged files, because a reader must not skip rows silently."""
    if damaged:
        then = "`recover sweep` moves damaged files aside, and runs the trials that have no row then."
        raise StoreError("\n".join([*map(str, damaged), then]))


def clean_temporaries(folder: Path) -> list[str]:
    """Delete temporary files that no process has locked, as the writer of each does; those of other hosts, whose locks
    may be unknown here, if they are a day old. Return the names of the locked files."""
    host, locked = socket.gethostname(), []
    for path in folder.glob(".*.tmp"):
        try:
            with path.open("rb") as file:
                flock(file, LOCK_EX | LOCK_NB)
                if path.name.startswith(f".{host}.") or time.time() - path.stat().st_mtime > ABANDONED_AFTER:
                    path.unlink()
        except OSError as error:  # otherwise the file is gone, or there is no permission
            locked += [path.name] if isinstance(error, BlockingIOError) else []
    return locked


@contextmanager
def running(folder: Path) -> Iterator[list[str]]:
    """Context of a file that this process locks. Yield the other processes with one in the folder, as text."""
    own = folder / f".{socket.gethostname()}.{os.getpid()}-{uuid.uuid4().hex}.tmp"
    with ExitStack() as stack:
        with suppress(OSError):  # without locks or space, other sweeps cannot name this one
            flock(stack.enter_context(own.open("xb")), LOCK_EX)
        found = [_RUN.fullmatch(name) for name in clean_temporaries(folder) if name != own.name]
        try:
            yield [f"process {run['process']} on {run['host']}" for run in found if run]
        finally:
            with suppress(OSError):
                own.unlink()
