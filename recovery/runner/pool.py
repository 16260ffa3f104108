"""Trials in worker processes that may hang, crash or exceed their memory: each such trial costs its own row alone.

A worker is sent several trials and returns their rows as they are done, the first at once. If it is lost, the first
trial without a row is run again, first in its job, so that the trial which causes the loss is found. Measured against
this: loky loses every task that is under way when a worker dies, and pebble leaves the processes that a late task
started, cannot limit memory, and starts Python again for each lost worker.
"""

import atexit
import math
import pickle
import signal
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

from recovery.config import Trial
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import BATCH_LIMIT
from recovery.runner.fork_server import FORK_SERVER, Late, WorkerProcess
from recovery.runner.messages import Answer, decode, decode_answer
from recovery.runner.trial import Row, failure
from recovery.runner.worker import SEND_SECONDS, Job, call, run_trials

T = TypeVar("T")

ATTEMPTS = 2
"""Attempts at a trial whose worker process dies. The last is in a new process."""
PATIENCE_SECONDS = 1.0
"""Seconds that a worker which sends nothing more may take to end by itself, so that its own exit status is known."""
COMPILE_SECONDS = 600.0
"""Seconds for compiling code or importing user code, which are not counted as a trial's time."""


class TimeLimit(RecoverError):  # noqa: N818  (the name is stored in rows)
    """A trial took longer than its limit."""


class WorkerDied(RecoverError):  # noqa: N818
    """The process that ran a trial ended before the trial was done."""


class Closed(RecoverError):  # noqa: N818
    """The sweep has stopped, and ended its workers."""


@dataclass(frozen=True)
class Limits:
    """Limits of one trial: `seconds` of wall time, and `memory` in MiB beyond the idle process (on Linux).

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
    """A worker process that is replaced when it is lost. One thread at a time may use it; any thread may close it.

    compiles: called whenever its process begins to compile code.
    """

    def __init__(self, runs_trials: bool = True, compiles: Callable[[], None] = lambda: None) -> None:
        self._runs_trials, self._compiles = runs_trials, compiles
        self._process: WorkerProcess | None = None
        self._closed = False

    def measure(self, trials: Sequence[Trial], limits: Limits) -> list[Row]:
        """Return the rows of the first of these trials, at least one.

        A trial that exceeds a limit or whose process dies is run again in a new process if an earlier trial may be the
        cause. Otherwise its row has the status `timeout` or `killed`. Raises `Closed`, and `RecoverError` if no process
        can start.
        """
        deaths = 0
        while True:
            fresh, begun, clock = self._process is None, datetime.now(UTC), time.perf_counter()
            try:
                if rows := self._rows(trials, limits, fresh):
                    return rows
                continue
            except TimeLimit as error:
                row, final = failure("timeout", error), fresh
            except WorkerDied as error:
                deaths += 1
                row, final = failure("killed", error), deaths == ATTEMPTS
            if final:
                seconds = time.perf_counter() - clock
                return [{"trial_id": trials[0].id, "started_at": begun, "seconds": seconds, **row}]

    def _rows(self, trials: Sequence[Trial], limits: Limits, fresh: bool) -> list[Row]:
        """Return the rows of the first of these trials; none if the first must be run again in a new process.

        Raises `TimeLimit`, `WorkerDied` or `Closed` if the first is lost.
        """
        rows = list[Row]()

        def read(document: Any) -> Answer:
            answer = decode_answer(document, trials[len(rows) :])
            if fresh and not (rows or answer.rows):
                raise ValueError("holds no row of a new process")
            return answer

        interval = SEND_SECONDS if limits.seconds is None else 0.0  # a time limit is for each row
        job = partial(run_trials, trials, limits.memory, BATCH_LIMIT, interval, fresh)
        try:
            for answer in self.run(job, limits.seconds, read):
                rows += answer.rows
                if answer.exhausted:
                    self.end_process()
                if answer.exhausted or not answer.rows or len(rows) == len(trials):
                    break
        except (TimeLimit, WorkerDied):
            if not rows:
                raise
        return rows

    def run(self, job: Job, seconds: float | None, read: Callable[[Any], T]) -> Generator[T, None, None]:
        """Yield what a job sends, as `read` returns it. `read` raises ValueError for a message that cannot be true.

        seconds: limit for each message, without time for compiling code and importing user code.

        Raises `TimeLimit`, `WorkerDied` or `Closed`; the process has ended then.
        """
        data = pickle.dumps((sys.path, working_folder(), job))
        if self._process is None:
            self._process = FORK_SERVER.start_worker(self._runs_trials)
        process, left, compiling = self._process, seconds, False
        try:
            if not self._closed:
                process.send(data)
            while not self._closed:
                line, unused = process.receive(COMPILE_SECONDS if compiling and seconds is not None else left)
                document = decode(line)
                if isinstance(document, dict) and "busy" in document:
                    left, compiling = left if compiling else unused, bool(document["busy"])
                    if document.get("compiles"):
                        self._compiles()
                else:
                    yield read(document)
                    left, compiling = seconds, False
        except Late:
            self.end_process()
            raise TimeLimit(f"not done after {seconds:g} s") from None
        except (OSError, ValueError):
            status = self.end_process(PATIENCE_SECONDS)
            if not self._closed:
                raise WorkerDied(f"its process ended {_manner(status)}") from None
        raise Closed("the sweep has stopped")

    def end_process(self, patience: float = 0.0) -> int:
        """Kill the process, if there is one and it does not end by itself within `patience` seconds.

        Returns its exit status. The next trial gets a new process.
        """
        process, self._process = self._process, None
        return process.end(patience) if process else 0

    def close(self) -> None:
        """Kill the process, even while another thread waits for it."""
        self._closed = True
        if process := self._process:
            process.kill()


class Workers:
    """Workers for several threads, started as they are needed. compiles: as for `Worker`."""

    def __init__(self, compiles: Callable[[], None] = lambda: None) -> None:
        self._compiles = compiles
        self._lock = Lock()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._closed = False

    def measure(self, trials: Sequence[Trial], limits: Limits) -> list[Row]:
        """Return the rows of the first of these trials, at least one, from a worker that is idle."""
        with self._lock:
            if self._closed:
                raise Closed("the sweep has stopped")
            worker = self._idle.pop() if self._idle else Worker(compiles=self._compiles)
            self._busy.add(worker)
        rows = list[Row]()
        try:
            rows = worker.measure(trials, limits)
            return rows
        finally:
            with self._lock:
                self._busy.discard(worker)
                if kept := bool(rows) and not self._closed:
                    self._idle.append(worker)
            if not kept:
                worker.end_process()

    def end_idle(self) -> None:
        """End the processes of the idle workers: user code may change before the next trial."""
        with self._lock:
            while self._idle:
                self._idle.pop().end_process()

    def close(self) -> None:
        """End all workers. Threads that wait for one of them raise `Closed`."""
        with self._lock:
            self._closed = True
            for worker in self._busy:
                worker.close()
        self.end_idle()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


WORKERS = Workers()
"""The workers of this process outside of a sweep: those that time a few trials, or run a cluster's share of them."""


@atexit.register
def end_processes() -> None:
    """End the idle workers and the fork server. The next worker starts them anew."""
    WORKERS.end_idle()
    FORK_SERVER.end()


def ask(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Call a function in a new process; return its result, which is plain data and arrays (tuples become lists).

    Raises `ParameterError` if user code ends that process.
    """
    worker = Worker(runs_trials=False)
    try:
        return next(
            worker.run(partial(call, partial(function, *arguments, **named)), COMPILE_SECONDS, lambda result: result)
        )
    except (TimeLimit, WorkerDied) as error:
        raise ParameterError(f"the code that the config names cannot be used: {error}") from error
    finally:
        worker.end_process()


def working_folder() -> str:
    """Return the current folder, or the root folder if it was deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return "/"


def _manner(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
