"""Atomic writes and their temporary files, checksums of documents, and reads that refuse other than regular files."""

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
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from recovery.errors import StoreError
from recovery.text import path_text

WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
"""Error numbers from file systems without hard links: FAT, some SMB shares and container mounts."""
_RUN = re.compile(r"\.(?P<host>[\w.-]+)\.(?P<process>\d+)-[0-9a-f]{32}\.tmp")
ABANDONED_AFTER = 86_400.0
"""Age in seconds at which a temporary file of another host counts as abandoned; writing one takes milliseconds."""
MOST_BYTES = 64 * 2**20
"""Largest sweep.json and largest file of a round that are read."""


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
    """Return the document that `sealed` made these bytes of. Raises `ValueError` with what is wrong with them."""
    document = json.loads(data)
    if not isinstance(document, dict):
        raise ValueError("is not a mapping")
    if document.pop("checksum", None) != document_checksum(document):
        raise ValueError("does not match its checksum")
    return document


def write_atomically(path: Path, data: bytes | pa.Buffer, *, replace: bool = True) -> bool:
    """Write, fsync and rename a temporary file, and fsync the folder. Unless `replace`, False if `path` exists."""
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


def clean_temporaries(folder: Path) -> list[str]:
    """Delete temporary files that no writer has locked; files of other hosts, whose locks may not be seen here, only if
    they are a day old. Return the names of the locked files."""
    host, locked = socket.gethostname(), []
    for path in folder.glob(".*.tmp"):
        try:
            with path.open("rb") as file:
                flock(file, LOCK_EX | LOCK_NB)
                if path.name.startswith(f".{host}.") or time.time() - path.stat().st_mtime > ABANDONED_AFTER:
                    path.unlink()
        except OSError as error:  # it is locked or gone, or there is no permission
            locked += [path.name] if isinstance(error, BlockingIOError) else []
    return locked


@contextmanager
def running(folder: Path) -> Iterator[list[str]]:
    """Context in which this process locks a temporary file in the folder. Yield the names of others that do."""
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


def write_file(path: Path, data: bytes) -> None:
    """Write a file atomically; write to a pipe or device directly. Raises `StoreError`."""
    real = Path(os.path.realpath(path))
    with writing(path):
        if real.exists() and not real.is_file():  # the path is a device or a pipe, such as /dev/stdout
            path.write_bytes(data)
        else:
            write_atomically(real, data)


def _name_once(temporary: Path, path: Path) -> None:
    """Give the file `temporary` the name `path`. Raises FileExistsError if there is a file of this name.

    Without hard links, if two processes do this within microseconds, neither fails, and the later file remains.
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


def listed(folder: Path, pattern: str) -> list[Path]:
    """Return the entries of a folder whose names match, ordered by name; none if there is no folder.

    Raises `StoreError` if the folder cannot be read at present, where `Path.glob` would return nothing.
    """
    try:
        names = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreError(f"{folder}: cannot be read: {error.strerror or error}") from error
    return sorted(folder / name for name in fnmatch.filter(names, pattern))


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
        return file.read(kind.st_size)


def refuse(damaged: Sequence[Damaged]) -> None:
    """Raise `StoreError` if there are damaged files, because a reader must not skip rows silently."""
    if damaged:
        then = "`recover sweep` moves damaged files aside, and runs the trials that have no row then."
        raise StoreError("\n".join([*map(str, damaged), then]))
