"""Which cases of a test are for `make test`, where all have the same assertions and more of them only search longer."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """So many cases for `make test`, and the others for `make test-deep`."""
    every = list(cases)
    return [*every[:count], *map(_deep, every[count:])]


def _deep(case: Any) -> Any:
    """The case, a value, a tuple of values or a `pytest.param` without marks, for the deep suite."""
    if not isinstance(case, type(pytest.param())):
        case = pytest.param(*(case if isinstance(case, tuple) else (case,)))
    return pytest.param(*case.values, marks=pytest.mark.deep, id=case.id)
