"""A few of the faults of the soak's part `faults`, one of each function in each scenario."""

import tempfile
from errno import EPERM
from pathlib import Path

import pytest

from tests.needs import need_programs

from .one_fault import FUNCTIONS, SCENARIOS, attack, built, commands, faults, prepared

pytestmark = pytest.mark.deep
WRONG = {"lost", "doubled", "traceback", "hang", "wrong"}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_of_each_function_loses_nothing(tmp_path: Path, name: str) -> None:
    need_programs("a C compiler", "gcc")
    with commands(built(tmp_path / "one_fault.so")) as run:
        every = [fault.split()[0] for fault in faults(name, prepared(name, tmp_path, run)[0])]
        for function in FUNCTIONS:
            if function in every:
                with tempfile.TemporaryDirectory() as folder:
                    found = attack(name, every.index(function), tmp_path, Path(folder), run)
                assert not WRONG & set(+found), found  # a call that this run does not make has no fault


def test_a_folder_that_may_not_be_listed_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    """`Path.glob` lists nothing then: a round that seemed missing was planned without end."""
    need_programs("a C compiler", "gcc")
    with commands(built(tmp_path / "one_fault.so")) as run:
        calls, _ = prepared("rounds", tmp_path, run)
        every = faults("rounds", calls)
        for n in range(calls["list"], calls["list"] // 2, -2):
            with tempfile.TemporaryDirectory() as folder:
                found = attack("rounds", every.index(f"list {n} {EPERM} 0"), tmp_path, Path(folder), run)
            assert not WRONG & set(+found), (n, found)
