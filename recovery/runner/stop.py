"""Stop on request: signals and the time budget interrupt the wait for rows, never their storage."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, TypeVar

from recovery.errors import RecoverError

RESUMABLE = 75
"""Exit status of a sweep that stopped early and continues when it is called again (EX_TEMPFAIL)."""

T = TypeVar("T")


class StopRequested(BaseException):
    """A request to stop, raised during the wait for rows. Not an `Exception`, so that no trial fails with it."""


class Stop:
    """A context in which SIGINT, SIGTERM, SIGHUP and SIGUSR1, and the end of `max_time` seconds, request a stop.

    `StopRequested` is raised at once before the first `wait` for rows and during each `wait`. Between waits, when rows
    could be lost, it is raised at the next `wait`; within `held`, at its end. A SIGINT after another request ends the
    process at once, which is safe because stored files are complete or absent at every moment. Raises `RecoverError`
    outside the main thread.
    """

    def __init__(self, max_time: float | None = None) -> None:
        self.reason: str | None = None
        self._max_time = max_time
        self._interruptible = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Stop":
        if current_thread() is not main_thread():
            raise RecoverError("a sweep runs in the main thread, the only one that a signal can stop; call it there")
        reasons = {number: number.name for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores SIGHUP: leave it ignored
            reasons[signal.SIGHUP] = "SIGHUP: the terminal was closed"
        if self._max_time is not None:
            reasons[signal.SIGALRM] = f"the time budget of {self._max_time:g} s"
        self._before = {number: signal.signal(number, self._handler(reason)) for number, reason in reasons.items()}
        if self._max_time is not None:
            signal.setitimer(signal.ITIMER_REAL, max(self._max_time, 1e-3))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handler(self, reason: str) -> Callable[[int, FrameType | None], None]:
        def handle(number: int, frame: FrameType | None) -> None:
            if number == signal.SIGINT and self.reason is not None:
                os._exit(RESUMABLE)
            self.reason = self.reason or reason
            if self._interruptible:
                self._interruptible = False
                raise StopRequested(self.reason)

        return handle

    def request(self, reason: str) -> None:
        """Request a stop from another thread."""
        self.reason = self.reason or reason
        signal.pthread_kill(main_thread().ident or 0, signal.SIGUSR1)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Delay requests during imports, because compiled modules turn an interruption into other errors."""
        self._interruptible = False
        try:
            yield
        finally:
            self._interruptible = True
        if self.reason is not None:
            raise StopRequested(self.reason)

    def wait(self, results: Iterator[T]) -> T | None:
        """Return the next result, or None at the end. Raises `StopRequested` as soon as a stop is requested."""
        self._interruptible = True
        try:
            if self.reason is not None:
                raise StopRequested(self.reason)
            return next(results, None)
        finally:
            self._interruptible = False
