"""The fork server as the sweep sees it: started once, asked for supervisors; `supervisor` has what runs in it."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from threading import Lock, Thread

from recovery.errors import RecoverError

PID_BYTES = 8
TRIALS, QUESTIONS, LOAD = b"t", b"q", b"l"
"""What a supervisor is asked for to do; and the fork server, to load what trials need before one is asked for."""
START_SECONDS = 120.0
"""A supervisor that has not started by then, imports and all, never will."""
END_SECONDS = 1.0
"""What a process waits at its end for the fork server, whose time is then counted as its own."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MALLOC_SETTINGS = {"MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**26)}
"""glibc's own upper bounds, from the start: else each trial hands its arrays back to the system and asks for them anew,
which is a twentieth of a small trial's time."""


def worker_environment() -> dict[str, str]:
    """What a process that runs trials needs: one BLAS thread, and the modules that this process can import."""
    path = os.pathsep.join(path for path in sys.path if path)
    return {**dict.fromkeys(THREAD_VARIABLES, "1"), **MALLOC_SETTINGS, "PYTHONPATH": path}


class ForkServer:
    """The process that forks this one's supervisors, started when the first is asked for; for several threads."""

    def __init__(self) -> None:
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()
        self._asked = self._for_trials = False

    def begin(self, runs_trials: bool = True) -> None:
        """Start it before it is needed, and for trials or not; where it cannot, a supervisor that is asked for says
        why."""
        with self._lock, suppress(OSError):
            if self._control is None:
                self._control, self._process = self._start()
                self._for_trials = runs_trials

    def load(self) -> None:
        """Have it load what trials need, if they follow, while this process does something else."""
        with self._lock, suppress(OSError):
            if self._control is not None and self._for_trials:
                self._control.send(LOAD)

    def supervisor(self, runs_trials: bool = True) -> tuple[socket.socket, int]:
        """Our end of the socket to a new supervisor, and its process id; what trials need is loaded for trials alone.

        Raises `RecoverError` where none can start.
        """
        for _ in range(2):  # the fork server may have been killed since
            ours, theirs = socket.socketpair()
            with theirs, self._lock, suppress(OSError):
                if self._control is None:
                    self._control, self._process = self._start()
                self._asked = True
                socket.send_fds(self._control, [TRIALS if runs_trials else QUESTIONS], [theirs.fileno()])
            ours.settimeout(START_SECONDS)
            with suppress(OSError):
                if pid := ours.recv(PID_BYTES):
                    ours.settimeout(None)
                    if not runs_trials:
                        self.load()
                    return ours, int.from_bytes(pid, "big")
            ours.close()
            status = self.end(kill=True)
        raise RecoverError(f"a worker process cannot start: what starts it ended with status {status}")

    def end(self, kill: bool = False) -> int | None:
        """End it when its supervisors have ended, or at once if it has none. Returns its exit status, None while it
        waits."""
        with self._lock:
            if self._control is None or self._process is None:
                return None
            self._control.close()
            self._control = None
            if kill or not self._asked:
                self._process.kill()
            self._asked = self._for_trials = False
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(END_SECONDS)
            return None

    def _start(self) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        ours, theirs = socket.socketpair()
        load = "import gc; gc.disable(); from recovery.runner.supervisor import serve_forks"
        with theirs, ExitStack() as unstarted:
            unstarted.enter_context(ours)
            process = subprocess.Popen(
                [sys.executable, "-c", f"{load}; serve_forks({theirs.fileno()})"],
                pass_fds=[theirs.fileno()],
                env={**os.environ, **worker_environment()},
                stdin=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # a signal from the terminal is for the process that stores the rows
            )
            unstarted.pop_all()
        Thread(target=process.wait, daemon=True).start()  # so that it leaves no zombie
        return ours, process


FORK_SERVER = ForkServer()
"""This process's."""
