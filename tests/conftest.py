"""What all tests share: none is judged by the time that it takes, and what could not run is said at the end."""

import gc
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from .needs import waiting

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

HEAVY = {"browser", "slurm", "wheel"}
"""Fixtures that start a browser or daemons, or build a package."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Function]) -> None:
    """A test that takes a heavy fixture is in the deep suite, marked or not."""
    for item in items:
        if HEAVY.intersection(item.fixturenames):
            item.add_marker(pytest.mark.deep)


def pytest_collection_finish() -> None:
    """One BLAS thread in this process, as every worker of a sweep has: two that wait for a core spin and take thrice
    the time. Processes that the tests start are left as they are. By now NumPy's and SciPy's libraries are loaded.

    What the imports have made is kept: the collector of garbage would look at half a million objects again and again.
    """
    threadpool_limits(1, user_api="blas")
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The tools that the machine lacks, how many tests wait for them, and how to have them."""
    skipped = terminalreporter.stats.get("skipped", [])
    for line in waiting(report.longrepr[2] for report in skipped):
        terminalreporter.write_line(line)
