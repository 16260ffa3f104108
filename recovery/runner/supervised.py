"""Trials run in a process that may be lost: one that hangs, outgrows its memory or dies costs its own row alone.

This is all that the program has of an engine; `supervisor` and `worker_process` run in the others. Measured against it:
loky loses every task under way with a worker, and pebble, which ends a late task, leaves what the task started, has no
limit of memory and starts Python anew for each lost worker.
"""

import atexit
import math
import os
import pickle
import signal
import socket
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any, TypeVar

from recovery.config import Trial
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import BATCH_LIMIT, Batches, run_batch
from recovery.runner.fork_server import FORK_SERVER
from recovery.runner.messages import Document, decode, decode_answer, receive, send
from recovery.runner.trial import Row, failure
from recovery.runner.worker_process import Question, Task
from recovery.types import Array

T = TypeVar("T")
Answers = Queue[list[tuple[Trial, Row]] | BaseException | None]

PATIENCE = 2
"""A trial whose process dies is tried this many times by itself."""
END_SECONDS = 10.0
"""A supervisor that has not ended its worker process by then is ended itself."""
READ_SECONDS = 60.0
"""An answer that has begun and is not read by then is none."""
COMPILE_SECONDS = 600.0
"""For compiling code and importing the user's, which is no part of a trial's time."""


class TimeLimit(RecoverError):  # noqa: N818  (the name is what a row says)
    """A trial took longer than it may."""


class WorkerDied(RecoverError):  # noqa: N818
    """The process that ran a trial was gone before the trial was done."""


class Closed(RecoverError):  # noqa: N818
    """The worker was ended from outside."""


@dataclass(frozen=True)
class Limits:
    """What one trial may take: `seconds` of wall time, and `memory` in MiB beyond the idle process (on Linux).

    Raises `ParameterError`.
    """

    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name, limit in (("seconds", self.seconds), ("memory", self.memory)):
            if limit is not None and not 0 < limit < math.inf:
                raise ParameterError(f"the limit of a trial's {name}: found {limit!r}; allowed: a number > 0")

    def __bool__(self) -> bool:
        return self.seconds is not None or self.memory is not None


UNLIMITED = Limits()


class Worker:
    """A worker process and its supervisor, for one thread at a time."""

    def __init__(self, runs_trials: bool = True) -> None:
        self._runs_trials = runs_trials
        self._supervisor: socket.socket | None = None
        self._supervisor_pid = 0
        self._process: socket.socket | None = None
        self._closed = False

    def measure(self, trials: Sequence[Trial], limits: Limits) -> list[Row]:
        """Rows of the first of these trials, at least one; the others were not begun.

        `timeout` if a trial took too long, `killed` if it took too much memory, or its process died or sent what is no
        row again and again. What happened in a process that had run other trials, or was to run several, is tried again
        in a new one, so that a row depends on its own trial alone.
        """
        size = len(trials) if limits.seconds is None else 1
        deaths = 0
        while True:
            fresh, begun, clock = self._process is None, datetime.now(UTC), time.perf_counter()
            try:
                task = Task(trials[:size], limits.memory, BATCH_LIMIT)
                answer = self._exchange(task, limits.seconds, partial(decode_answer, trials=task.trials))
            except TimeLimit as error:
                row, last = failure("timeout", error), fresh
            except WorkerDied as error:
                deaths += size == 1
                row, last = failure("killed", error), deaths == PATIENCE
            else:
                if answer.exhausted:
                    self.end_process()
                if answer.rows:
                    return answer.rows
                row, last = {}, False
            if size == 1 and last:
                seconds = time.perf_counter() - clock
                return [{"trial_id": trials[0].id, "started_at": begun, "seconds": seconds, **row}]
            size = max(size // 2, 1)

    def ask(self, question: Question, seconds: float) -> tuple[Document, Mapping[str, Array]]:
        """The answer of a process that has run nothing else, and that ends with it.

        Raises `TimeLimit`, `WorkerDied` or `Closed`.
        """
        answer = self._exchange(question, seconds, lambda document, arrays: (document, arrays))
        self.end_process(0)
        return answer

    def _exchange(
        self, asked: Task | Question, seconds: float | None, read: Callable[[Document, Mapping[str, Array]], T]
    ) -> T:
        """The answer as `read` reads it, which raises ValueError for none.

        Raises `TimeLimit`, `WorkerDied` (there is no worker process any more then), or `Closed`.
        """
        data = pickle.dumps((sys.path, working_folder(), asked))
        late = False
        try:
            supervisor, process = self._connections()
            process.settimeout(READ_SECONDS)
            if not wait([supervisor], 0):
                send(process, data)
            left, compiling = seconds, False
            while True:
                clock = time.monotonic()
                ready = wait([process, supervisor], left if left is None or not compiling else COMPILE_SECONDS)
                if process not in ready:
                    break
                document, arrays = decode(receive(process))
                if "busy" not in document:
                    return read(document, arrays)
                if left is not None and not compiling:
                    left = max(left - (time.monotonic() - clock), 0.0)
                compiling = bool(document["busy"])
            late = not ready
        except (OSError, ValueError):
            pass
        if late:
            self.end_process(0)
            raise TimeLimit(f"not done after {seconds:g} s")
        raise WorkerDied(f"its process ended {_manner(self.end_process())}")

    def _connections(self) -> tuple[socket.socket, socket.socket]:
        """Our ends of the sockets to the supervisor and to the worker process, both started if need be."""
        if self._closed:
            raise Closed("the sweep is over")
        if self._supervisor is None:
            self._supervisor, self._supervisor_pid = FORK_SERVER.supervisor(self._runs_trials)
        if self._process is None:
            self._process, theirs = socket.socketpair()
            with theirs:
                socket.send_fds(self._supervisor, [b"r"], [theirs.fileno()])
        return self._supervisor, self._process

    def end_process(self, patience: float = 1.0) -> int:
        """End the process that runs trials, if there is one: at once, or if it is not gone by itself soon.

        Returns its exit status. The next trial gets another process.
        """
        process, self._process = self._process, None
        if process is None or self._supervisor is None:
            return 0
        process.close()
        with suppress(OSError):
            if not wait([self._supervisor], patience):
                self._supervisor.send(b"k")
            self._supervisor.settimeout(END_SECONDS)
            try:
                status = self._supervisor.recv(4)
            except TimeoutError:  # a trial has stopped it, and the fork server too
                os.kill(self._supervisor_pid, signal.SIGKILL)
                status = b""
            if status:
                self._supervisor.settimeout(None)
                return int.from_bytes(status, "big", signed=True)
        self._supervisor.close()
        self._supervisor = None
        if self._closed:
            raise Closed("the sweep is over")
        return -signal.SIGKILL  # the supervisor was killed, and its worker process with it

    def close(self) -> None:
        """End both and all that they started; also from another thread than the one that waits."""
        self._closed = True
        if self._supervisor is not None:
            with suppress(OSError):
                self._supervisor.shutdown(socket.SHUT_RDWR)

    def dispose(self) -> None:
        """Close what `close` has ended, once no thread waits."""
        for end in (self._process, self._supervisor):
            if end is not None:
                end.close()


_idle: list[Worker] = []
"""Workers of this process that wait for a thread to need them."""


@atexit.register
def end_processes() -> None:
    """End every worker, its supervisor and the fork server; the next that is needed starts anew."""
    while _idle:
        _idle.pop().dispose()
    FORK_SERVER.end()


def measure_supervised(trials: Sequence[Trial], limits: Limits) -> list[Row]:
    """Rows of the first of these trials, from a worker of this process that is idle."""
    worker = _idle.pop() if _idle else Worker()
    try:
        rows = worker.measure(trials, limits)
    except BaseException:  # a request to stop, in the middle of a trial
        worker.close()
        worker.dispose()
        raise
    _idle.append(worker)
    return rows


def ask(call: Callable[..., Any], *arguments: Any) -> tuple[Document, Mapping[str, Array]]:
    """What a module's function returns, a document and arrays, called in a process of its own.

    Raises `ParameterError` where that process is lost.
    """
    worker = Worker(runs_trials=False)
    try:
        return worker.ask(Question(partial(call, *arguments)), COMPILE_SECONDS)
    except (TimeLimit, WorkerDied) as error:
        raise ParameterError(f"the code that the config names cannot be used: {error}") from error
    finally:
        worker.close()
        worker.dispose()


def end_worker_processes() -> None:
    """End the processes of the idle workers that ran trials; the next sweep's code may be other code."""
    for worker in _idle:
        worker.end_process(0)


def pool(batches: Batches, jobs: int, limits: Limits) -> Generator[list[tuple[Trial, Row]], None, None]:
    """Batches run by so many workers of this process, trials and rows handed back as they are done."""
    done: Answers = Queue(4 * jobs)
    workers = [_idle.pop() if _idle else Worker() for _ in range(jobs)]
    threads = [Thread(target=_work, args=[worker, batches, limits, done], daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        running = jobs
        while running:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                running -= 1
            else:
                yield result
    except BaseException:
        for worker in workers:
            worker.close()
        while any(thread.is_alive() for thread in threads):
            with suppress(Empty):
                done.get(timeout=0.05)
        for worker in workers:
            worker.dispose()
        raise
    _idle.extend(workers)


def _work(worker: Worker, batches: Batches, limits: Limits, done: Answers) -> None:
    try:
        for number, batch in batches:
            result = run_batch(number, batch, lambda trials: worker.measure(trials, limits))
            done.put(batches.returned(result))
        worker.end_process(0)
        done.put(None)
    except Closed:
        done.put(None)
    except BaseException as error:
        done.put(error)


def working_folder() -> str:
    """The current folder; the root where it was deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return "/"


def _manner(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
