"""Which cases of a test are for `make test`, where all have the same assertions and more of them only search longer."""

from collections.abc import Iterable
from typing import Any

import pytest


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """So many cases for `make test`, and the others for `make test-deep`."""
    every = list(cases)
    deep = [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.deep) for case in every]
    return [*every[:count], *deep[count:]]
