"""Real SLURM on one node, started for this test."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from recovery.cli.main import main
from tests.needs import need_programs, need_root

from .sweeps import rows, sweep, write_config

CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={port}
SlurmdPort={other}
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def wait_until(true: Callable[[], bool], what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds} s for {what}")
        time.sleep(0.1)


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    need_programs("SLURM", "slurmctld", "slurmd", "munged", "sbatch")
    need_root()
    folder = tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    port, other = free_ports()
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, folder=folder, port=port, other=other, cores=os.cpu_count()))
    monkeypatch.setenv("SLURM_CONF", str(conf))
    munge = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    daemons = [
        subprocess.Popen(["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge]),
        subprocess.Popen(["slurmctld", "-D", "-f", str(conf)], stdout=-3, stderr=-3),
        subprocess.Popen(["slurmd", "-D", "-f", str(conf), "-N", host], stdout=-3, stderr=-3),
    ]
    try:
        wait_until(lambda: "idle" in output("sinfo", "-h", "-o", "%t"), "an idle node")
        yield
    finally:
        subprocess.run(["scancel", "--user=root"], check=False, capture_output=True)
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()


def states(job: str) -> dict[str, str]:
    """Array task -> its state; the job itself is the task "" where there is no array."""
    lines = output("scontrol", "show", "job", job, "--oneliner").splitlines()
    fields = [dict(part.split("=", 1) for part in line.split() if "=" in part) for line in lines]
    return {found.get("ArrayTaskId", ""): found["JobState"] for found in fields}


def test_an_array_with_a_requeued_task_ends_in_the_grid_of_a_plain_run(slurm: None, tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"seconds": 0.05}, replicates=40)
    out = tmp_path / "out"
    submit = ["submit", str(config), "--array", "8", "--out", str(out), "--now", "--time", "10"]
    said = CliRunner().invoke(main, submit, catch_exceptions=False).output
    job = said.split()[-1]
    wait_until(lambda: bool(list(out.glob("trials/*.parquet"))), "stored rows")
    task = next(task for task, state in states(job).items() if state == "RUNNING")
    assert output("scontrol", "requeue", f"{job}_{task}") == ""
    wait_until(lambda: states(job).get(task) == "PENDING", "the task to wait again")
    cancelled = next(other for other, state in states(job).items() if state == "PENDING" and other != task)
    output("scancel", f"{job}_{cancelled}")
    output("scontrol", "update", f"JobId={job}_{task}", "StartTime=now")  # SLURM would wait two minutes
    wait_until(lambda: set(states(job).values()) <= {"COMPLETED", "CANCELLED", "FAILED"}, "the array to end", 300)
    assert states(job)[task] == "COMPLETED"
    again = subprocess.run(["sbatch", "--wait", f"--array={cancelled}", out / "slurm" / "array.sbatch"], check=False)
    assert again.returncode == 0
    sweep(config, tmp_path / "plain", jobs=4, backend="threading")
    pd.testing.assert_frame_equal(rows(out), rows(tmp_path / "plain"))


def test_names_with_blanks_and_quotes_and_an_array_of_two_at_a_time(slurm: None, tmp_path: Path) -> None:
    folder = tmp_path / "a 'b' \"c\" $d #e 5%j é"
    folder.mkdir()
    config, out = write_config(folder, method={"seconds": 0.01}), folder / "my out"
    config = config.rename(folder / "my 'own' config.yaml")
    submit = ["submit", str(config), "--array", "3%2", "--out", str(out), "--now", "--time", "10m"]
    said = CliRunner().invoke(main, submit, catch_exceptions=False).output
    assert said.startswith("Submitted batch job"), said
    job = said.split()[-1]
    assert "ArrayTaskThrottle=2" in output("scontrol", "show", "job", job)
    wait_until(lambda: set(states(job).values()) <= {"COMPLETED", "CANCELLED", "FAILED"}, "the array to end", 300)
    assert set(states(job).values()) == {"COMPLETED"}
    assert len(list((out / "slurm").glob(f"{job}_?.log"))) == 3
    assert len(rows(out)) == 24


def test_a_dask_cluster_of_one_job_ends_in_the_grid_of_a_plain_run(slurm: None, tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"seconds": 0.01}), tmp_path / "out"
    submit = ["submit", str(config), "--dask", "2", "--out", str(out), "--now", "--time", "10"]
    said = CliRunner().invoke(main, submit, catch_exceptions=False).output
    job = said.split()[-1]
    wait_until(
        lambda: states(job)[""] not in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"), "the job to end", 300
    )
    log = (out / "slurm" / f"{job}.log").read_text()
    assert states(job)[""] == "COMPLETED", log
    assert log.count("Register worker addr") == 2
    assert "tcp://" not in log
    assert log.count("tls://") > 2
    assert not list((out / "slurm").glob(".dask*"))
    sweep(config, tmp_path / "plain")
    pd.testing.assert_frame_equal(rows(out), rows(tmp_path / "plain"))
