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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from recovery.config import Trial
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import BATCH_LIMIT
from recovery.runner.fork_server import FORK_SERVER, WorkerProcess
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


def run(
    process: WorkerProcess,
    job: Job,
    seconds: float | None,
    read: Callable[[Any], T],
    compiles: Callable[[], None] = lambda: None,
) -> Iterator[T]:
    """Send a job to a worker process, and yield what `read` returns for each of its messages.

    seconds: limit for each message, without time for compiling code and importing user code. compiles: called whenever
    the process begins to compile code. Raises `TimeLimit`, or `WorkerDied`, also if `read` raises ValueError; the
    process has ended then.
    """
    data, left, compiling = pickle.dumps((sys.path, working_folder(), job)), seconds, False
    try:
        process.send(data)
        while True:
            line, unused = process.receive(COMPILE_SECONDS if compiling and seconds is not None else left)
            document = decode(line)
            if isinstance(document, dict) and "busy" in document:
                left, compiling = left if compiling else unused, bool(document["busy"])
                if document.get("compiles"):
                    compiles()
            else:
                yield read(document)
                left, compiling = seconds, False
    except TimeoutError:
        process.end()
        raise TimeLimit(f"not done after {seconds:g} s") from None
    except (OSError, ValueError):
        status = process.end(PATIENCE_SECONDS)
        manner = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        raise WorkerDied(f"its process ended {manner}") from None


class Workers:
    """Worker processes for several threads, started as they are needed and replaced when they are lost.

    compiles: called from any thread whenever a process begins to compile code.
    """

    def __init__(self, compiles: Callable[[], None] = lambda: None) -> None:
        self._compiles = compiles
        self._lock = Lock()
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._closed = False

    def measure(self, trials: Sequence[Trial], limits: Limits) -> list[Row]:
        """Run these trials in a worker process; return the rows of the first few, at least one.

        A trial that exceeds a limit or whose process dies is run again in a new process if an earlier trial may be the
        cause. Otherwise its row has the status `timeout` or `killed`. Raises `Closed`, and `RecoverError` if no process
        can start.
        """
        rows, deaths, new = list[Row](), 0, False
        while not rows:
            begun, clock = datetime.now(UTC), time.perf_counter()
            process, fresh = self._take(new)
            lost, usable, new = None, False, True
            try:
                usable = self._run(process, fresh, trials, limits, rows)
            except TimeLimit as error:
                lost, final = failure("timeout", error), fresh
            except WorkerDied as error:
                deaths += 1
                lost, final = failure("killed", error), deaths == ATTEMPTS
            finally:
                self._return(process, usable)
            if lost and final and not (rows or self._closed):
                seconds = time.perf_counter() - clock
                rows.append({"trial_id": trials[0].id, "started_at": begun, "seconds": seconds, **lost})
        return rows

    def _run(
        self, process: WorkerProcess, fresh: bool, trials: Sequence[Trial], limits: Limits, rows: list[Row]
    ) -> bool:
        """Append the rows of the first few of these trials, perhaps none if the process is not fresh.

        Returns whether the process may run other trials. Raises `TimeLimit` or `WorkerDied` if a trial is lost.
        """

        def read(document: Any) -> Answer:
            answer = decode_answer(document, trials[len(rows) :])
            if fresh and not (rows or answer.rows):
                raise ValueError("holds no row of a new process")
            return answer

        # with a time limit every row is sent at once, because the limit is for each row
        interval = SEND_SECONDS if limits.seconds is None else 0.0
        job = partial(run_trials, trials, limits.memory, BATCH_LIMIT, interval, fresh)
        for answer in run(process, job, limits.seconds, read, self._compiles):
            rows += answer.rows
            if answer.exhausted or not answer.rows or len(rows) == len(trials):
                break
        return not answer.exhausted

    def _take(self, new: bool) -> tuple[WorkerProcess, bool]:
        """Return a process, and whether no trial has run in it: an idle one, unless a new one is requested."""
        with self._lock:
            if self._closed:
                raise Closed("the sweep has stopped")
            idle = self._idle.pop() if self._idle and not new else None
        process = idle or FORK_SERVER.start_worker()
        with self._lock:
            self._busy.add(process)
            if self._closed:
                process.kill()
        return process, idle is None

    def _return(self, process: WorkerProcess, usable: bool) -> None:
        with self._lock:
            self._busy.discard(process)
            if usable and not self._closed:
                self._idle.append(process)
                return
        process.end()

    def end_idle(self) -> None:
        """End the idle processes: user code may change before the next trial."""
        with self._lock:
            while self._idle:
                self._idle.pop().end()

    def close(self) -> None:
        """End all processes. Threads that wait for one of them raise `Closed`."""
        with self._lock:
            self._closed = True
            for process in self._busy:
                process.kill()
        self.end_idle()


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
    process = FORK_SERVER.start_worker(runs_trials=False)
    try:
        job = partial(call, partial(function, *arguments, **named))
        return next(run(process, job, COMPILE_SECONDS, lambda result: result))
    except (TimeLimit, WorkerDied) as error:
        raise ParameterError(f"the code that the config names cannot be used: {error}") from error
    finally:
        process.end()


def working_folder() -> str:
    """Return the current folder, or the root folder if it was deleted."""
    try:
        return str(Path.cwd())
    except OSError:
        return "/"
