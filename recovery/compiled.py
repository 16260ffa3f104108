"""Functions compiled by Numba at their first call, with the machine code cached on disk.

On a new machine compiling takes up to half a minute, which must not count as the time of a trial: `compilation`
measures it, and notifies the process that waits for a trial when it begins and ends. Numba is imported only when it is
first needed.

Numba stores machine code beside the file of a function, or in the user's cache if that folder is not writable. It
ignores the machine code when this file changes, but not when a compiled function that is called from it changes in
another file: after an edit of such a function, such as `dot`, delete the `.nbi` files in the `__pycache__` folders.
"""

import os
import time
from collections.abc import Callable
from functools import cache, update_wrapper
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
SUMS_IN_ANY_ORDER = {"reassoc", "contract"}
"""Fast-math flags that let a sum use vector instructions: any order, and fused multiply-add."""


class Compilation:
    """The `seconds` of compiling and of importing user code, which no trial's time includes.

    told: called with True when either begins and with False when it ends.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.told: Callable[[bool], object] = bool
        self._depth = 0
        """Nesting: compiling a function compiles the functions that it calls."""

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self.told(True)
            self._clock = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._clock
            self.told(False)


compilation = Compilation()
"""The time that this process has spent compiling. `with compilation:` in user code excludes its compiling too."""


NUMBA_SETTINGS = ".numba_config.yaml"


def import_away_from(settings: str, library: str) -> None:
    """Import a library from the root folder if the current folder has the file `settings`, which the library reads.

    The current folder may be someone else's, and settings can make a library run code.
    """
    if not os.access(settings, os.F_OK):
        return
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir("/")
        import_module(library)
    finally:
        os.fchdir(here)
        os.close(here)


@cache
def load_numba() -> None:
    """Import Numba, and report everything that it compiles to `compilation`."""
    with compilation:
        import_away_from(NUMBA_SETTINGS, "numba")
        from numba.core import config, event
    # otherwise Numba would read settings from the current folder before each compilation
    config.reload_config = lambda: None

    class Listener(event.Listener):
        def on_start(self, event: object) -> None:
            compilation.__enter__()

        def on_end(self, event: object) -> None:
            compilation.__exit__()

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


class Compiled(Generic[P, R]):
    """A function that Numba compiles at its first call."""

    def __init__(self, function: Callable[P, R], options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        self._made: Callable[P, R] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return (self._made or self._make())(*args, **kwargs)

    def _make(self) -> Callable[P, R]:
        """Compile the function, and first the functions that it calls, which Numba looks up in its module."""
        if self._made is None:
            names = self._function.__globals__
            for name in self._function.__code__.co_names:
                if isinstance(called := names.get(name), Compiled):
                    names[name] = called._make()
            load_numba()
            from numba import njit

            try:
                self._made = njit(self._function, cache=True, **self._options)
            except RuntimeError:  # no folder for the machine code is writable, or the function has no file
                self._made = njit(self._function, **self._options)
        return self._made


def compiled(**options: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that compiles a function with these options of `numba.njit`, cached on disk if possible."""
    return lambda function: Compiled(function, options)


in_any_order = compiled(fastmath=SUMS_IN_ANY_ORDER)


@in_any_order
def dot(a: Any, b: Any) -> float:
    """Return the sum of a[k] * b[k] over the entries of a; b may be longer."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
