"""Functions compiled by Numba at their first call, their code kept on disk."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
SUMS_IN_ANY_ORDER = {"reassoc", "contract"}
"""What lets a sum use the processor's vectors: its order, and products within it that are not rounded."""


def compiled(**options: Any) -> Callable[[F], F]:
    """A decorator that compiles a function with these options of `numba.njit`.

    The code is kept on disk where some folder can be written.
    """

    def decorate(function: F) -> F:
        try:
            return njit(function, cache=True, **options)
        except RuntimeError:  # no such folder
            return njit(function, **options)

    return decorate
