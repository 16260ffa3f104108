import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from numba import njit

from recovery.compiled import compilation, load_numba
from recovery.config import load
from recovery.errors import RecoverError
from recovery.runner import fork_server, supervised
from recovery.runner.fork_server import ForkServer
from recovery.runner.supervised import Limits, Worker
from recovery.types import Array

from .sweeps import rows, sweep, write_config


def config_with(tmp_path: Path, *acts: str, **method: Any) -> Path:
    """Four trials of each act, some of each in a batch."""
    axes = {"n": [4, 5], "method.act": list(acts)}
    return write_config(tmp_path, method={"path": str(tmp_path / "flag"), **method}, axes=axes, d=2, replicates=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_hanging_trial_is_a_row_and_the_sweep_goes_on(tmp_path: Path, jobs: int) -> None:
    summary = sweep(config_with(tmp_path, "measure", "hang"), tmp_path / "out", jobs, limits=Limits(seconds=0.5))
    assert summary.stored == {"ok": 4, "timeout": 4}
    late = rows(tmp_path / "out", drop=()).query("status == 'timeout'")
    assert set(late["method.act"]) == {"hang"}
    assert set(late["error_message"]) == {"not done after 0.5 s"}
    assert (late["seconds"] >= 0.5).all()
    assert late["recovered"].isna().all()


def test_compiling_is_no_part_of_a_trials_time(tmp_path: Path) -> None:
    summary = sweep(config_with(tmp_path, "compile"), tmp_path / "out", limits=Limits(seconds=0.5))
    assert summary.stored == {"ok": 4}
    assert (rows(tmp_path / "out", drop=())["seconds"] < 0.5).all()


def test_a_trial_that_compiles_has_no_more_time_than_others(tmp_path: Path) -> None:
    """It takes 0.3 s before it compiles and 0.3 s after that."""
    config = config_with(tmp_path, "compile", seconds=0.3)
    assert sweep(config, tmp_path / "out", limits=Limits(seconds=0.5)).stored == {"timeout": 4}


def test_importing_the_users_module_is_no_part_of_a_trials_time(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"kind": "slow_to_import:Fake"}, axes={"n": [4, 5]}, d=2, replicates=1)
    text = (tmp_path / "fake_methods.py").read_text()
    (tmp_path / "slow_to_import.py").write_text(f"{text}\n\ntime.sleep(1.5)\n")
    assert sweep(config, tmp_path / "out", limits=Limits(seconds=0.5)).stored == {"ok": 2}


def test_numba_says_when_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    told, wall = list[bool](), compilation.wall
    monkeypatch.setattr(compilation, "told", told.append)
    load_numba()  # it listens from now on
    told.clear()
    square = njit(lambda x: x * x)  # not kept on disk, as that of `compiled` is
    assert [square(2.0), square(3.0)] == [4.0, 9.0]
    assert told == [True, False]
    assert compilation.wall > wall


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_trial_out_of_memory_is_a_row(tmp_path: Path, jobs: int) -> None:
    summary = sweep(config_with(tmp_path, "measure", "grab"), tmp_path / "out", jobs, limits=Limits(memory=512))
    assert summary.stored == {"ok": 4, "killed": 4}
    killed = rows(tmp_path / "out").query("status == 'killed'")
    assert set(killed["method.act"]) == {"grab"}
    assert set(killed["error_message"]) == {"it asked for more than 512 MiB"}


def test_a_trial_within_its_memory_is_measured(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"act": "grab"}, axes={"n": [4]}, d=2, replicates=1)
    assert sweep(config, tmp_path / "out", limits=Limits(memory=1200)).stored == {"ok": 1}


def test_a_trial_that_kills_its_worker_every_time_is_a_row_and_costs_no_other(tmp_path: Path) -> None:
    sweep(config_with(tmp_path, "measure"), tmp_path / "undisturbed")
    summary = sweep(config_with(tmp_path, "measure", "die"), tmp_path / "out", jobs=2)
    assert summary.stored == {"ok": 4, "killed": 4}
    found = rows(tmp_path / "out")
    killed = found.query("status == 'killed'")
    assert set(killed["method.act"]) == {"die"}
    assert set(killed["error_message"]) == {"its process ended with status 9"}
    pd.testing.assert_frame_equal(found.query("status == 'ok'"), rows(tmp_path / "undisturbed"))


@pytest.mark.parametrize("limits", [Limits(), Limits(seconds=60)])
def test_a_worker_that_dies_once_leaves_no_trace(tmp_path: Path, limits: Limits) -> None:
    summary = sweep(config_with(tmp_path, "measure", "die_once"), tmp_path / "out", jobs=2, limits=limits)
    assert (tmp_path / "flag").exists()
    assert summary.stored == {"ok": 8}


def test_supervised_rows_are_the_same(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    sweep(config, tmp_path / "plain")
    sweep(config, tmp_path / "supervised", limits=Limits(seconds=60, memory=1000))
    pd.testing.assert_frame_equal(rows(tmp_path / "supervised"), rows(tmp_path / "plain"))


def test_a_fork_server_that_begins_early_serves_or_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unused = ForkServer()
    unused.begin()
    unused.load()
    assert unused.end() == -signal.SIGKILL
    server = ForkServer()
    monkeypatch.setattr(supervised, "FORK_SERVER", server)
    server.begin()
    assert server._process is not None
    began = server._process.pid
    assert supervised.ask(_told) == ({"two": 2}, {})
    server.load()
    trials = list(load(config_with(tmp_path, "measure")).trials())
    worker = Worker()
    try:
        assert [row["status"] for row in worker.measure(trials[:1], Limits())] == ["ok"]
        assert server._process.pid == began
    finally:
        worker.close()
        worker.dispose()
    assert server.end() == 0


def _told() -> tuple[dict[str, int], dict[str, Array]]:
    return {"two": 2}, {}


def test_workers_start_and_go_on_though_their_fork_server_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ForkServer()
    monkeypatch.setattr(supervised, "FORK_SERVER", server)
    trials = list(load(config_with(tmp_path, "measure")).trials())
    first, second = Worker(), Worker()
    try:
        assert [row["status"] for row in first.measure(trials[:1], Limits())] == ["ok"]
        assert server._process is not None
        (supervisor,) = _children(server._process.pid)
        server._process.kill()
        assert [row["status"] for row in second.measure(trials[1:2], Limits())] == ["ok"]
        assert [row["status"] for row in first.measure(trials[2:3], Limits())] == ["ok"]
        assert os.getsid(supervisor) == supervisor
    finally:
        for worker in (first, second):
            worker.close()
            worker.dispose()
        server.end()


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"])
def test_a_worker_that_cannot_start_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(sys, "executable", program)
    gc.collect()  # what others have left
    before = len(list(Path("/proc/self/fd").iterdir()))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(RecoverError, match="cannot start"):
            ForkServer().supervisor()
        gc.collect()
    assert [str(warning.message) for warning in warned] == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_worker_that_cannot_start_says_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RecoverError, match="ended with status 1"):
        ForkServer().supervisor()


def _children(parent: int) -> list[int]:
    return [int(pid) for pid in subprocess.run(["pgrep", "-P", str(parent)], capture_output=True).stdout.split()]


@pytest.mark.parametrize("before", ["strict", "spoil"])
def test_a_trial_changes_nothing_for_those_after_it(tmp_path: Path, before: str) -> None:
    """The cheapest goes first, so that the trial that changes something has all others behind it."""
    config = config_with(tmp_path, before, "divide")
    trials = sorted(load(config).trials(), key=lambda trial: trial.cell.coordinates["method.act"] == "divide")
    worker = Worker()
    measured = list[dict[str, Any]]()
    while len(measured) < len(trials):
        measured += worker.measure(trials[len(measured) :], Limits())
    worker.close()
    worker.dispose()
    assert [row["status"] for row in measured] == ["ok"] * 8, measured


@pytest.mark.parametrize("act", ["stop_supervisor", pytest.param("stop_servers", marks=pytest.mark.deep)])
def test_a_trial_that_stops_the_processes_above_it_costs_its_own_row_at_most(
    tmp_path: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ForkServer()
    monkeypatch.setattr(supervised, "FORK_SERVER", server)
    monkeypatch.setattr(supervised, "_idle", [])
    monkeypatch.setattr(supervised, "END_SECONDS", 2.0)
    monkeypatch.setattr(fork_server, "START_SECONDS", 40.0)  # a stopped fork server is waited for so long
    try:
        assert sweep(config_with(tmp_path, act, "measure"), tmp_path / "out").stored == {"ok": 8}
    finally:
        for worker in supervised._idle:
            worker.close()
            worker.dispose()
        server.end(kill=True)


def test_what_a_killed_supervisor_leaves_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = ForkServer()
    monkeypatch.setattr(supervised, "FORK_SERVER", server)
    worker = Worker()
    config = write_config(tmp_path, method={"act": "leave_and_linger", "path": str(tmp_path / "pid")})
    trial = next(iter(load(config).trials()))
    try:
        rows = worker.measure([trial], Limits())
        assert rows[0]["status"] == "killed"
        orphan = int((tmp_path / "pid").read_text())
        deadline = time.monotonic() + 20
        while Path("/proc", str(orphan)).exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not Path("/proc", str(orphan)).exists()
    finally:
        worker.close()
        worker.dispose()
        server.end(kill=True)
