"""Temporary files: each is locked by the process that writes it, and deleted once no process has locked it."""

import os
import re
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

_RUN = re.compile(r"\.(?P<host>[\w.-]+)\.(?P<process>\d+)-[0-9a-f]{32}\.tmp")
ABANDONED_AFTER = 86_400.0
"""Age in seconds at which a temporary file of another host counts as abandoned; writing one takes milliseconds."""


def clean_temporaries(folder: Path) -> list[str]:
    """Delete temporary files without the lock that a writer holds; files of other hosts, whose locks may not be seen
    here, only if they are a day old. Return the names of the locked files."""
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
