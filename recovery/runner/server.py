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
from multiprocessing import resource_tracker
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
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that are for the sweep alone. The fork server ignores them: until `preload` says so, they are blocked."""
START_SECONDS = 120.0
"""Seconds that a process may take to start, the imports of the fork server included."""

SERVER: Any = ForkServer()
"""A script's own use of multiprocessing has another one."""
SERVER.set_forkserver_preload(["recovery.runner.preload"])


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
        resource_tracker.ensure_running()  # its start unblocks signals
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            SERVER.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def continue_process(pid: int | None) -> bool:
    """Continue a worker, or with None the fork server, because a trial may have stopped it; return if it is there."""
    if (pid := SERVER._forkserver_pid if pid is None else pid) is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
            return True
    return False


def start_process(program: object, descriptor: int) -> tuple[int, int]:
    """Have the fork server start a process that runs `program._bootstrap`; return its id and its sentinel.

    descriptor: a file that the process inherits. The sentinel is a file from which the exit status can be read once the
    process has ended. Raises OSError or EOFError if the fork server has ended.
    """
    start_server()
    continue_process(None)
    sentinel, begin = SERVER.connect_to_new_process([descriptor])
    try:
        with os.fdopen(begin, "wb") as pipe:
            pipe.write(pickle.dumps({"sys_path": sys.path, "dir": str(Path.cwd())}) + pickle.dumps(program))
        if not wait([sentinel], START_SECONDS):
            raise TimeoutError
        pid: int = read_signed(sentinel)
    except (OSError, EOFError):
        os.close(sentinel)
        raise
    return pid, sentinel


def stop_server() -> None:
    """Kill the fork server, if it runs. Its workers go on, and the next one has a new fork server."""
    with suppress(OSError):
        if SERVER._forkserver_pid is not None:
            os.kill(SERVER._forkserver_pid, signal.SIGKILL)
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
