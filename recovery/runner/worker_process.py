"""The process that runs trials, one after another, and sends their rows; `supervisor` starts and ends it."""

import os
import pickle
import resource
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from recovery.compiled import compilation
from recovery.config import Trial
from recovery.errors import RecoverError
from recovery.runner.messages import Answer, encode, encode_answer, receive, send
from recovery.runner.trial import Row, failure, measure
from recovery.types import Array

KEPT_SHARE = 1 / 16
"""A worker under a memory limit that keeps more than this share of it after a trial is replaced: what one trial may
take must not depend on those before it."""


class MemoryLimit(RecoverError):  # noqa: N818  (the name is what a row says)
    """A trial asked for more memory than it may."""


class Task(NamedTuple):
    """What a worker process is asked: trials, one after another until the time is up; at least one is run.

    memory: MiB that each may take beyond the idle process.
    """

    trials: Sequence[Trial]
    memory: int | None
    seconds: float


class Question(NamedTuple):
    """What a worker process is asked else: the result of a call, a document and arrays."""

    call: Callable[[], tuple[Mapping[str, Any], Mapping[str, Array]]]


def serve(connection: socket.socket) -> None:
    """The worker: receive (sys.path, working folder, what is asked), send the answer, until the other end is gone."""
    me, fresh, idle = os.getpid(), True, 0

    def tell(busy: bool) -> None:
        """The worker begins to compile code or to import the user's, or has ended: the time is not the trial's."""
        if os.getpid() == me:
            send(connection, encode({"busy": busy}))

    compilation.told = tell
    while True:
        try:
            data = receive(connection)
        except OSError:
            return
        path, folder, asked = pickle.loads(data)
        sys.path[:] = path
        with suppress(OSError):
            os.chdir(folder)
        if isinstance(asked, Question):
            answer = encode(*asked.call())
        else:
            if fresh:
                idle = _private_bytes()
            answer = encode_answer(_run(asked, fresh, idle, me, folder))
        fresh = False
        send(connection, answer)


def _run(task: Task, fresh: bool, idle: int, me: int, folder: str) -> Answer:
    began, rows = time.perf_counter(), list[Row]()
    for trial in task.trials:
        if task.memory is not None:
            _limit_memory(task.memory)
        with _as_before() if trial.cell.own else nullcontext():
            row = measure(trial)
        if os.getpid() != me:  # a process that the method forked, and that came back
            os._exit(0)
        if task.memory is not None:
            _limit_memory(None)
            if row.get("error_type") == "MemoryError":
                if not fresh:
                    return Answer(rows, exhausted=True)
                row |= failure("killed", MemoryLimit(f"it asked for more than {task.memory} MiB"))
        if trial.cell.own and row["status"] == "failed" and not fresh:  # by what a trial before it has left, perhaps
            return Answer(rows, exhausted=True)
        fresh = False
        rows.append(row)
        if task.memory is not None and _private_bytes() - idle > KEPT_SHARE * task.memory * 2**20:
            return Answer(rows, exhausted=True)
        if time.perf_counter() - began > task.seconds:
            break
    with suppress(OSError):
        os.chdir(folder)
    return Answer(rows)


@contextmanager
def _as_before() -> Iterator[None]:
    """Put back what own code may change of the process: a row depends on its own trial alone."""
    errors, call, limit, environment = np.geterr(), np.geterrcall(), sys.getrecursionlimit(), dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    with warnings.catch_warnings():
        try:
            yield
        finally:
            for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
                signal.setitimer(timer, 0)
            for number, handler in handlers.items():
                if handler is not None and signal.getsignal(number) is not handler:
                    signal.signal(number, handler)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            sys.setrecursionlimit(limit)
            np.seterr(**errors)
            np.seterrcall(call)
            if dict(os.environ) != environment:
                os.environ.clear()
                os.environ.update(environment)


def _private_bytes() -> int:
    """The process's private memory, as RLIMIT_DATA counts it."""
    if sys.platform != "linux":
        return 0
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))


def _limit_memory(megabytes: int | None) -> None:
    """Let the process's private memory grow by so much from here; further allocations raise MemoryError."""
    if sys.platform == "linux":
        most = resource.RLIM_INFINITY if megabytes is None else _private_bytes() + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
