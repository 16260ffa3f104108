"""The processes in which supervised trials run.

The nursery imports the program, once for all workers, and forks keepers. A keeper runs no trial itself: it forks a
runner, which does. A fork takes milliseconds, where the imports take seconds, so a new runner costs little. When a
runner is gone, by whatever hand, its keeper ends everything that it started, also what left its process group, says how
it ended, and can fork the next.
"""

import ctypes
import os
import pickle
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

import scipy

from recovery.compiled import compilation
from recovery.config import Trial
from recovery.errors import RecoverError
from recovery.runner.frames import receive, send
from recovery.runner.trial import Row, failure, measure

KEPT_SHARE = 1 / 16
"""A runner under a memory limit that keeps more than this share of it after a trial is replaced: what one trial may
take must not depend on those before it."""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PARENT_DEATH, _ADOPT_ORPHANS = 1, 36
"""PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of prctl, Linux."""


class MemoryLimit(RecoverError):  # noqa: N818  (the name is what a row says)
    """A trial asked for more memory than it may."""


class Task(NamedTuple):
    """What a runner is asked: trials, one after another until the time is up; at least one is run.

    memory: MiB that each may take beyond the idle process.
    """

    trials: Sequence[Trial]
    memory: int | None
    seconds: float


class Answer(NamedTuple):
    """Rows of the first trials of a task. worn: the runner wants to be replaced before the next."""

    rows: list[Row]
    worn: bool = False
    unreadable: Row | None = None
    """What went wrong where the task could not be read."""


class Compiling(NamedTuple):
    """Said before the answer: the runner begins to compile code (`busy`), or has ended. The time is not the trial's."""

    busy: bool


def nurse(descriptor: int) -> None:
    """The nursery's life: a keeper, in a session of its own, for every socket that it is sent, until its own is closed.

    Where none can be forked the socket is closed, which says so. It waits for its keepers: what they took is counted.
    """
    _ = scipy.linalg.lapack  # is loaded when first asked for, here once for all
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda number, frame: _reap(os.WNOHANG))
    control = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return _reap(0)
        with suppress(OSError):
            if os.fork() == 0:
                control.close()
                _become_keeper(descriptors[0])
        os.close(descriptors[0])


def _reap(options: int) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _become_keeper(descriptor: int) -> NoReturn:
    try:
        os.setsid()
        os.set_inheritable(descriptor, False)
        keep(descriptor)
    finally:
        os._exit(0)


def keep(descriptor: int) -> None:
    """The keeper's life: a runner for every socket that it is sent, one at a time, until its own is closed."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _prctl(_ADOPT_ORPHANS, 1)
    control = socket.socket(fileno=descriptor)
    awake, wake = socket.socketpair()
    for end in (awake, wake):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    control.send(b"+")
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if not descriptors:  # a request to end a runner that had just ended
            continue
        runner = os.fork()
        if runner == 0:
            _become_runner([control, awake, wake], descriptors[0])
        os.close(descriptors[0])
        status = _wait(runner, control, awake)
        with suppress(OSError):  # nobody is there to read it: the next message is the end
            control.send(status.to_bytes(4, "big", signed=True))


def _wait(runner: int, control: socket.socket, awake: socket.socket) -> int:
    """The exit status of the runner (minus its signal), when it and all that it started are gone."""
    while True:
        ready, _, _ = select.select([control, awake], [], [])
        if awake in ready:
            awake.recv(4096)
        if control in ready:
            control.recv(1)  # a request to end it; at the end of the socket, `keep` sees the same
            _end(runner)
            _, status = os.waitpid(runner, 0)
            _end_descendants()
            return os.waitstatus_to_exitcode(status)
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                pid, status = found
                if pid == runner:
                    stopped = os.WIFSTOPPED(status)
                    _end(runner)
                    if stopped:
                        os.waitpid(runner, 0)
                    _end_descendants()
                    return -os.WSTOPSIG(status) if stopped else os.waitstatus_to_exitcode(status)


def _end(runner: int) -> None:
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(runner, signal.SIGKILL)


def _end_descendants() -> None:
    """End what the runner started: orphans of it are children of the keeper by now."""
    me = os.getpid()
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with suppress(OSError, ValueError, IndexError):
                    stat = Path("/proc", entry.name, "stat").read_text()
                    if int(stat.rpartition(")")[2].split()[1]) == me:
                        os.kill(int(entry.name), signal.SIGKILL)
        time.sleep(0.001)


def _become_runner(inherited: Sequence[socket.socket], descriptor: int) -> NoReturn:
    try:
        signal.set_wakeup_fd(-1)
        for number in (*_IGNORED, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _prctl(_PARENT_DEATH, signal.SIGKILL)
        for end in inherited:
            end.close()
        os.set_inheritable(descriptor, False)
        os.dup2(2, 1)  # what a trial prints is no result of the program
        serve(socket.socket(fileno=descriptor))
    finally:
        os._exit(0)


def serve(connection: socket.socket) -> None:
    """The runner's life: receive (sys.path, working folder, task), send its rows, until the other end is gone."""
    me, fresh, idle = os.getpid(), True, 0

    def tell(busy: bool) -> None:
        if os.getpid() == me:
            send(connection, pickle.dumps(Compiling(busy)))

    compilation.told = tell
    while True:
        try:
            data = receive(connection)
        except OSError:
            return
        try:
            path, folder, task_data = pickle.loads(data)
            sys.path[:] = path
            with suppress(OSError):
                os.chdir(folder)
            task: Task = pickle.loads(task_data)
        except BaseException as error:
            send(connection, pickle.dumps(Answer([], unreadable=failure("failed", error))))
            continue
        if fresh:
            idle = _private_bytes()
        answer = _run(task, fresh, idle, me, folder)
        fresh = False
        send(connection, pickle.dumps(answer))


def _run(task: Task, fresh: bool, idle: int, me: int, folder: str) -> Answer:
    began, rows = time.perf_counter(), list[Row]()
    for trial in task.trials:
        if task.memory is not None:
            _limit_memory(task.memory)
        row = measure(trial)
        if os.getpid() != me:  # a process that the method forked, and that came back
            os._exit(0)
        if task.memory is not None:
            _limit_memory(None)
            if row.get("error_type") == "MemoryError":
                if not fresh:
                    return Answer(rows, worn=True)
                row |= failure("killed", MemoryLimit(f"it asked for more than {task.memory} MiB"))
        fresh = False
        rows.append(row)
        if task.memory is not None and _private_bytes() - idle > KEPT_SHARE * task.memory * 2**20:
            return Answer(rows, worn=True)
        if time.perf_counter() - began > task.seconds:
            break
    with suppress(OSError):
        os.chdir(folder)
    return Answer(rows)


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


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)
