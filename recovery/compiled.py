"""Functions compiled by Numba at their first call, their code kept on disk.

On a new machine that takes seconds, up to twenty: no trial is to be blamed for it. `compilation` tells
what it has taken, and whoever waits for a trial when it begins and ends.
"""

import time
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
SUMS_IN_ANY_ORDER = {"reassoc", "contract"}
"""What lets a sum use the processor's vectors: its order, and products within it that are not rounded."""


class Compilation:
    """What compiling has taken of this process: seconds of `wall` time and of `processor` time.

    told: called with True when it begins and with False when it ends.
    """

    def __init__(self) -> None:
        self.wall = self.processor = 0.0
        self.told: Callable[[bool], None] = lambda busy: None
        self._depth = 0
        """One function compiles those that it calls."""

    def begin(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self.told(True)
            self._clocks = time.perf_counter(), time.process_time()

    def end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            wall, processor = self._clocks
            self.wall += time.perf_counter() - wall
            self.processor += time.process_time() - processor
            self.told(False)


compilation = Compilation()
"""That of this process."""


@cache
def _listen() -> None:
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            compilation.begin()

        def on_end(self, event: object) -> None:
            compilation.end()

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


def compiled(**options: Any) -> Callable[[F], F]:
    """A decorator that compiles a function with these options of `numba.njit`.

    The code is kept on disk where some folder can be written.
    """
    from numba import njit

    _listen()

    def decorate(function: F) -> F:
        try:
            return njit(function, cache=True, **options)
        except RuntimeError:  # no such folder
            return njit(function, **options)

    return decorate
