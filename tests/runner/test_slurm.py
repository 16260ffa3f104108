"""The script that `recover submit` writes, and its array on real SLURM, one node of it, started for each test."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recovery.store import read
from tests.invoke import recover as in_process, refused, said
from tests.needs import need_programs, need_root

from .slurm import PROGRAMS, one_node, output, wait_until
from .sweeps import assert_undisturbed, rows, sweep, write_config


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    need_programs("SLURM", *PROGRAMS)
    need_root()
    with one_node(tmp_path / "slurm") as conf:
        monkeypatch.setenv("SLURM_CONF", str(conf))
        yield


def states(job: str) -> dict[str, str]:
    """Array task -> its state; the job itself is the task "" where there is no array."""
    lines = output("scontrol", "show", "job", job, "--oneliner").splitlines()
    fields = [dict(part.split("=", 1) for part in line.split() if "=" in part) for line in lines]
    return {found.get("ArrayTaskId", ""): found["JobState"] for found in fields}


def recover(*arguments: object) -> str:
    """Return the standard output of the command, which imports user code in a process of its own."""
    return output(sys.executable, "-m", "recovery.cli", *map(str, arguments))


def wait_until_ended(job: str) -> None:
    wait_until(lambda: set(states(job).values()) <= {"COMPLETED", "CANCELLED", "FAILED"}, "the array to end", 300)


def script_of(config: Path, out: Path, *options: object, array: str = "1") -> Path:
    """Submit an array without SLURM; return its script."""
    return Path(said("submit", config, "--array", array, "--out", out, *options).splitlines()[0])


def task(script: Path, number: int, tasks: int, folder: Path) -> None:
    """Run the sweep as one task of an array does, in this folder."""
    (line,) = [line for line in script.read_text().splitlines() if "recovery.cli sweep" in line]
    names = {"ID": number, "MIN": 1, "MAX": tasks, "COUNT": tasks, "STEP": 1}
    environment = {**os.environ, **{f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in names.items()}}
    subprocess.run(["/bin/bash", "-c", line.removesuffix(" &")], check=True, cwd=folder, env=environment)


def test_the_script_is_one_that_bash_reads(tmp_path: Path) -> None:
    setup = tmp_path / "modules.sh"
    setup.write_text("set -eu\nexport FROM_SETUP=yes\n")
    options = ("--time", "1:00:00", "--mem", "4G", "--sbatch=--partition=long", "--setup", setup)
    script = script_of(write_config(tmp_path), tmp_path / "an 'out'", *options, array="1%2")
    text = script.read_text()
    subprocess.run(["/bin/bash", "-n", script], check=True)
    for line in ("--array=1-1%2", "--time=1:00:00", "--mem=4G", "--partition=long"):
        assert f"#SBATCH {line}\n" in text
    head = text.partition("again=")[0]
    shown = subprocess.run(
        ["/bin/bash"], input=head + "false; echo $FROM_SETUP $UNSET", text=True, check=True, capture_output=True
    )
    assert shown.stdout == "yes\n"
    assert "\nagain=0\n" in text
    rule = "sampling={kind: until, rule: threshold +-2}"  # tasks wait in the queue for each other
    rounds = script_of(write_config(tmp_path, axes={"n": [2, 4, 6], "d": [3]}), tmp_path / "rounds", "--set", rule)
    assert "\nagain=1\n" in rounds.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--array", "3%0"], "is not an array"),
        (["--array", "3", "--sbatch", "--x=1\nrm -rf /"], "is not an option of sbatch"),
        (["--array", "3", "--time", "soon\n"], "is not an option of sbatch"),
        (["--array", "3", "--out", "a\\b"], "give another --out"),
    ],
)
def test_what_is_no_line_of_a_script_is_refused(tmp_path: Path, options: list[str], message: str) -> None:
    out = [] if "--out" in options else ["--out", tmp_path / "out"]
    assert message in refused("submit", write_config(tmp_path), *options, *out)
    assert not (tmp_path / "out").exists()


def test_tasks_with_less_work_than_a_start_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    assert "8 tasks for about 0 s" in refused("submit", config, "--array", "8%2", "--out", out)
    assert not out.exists()
    config = write_config(tmp_path, method={"seconds": 0.02}, replicates=1000)
    assert "#SBATCH --array=1-8%2\n" in script_of(config, out, array="8%2").read_text()


def test_tasks_run_the_stored_sweep_and_the_same_script_runs_what_is_missing(tmp_path: Path) -> None:
    """The config is edited after the submission, and the folder of the task has a module named as one of Python's."""
    config, out, elsewhere = write_config(tmp_path), tmp_path / "my 'out'", tmp_path / "elsewhere"
    script = script_of(config, out, "--set", "noise=0.5")
    config.write_text("broken: [")
    elsewhere.mkdir()
    (elsewhere / "json.py").write_text("raise SystemExit('imported')")
    task(script, 1, 2, elsewhere)
    assert 0 < len(read(out).table) < 24
    shown = in_process("status", out).stdout.partition("this runs the missing trials: ")[2]
    assert shlex.split(shown) == ["sbatch", str(script)]
    stored = rows(out)
    task(script, 2, 2, elsewhere)
    assert len(read(out).table) == 24
    assert set(read(out).frame["noise"]) == {0.5}
    assert rows(out).loc[stored.index].equals(stored)


def test_a_stored_sweep_is_continued_as_it_is(tmp_path: Path) -> None:
    config, out = write_config(tmp_path), tmp_path / "out"
    sweep(config, out, shard=(1, 2))
    assert "--trust" in refused("sweep", out)
    assert "run as it is stored" in refused("sweep", out, "--set", "noise=1")
    assert f"recover sweep {out} --trust" in in_process("status", out).stdout
    assert "24 of 24 trials stored" in said("sweep", out, "--trust", "-q")
    assert_undisturbed(config, out)


def test_without_slurm_submission_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    config, out = write_config(tmp_path), tmp_path / "out"
    assert f"sbatch is not installed here; run this on the cluster: sbatch {out}" in refused(
        "submit", config, "--array", 1, "--out", out, "--now"
    )


def test_an_array_with_a_requeued_and_a_cancelled_task_ends_in_the_grid_of_a_plain_run(
    slurm: None, tmp_path: Path
) -> None:
    folder = tmp_path / "a 'b' \"c\" $d #e 5%j é"
    folder.mkdir()
    config, out = write_config(folder, method={"seconds": 0.2}, replicates=40), folder / "my out"
    answer = recover("submit", config, "--array", "8%4", "--out", out, "--now", "--time", "10")
    assert answer.startswith("Submitted batch job"), answer
    job = answer.split()[-1]
    wait_until(lambda: bool(list(out.glob("trials/*.parquet"))), "stored rows")
    number = next(number for number, state in states(job).items() if state == "RUNNING")
    assert output("scontrol", "requeue", f"{job}_{number}") == ""
    wait_until(lambda: states(job).get(number) == "PENDING", "the task to wait again")
    waiting = next(other for other, state in states(job).items() if state == "PENDING" and other != number)
    assert output("scancel", f"{job}_{re.split(r'[^0-9]', waiting)[-1]}") == ""
    config.write_text("broken: [")
    output("scontrol", "update", f"JobId={job}_{number}", "StartTime=now")  # SLURM would wait two minutes
    wait_until_ended(job)
    assert states(job)[number] == "COMPLETED"
    assert len(list((out / "slurm").glob(f"{job}_?.log"))) == 7
    assert "missing trials: sbatch" in recover("status", out)
    again = output("sbatch", str(out / "slurm" / "array.sbatch")).split()[-1]
    wait_until_ended(again)
    assert set(states(again).values()) == {"COMPLETED"}
    assert_undisturbed(write_config(folder, method={"seconds": 0.2}, replicates=40), out, jobs=4, backend="threading")
