"""Handles on other processes: the fork server, and the worker processes that it starts.

The fork server imports the program once. For each worker it forks a supervisor, which forks the worker process itself
and cleans up after it; `worker` has the code that runs in these three. A fork takes milliseconds, the imports seconds.
multiprocessing has a fork server, too. It runs the user's script again in each worker, cannot be given an environment,
and is the parent of all workers: a trial that kills or stops its parent costs the trials of the others.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import wait
from threading import Lock, Thread

from recovery.errors import RecoverError

PID_BYTES = 8
FORK, FORK_FOR_TRIALS, LOAD = b"f", b"t", b"l"
"""Requests to the fork server: fork a worker, fork one once all that trials need is loaded, load that."""
START_SECONDS = 120.0
"""Seconds that a worker may take to start, the imports of the fork server included."""
END_SECONDS = 10.0
"""Seconds that a supervisor may take to end its worker before it is killed."""
SERVER_END_SECONDS = 1.0
"""Seconds to wait for the end of the fork server, so that its processor time is added to this process's."""
TICK_SECONDS = 1.0
"""A wait is counted in pieces of at most this length. A piece that takes longer by this much is not counted: this
process was suspended, and most likely the trial that it waits for was, too."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MALLOC_SETTINGS = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}
"""The largest values that glibc reaches by itself. With lower ones a trial returns its arrays to the system and asks
for them again, which takes a twentieth of a small trial's time."""


def worker_environment() -> dict[str, str]:
    """Return environment variables for workers: one BLAS thread, malloc's settings, this process's module path."""
    path = os.pathsep.join(path for path in sys.path if path)
    return {**dict.fromkeys(THREAD_VARIABLES, "1"), **MALLOC_SETTINGS, "PYTHONPATH": path}


def start_python(
    code: str, folder: str | None = None, output: int | None = None, **environment: str
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start Python code, in which {} is the descriptor of a socket. Returns the other end of it, and the process.

    The process has its own session: a signal from the terminal is for the process that stores the rows.
    """
    ours, theirs = socket.socketpair()
    with theirs, ExitStack() as unstarted:
        unstarted.enter_context(ours)
        process = subprocess.Popen(
            [sys.executable, "-c", code.format(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **worker_environment(), **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            start_new_session=True,
        )
        unstarted.pop_all()
    return ours, process


@contextmanager
def environment_restored(names: Iterable[str]) -> Iterator[None]:
    """Context that restores the values of these environment variables at its end."""
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


class WorkerProcess:
    """A worker process and its supervisor. One thread at a time may use it; any thread may call `kill`.

    data: jobs go to the worker, and lines come back. control: when it is shut down, the supervisor ends the worker and
    sends its exit status.
    """

    def __init__(self, data: socket.socket, control: socket.socket, supervisor: int) -> None:
        self._data, self._control, self._supervisor = data, control, supervisor
        self._received = bytearray()
        self._poll = select.poll()
        for end in (data, control):
            self._poll.register(end, select.POLLIN)

    def send(self, job: bytes) -> None:
        """Send a pickled job. Raises OSError if the worker is gone."""
        self._data.sendall(job)

    def receive(self, seconds: float | None) -> tuple[bytes, float | None]:
        """Wait for a line; return it, and how many of the seconds are left.

        Time in which this process is suspended does not count. Raises TimeoutError, or another OSError if the worker is
        gone.
        """
        while (end := self._received.find(b"\n")) < 0:
            clock, tick = time.monotonic(), min(seconds or 0.0, TICK_SECONDS)
            ready = dict(self._poll.poll(None if seconds is None else 1000 * tick))
            took = time.monotonic() - clock
            if seconds is not None and took < tick + TICK_SECONDS:
                seconds = max(seconds - took, 0.0)
            part = self._data.recv(2**20) if self._data.fileno() in ready else b""
            if ready and not part:
                raise ConnectionError("the worker is gone")
            if seconds == 0 and not part:
                raise TimeoutError
            self._received += part
        line = bytes(memoryview(self._received)[:end])
        del self._received[: end + 1]
        return line, seconds

    def kill(self) -> None:
        """Have the supervisor kill the worker and everything that it started. Returns at once."""
        with suppress(OSError):
            os.kill(self._supervisor, signal.SIGCONT)  # continue the supervisor, because a trial may have stopped it
            self._control.shutdown(socket.SHUT_WR)

    def end(self, patience: float = 0.0) -> int:
        """Wait `patience` seconds for the worker to end, then kill it. Returns its exit status, or minus its signal.

        Everything that it started is gone afterwards. May be called again.
        """
        self._data.close()
        status = b""
        with self._control as control, suppress(OSError):
            control.settimeout(END_SECONDS)
            if not wait([control], patience):
                self.kill()
            try:
                status = control.recv(4)
            except TimeoutError:
                os.kill(self._supervisor, signal.SIGKILL)
        # if no status arrives, the supervisor was killed, and the worker with it
        return int.from_bytes(status, "big", signed=True) if status else -signal.SIGKILL


class ForkServer:
    """The process that forks the workers of this process. It starts with the first; threads may share it."""

    def __init__(self) -> None:
        self._server: tuple[socket.socket, subprocess.Popen[bytes]] | None = None
        self._lock = Lock()
        self._has_forked = False

    def begin(self) -> None:
        """Start the fork server before it is needed. An error is reported later, by `start_worker`."""
        with self._lock, suppress(OSError):
            self._started()

    def load(self) -> None:
        """Let the fork server, if it has started, load what trials need while this process does something else."""
        with self._lock, suppress(OSError):
            if self._server is not None:
                self._server[0].send(LOAD)

    def start_worker(self, runs_trials: bool = True) -> WorkerProcess:
        """Start a worker process. Raises `RecoverError` if none can be started."""
        for _ in range(2):  # try twice, because the fork server may have been killed since the last call
            (control, their_control), (data, their_data) = socket.socketpair(), socket.socketpair()
            with their_control, their_data, self._lock, suppress(OSError):
                server, process = self._started()
                self._has_forked = True
                process.send_signal(signal.SIGCONT)  # continue the fork server, because a trial may have stopped it
                descriptors = [their_control.fileno(), their_data.fileno()]
                socket.send_fds(server, [FORK_FOR_TRIALS if runs_trials else FORK], descriptors)
            with suppress(OSError):
                control.settimeout(START_SECONDS)
                if supervisor := control.recv(PID_BYTES):
                    return WorkerProcess(data, control, int.from_bytes(supervisor, "big"))
            control.close()
            data.close()
            status = self.end(kill=True)
        raise RecoverError(f"a worker process cannot start: the process that starts it ended with status {status}")

    def end(self, kill: bool = False) -> int | None:
        """End the fork server once its workers have ended, or at once if it had none or `kill` is set.

        Returns its exit status, or None if it still waits for workers or did not run.
        """
        with self._lock:
            if self._server is None:
                return None
            (server, process), self._server = self._server, None
            server.close()
            if kill or not self._has_forked:
                process.kill()
            self._has_forked = False
            with suppress(subprocess.TimeoutExpired):
                return process.wait(SERVER_END_SECONDS)
            return None

    def _started(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        if self._server is None:
            code = "import gc; gc.disable(); from recovery.runner.worker import serve_forks; serve_forks({})"
            self._server = start_python(code, folder="/")
            # reap the server when it ends, so that it does not stay a zombie
            Thread(target=self._server[1].wait, daemon=True).start()
        return self._server


FORK_SERVER = ForkServer()
"""The fork server of this process."""
