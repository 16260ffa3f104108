"""Sweeps on real SLURM, one node of it, started for each test."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import need_programs, need_root

from .slurm import PROGRAMS, one_node, output, wait_until
from .sweeps import assert_undisturbed, rows, write_config


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


def test_an_array_with_a_requeued_task_ends_in_the_grid_of_a_plain_run(slurm: None, tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"seconds": 0.05}, replicates=40)
    out = tmp_path / "out"
    submit = ["submit", str(config), "--array", "8", "--out", str(out), "--now", "--time", "10"]
    said = recover(*submit)
    job = said.split()[-1]
    wait_until(lambda: bool(list(out.glob("trials/*.parquet"))), "stored rows")
    task = next(task for task, state in states(job).items() if state == "RUNNING")
    assert output("scontrol", "requeue", f"{job}_{task}") == ""
    wait_until(lambda: states(job).get(task) == "PENDING", "the task to wait again")
    waiting = next(other for other, state in states(job).items() if state == "PENDING" and other != task)
    cancelled = re.split(r"\D", waiting)[-1]  # of 4-8, the last
    assert output("scancel", f"{job}_{cancelled}") == ""
    output("scontrol", "update", f"JobId={job}_{task}", "StartTime=now")  # SLURM would wait two minutes
    wait_until_ended(job)
    assert states(job)[task] == "COMPLETED"
    assert f"sbatch --array={cancelled} {out}/slurm/1/array.sbatch\n" in recover("status", out, "--trust")
    again = recover("submit", out, "--missing", "--time", "20").split()
    assert again[-2:] == ["tasks", cancelled]
    assert "TimeLimit=00:20:00" in output("scontrol", "show", "job", again[3].rstrip(":"))
    wait_until_ended(again[3].rstrip(":"))
    assert_undisturbed(config, out, jobs=4, backend="threading")


def test_names_with_blanks_and_quotes_and_an_array_of_two_at_a_time(slurm: None, tmp_path: Path) -> None:
    folder = tmp_path / "a 'b' \"c\" $d #e 5%j é"
    folder.mkdir()
    config, out = write_config(folder, method={"seconds": 0.01}), folder / "my out"
    config = config.rename(folder / "my 'own' config.yaml")
    submit = ["submit", str(config), "--array", "3%2", "--out", str(out), "--now", "--time", "10m"]
    said = recover(*submit)
    assert said.startswith("Submitted batch job"), said
    job = said.split()[-1]
    assert "ArrayTaskThrottle=2" in output("scontrol", "show", "job", job)
    wait_until_ended(job)
    assert set(states(job).values()) == {"COMPLETED"}
    assert len(list((out / "slurm" / "1").glob(f"{job}_?.log"))) == 3
    assert len(rows(out)) == 24


def test_a_requeued_task_of_an_array_runs_its_snapshot_after_the_sweep_has_grown(slurm: None, tmp_path: Path) -> None:
    config, out, setup = write_config(tmp_path, method={"seconds": 0.01}), tmp_path / "out", tmp_path / "setup.sh"
    setup.write_text("set -e\necho from the setup\n")
    submit = ["submit", config, "--out", out, "--time", "10m", "--setup", setup]
    job = recover(*submit, "--array", 2, "--sbatch=--hold", "--now").split()[-1]
    (tmp_path / "fake_methods.py").write_text("raise SystemExit('edited since')\n")
    held = recover("submit", out, "--missing")  # both tasks wait
    assert "2 tasks with missing trials, 2 of them wait or run" in held
    write_config(tmp_path, method={"seconds": 0.01}, replicates=6)
    grown = recover(*submit, "--array", 3, "--now").split()[-1]
    wait_until_ended(grown)
    part = max((out / "trials").glob("*.parquet"), key=lambda path: path.stat().st_mtime)
    part.unlink()  # its trials run again
    output("scontrol", "release", job)
    wait_until_ended(job)
    logs = [path.read_text() for path in (out / "slurm" / "1").glob(f"{job}_?.log")]
    assert set(states(job).values()) == {"COMPLETED"}, logs
    assert all("from the setup" in log for log in logs)
    assert all("holds a larger sweep of 36 trials" in log for log in logs)
    if "missing" in recover("status", out, "--trust"):
        recover("submit", out, "--missing")
        wait_until(lambda: "36 of 36 trials stored" in recover("status", out), "all rows", 300)
    assert_undisturbed(config, out)


def test_a_dask_cluster_of_one_job_ends_in_the_grid_of_a_plain_run(slurm: None, tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"seconds": 0.01}), tmp_path / "out"
    submit = ["submit", str(config), "--dask", "2", "--out", str(out), "--now", "--time", "10"]
    said = recover(*submit)
    job = said.split()[-1]
    wait_until(
        lambda: states(job)[""] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"), "the job to end", 300
    )
    log = (out / "slurm" / "1" / f"{job}.log").read_text()
    assert states(job)[""] == "COMPLETED", log
    assert log.count("Register worker addr") == 2
    assert "tcp://" not in log
    assert log.count("tls://") > 2
    assert not list(out.rglob(".dask*"))
    assert_undisturbed(config, out)
