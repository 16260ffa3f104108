"""Trials in processes that may hang or crash: each such trial costs its own row alone.

multiprocessing's fork server starts the processes, and a pipe leads to each. A process is sent several trials and
returns their rows as they are done, the first at once. If it is lost, the first trial without a row is run again, first
in its job, so that the trial which causes the loss is found.
"""

import atexit
import os
import pickle
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Pipe, wait
from multiprocessing.forkserver import read_signed
from threading import Lock
from typing import Any, TypeVar

from recovery.config import Trial
from recovery.errors import ParameterError, RecoverError
from recovery.runner.child import SEND_SECONDS, Child, Job, call, run_trials
from recovery.runner.server import continue_process, kill_orphans, start_process, stop_server
from recovery.runner.trial import Row, failure

T = TypeVar("T")

ATTEMPTS = 2
"""Attempts at a trial whose process dies, each in a new process after the first."""
END_SECONDS = 10.0
"""Seconds to wait for the exit status of a process that was killed."""
COMPILE_SECONDS = 600.0
"""Seconds for compiling code or importing user code, which are not counted as a trial's time."""
TICK_SECONDS = 1.0
"""A wait is timed in pieces of at most this length. One that takes this much longer does not count: this process was
suspended then, and most likely the trial that it waits for was, too."""
MOST_BYTES = 2**29
"""Largest message; the length of a longer one is most likely text that user code wrote into the pipe."""


class TimeLimit(RecoverError):  # noqa: N818  (the name is stored in rows)
    """A trial took longer than its limit."""


class WorkerDied(RecoverError):  # noqa: N818
    """The process that ran a trial ended before the trial was done."""


class Closed(RecoverError):  # noqa: N818
    """The sweep has stopped, and ended its workers."""


_LOCK = Lock()
"""Held while a worker starts or is cleaned up after: other children of the fork server are then what workers left."""
_RUNNING = set[int]()
"""Process ids of the workers."""


class Worker:
    """A process that runs trials, and a pipe to it. One thread at a time may use it; any thread may call `kill`.

    Raises `RecoverError` if it cannot be started.
    """

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        reason = "the process that starts it has ended"
        with theirs, _LOCK:
            for _ in range(2):  # try twice, because the fork server may have been killed since the last call
                try:
                    self.pid, self._sentinel = start_process(Child(), theirs.fileno())
                    _RUNNING.add(self.pid)
                    return
                except (OSError, EOFError) as error:  # says nothing if the fork server has ended
                    reason = reason if isinstance(error, ConnectionError) else str(error) or reason
                stop_server()
        self._pipe.close()
        raise RecoverError(f"a worker process cannot start: {reason}; check TMPDIR, memory and `ulimit -a`")

    def run(self, job: Job, seconds: float | None) -> Iterator[tuple[Any, ...]]:
        """Send a job, and yield its messages.

        seconds: limit for each message, without time for compiling code and importing user code. Raises `TimeLimit`, or
        `WorkerDied` after the process has ended.
        """
        data, left, compiling = pickle.dumps(job), seconds, False
        try:
            self._pipe.send_bytes(data)
            while True:
                limit = COMPILE_SECONDS if compiling and seconds is not None else left
                (kind, *content), unused = self._receive(limit)
                if kind == "busy":
                    left, compiling = left if compiling else unused, content[0]
                else:
                    yield kind, *content
                    left, compiling = seconds, False
        except TimeoutError:
            raise TimeLimit(f"not done after {seconds:g} s") from None
        except (OSError, EOFError):
            status = self.end()
            manner = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
            raise WorkerDied(f"its process ended {manner}") from None

    def _receive(self, seconds: float | None) -> tuple[Any, float | None]:
        """Wait for a message, at most `seconds`; return it, and how many of them are left.

        Time in which this process is suspended does not count. Raises TimeoutError, or EOFError or OSError if the
        process is gone.
        """
        ends = list[Any]([self._pipe, self._sentinel])
        while True:
            clock, tick = time.monotonic(), TICK_SECONDS if seconds is None else min(seconds, TICK_SECONDS)
            ready = wait(ends, tick)
            took = time.monotonic() - clock
            counted = took if took < tick + TICK_SECONDS else 0.0
            seconds = None if seconds is None else max(seconds - counted, 0.0)
            if self._pipe in ready:
                try:
                    return pickle.loads(self._pipe.recv_bytes(MOST_BYTES)), seconds
                except (OSError, EOFError):
                    raise
                except Exception as error:  # user code has written into the pipe
                    raise EOFError from error
            if ready:  # the process has ended, or the fork server, which reports that, has ended
                ends = [self._pipe]
            if seconds == 0:
                raise TimeoutError
            if len(ends) == 1 or took >= tick:
                continue_process(None)
                if not continue_process(self.pid):
                    raise EOFError

    def kill(self) -> None:
        """Kill the process group of the process."""
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill the process and all that it started. Returns its exit status, or minus the signal that ended it."""
        with _LOCK:
            if self.pid not in _RUNNING:
                return -signal.SIGKILL
            status = self._status(0.0)
            self.kill()
            _RUNNING.discard(self.pid)
            self._pipe.close()
            continue_process(None)
            status = self._status(END_SECONDS) if status is None else status
            os.close(self._sentinel)
            kill_orphans(_RUNNING)
        return -signal.SIGKILL if status is None else status

    def _status(self, seconds: float) -> int | None:
        """Return the exit status once the process has ended; None if it does so later, or is not known."""
        with suppress(EOFError, OSError):
            if wait([self._sentinel], seconds):
                return read_signed(self._sentinel)
        return None


class WorkerPool:
    """Worker processes for several threads, started as they are needed and replaced when they are lost."""

    def __init__(self) -> None:
        self._lock, self._closed = Lock(), False
        self._idle, self._busy = list[Worker](), set[Worker]()

    def measure(self, trials: Sequence[Trial], timeout: float | None = None) -> list[Row]:
        """Run these trials in a worker process; return the rows of the first few, at least one.

        timeout: seconds of each trial. A trial that exceeds it has the status `timeout`. A trial whose process dies is
        run again in a new one; if that dies, too, its row has the status `killed`. Raises `Closed`, and `RecoverError`
        if no process can start.
        """
        rows, deaths = list[Row](), 0
        # with a time limit every row is sent at once, because the limit is for each row
        job = partial(run_trials, trials, SEND_SECONDS if timeout is None else 0.0)
        while not rows:
            begun, clock, worker = datetime.now(UTC), time.perf_counter(), self._take(new=deaths > 0)
            lost, usable = None, False
            try:
                for _, some, over in worker.run(job, timeout):
                    rows += some
                    if over:
                        break
                usable = True
            except TimeLimit as error:
                lost = failure("timeout", error)
            except WorkerDied as error:
                deaths += 1
                lost = failure("killed", error) if deaths == ATTEMPTS else None
            finally:
                self._return(worker, usable)
            if lost and not (rows or self._closed):
                seconds = time.perf_counter() - clock
                rows.append({"trial_id": trials[0].id, "started_at": begun, "seconds": seconds, **lost})
        return rows

    def _take(self, new: bool) -> Worker:
        """Return an idle process, or a new one."""
        with self._lock:
            if self._closed:
                raise Closed("the sweep has stopped")
            worker = self._idle.pop() if self._idle and not new else None
        worker = worker or Worker()
        with self._lock:
            self._busy.add(worker)
            if self._closed:
                worker.kill()
        return worker

    def _return(self, worker: Worker, usable: bool) -> None:
        with self._lock:
            self._busy.discard(worker)
            if usable and not self._closed:
                self._idle.append(worker)
                return
        worker.end()

    def end_idle(self) -> None:
        """End the idle processes: user code may change before the next trial."""
        with self._lock:
            while self._idle:
                self._idle.pop().end()

    def close(self) -> None:
        """End all processes. Threads that wait for one of them raise `Closed`."""
        with self._lock:
            self._closed = True
            for worker in self._busy:
                worker.kill()
        self.end_idle()


POOL = WorkerPool()
"""The workers of this process outside of a sweep: those that time a few trials, or run a cluster's share of them."""


@atexit.register
def end_processes() -> None:
    """End the idle workers and the fork server. The next worker starts them anew."""
    POOL.end_idle()
    with _LOCK:
        stop_server()


def ask(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a new process, and return its result.

    Raises the function's `ConfigError`; `ParameterError` for its other errors, and if user code ends the process.
    """
    worker = Worker()
    try:
        job = partial(call, partial(function, *arguments))
        result: T
        _, result, fault = next(worker.run(job, COMPILE_SECONDS))
    except (TimeLimit, WorkerDied) as error:
        raise ParameterError(f"the code that the config names cannot be used: {error}") from error
    finally:
        worker.end()
    if fault is not None:
        raise fault
    return result
