"""Split of the cases of a test between `make test` and `make test-deep`; all cases have the same assertions."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases, the first `count` for `make test` and the others marked for `make test-deep`."""
    every = list(cases)
    return [*every[:count], *map(_deep, every[count:])]


def _deep(case: Any) -> Any:
    """Mark a case as deep: a value, a tuple of values or a `pytest.param` without marks."""
    if not isinstance(case, type(pytest.param())):
        case = pytest.param(*(case if isinstance(case, tuple) else (case,)))
    return pytest.param(*case.values, marks=pytest.mark.deep, id=case.id)
