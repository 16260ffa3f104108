"""Functions compiled by Numba at their first call, their code kept on disk.

On a new machine that takes seconds, up to twenty: no trial is to be blamed for it. `compilation` tells
what it has taken, and whoever waits for a trial when it begins and ends. Numba is imported then too: what compiles
nothing does not wait for it.
"""

import time
from collections.abc import Callable
from functools import cache, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
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
def load_numba() -> None:
    """Import Numba, and let `compilation` hear of what it compiles."""
    compilation.begin()
    try:
        from numba.core import event
    finally:
        compilation.end()

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            compilation.begin()

        def on_end(self, event: object) -> None:
            compilation.end()

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


class Compiled(Generic[P, R]):
    """A function that is given to Numba when it is first called."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        self._made: Callable[P, R] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return (self._made or self._make())(*args, **kwargs)

    def _make(self) -> Callable[P, R]:
        """Numba looks up what a function calls among the names of its module: there it must meet its own."""
        if self._made is None:
            names = self._function.__globals__
            for name in self._function.__code__.co_names:
                if isinstance(called := names.get(name), Compiled):
                    names[name] = called._make()
            load_numba()
            from numba import njit

            try:
                self._made = njit(self._function, cache=True, **self._options)
            except RuntimeError:  # no folder that can be written
                self._made = njit(self._function, **self._options)
        return self._made


def compiled(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that compiles a function with these options of `numba.njit`.

    The code is kept on disk where some folder can be written.
    """
    return lambda function: Compiled(function, options)
