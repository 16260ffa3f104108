"""The processes between the sweep and the trials: the fork server, and a supervisor for every worker process.

The fork server imports the program, once for all workers, and forks supervisors. A supervisor runs no trial itself: it
forks a worker process, which does (`worker_process`). A fork takes milliseconds, where the imports take seconds, so a
new worker process costs little. When one is gone, by whatever hand, its supervisor ends everything that it started,
also what left its process group, says how it ended, and can fork the next.
"""

import ctypes
import gc
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import scipy

from recovery.compiled import load_numba
from recovery.runner.fork_server import LOAD, PID_BYTES, TRIALS
from recovery.runner.worker_process import serve

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PARENT_DEATH, _ADOPT_ORPHANS = 1, 36
"""PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER of prctl, Linux."""


def serve_forks(descriptor: int) -> None:
    """The fork server: a supervisor, in a session of its own, for each socket that it is sent, until its own is closed.

    Where none can be forked the socket is closed, which says so. It waits for its supervisors: their time is counted.
    It ends a supervisor that a trial has stopped, and all that one which is gone has left. What it has loaded is kept
    from garbage collection, which would copy it for each fork.
    """
    gc.freeze()
    gc.enable()  # was off while modules were loaded
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _prctl(_ADOPT_ORPHANS, 1)
    supervisors = set[int]()
    signal.signal(signal.SIGCHLD, lambda number, frame: _reap(supervisors, os.WNOHANG))
    control = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return _reap(supervisors, 0)
        if message in (LOAD, TRIALS):
            _ = scipy.linalg.lapack  # is loaded when first asked for, here once for all
            load_numba()  # too
            gc.freeze()
        if message == LOAD:
            continue
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # until it is known to be a supervisor
        with suppress(OSError):
            supervisor = os.fork()
            if supervisor == 0:
                control.close()
                _become_supervisor(descriptors[0])
            supervisors.add(supervisor)
        os.close(descriptors[0])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _reap(supervisors: set[int], options: int) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, options | os.WUNTRACED))[0]:
            pid, status = ended
            if os.WIFSTOPPED(status):
                os.kill(pid, signal.SIGKILL)
            else:
                supervisors.discard(pid)
                for orphan in _children() - supervisors:
                    with suppress(OSError):
                        os.kill(orphan, signal.SIGKILL)


def _become_supervisor(descriptor: int) -> NoReturn:
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.set_inheritable(descriptor, False)
        supervise(descriptor)
    finally:
        os._exit(0)


def supervise(descriptor: int) -> None:
    """A supervisor: a worker process for every socket that it is sent, one at a time, until its own is closed."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _prctl(_ADOPT_ORPHANS, 1)
    control = socket.socket(fileno=descriptor)
    awake, wake = socket.socketpair()
    for end in (awake, wake):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    control.send(os.getpid().to_bytes(PID_BYTES, "big"))
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            return
        if not descriptors:  # a request to end a worker process that had just ended
            continue
        worker = os.fork()
        if worker == 0:
            _become_worker([control, awake, wake], descriptors[0])
        os.close(descriptors[0])
        status = _wait(worker, control, awake)
        with suppress(OSError):  # nobody is there to read it: the next message is the end
            control.send(status.to_bytes(4, "big", signed=True))


def _wait(worker: int, control: socket.socket, awake: socket.socket) -> int:
    """The exit status of the worker (minus its signal), when it and all that it started are gone."""
    while True:
        ready, _, _ = select.select([control, awake], [], [])
        if awake in ready:
            awake.recv(4096)
        if control in ready:
            control.recv(1)  # a request to end it; at the end of the socket, `supervise` sees the same
            _end(worker)
            _, status = os.waitpid(worker, 0)
            _end_descendants()
            return os.waitstatus_to_exitcode(status)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG | os.WUNTRACED))[0]:
                pid, status = ended
                if pid == worker:
                    stopped = os.WIFSTOPPED(status)
                    _end(worker)
                    if stopped:
                        os.waitpid(worker, 0)
                    _end_descendants()
                    return -os.WSTOPSIG(status) if stopped else os.waitstatus_to_exitcode(status)


def _end(worker: int) -> None:
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(worker, signal.SIGKILL)


def _end_descendants() -> None:
    """End what the worker started: orphans of it are children of the supervisor by now."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for child in _children():
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)


def _children() -> set[int]:
    """The processes whose parent this one is: a child stays one, dead or alive, until it is waited for."""
    me, children = os.getpid(), set[int]()
    for entry in os.scandir("/proc") if sys.platform == "linux" else ():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                stat = Path("/proc", entry.name, "stat").read_text()
                if int(stat.rpartition(")")[2].split()[1]) == me:
                    children.add(int(entry.name))
    return children


def _become_worker(inherited: Sequence[socket.socket], descriptor: int) -> NoReturn:
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


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)
