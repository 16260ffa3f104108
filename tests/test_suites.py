"""Every test is in exactly one suite, CI runs both that it can, and what a machine lacks is said."""

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from .needs import HOW_TO_HAVE

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "tests").rglob("*.py"))
SUITES = dict(
    re.findall(r"^(test|test-deep|soak): .*\n\t.*\$\(PYTEST\).* -m (.*)$", (ROOT / "Makefile").read_text(), re.M)
)
"""The command that runs a suite -> the marks of its tests."""


def test_every_combination_of_marks_is_in_one_suite() -> None:
    assert set(SUITES) == {"test", "test-deep", "soak"}
    for deep, soak in product([False, True], repeat=2):
        chosen = [name for name, marks in SUITES.items() if eval(marks.strip("'"), {"deep": deep, "soak": soak})]
        assert len(chosen) == 1, (deep, soak)


def test_ci_runs_lint_and_the_two_suites_once() -> None:
    called = re.findall(r"^make (\w\S*)", (ROOT / ".ci" / "run").read_text(), re.M)
    assert called == ["lint", "test", "test-deep"]


def test_a_test_may_wait_only_for_a_tool_that_is_named_with_how_to_have_it() -> None:
    """`lacking` fails under CI; a bare `pytest.skip` would pass unseen."""
    bare = re.compile(r"pytest\.skip\(|importorskip|mark\.skip|collect_ignore")
    assert [path.name for path in FILES if bare.search(path.read_text())] == ["needs.py", "test_suites.py"]


@pytest.mark.deep
@pytest.mark.parametrize("ci", [False, True])
def test_without_slurm_its_tests_wait_and_ci_fails(tmp_path: Path, ci: bool) -> None:
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "tests/runner/test_slurm.py"]
    environment = os.environ | {"PATH": str(tmp_path), "CI": str(ci).lower()}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == ci, done.stdout
    assert (f" wait for SLURM: {HOW_TO_HAVE['SLURM']}" in done.stdout) != ci
    assert ("CI lacks SLURM" in done.stdout) == ci
