"""A few of the faults of the soak's part `faults`, one of each function in each scenario."""

import tempfile
from collections.abc import Iterator, Sequence
from errno import EPERM
from pathlib import Path

import pytest

from tests.needs import need_programs

from .one_fault import FUNCTIONS, SCENARIOS, Run, attack, built, commands, faults, prepared

pytestmark = pytest.mark.deep
WRONG = {"lost", "doubled", "traceback", "hang", "wrong"}
FEW = ("open", "write", "rename", "list")
"""Functions whose faults are tried in the deep suite; the soak tries each function."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    need_programs("a C compiler", "gcc")
    with commands(built(tmp_path_factory.mktemp("library") / "one_fault.so")) as run:
        yield run


@pytest.mark.parametrize(
    ("name", "functions"),
    [pytest.param(name, FEW, id=name) for name in SCENARIOS]
    + [pytest.param(name, FUNCTIONS, id=f"{name}, all", marks=pytest.mark.soak) for name in SCENARIOS],
)
def test_a_fault_of_each_function_loses_nothing(tmp_path: Path, name: str, functions: Sequence[str], run: Run) -> None:
    every = [fault.split()[0] for fault in faults(name, prepared(name, tmp_path, run)[0])]
    for function in functions:
        if function in every:
            with tempfile.TemporaryDirectory() as folder:
                found = attack(name, every.index(function), tmp_path, Path(folder), run)
            assert not WRONG & set(+found), found  # a call that this run does not make has no fault


def test_a_folder_that_may_not_be_listed_for_a_moment_loses_nothing(tmp_path: Path, run: Run) -> None:
    """`Path.glob` lists nothing then: a round that seemed missing was planned without end."""
    calls, _ = prepared("rounds", tmp_path, run)
    every = faults("rounds", calls)
    for n in range(calls["list"], calls["list"] // 2, -2):
        with tempfile.TemporaryDirectory() as folder:
            found = attack("rounds", every.index(f"list {n} {EPERM} 0"), tmp_path, Path(folder), run)
        assert not WRONG & set(+found), (n, found)
