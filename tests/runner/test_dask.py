"""Sweeps on a Dask cluster as a site starts it, also if it loses a worker or its scheduler."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recovery.errors import ParameterError

from .kills import start, stored_ids
from .sweeps import assert_undisturbed, sweep, write_config

TRIALS = 360
LOST = "run the same command to continue"


def config_of(folder: Path) -> Path:
    return write_config(folder, method={"seconds": 0.05}, replicates=TRIALS // 6)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """A scheduler, whose file is `dask.json`, and two workers, as a site runs them."""
    file = tmp_path / "dask.json"
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    quiet: dict[str, Any] = {"cwd": tmp_path, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    python = [sys.executable, "-m"]
    started = {
        "scheduler": subprocess.Popen([*python, "distributed.cli.dask_scheduler", "--port", "0", *common], **quiet)
    }
    for name in ("worker", "other"):
        words = ["distributed.cli.dask_worker", "--nthreads", "1", *common]
        started[name] = subprocess.Popen([*python, *words], **quiet)
    yield started
    for process in started.values():
        process.terminate()
    for process in started.values():
        process.wait()


@pytest.mark.deep
@pytest.mark.parametrize(("lost", "status"), [("worker", 0), ("scheduler", 75)])
def test_a_cluster_that_loses(
    lost: str, status: int, tmp_path: Path, cluster: dict[str, subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of its two workers: the other runs its trials. Or the scheduler: what is stored stays."""
    monkeypatch.setenv("DASK_SCHEDULER_FILE", str(tmp_path / "dask.json"))
    config, out = config_of(tmp_path), tmp_path / "out"
    process = start(config, "--out", out, "--backend", "dask", "--quiet")
    while not list(out.glob("trials/*.parquet")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    stored = stored_ids(out)
    os.kill(cluster[lost].pid, signal.SIGKILL)
    _, stderr = process.communicate(timeout=240)
    assert process.returncode == status, stderr
    assert "Traceback" not in stderr, stderr
    assert (LOST in stderr) == (status == 75), stderr
    assert stored.keys() <= stored_ids(out).keys(), "a stored row was lost"
    assert sweep(config, out, jobs=2).stored == {"ok": TRIALS}
    assert_undisturbed(config, out, jobs=4, backend="threading")


@pytest.mark.deep
def test_a_cluster_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", f"127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "3s")
    process = start(config_of(tmp_path), "--out", tmp_path / "out", "--backend", "dask", "--quiet")
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 75, stderr
    assert "Traceback" not in stderr
    assert "dask" in stderr


def test_a_backend_without_a_scheduler_says_how_to_start_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    with pytest.raises(ParameterError, match="dask scheduler --scheduler-file"):
        sweep(write_config(tmp_path), tmp_path / "out", backend="dask")


@pytest.mark.parametrize("name", ["gone.json", "fake.yaml"])
def test_a_scheduler_file_without_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("DASK_SCHEDULER_FILE", str(tmp_path / name))
    monkeypatch.setattr("recovery.runner.engine.FILE_SECONDS", 0.2)
    stopped = str(sweep(write_config(tmp_path), tmp_path / "out", backend="dask").stopped)
    assert f"{name} does not answer" in stopped


def test_a_backend_that_is_not_installed_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"recovery-lab\[dask\]"):
        sweep(write_config(tmp_path), tmp_path / "out", backend="dask")
