import json
import os
import re
import shutil
import socket
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

from recovery.config import load
from recovery.runner.progress import Lines, Progress
from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.parts import list_parts

from .sweeps import Acting, rows, sweep, write_config


def test_exceptions_measure_nothing(tmp_path: Path) -> None:
    config = write_config(tmp_path, axes={"method.act": ["measure", "raise"], "n": [4, 8]}, d=2)
    summary = sweep(config, tmp_path / "out")
    assert summary.stored == {"ok": 8, "failed": 8}
    failed = rows(tmp_path / "out").query("status == 'failed'")
    assert set(failed["error_type"]) == {"ArithmeticError"}
    assert set(failed["error_message"]) == {"no luck with n = 4", "no luck with n = 8"}
    assert failed[["recovered", "gap", "objective"]].isna().all(axis=None)


def test_every_worker_has_one_blas_thread(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"act": "threads"})
    for jobs in (1, 2):
        with threadpool_limits(2, user_api="blas"):  # the tests' own process has one
            sweep(config, tmp_path / str(jobs), jobs=jobs)
        assert set(rows(tmp_path / str(jobs))["iterations"]) == {1}


def test_failed_trials_run_again_only_when_asked(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"act": "raise"}, replicates=1)
    sweep(config, tmp_path / "out")
    assert sum(sweep(config, tmp_path / "out").ran.values()) == 0
    assert sweep(config, tmp_path / "out", rerun=("failed",)).ran == {"failed": 6}
    assert len(rows(tmp_path / "out")) == 6


def test_a_new_axis_column_reaches_rows_of_a_smaller_run_that_goes_on(tmp_path: Path) -> None:
    """The next run of the larger sweep completes them."""
    config, out = write_config(tmp_path), tmp_path / "out"

    def grow() -> None:
        axes = {"n": [4, 8, 12], "d": [2, 3], "noise": [0.0, 0.5], "patterns.count": ["auto"]}
        sweep(write_config(tmp_path, axes=axes), out)

    small = sweep(config, out, progress=Acting(1, grow))
    assert small.stored == {"ok": 24}
    assert len(rows(out)) == 48
    assert not sweep(config, out).ran
    assert not rows(out)[["noise", "patterns.count"]].isna().any(axis=None)


@pytest.mark.parametrize("whole", [True, False])
def test_a_folder_that_lost_sweep_json_during_a_run_is_restored_from_its_parts(tmp_path: Path, whole: bool) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"

    def remove() -> None:
        while not list_parts(out / "trials"):  # the recorder's thread stores the first rows
            time.sleep(0.02)
        if whole:
            shutil.rmtree(out)
            out.mkdir()
        else:
            (out / "sweep.json").unlink()

    first = sweep(config, out, progress=Acting(5, remove))
    assert (first.stopped is not None) == whole
    expected = read(out).sweep["config"]
    second = sweep(config, out)
    assert (second.stopped, second.stored) == (None, {"ok": 24})
    assert json.loads((out / "sweep.json").read_text())["config"] == expected == load(config).document


def test_a_folder_that_was_deleted_during_a_run_stops_it(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    stopped = sweep(config, out, progress=Acting(1, lambda: shutil.rmtree(out))).stopped
    assert "cannot be written: No such file or directory; the folder was moved or deleted, with its" in str(stopped)
    assert sweep(config, out).stored == {"ok": 24}


@pytest.mark.parametrize(("act", "status"), [("measure", "ok"), ("nan", "diverged")])
def test_what_another_sweep_stores_meanwhile_does_not_run_again(tmp_path: Path, act: str, status: str) -> None:
    config, out = write_config(tmp_path, method={"seconds": 0.05, "act": act}, replicates=20), tmp_path / "out"
    sweep(config, tmp_path / "other", shard=(1, 2), jobs=2)
    (part,) = list_parts(tmp_path / "other" / "trials")
    first = sweep(config, out, rerun=["failed"], progress=Acting(5, lambda: shutil.copy(part, out / "trials")))
    assert first.stored == {status: 120}
    assert first.ran.total() <= 120 - 60 / 2  # few run before the rows are seen


def test_a_sweep_names_the_process_of_another_one_and_none_that_has_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out, host = write_config(tmp_path), tmp_path / "out", socket.gethostname()

    def second() -> None:
        (out / f".{host}.1-{'0' * 32}.tmp").touch()
        sweep(config, out, shard=(1, 2), progress=Lines("second"))

    sweep(config, out, progress=Acting(3, second))
    sweep(config, out, progress=Lines("third"))
    assert re.findall("also run by (.*):", capsys.readouterr().err) == [f"process {os.getpid()} on {host}"]
    assert not list(out.glob(".*"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_part_that_is_truncated_during_a_run_stops_it_at_its_end(tmp_path: Path, jobs: int) -> None:
    config, out = write_config(tmp_path, method={"seconds": 0.05}), tmp_path / "out"

    def truncate() -> None:
        while not (parts := list_parts(out / "trials")):
            time.sleep(0.02)
        os.truncate(parts[0], 1000)

    first = sweep(config, out, jobs, progress=Acting(3, truncate))
    lost = 24 - first.stored["ok"]
    assert lost > 0
    assert first.stopped == f"{lost} trials ran, but the folder has no rows of them"
    second = sweep(config, out)
    assert (second.ran, second.stored) == ({"ok": lost}, {"ok": 24})


def test_every_part_has_its_provenance(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    for index in (1, 2):
        sweep(config, tmp_path / "out", shard=(index, 2))
    compact(Folder(tmp_path / "out"))
    (part,) = list_parts(tmp_path / "out" / "trials")
    (made,) = json.loads(pq.read_schema(part).metadata[b"recover"])
    assert made["config"] == load(config).document
    assert made["program"]["version"]
    assert made["libraries"]["numpy"] == np.__version__
    assert made == {**made, **read(tmp_path / "out").sweep["provenance"]}


# The progress that a run reports.


def test_the_time_left_is_told_from_the_second_results_on(tmp_path: Path) -> None:
    """The first results come after the workers have started, which says nothing about the trials."""
    trials, state = load(write_config(tmp_path)).trials(), Progress()
    state.begin(trials)
    rows = [{"status": "ok"}] * len(trials)
    assert state.seconds_left is None
    state.advance(zip(list(trials)[:1], rows[:1], strict=True))
    assert state.seconds_left is None
    assert str(state) == "1 of 24 trials"
    state.advance(zip(list(trials)[1:12], rows[1:12], strict=True))
    assert state.seconds_left is not None
    assert str(state).endswith(" left")
    state.advance(zip(list(trials)[12:], rows[12:], strict=True))
    assert str(state) == "24 of 24 trials"
