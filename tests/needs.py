"""Tools that tests need, and how to install them. CI installs all of them, so there no test may be skipped."""

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

import pytest

HOW_TO_HAVE = {
    "a C compiler": "apt-get install gcc",
    "Chromium": "apt-get install chromium chromium-driver",
    "JAX": "pip install jax",
    "LaTeX": "apt-get install texlive-latex-base texlive-pictures",
    "Node": "apt-get install nodejs npm",
    "SLURM": "apt-get install slurm-wlm munge",
    "root": "run the tests as root, in a container for example",
}
NEEDS = "needs "


def lacking(tool: str) -> NoReturn:
    """Skip the test that needs this tool; under CI, fail it."""
    assert tool in HOW_TO_HAVE
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI lacks {tool}: {HOW_TO_HAVE[tool]}")
    pytest.skip(NEEDS + tool)


def need_programs(tool: str, *names: str) -> None:
    if any(shutil.which(name) is None for name in names):
        lacking(tool)


def need_root() -> None:
    if os.geteuid():
        lacking("root")


def waiting(reasons: Iterable[str]) -> list[str]:
    """Return the summary lines for tests that were skipped for these reasons."""
    tools = Counter(reason.partition(NEEDS)[2] or reason for reason in reasons)
    if not tools:
        return []
    lines = [f"{tools.total()} tests wait for tools that this machine lacks; the others ran. To have them:"]
    width = len(str(max(tools.values())))
    for tool, count in tools.most_common():
        lines.append(f"  {count:{width}} wait for {tool}: {HOW_TO_HAVE.get(tool, 'see the test')}")
    return lines
