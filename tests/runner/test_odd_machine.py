"""Whole sweeps, workers and all, where the clock goes back and where files cannot be linked."""

import random
import subprocess
import time
from pathlib import Path

import pytest

from recovery.store import read
from tests.needs import need_programs

from .kills import COMMAND, ended, kill_and_resume, start, stored_ids
from .sweeps import assert_undisturbed, write_config

pytestmark = pytest.mark.deep
DAY = 86_400


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Environment in which new processes run on the simulated machine."""
    need_programs("a C compiler", "gcc")
    library = tmp_path / "odd_machine.so"
    source = Path(__file__).with_name("odd_machine.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    return monkeypatch


def test_a_clock_that_goes_back_and_forth_costs_no_row(tmp_path: Path, machine: pytest.MonkeyPatch) -> None:
    clock, out = tmp_path / "clock", tmp_path / "out"
    clock.write_text("0")
    machine.setenv("CLOCK_OFF_BY", str(clock))
    config = write_config(tmp_path, method={"seconds": 0.1}, replicates=10)
    process = start(config, "--out", out, "--jobs", 1, "--max-time", 300, "--trial-timeout", 60)
    for jump in (-400 * DAY, 400 * DAY, -DAY):
        before = set(stored_ids(out))
        while process.poll() is None and set(stored_ids(out)) == before:
            time.sleep(0.05)
        clock.write_text(str(jump))
    ended(process)
    began = read(out).frame["started_at"]
    assert (began.max() - began.min()).days > 300
    said = subprocess.run([*COMMAND[:-1], "status", out], capture_output=True, text=True, check=True).stdout
    assert "60 of 60 trials stored, 0 missing" in said
    assert_undisturbed(config, out, jobs=2, backend="threading")


def test_kills_lose_nothing_where_files_cannot_be_linked(tmp_path: Path, machine: pytest.MonkeyPatch) -> None:
    machine.setenv("NO_LINKS", "1")
    (tmp_path / "file").touch()
    refused = subprocess.run(["ln", "file", "link"], cwd=tmp_path, capture_output=True, text=True)
    assert "Operation not permitted" in refused.stderr
    slow, out = tmp_path / "slow", tmp_path / "out"
    method = {"act": "linger", "seconds": 0.02, "path": str(slow)}
    config = write_config(tmp_path, method=method, replicates=200)
    kill_and_resume(config, out, 6, random.Random(2), slow=slow, compacting=True)
    assert_undisturbed(config, out, jobs=2, backend="threading")
    assert not [*out.rglob("*.tmp"), *out.rglob(".*.lock")]


def test_sweeps_that_start_at_once_agree_on_each_round_where_files_cannot_be_linked(
    tmp_path: Path, machine: pytest.MonkeyPatch
) -> None:
    machine.setenv("NO_LINKS", "1")
    sampling = {"kind": "until", "rule": "threshold +-0.4"}
    config = write_config(
        tmp_path, method={"act": "transition"}, sampling=sampling, axes={"n": [2, 4, 6, 8, 10, 12], "d": [3]}
    )
    out = tmp_path / "out"
    processes = [start(config, "--out", out, "--jobs", 1, "--quiet") for _ in range(4)]
    for process in processes:
        ended(process)
    assert_undisturbed(config, out)
