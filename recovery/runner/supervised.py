"""Trials run in a process that may be lost: one that hangs, outgrows its memory or dies costs its own row alone.

joblib can neither end one task nor survive the death of one worker, so each of its workers keeps a child process,
hands it one trial at a time, and replaces it when it is gone. This is all that the program has of an engine.
"""

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

from recovery.config import Trial
from recovery.errors import RecoverError
from recovery.runner.backends import worker_environment
from recovery.runner.trial import Row, failure, measure

PATIENCE = 2
"""A trial whose process dies is tried this many times in all."""
START_SECONDS = 120.0
"""A child that has not started by then never will."""


class TimeLimit(RecoverError):  # noqa: N818  (the name is what a row says)
    """A trial took longer than it may."""


class MemoryLimit(RecoverError):  # noqa: N818
    """A trial asked for more memory than it may."""


class WorkerDied(RecoverError):  # noqa: N818
    """The process that ran a trial was gone before the trial was done."""


@dataclass(frozen=True)
class Limits:
    """What one trial may take: `seconds` of wall time, and `memory` in MiB beyond the idle process (on Linux)."""

    seconds: float | None = None
    memory: int | None = None

    def __bool__(self) -> bool:
        return self.seconds is not None or self.memory is not None


UNLIMITED = Limits()


class Child:
    """A process of this one that measures trials as they are sent."""

    def __init__(self, memory: int | None) -> None:
        self.memory = memory
        ours, theirs = socket.socketpair()
        environment = {**os.environ, **worker_environment()}
        code = f"from recovery.runner.supervised import serve; serve({theirs.fileno()}, {memory})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        try:
            started = self._connection.poll(START_SECONDS) and self._connection.recv()
        except (EOFError, OSError):
            started = False
        if not started:
            self.end()
            raise RecoverError(f"a worker process cannot start: it ended with status {self._process.returncode}")

    def measure(self, trial: Trial, seconds: float | None) -> Row:
        """The trial's row. Raises `TimeLimit` if there is none after so many seconds, or `WorkerDied`."""
        try:
            self._connection.send(trial)
            if not self._connection.poll(seconds):
                raise TimeLimit(f"not done after {seconds:g} s")
            row: Row = self._connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDied(f"its process ended {_manner(self._process.wait())}") from error
        return row

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._connection.close()


_children: dict[int, Child] = {}
"""One a thread, by its identity: joblib's threads run trials side by side."""


def measure_supervised(trial: Trial, limits: Limits) -> Row:
    """The trial's row: `timeout` if it took too long, `killed` if it took too much memory or its process died twice."""
    thread = threading.get_ident()
    row: Row = {}
    for _ in range(PATIENCE):
        child = _child(thread, limits.memory)
        begun, clock = datetime.now(UTC), time.perf_counter()
        try:
            row = child.measure(trial, limits.seconds)
        except WorkerDied as error:
            child.end()
            row = failure("killed", error)
            continue
        except TimeLimit as error:
            child.end()
            row = failure("timeout", error)
        except BaseException:  # a request to stop, in the middle of the trial
            child.end()
            raise
        else:
            _children[thread] = child
        break
    return {"trial_id": trial.id, "started_at": begun, "seconds": time.perf_counter() - clock, **row}


def _child(thread: int, memory: int | None) -> Child:
    """The thread's idle child if it has the memory limit that is wanted, else a new one."""
    child = _children.pop(thread, None)
    if child is not None and child.memory != memory:
        child.end()
        child = None
    return child or Child(memory)


def end_children() -> None:
    """End the idle children of this process."""
    while _children:
        _children.popitem()[1].end()


def serve(descriptor: int, memory: int | None) -> None:
    """The child's life: receive a trial, send its row, until the other end is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    connection = Connection(descriptor)
    connection.send(True)
    limited = memory is None
    while True:
        try:
            trial: Trial = connection.recv()
        except (EOFError, OSError):
            return
        if not limited and memory is not None:
            _limit_memory(memory)
            limited = True
        row = measure(trial)
        if memory is not None and row.get("error_type") == "MemoryError":
            row |= failure("killed", MemoryLimit(f"it asked for more than {memory} MiB"))
        connection.send(row)


def _die_with_parent() -> None:
    """Linux ends this process when the thread that started it ends, even by SIGKILL (prctl 1, PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _limit_memory(megabytes: int) -> None:
    """Let the process's private memory grow by so much from here; further allocations raise MemoryError."""
    if sys.platform != "linux":
        return
    lines = Path("/proc/self/status").read_text().splitlines()
    idle = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (idle + megabytes * 2**20, resource.RLIM_INFINITY))


def _manner(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
