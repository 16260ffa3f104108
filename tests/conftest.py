"""Settings of all tests: no deadlines, and a summary of the tools that are missing."""

import gc
import sys
from typing import Any

import pytest
from threadpoolctl import threadpool_limits
from xdist import is_xdist_controller

from .needs import waiting

HEAVY = {"browser", "slurm", "wheel"}
"""Fixtures that start a browser or daemons, or build a package."""
LONG = {"demo", "wheel"}
"""Fixtures that install the program. Their tests come first: at the end, one worker would run them alone."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Prepare a process that imports tests, which the one that distributes them does not do."""
    if is_xdist_controller(session):
        return
    # until all tests are imported: imports leave little garbage, and collecting takes a tenth of their time
    gc.disable()
    from hypothesis import settings

    settings.register_profile("untimed", deadline=None)
    settings.load_profile("untimed")
    sys.modules["jax"] = None  # type: ignore[assignment]  # CVXPY imports it where it is, which takes longer than CVXPY
    import cvxpy  # noqa: F401

    del sys.modules["jax"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Put each test with a heavy fixture into the deep suite, and the longest tests before all others."""
    for item in items:
        if HEAVY.intersection(item.fixturenames):
            item.add_marker(pytest.mark.deep)
    items.sort(key=lambda item: LONG.isdisjoint(item.fixturenames))


@pytest.fixture(scope="session")
def shipped_sweeps() -> list[Any]:
    """All shipped sweeps, which take a second to load."""
    from recovery.config import load_shipped

    return load_shipped()


def pytest_collection_finish() -> None:
    """Use one BLAS thread in this process, as workers do: threads that wait for a core spin, which triples the time.

    Processes that the tests start are not limited. At this point the libraries of NumPy and SciPy are loaded. Freezing
    spares the garbage collector the half a million objects of the imports.
    """
    threadpool_limits(1, user_api="blas")
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the missing tools, the number of tests that need them, and how to install them."""
    skipped = terminalreporter.stats.get("skipped", [])
    for line in waiting(report.longrepr[2] for report in skipped):
        terminalreporter.write_line(line)
