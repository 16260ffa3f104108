"""The files that `recover submit` writes, and the tasks of an array that have missing trials; no SLURM is needed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from recovery.extras.slurm_script import seconds_of
from recovery.extras.submissions import as_ranges, last_array
from recovery.store import read
from tests.invoke import recover

from .sweeps import sweep, write_config


def submitted(config: Path, out: Path, *options: object, tasks: int = 8) -> Path:
    """Submit an array without SLURM; return its script."""
    result = recover("submit", config, "--array", tasks, "--out", out, *options)
    assert result.exit_code == 0, result.output
    return Path(result.stdout.split("\n")[0])


def task(script: Path, number: int, tasks: int) -> None:
    """Run the sweep as one task of an array does."""
    (line,) = [line for line in script.read_text().splitlines() if "recovery.cli sweep" in line]
    command = line.removesuffix(" &").replace("$SLURM_ARRAY_TASK_ID", str(number))
    assert f"--shard {number}/{tasks}" in command
    subprocess.run(["bash", "-c", command], check=True)


def test_status_and_a_query_name_the_missing_tasks_and_trials(tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"kind": "isometry"}, architecture="relu_skip"), tmp_path / "out"
    script = submitted(config, out)
    for number in (1, 2, 3, 5):
        sweep(config, out, shard=(number, 8))
    result = recover("status", out)
    assert "12 missing" in result.stdout
    assert f"sbatch --array=4,6-8 {script}\n" in result.stdout
    assert f"recover submit {out} --missing" in result.stdout
    assert json.loads(recover("status", out, "--json").stdout)["missing_tasks"] == [4, 6, 7, 8]
    listed = recover("trials", out, "--where", "status == 'missing'").stdout.splitlines()
    assert len(listed) == 12 + 2
    assert (
        recover("trials", out, "--where", "status == 'missing' and n == 4", "--out", tmp_path / "few.csv").exit_code
        == 0
    )
    stored = read(out).frame
    assert sum("missing" in line for line in (tmp_path / "few.csv").read_text().splitlines()) == 8 - sum(
        stored["n"] == 4
    )
    assert len(recover("trials", out, "--where", "status != 'missing'").stdout.splitlines()) == 12 + 2


def test_status_before_the_first_task_starts_names_the_script(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    submitted(config, out)
    script = submitted(config, out)
    result = recover("status", out)
    assert "no task of the submitted sweep has started" in result.stderr
    assert result.stderr.endswith(f"run: sbatch {script}\n")
    sweep(config, out, shard=(1, 8))
    assert recover("status", out).exit_code == 0


def test_user_code_is_imported_only_with_trust(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    script = submitted(config, out, tasks=3)
    sweep(config, out, shard=(2, 3))
    assert "--trust" in recover("status", out).stdout
    assert json.loads(recover("status", out, "--json").stdout)["missing_tasks"] is None
    assert f"sbatch --array=1,3 {script}" in recover("status", out, "--trust").stdout
    assert "--trust allows it" in recover("trials", out, "--where", "status = 'missing'").stderr
    assert recover("trials", out, "--where", "status = 'missing'", "--trust").stdout.count("missing") == 16


def test_a_submission_is_a_snapshot_and_a_second_one_leaves_it(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    first = submitted(config, out, "--set", "noise=0.5", tasks=2)
    written = {path.name: path.read_bytes() for path in first.parent.iterdir()}
    task(first, 1, 2)
    config.write_text("broken: [")
    (tmp_path / "fake_methods.py").write_text("raise SystemExit\n")
    task(first, 2, 2)
    assert len(read(out).table) == 24
    assert set(read(out).frame["status"]) == {"ok"}
    second = submitted(write_config(tmp_path, replicates=6), out, "--set", "noise=0.5", tasks=3)
    assert (first.parent.name, second.parent.name) == ("1", "2")
    assert {path.name: path.read_bytes() for path in first.parent.glob("*.*")} == written
    array = last_array(out)
    assert array is not None
    assert (array.script, array.tasks) == (second, 3)
    task(second, 1, 3)
    task(first, 1, 2)  # a requeued task of the first array, whose trials are a part of the folder's
    assert read(out).sweep["trials"] == 36


def test_data_files_beside_the_config_are_linked(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "x.csv").write_text("\n".join(f"{i % 7},{i * i % 11},{i % 5}" for i in range(40)))
    data = {"ensemble": "file", "path": "tables/x.csv"}
    config = write_config(tmp_path, data=data, axes={"n": [4, 8], "d": [2, 3]})
    script = submitted(config, tmp_path / "out", tasks=1)
    task(script, 1, 1)
    assert set(read(tmp_path / "out").frame["status"]) == {"ok"}


def test_a_module_that_the_snapshot_lacks_is_an_error_now_and_leaves_no_submission(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    (tmp_path / "beside.py").write_text("")
    with (tmp_path / "fake_methods.py").open("a") as file:
        file.write("import importlib\nimportlib.import_module('beside')\n")  # no statement names the module
    line = [sys.executable, "-m", "recovery.cli", "submit", str(config), "--array", "2", "--out", str(out)]
    done = subprocess.run(line, text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert "imports 'beside', which is not installed" in done.stderr
    assert not list((out / "slurm").iterdir())


def test_the_setup_runs_before_the_sweep_and_its_shell_options_do_not_stay(tmp_path: Path) -> None:
    setup = tmp_path / "modules.sh"
    setup.write_text("set -eu\nexport FROM_SETUP=yes\n")
    text = submitted(write_config(tmp_path), tmp_path / "out", "--setup", setup).read_text()
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    head = text.partition("again=")[0]
    shown = subprocess.run(
        ["bash"], input=head + "false; echo $FROM_SETUP $UNSET", text=True, check=True, capture_output=True
    )
    assert shown.stdout == "yes\n"


def test_submit_forecasts_and_warns(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"seconds": 0.02})
    result = recover("submit", config, "--array", 4, "--out", tmp_path / "out", "--time", "00:10", "--mem", "1M")
    assert result.exit_code == 0, result.output
    assert "4 tasks for 24 trials: each about" in result.stderr
    assert "iB of memory" in result.stderr
    assert (
        "--time 00:10 is 10 s, because SLURM reads minutes:seconds; write 00:10:00 for hours:minutes" in result.stderr
    )
    assert "a time limit of 10 s is too short" in result.stderr
    assert "--mem 1M is less than" in result.stderr


def test_many_tasks_of_milliseconds_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    result = recover("submit", config, "--array", 100_000, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "a task takes about 5 s to start; --array 1 gives each" in result.stderr
    assert not (tmp_path / "out").exists()


def test_missing_needs_an_array(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    sweep(config, out, shard=(1, 2))
    assert "no array was submitted for this folder" in recover("submit", out, "--missing").stderr
    assert "give one of" in recover("submit", out, "--missing", "--array", 2).stderr
    assert "without --out" in recover("submit", out, "--missing", "--set", "n=2").stderr


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10", 600), ("00:10", 10), ("02:00:00", 7200), ("1-12", 129_600), ("1-00:30", 88_200), ("0-0:0:5", 5)],
)
def test_time_limits_are_read_as_slurm_reads_them(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


def test_ranges_of_tasks() -> None:
    assert as_ranges([1, 2, 3, 7, 9, 10]) == "1-3,7,9-10"
    assert as_ranges([]) == ""


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    script = submitted(write_config(tmp_path), tmp_path / "out")
    sweep(tmp_path / "fake.yaml", tmp_path / "out", shard=(1, 2))
    (script.parent / "submission.json").write_text('{"config": "../x", "tasks": 0, "overrides": []}')
    result = recover("status", tmp_path / "out")
    assert result.exit_code == 2
    assert "submission.json: cannot be read; delete it" in result.stderr
