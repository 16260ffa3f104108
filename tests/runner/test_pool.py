"""Trials that hang, die or change their process: each costs its own row at most."""

import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest
from numba import njit

from recovery.compiled import compilation, load_numba
from recovery.config import load
from recovery.errors import RecoverError
from recovery.runner.pool import Worker, WorkerPool, ask
from recovery.runner.server import SERVER, stop_server
from recovery.store import read
from tests.own_method import write_method
from tests.suites import first

from .kills import ended, start
from .sweeps import rows, sweep, write_config


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with closing(WorkerPool()) as pool:
        yield pool


def config_with(tmp_path: Path, *acts: str, **method: Any) -> Path:
    """A config of four trials of each act, some of each in a batch."""
    axes = {"n": [4, 5], "method.act": list(acts)}
    return write_config(tmp_path, method={"path": str(tmp_path / "flag"), **method}, axes=axes, d=2, replicates=2)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_hanging_trial_is_a_row_and_the_sweep_goes_on(tmp_path: Path, jobs: int) -> None:
    summary = sweep(config_with(tmp_path, "measure", "hang"), tmp_path / "out", jobs, timeout=0.5)
    assert summary.stored == {"ok": 4, "timeout": 4}
    late = rows(tmp_path / "out", drop=()).query("status == 'timeout'")
    assert set(late["method.act"]) == {"hang"}
    assert set(late["error_message"]) == {"not done after 0.5 s"}
    assert (late["seconds"] >= 0.5).all()
    assert late["recovered"].isna().all()


def test_time_for_compilation_is_not_counted(tmp_path: Path) -> None:
    summary = sweep(config_with(tmp_path, "compile"), tmp_path / "out", timeout=0.5)
    assert summary.stored == {"ok": 4}
    assert (rows(tmp_path / "out", drop=())["seconds"] < 0.5).all()


def test_a_trial_that_compiles_has_no_more_time_than_others(tmp_path: Path) -> None:
    """It takes 0.3 s before it compiles and 0.3 s after that."""
    config = config_with(tmp_path, "compile", seconds=0.3)
    assert sweep(config, tmp_path / "out", timeout=0.5).stored == {"timeout": 4}


def test_time_for_the_import_of_user_code_is_not_counted(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"kind": "slow_to_import:Fake"}, axes={"n": [4, 5]}, d=2, replicates=1)
    text = (tmp_path / "fake_methods.py").read_text()
    (tmp_path / "slow_to_import.py").write_text(f"{text}\n\ntime.sleep(1.5)\n")
    assert sweep(config, tmp_path / "out", timeout=0.5).stored == {"ok": 2}


def test_the_compilation_of_any_numba_function_is_counted() -> None:
    load_numba()
    before = compilation.seconds
    square = njit(lambda x: x * x)  # not stored on disk, as `compiled` does
    assert square(2.0) == 4.0
    once = compilation.seconds
    assert once > before
    assert square(3.0) == 9.0
    assert compilation.seconds == once


def test_a_trial_that_kills_its_worker_every_time_is_a_row_and_costs_no_other(tmp_path: Path) -> None:
    sweep(config_with(tmp_path, "measure"), tmp_path / "undisturbed")
    summary = sweep(config_with(tmp_path, "measure", "die"), tmp_path / "out", jobs=2)
    assert summary.stored == {"ok": 4, "killed": 4}
    found = rows(tmp_path / "out")
    killed = found.query("status == 'killed'")
    assert set(killed["method.act"]) == {"die"}
    assert set(killed["error_message"]) == {"its process ended with status 9"}
    pd.testing.assert_frame_equal(found.query("status == 'ok'"), rows(tmp_path / "undisturbed"))


@pytest.mark.parametrize("timeout", [None, 60])
def test_a_worker_that_dies_once_leaves_no_trace(tmp_path: Path, timeout: float | None) -> None:
    summary = sweep(config_with(tmp_path, "measure", "die_once"), tmp_path / "out", jobs=2, timeout=timeout)
    assert (tmp_path / "flag").exists()
    assert summary.stored == {"ok": 8}


def test_workers_survive_the_end_of_the_fork_server_and_the_next_one_has_a_new_one(tmp_path: Path) -> None:
    trials = list(load(config_with(tmp_path, "measure")).trials())
    with closing(WorkerPool()) as first, closing(WorkerPool()) as second:
        assert ask(divmod, 7, 2) == (3, 1)
        assert [row["status"] for row in first.measure(trials[:1])] == ["ok"]
        server = SERVER._forkserver_pid
        assert os.getsid(server) == server
        assert "SigBlk:\t0000000000000000" in Path(f"/proc/{server}/status").read_text()
        os.kill(server, signal.SIGKILL)
        assert [row["status"] for row in second.measure(trials[1:2])] == ["ok"]
        assert [row["status"] for row in first.measure(trials[2:3])] == ["ok"]
        assert SERVER._forkserver_pid != server


def test_a_worker_that_cannot_start_is_an_error_and_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_server()
    monkeypatch.setattr("multiprocessing.spawn.get_executable", lambda: b"/bin/false")
    gc.collect()  # what other tests have left
    before = len(list(Path("/proc/self/fd").iterdir()))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(RecoverError, match=r"cannot start: .*check TMPDIR"):
            Worker()
        stop_server()
        gc.collect()
    assert [str(warning.message) for warning in warned] == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_trial_changes_nothing_for_those_after_it(tmp_path: Path, pool: WorkerPool) -> None:
    config = config_with(tmp_path, "strict", "divide")
    trials = sorted(load(config).trials(), key=lambda trial: trial.cell.coordinates["method.act"] == "divide")
    measured = list[dict[str, Any]]()
    while len(measured) < len(trials):
        measured += pool.measure(trials[len(measured) :])
    assert [row["status"] for row in measured] == ["ok"] * 8, measured


@pytest.mark.parametrize("act", ["stop_server", "stop_self"])
def test_a_trial_that_stops_the_processes_above_it_costs_its_own_row_at_most(tmp_path: Path, act: str) -> None:
    assert sweep(config_with(tmp_path, act, "measure"), tmp_path / "out").stored == {"ok": 8}


def test_what_a_trial_leaves_in_another_session_is_killed(tmp_path: Path, pool: WorkerPool) -> None:
    config = write_config(tmp_path, method={"act": "leave", "path": str(tmp_path / "pid")})
    (row,) = pool.measure([next(iter(load(config).trials()))])
    assert row["status"] == "killed"
    assert gone([int((tmp_path / "pid").read_text())])


def gone(pids: list[int]) -> bool:
    """Wait until these processes are gone, for at most 20 s."""
    deadline = time.monotonic() + 20
    while (left := [pid for pid in pids if Path("/proc", str(pid)).exists()]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not left


def running_trial(tmp_path: Path, act: str, seconds: float, *options: object) -> subprocess.Popen[str]:
    """A sweep of one trial that has just begun."""
    flag = tmp_path / "flag"
    method = {"act": act, "path": str(flag), "seconds": seconds}
    config = write_config(tmp_path, method=method, axes={"n": [4]}, d=2, replicates=1)
    process = start(config, "--out", tmp_path / "out", "--jobs", 1, "--quiet", *options)
    while not flag.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("suspended", first(1, [True, False]))
def test_a_killed_sweep_ends_a_trial_that_never_releases_the_interpreter(tmp_path: Path, suspended: bool) -> None:
    process = running_trial(tmp_path, "hold", 3600)
    family = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    assert len(family) == 3  # the fork server, multiprocessing's resource tracker and the worker
    for pid in [process.pid, *family] if suspended else []:
        if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes():  # it has nothing to end
            os.kill(pid, signal.SIGSTOP)
    process.kill()
    process.wait()
    assert gone(family)
    process.communicate()


@pytest.mark.parametrize("worker_first", first(1, [True, False]))
def test_the_suspension_of_all_processes_is_not_the_trials_time(tmp_path: Path, worker_first: bool) -> None:
    process = running_trial(tmp_path, "announce", 1, "--trial-timeout", 3)
    parent = psutil.Process(process.pid)
    family = [parent, *parent.children(recursive=True)]  # a process comes before those that it started
    for member in reversed(family) if worker_first else family:
        member.suspend()
        time.sleep(0.2)
    time.sleep(4)
    for member in family:
        with suppress(psutil.NoSuchProcess):  # the sweep has continued the worker, and ended it
            member.resume()
        time.sleep(0.2)
    ended(process)
    assert set(rows(tmp_path / "out")["status"]) == {"ok"}
    assert (tmp_path / "flag").read_text().split() == [str(family[-1].pid)]  # it ran once


# Random choices of a user's method: one generator per trial.

DRAWS = """
if self.act == "rng":
    first, second = instance.rng.standard_normal(), instance.rng.standard_normal()
else:
    first, second = (instance.streams.training.standard_normal() for _ in range(2))
return Measurement(gap=first, objective=second)
"""


def test_a_stream_gives_equal_draws_and_one_generator_gives_new_numbers(tmp_path: Path) -> None:
    kind = write_method(tmp_path / "draws.py", DRAWS, "gap", "objective", name="Draws", members="act: str = 'rng'")
    axes = {"n": [4], "method.act": ["rng", "streams"]}
    config = write_config(tmp_path, method={"kind": kind}, architecture="relu_skip", axes=axes, d=2)
    out = tmp_path / "out"
    line = [sys.executable, "-m", "recovery.cli", "sweep", str(config), "--out", str(out), "--jobs", "1"]
    subprocess.run(line, text=True, capture_output=True, check=True)
    frame = read(out).frame.sort_values("replicate").groupby("method.act")[["gap", "objective"]]
    pairs = {act: list(part.itertuples(index=False, name=None)) for act, part in frame}
    assert len({number for pair in pairs["rng"] for number in pair}) == 8
    assert pairs["streams"] == [(first, first) for first, _ in pairs["rng"]]  # at the start of the same stream
