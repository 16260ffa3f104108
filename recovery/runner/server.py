"""The fork server of this process: multiprocessing's, which `preload` sets up. It starts with the first worker.

This module imports little, so that a command can start the fork server before its own imports.
"""

import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.forkserver import ForkServer, read_signed
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    **{"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)},
    "PYTHONSAFEPATH": "1",
}
"""Variables of the fork server and all trials. The thresholds of malloc are the largest that glibc reaches by itself:
with lower ones a trial returns its arrays to the system and asks for them again, a twentieth of a small trial's time.
Without PYTHONSAFEPATH, the fork server would import modules of the current folder."""
START_SECONDS = 120.0
"""Seconds that a process may take to start, the imports of the fork server included."""

SERVER: Any = ForkServer()
"""A script's own use of multiprocessing has another one."""
SERVER.set_forkserver_preload(["recovery.runner.preload"])
_USED = set[int]()
"""Process ids of the fork servers that have started a process."""


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Context in which this process has these environment variables."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def start_server() -> None:
    """Start the fork server before it is needed. An error is reported later, by the first worker."""
    with suppress(OSError), environment({**ENVIRONMENT, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}):
        SERVER.ensure_running()


def continue_server() -> None:
    """Continue the fork server, because a trial may have stopped it."""
    if SERVER._forkserver_pid is not None:
        with suppress(ProcessLookupError):
            os.kill(SERVER._forkserver_pid, signal.SIGCONT)


def start_process(program: object, descriptor: int) -> tuple[int, int]:
    """Have the fork server start a process that runs `program._bootstrap`; return its id and its sentinel.

    descriptor: a file that the process inherits. The sentinel is a file from which the exit status can be read once the
    process has ended. If the fork server was killed a moment ago, another one is started. Raises OSError or EOFError if
    that one has ended, too.
    """
    try:
        return _start(program, descriptor)
    except (OSError, EOFError):
        if not _server_has_ended():
            raise
        return _start(program, descriptor)


def _start(program: object, descriptor: int) -> tuple[int, int]:
    start_server()
    continue_server()
    sentinel, begin = SERVER.connect_to_new_process([descriptor])
    try:
        with os.fdopen(begin, "wb") as pipe:
            pipe.write(pickle.dumps({"sys_path": sys.path, "dir": working_folder()}) + pickle.dumps(program))
        if not wait([sentinel], START_SECONDS):
            raise TimeoutError
        pid: int = read_signed(sentinel)
    except (OSError, EOFError):
        os.close(sentinel)
        raise
    _USED.add(SERVER._forkserver_pid)
    return pid, sentinel


def _server_has_ended(seconds: float = 1.0) -> bool:
    """Wait until the fork server can be reaped, as a process that was killed soon can; return whether it can."""
    import psutil

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if psutil.Process(SERVER._forkserver_pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def stop_server() -> None:
    """End the fork server, if it runs."""
    continue_server()
    with suppress(OSError):
        if SERVER._forkserver_pid not in {*_USED, None}:
            os.kill(SERVER._forkserver_pid, signal.SIGKILL)  # it was started ahead and is not needed: it may import yet
        SERVER._stop()


def kill_orphans(workers: Set[int]) -> None:
    """Kill what processes that have ended have left: all children of the fork server that are no workers."""
    if SERVER._forkserver_pid is not None:
        kill_below(SERVER._forkserver_pid, workers)


def kill_below(pid: int, spared: Set[int]) -> None:
    """Kill what is below a process until nothing is, except the spared processes and what is below these.

    What a killed process has started becomes a child of this process.
    """
    import psutil

    def alive() -> list[psutil.Process]:
        children = [child for child in psutil.Process(pid).children() if child.pid not in spared]
        return [child for child in children if child.status() != psutil.STATUS_ZOMBIE]

    with suppress(psutil.NoSuchProcess):
        while left := alive():
            for child in left:
                child.kill()
            time.sleep(0.001)


def working_folder() -> str:
    """Return the current folder, or the root folder if it was deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return "/"
