"""The code of the processes that run trials: the fork server, a supervisor for each worker, and the worker itself.

The sweep has a socket to each. When it ends, however it ends, its sockets close: each supervisor then kills its worker,
even one that never releases the interpreter, and everything that the worker started, also in other sessions.
"""

import ctypes
import gc
import math
import os
import pickle
import resource
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Thread
from typing import NoReturn

import numpy as np
import scipy

from recovery.compiled import compilation, load_numba
from recovery.config import Trial
from recovery.errors import RecoverError
from recovery.runner.fork_server import FORK_FOR_TRIALS, LOAD, PID_BYTES
from recovery.runner.messages import Answer, encode, encode_answer
from recovery.runner.trial import Row, failure, measure

KEPT_SHARE = 1 / 16
"""A worker under a memory limit that has grown by more than this share of it is replaced: what one trial may allocate
must not depend on the trials before it."""
STOPPED_SECONDS = 2.0
"""A worker that stays stopped for this long, while its supervisor runs, is killed."""
STOPPED_TICK = 0.05
SEND_SECONDS = 0.02
"""Rows after a job's first are sent together at this interval: sending each takes as long as a trivial trial."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PARENT_DEATH, _ADOPT_ORPHANS = 1, 36
"""PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of prctl, Linux."""

Job = Callable[[int], Iterator[bytes]]
"""A function that a worker runs, given its bytes of private memory while it was idle. It yields messages."""


class MemoryLimit(RecoverError):  # noqa: N818  (the name is stored in rows)
    """A trial allocated more memory than its limit."""


def serve_forks(descriptor: int) -> None:
    """Run the fork server: fork a supervisor for each pair of sockets received, until its own socket is closed.

    It waits for its supervisors, so that their processor time is counted, and kills what a killed supervisor leaves.
    Loaded modules are exempt from garbage collection, which would copy their memory in each fork.
    """
    gc.freeze()
    gc.enable()  # the command that started this fork server disabled it while modules were loaded
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _prctl(_ADOPT_ORPHANS, 1)
    supervisors = set[int]()
    signal.signal(signal.SIGCHLD, lambda number, frame: _reap(supervisors, os.WNOHANG))
    server = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, _, _ = socket.recv_fds(server, 1, 2)
        if not message:
            return _reap(supervisors, 0)
        if message in (LOAD, FORK_FOR_TRIALS):
            _ = scipy.linalg.lapack  # SciPy loads this module at its first use: load it here, once for all workers
            load_numba()
            gc.freeze()
        if message == LOAD:
            continue
        # delay SIGCHLD until the supervisor's process number is in `supervisors`
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        # os.fork fails without memory: the sockets are then closed below, which the sweep detects
        with suppress(OSError):
            supervisor = os.fork()
            if supervisor == 0:
                server.close()
                _supervise(*map(_socket, descriptors))
            supervisors.add(supervisor)
        for each in descriptors:
            os.close(each)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _reap(supervisors: set[int], options: int) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, options))[0]:
            supervisors.discard(ended[0])
            # a supervisor that was killed, or an orphan, ended: the processes that it started are children of this
            # process now
            if ended[1]:
                _kill(_children() - supervisors)


def _socket(descriptor: int) -> socket.socket:
    os.set_inheritable(descriptor, False)
    return socket.socket(fileno=descriptor)


def _supervise(control: socket.socket, data: socket.socket) -> NoReturn:
    """Fork a worker; when it has ended, kill everything that it started, send its exit status, and end."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        _prctl(_ADOPT_ORPHANS, 1)
        supervisor, worker = os.getpid(), os.fork()
        if worker == 0:
            _become_worker(control, data, supervisor)
        data.close()
        control.send(supervisor.to_bytes(PID_BYTES, "big"))
        Thread(target=_kill_on_request, args=(control, worker), daemon=True).start()
        status = _exit_status(worker)
        _kill_descendants()
        with suppress(OSError):  # the sweep may be gone: then nobody receives the status
            control.send(status.to_bytes(4, "big", signed=True))
    finally:
        os._exit(0)


def _kill_on_request(control: socket.socket, worker: int) -> None:
    control.recv(1)  # recv returns when the sweep shuts down its end of the socket, or is gone
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(worker, signal.SIGKILL)


def _exit_status(worker: int) -> int:
    """Wait for the worker to end; return its exit status, or minus its signal.

    A worker that stays stopped is killed. Time in which the supervisor is stopped as well does not count: all
    processes of the sweep are suspended then.
    """
    stopped_by, stopped_for = 0, 0.0
    while True:
        pid, status = os.waitpid(-1, os.WUNTRACED | os.WCONTINUED | (os.WNOHANG if stopped_by else 0))
        if pid == worker and os.WIFSTOPPED(status):
            stopped_by, stopped_for = os.WSTOPSIG(status), 0.0
        elif pid == worker and os.WIFCONTINUED(status):
            stopped_by = 0
        elif pid == worker:
            return os.waitstatus_to_exitcode(status)
        elif stopped_by and not pid:
            clock = time.monotonic()
            time.sleep(STOPPED_TICK)
            if time.monotonic() - clock < 10 * STOPPED_TICK:
                stopped_for += STOPPED_TICK
            if stopped_for >= STOPPED_SECONDS:
                _kill({worker})
                os.waitpid(worker, 0)
                return -stopped_by


def _kill_descendants() -> None:
    """Kill what the worker started. Its orphans are children of the supervisor by now, in whatever session."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        _kill(_children())
        time.sleep(0.001)


def _children() -> set[int]:
    """Return the processes whose parent is this one. A child stays one, dead or alive, until it is waited for."""
    parent, children = os.getpid(), set[int]()
    for entry in os.scandir("/proc") if sys.platform == "linux" else ():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                stat = Path("/proc", entry.name, "stat").read_text()
                if int(stat.rpartition(")")[2].split()[1]) == parent:
                    children.add(int(entry.name))
    return children


def _kill(pids: set[int]) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _become_worker(control: socket.socket, data: socket.socket, supervisor: int) -> NoReturn:
    try:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _prctl(_PARENT_DEATH, signal.SIGKILL)
        control.close()
        os.dup2(2, 1)  # redirect stdout to stderr, because what a trial prints is not output of the program
        if os.getppid() == supervisor:
            serve(data)
    finally:
        os._exit(0)


def serve(connection: socket.socket) -> None:
    """Read jobs (sys.path, working folder, job) until the other end is closed; send what each yields as lines."""
    me, idle, jobs = os.getpid(), _private_bytes(), connection.makefile("rb")

    def report(busy: bool, compiles: bool) -> None:
        """Tell the sweep that compilation, or the import of user code, begins or ends: it is not the trial's time."""
        if os.getpid() == me:
            send(connection, encode({"busy": busy, "compiles": compiles}))

    compilation.told = report
    while True:
        path, folder, job = pickle.load(jobs)
        sys.path[:] = path
        with suppress(OSError):
            os.chdir(folder)
        for message in job(idle):
            if os.getpid() != me:  # this is a process that a trial forked and that returned from the trial: end it
                os._exit(0)
            send(connection, message)


def send(connection: socket.socket, message: bytes) -> None:
    """Send one line. Raises OSError if the other end is closed."""
    connection.sendall(message + b"\n")


def call(function: Callable[[], object], idle: int) -> Iterator[bytes]:
    """Yield the encoded result of a function, which is plain data and arrays."""
    yield encode(function())


def run_trials(
    trials: Sequence[Trial], memory: int | None, seconds: float, interval: float, fresh: bool, idle: int
) -> Iterator[bytes]:
    """Yield answers with the rows of trials, the first row at once; after `seconds`, an answer without rows.

    memory: MiB that each trial may allocate. interval: seconds between answers after the first. fresh: no trial has run
    in this process. idle: bytes of private memory before its first trial.
    """
    began = time.perf_counter()
    rows, sent, in_time = list[Row](), -math.inf, True
    for trial in trials:
        in_time = time.perf_counter() - began <= seconds
        if not in_time:
            break
        with _restored() if trial.cell.own else nullcontext(), _limited(memory):
            row = measure(trial)
        out_of_memory = memory is not None and row.get("error_type") == "MemoryError"
        if not fresh and (out_of_memory or (trial.cell.own and row["status"] == "failed")):
            # an earlier trial in this process may be the cause: end without this trial's row, so that the trial runs
            # again in a new process
            yield encode_answer(Answer(rows, exhausted=True))
            return
        if out_of_memory:
            row |= failure("killed", MemoryLimit(f"it allocated more than {memory} MiB"))
        fresh = False
        rows.append(row)
        exhausted = memory is not None and _private_bytes() - idle > KEPT_SHARE * memory * 2**20
        if exhausted or time.perf_counter() - sent >= interval:
            yield encode_answer(Answer(rows, exhausted))
            rows, sent = [], time.perf_counter()
        if exhausted:
            return
    if rows:
        yield encode_answer(Answer(rows))
    if not in_time:
        yield encode_answer(Answer([]))


@contextmanager
def _restored() -> Iterator[None]:
    """Restore process state that user code may have changed, so that a row depends on its own trial alone."""
    errors, call, limit, environment = np.geterr(), np.geterrcall(), sys.getrecursionlimit(), dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    folder = os.open(".", os.O_RDONLY)
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
            with suppress(OSError):
                os.fchdir(folder)
                os.close(folder)


@contextmanager
def _limited(memory: int | None) -> Iterator[None]:
    """Let the private memory grow by `memory` MiB; further allocations raise MemoryError. Linux only."""
    if memory is None or sys.platform != "linux":
        yield
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (_private_bytes() + memory * 2**20, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, hard))


def _private_bytes() -> int:
    """Return the size of the process's private memory, as RLIMIT_DATA counts it; 0 if not on Linux."""
    if sys.platform != "linux":
        return 0
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
