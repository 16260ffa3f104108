"""Faults of single system calls in each scenario: one of a few functions, and in the soak 120 of all."""

import tempfile
from collections.abc import Iterable, Iterator
from errno import EPERM
from pathlib import Path

import pytest

from tests.needs import need_programs

from .one_fault import SCENARIOS, Run, attack, built, commands, faults, prepared

pytestmark = pytest.mark.deep
WRONG = {"lost", "doubled", "traceback", "hang", "wrong"}
FEW = ("open", "write", "rename", "list")
"""Functions whose faults are tried in the deep suite."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    need_programs("a C compiler", "gcc")
    with commands(built(tmp_path_factory.mktemp("library") / "one_fault.so")) as run:
        yield run


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_of_a_function_loses_nothing(tmp_path: Path, name: str, run: Run) -> None:
    every = [fault.split()[0] for fault in faults(name, prepared(name, tmp_path, run)[0])]
    assert_harmless(name, [every.index(function) for function in FEW if function in every], tmp_path, run)


@pytest.mark.soak
@pytest.mark.parametrize("name", SCENARIOS)
def test_random_faults_lose_nothing(tmp_path: Path, name: str, run: Run) -> None:
    assert_harmless(name, range(120), tmp_path, run)


def assert_harmless(name: str, chosen: Iterable[int], base: Path, run: Run) -> None:
    for index in chosen:
        with tempfile.TemporaryDirectory() as folder:
            found = attack(name, index, base, Path(folder), run)
        assert not WRONG & set(+found), (index, found)  # a call that this run does not make has no fault


def test_a_folder_that_may_not_be_listed_for_a_moment_loses_nothing(tmp_path: Path, run: Run) -> None:
    """`Path.glob` lists nothing then: a round that seemed missing was planned without end."""
    calls, _ = prepared("rounds", tmp_path, run)
    every = faults("rounds", calls)
    chosen = [every.index(f"list {n} {EPERM} 0") for n in range(calls["list"], calls["list"] // 2, -2)]
    assert_harmless("rounds", chosen, tmp_path, run)
