"""Stopping on request: signals and the time budget end the wait for rows, never the storing of them."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, TypeVar

from recovery.errors import RecoverError

RESUMABLE = 75
"""Exit status of a run that stopped early and goes on when called again (EX_TEMPFAIL)."""

T = TypeVar("T")


class StopRequested(BaseException):
    """Raised out of the wait for rows; not an `Exception`, so that no trial takes it for a failure of its own."""


class Stop:
    """While entered, SIGINT, SIGTERM, SIGHUP and SIGUSR1, and the end of `max_time` seconds, ask to stop.

    Until the first `wait` for rows, and in every later one, that raises `StopRequested` on the spot; in between, when
    rows are at stake, at the next `wait`, and while `held`, at its end. A second SIGINT ends the process at once;
    parts are whole or absent at every moment. Raises `RecoverError` in another thread than the main one.
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
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # not under nohup
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

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """In this block, the end of so many seconds asks to stop, too; after it, that is no reason any more."""
        reason = f"its time of {seconds:g} s is over"
        left, began = signal.getitimer(signal.ITIMER_REAL)[0], time.monotonic()
        if 0 < left <= seconds:
            yield
            return
        before = signal.signal(signal.SIGALRM, self._handler(reason))
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            if self.reason == reason:
                self.reason = None
            if left:
                signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 1e-3))

    def request(self, reason: str) -> None:
        """Ask to stop, from another thread."""
        self.reason = self.reason or reason
        signal.pthread_kill(main_thread().ident or 0, signal.SIGUSR1)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nothing interrupt imports: compiled modules make other errors of it."""
        self._interruptible = False
        try:
            yield
        finally:
            self._interruptible = True
        if self.reason is not None:
            raise StopRequested(self.reason)

    def wait(self, results: Iterator[T]) -> T | None:
        """The next result, None at the end. Raises `StopRequested` as soon as a stop is asked for."""
        self._interruptible = True
        try:
            if self.reason is not None:
                raise StopRequested(self.reason)
            return next(results, None)
        finally:
            self._interruptible = False
