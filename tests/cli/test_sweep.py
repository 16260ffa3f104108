import json
import os
import re
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from recovery.store import read
from tests.invoke import recover, refused
from tests.runner.kills import start
from tests.runner.sweeps import rows, write_config


def test_a_sweep_ends_with_its_place_and_the_next_command(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = recover("sweep", write_config(tmp_path), "--out", out, "--jobs", 1)
    assert result.exit_code == 0
    assert result.stdout == f"{out}: 24 of 24 trials stored (24 run now)\n"
    assert f"recover report {out}" in result.stderr
    assert "(0 run now)" in recover("sweep", write_config(tmp_path), "--out", out).stdout


def test_results_go_under_the_sweeps_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert recover("sweep", write_config(tmp_path), "--set", "name=mine", "--jobs", 1).exit_code == 0
    assert len(read("results/mine").frame) == 24


def test_a_folder_of_the_same_name_beside_the_config_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, beside = write_config(tmp_path), tmp_path / "results" / "fake"
    for here in (tmp_path, tmp_path / "trials"):
        here.mkdir(exist_ok=True)
        monkeypatch.chdir(here)
        named = f"not in {beside} beside the config" in recover("sweep", config, "--jobs", 1).stderr
        assert (named, len(read("results/fake").frame)) == (here != tmp_path, 24)


def test_failed_trials_exit_with_1_and_status_says_why(tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"act": "raise"}), tmp_path / "out"
    assert recover("sweep", config, "--out", out, "--jobs", 1).exit_code == 1
    status = recover("status", out)
    assert "24 of 24 trials stored, 0 missing" in status.stdout
    assert "24 x ArithmeticError: no luck" in status.stdout
    assert json.loads(recover("status", out, "--json").stdout)["statuses"] == {"failed": 24}


@pytest.mark.parametrize("blocker", ["file", "file/below", "/dev/null"])
def test_a_file_in_the_way_is_a_message_before_any_work(tmp_path: Path, blocker: str) -> None:
    (tmp_path / "file").write_text("mine")
    said = refused("sweep", write_config(tmp_path), "--out", tmp_path / blocker)
    assert f"{tmp_path / blocker.removesuffix('/below')}: a file is in the way" in said
    assert (tmp_path / "file").read_text() == "mine"


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
CASES = [(number, jobs) for number in SIGNALS for jobs in (1, 2) if (number, jobs) != (signal.SIGINT, 2)]


@pytest.mark.parametrize(
    ("number", "jobs"), [(signal.SIGINT, 2), *(pytest.param(*case, marks=pytest.mark.deep) for case in CASES)]
)
def test_a_signal_stops_with_75_and_the_next_call_goes_on(tmp_path: Path, number: signal.Signals, jobs: int) -> None:
    config, out = write_config(tmp_path, method={"seconds": 0.1}, replicates=40), tmp_path / "out"
    process = start(config, "--out", out, "--jobs", jobs)
    while not list(out.glob("trials/part-*")):
        time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 75
    assert f"stopped early: {number.name}" in stderr
    assert "Traceback" not in stderr
    stored = len(read(out).frame)
    assert f"{stored} of 240" in stdout
    assert 0 < stored < 240


def test_a_shard_that_waits_for_a_round_exits_with_75_and_says_so(tmp_path: Path) -> None:
    sampling = {"kind": "until", "rule": "threshold +-1.5", "ceiling": 2}
    axes = {"n": [2, 4, 6, 8, 10, 12], "d": [3]}
    config = write_config(tmp_path, method={"act": "transition"}, sampling=sampling, axes=axes)
    arguments = ("sweep", config, "--out", tmp_path / "out", "--jobs", 1)
    dry = recover(*arguments, "--dry-run")
    assert "24 trials, 0 stored, 24 to run\nthen up to 24 trials from round 2 on" in dry.stdout
    first = recover(*arguments, "--shard", "1/2")
    assert first.exit_code == 75
    assert "round 2 waits for 12 trials of earlier rounds that have no row yet" in first.stderr
    assert "round 1 is running: 12 trials are missing to its end" in recover("status", tmp_path / "out").stdout
    assert recover(*arguments).stdout.startswith(f"{tmp_path / 'out'}: 48 of 48 trials stored (36 run now)\n")
    trials = read(tmp_path / "out").frame["trial_id"]
    assert recover("replay", "--trust", tmp_path / "out", trials.iloc[-1]).exit_code == 0
    assert (
        "48 of 48 rows replayed, 48 the same" in recover("verify", "--trust", tmp_path / "out", "--sample", 48).stdout
    )
    before = rows(tmp_path / "out")
    assert re.search(r"\d+ part files before, 1 after", recover("compact", tmp_path / "out").stdout)
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), before)
    assert "(0 run now)" in recover(*arguments).stdout


def test_the_configs_backend_runs_the_trials_unless_the_command_line_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recovery.runner.engine import Engine

    used = []
    monkeypatch.setattr(Engine, "run", lambda self, trials, others: used.append(self.backend) or (row for row in ()))
    config = write_config(tmp_path, backend="threading")
    recover("sweep", config, "--out", tmp_path / "out")
    recover("sweep", config, "--out", tmp_path / "out", "--backend", "processes")
    assert used == ["threading", "processes"]


def test_another_sweep_is_refused_and_a_quiet_one_prints_one_line(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    assert recover("sweep", config, "--out", out, "--jobs", 1).exit_code == 0
    refused = recover("sweep", write_config(tmp_path, seed=8), "--out", out)
    assert refused.exit_code == 2
    assert "seed: 7 -> 8" in refused.stderr
    quiet = recover("sweep", write_config(tmp_path), "--out", out, "--quiet")
    assert (quiet.stdout.count("\n"), quiet.stderr) == (1, "")


def test_the_help_of_sweep_has_at_most_14_options() -> None:
    assert sum(line.lstrip().startswith("-") for line in recover("sweep", "--help").stdout.splitlines()) <= 14


def test_a_computed_axis_is_printed_from_its_least_value(tmp_path: Path) -> None:
    axes = {"d": [1, 10, 100], "c": [1.0, 2.0, 5.0], "noise": "c / d", "n": [4]}
    said = recover("check", write_config(tmp_path, axes=axes)).stdout
    assert "noise: 0.01 .. 5.0 (9 values)" in said


def test_commands_print_json(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    assert json.loads(recover("check", config, "--json").stdout)["trials"] == 24
    recover("sweep", config, "--out", out, "--jobs", 1)
    trial = read(out).frame["trial_id"].iloc[0]
    replayed = json.loads(recover("replay", out, trial, "--trust", "--json").stdout)
    assert (replayed["stored"]["objective"], replayed["differences"]) == (replayed["again"]["objective"], [])
    verified = recover("verify", out, "--trust", "--json", "--sample", 5)
    assert json.loads(verified.stdout) == {
        "folder": str(out),
        "stored": 24,
        "looked_at": 5,
        "failures": 0,
        "faults": [],
        **dict.fromkeys(("rounding", "different", "open"), 0),
        "same": 5,
    }
