"""Functions compiled by Numba at their first call, their code kept on disk."""

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numpy.typing import NDArray

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


@compiled()
def copy(a: NDArray[Any], b: NDArray[Any]) -> None:
    """b = a for arrays of one axis. In compiled code, `b[:] = a` takes five seconds to compile: it words its error."""
    for i in range(len(a)):
        b[i] = a[i]
