"""The code of the processes that run trials, and of the fork server that starts them.

The fork server is multiprocessing's. It imports this module once and forks a process per worker, which takes
milliseconds. Importing this module elsewhere changes nothing; `preload` sets the fork server up.
"""

import ctypes
import math
import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from recovery.compiled import compilation
from recovery.config import ConfigError, Trial
from recovery.errors import ParameterError, RecoverError
from recovery.runner.batches import BATCH_LIMIT
from recovery.runner.server import SIGNALS
from recovery.runner.trial import Row, measure

SEND_SECONDS = 0.02
"""Rows after a job's first are sent together at this interval: sending each takes as long as a trivial trial."""
_SIGNAL_OF_PARENT, _ADOPT_ORPHANS = 1, 36
"""PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of prctl, Linux."""

Job = Callable[[], Iterator[tuple[Any, ...]]]
"""A function that a process runs. It yields messages: `rows`, or the `result` of a call."""


def adopt_orphans() -> None:
    """Let processes whose parent has ended become children of this process, in whatever session (Linux).

    When its own parent ends, this process is continued if it is stopped, because it has to end these children.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)
        ctypes.CDLL(None).prctl(_SIGNAL_OF_PARENT, signal.SIGCONT)


class Child:
    """What the fork server runs in a new process: the jobs that arrive through a pipe until its other end is closed."""

    def _bootstrap(self, parent_sentinel: int) -> int:
        """Run the process; multiprocessing calls this and ends the process with the status that it returns."""
        os.setsid()
        adopt_orphans()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(2, 1)  # redirect stdout to stderr, because what a trial prints is not output of the program
        server: Any = forkserver._forkserver
        tracker: Any = resource_tracker._resource_tracker
        os.close(server._forkserver_alive_fd)  # the fork server ends with the sweep, not with this process
        os.close(tracker._fd)  # what user code writes into any file must not reach the sweep's resource tracker
        (descriptor,) = server.get_inherited_fds()
        server.__init__()
        tracker.__init__()
        with suppress(EOFError, OSError):
            serve(Connection(descriptor))
        os._exit(0)  # at once, whatever user code has registered


def serve(pipe: Connection) -> None:
    """Run the jobs that come through the pipe, and send the messages of each."""
    me = os.getpid()

    def tell(busy: bool) -> None:
        """Tell the sweep that compilation, or the import of user code, begins or ends: it is not the trial's time."""
        if os.getpid() == me:
            pipe.send(("busy", busy))

    compilation.told = tell
    while True:
        for message in pickle.loads(pipe.recv_bytes())():
            if os.getpid() != me:  # this is a process that a trial forked and that returned from the trial: end it
                os._exit(0)
            pipe.send(message)


def call(function: Callable[[], object]) -> Iterator[tuple[Any, ...]]:
    """Yield the message `result` with what a function returns and None, or with None and its `RecoverError`."""
    try:
        yield "result", function(), None
    except ConfigError as error:
        yield "result", None, error
    except RecoverError as error:  # perhaps of a class of user code, which the other process cannot read
        yield "result", None, ParameterError(str(error))


def run_trials(trials: Sequence[Trial], interval: float) -> Iterator[tuple[Any, ...]]:
    """Yield messages of rows, the first at once, each with whether it is the job's last, also because time is up.

    interval: seconds between messages after the first.
    """
    began, sent, rows = time.perf_counter(), -math.inf, list[Row]()
    for trial in trials:
        with _restored() if trial.cell.own else nullcontext():
            rows.append(measure(trial))
        now = time.perf_counter()
        over = trial is trials[-1] or now - began > BATCH_LIMIT
        if over or now - sent >= interval:
            yield "rows", rows, over
            rows, sent = [], now
        if over:
            return


@contextmanager
def _restored() -> Iterator[None]:
    """Restore process state that user code may have changed, so that a row depends on its own trial alone."""
    limit, environment, path = sys.getrecursionlimit(), dict(os.environ), [*sys.path]
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    folder = os.open(".", os.O_RDONLY)
    with warnings.catch_warnings(), np.errstate():
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
            sys.path[:] = path
            if dict(os.environ) != environment:
                os.environ.clear()
                os.environ.update(environment)
            with suppress(OSError):
                os.fchdir(folder)
                os.close(folder)
