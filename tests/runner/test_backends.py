import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from recovery.backends import BACKENDS
from recovery.errors import ParameterError
from recovery.extras import credentials
from recovery.runner.workers import SERVICES

from .sweeps import rows, sweep, write_config


def test_every_backend_that_is_offered_can_be_started() -> None:
    assert tuple(SERVICES) == BACKENDS


@pytest.mark.deep
def test_a_dask_cluster_of_one_worker_runs_the_trials_there() -> None:
    before = dict(os.environ)
    with SERVICES["dask"](1) as service:
        processes = [pid for _, pid in service.run(eval, iter(["__import__('os').getpid()"] * 4))]
    assert len(processes) == 4
    assert os.getpid() not in processes
    assert dict(os.environ) == before  # Dask sets what its workers need in this process, too


@pytest.mark.deep
def test_dask_gives_the_same_rows_though_a_worker_is_killed(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"seconds": 0.02}, replicates=40)
    killed: list[int] = []

    def kill_a_worker() -> None:
        """The first process of dask's that runs a supervised child, once rows are stored."""
        while not list((tmp_path / "dask").glob("trials/*.parquet")):
            time.sleep(0.05)
        supervisors = subprocess.run(["pgrep", "-f", "serve_forks"], capture_output=True, text=True).stdout
        workers = {_parent(int(pid)) for pid in supervisors.split()} - {int(pid) for pid in supervisors.split()}
        ours = [pid for pid in workers if _parent(_parent(pid)) == os.getpid() or _parent(pid) == os.getpid()]
        os.kill(ours[0], signal.SIGKILL)
        killed.append(ours[0])

    thread = threading.Thread(target=kill_a_worker, daemon=True)
    thread.start()
    summary = sweep(config, tmp_path / "dask", jobs=2, backend="dask")
    assert killed
    assert summary.stored == {"ok": 240}
    sweep(config, tmp_path / "plain", jobs=4, backend="threading")
    pd.testing.assert_frame_equal(rows(tmp_path / "dask"), rows(tmp_path / "plain"))


def test_a_backend_that_is_not_installed_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ParameterError, match=r"recover\[dask\]"):
        sweep(write_config(tmp_path), tmp_path / "out", backend="dask")


def test_a_killed_job_that_is_queued_again_gets_new_credentials(tmp_path: Path) -> None:
    secret = tmp_path / "slurm" / ".dask-7"
    credentials.write(secret)
    first = (secret / "key.pem").read_text()
    credentials.write(secret)
    assert (secret / "key.pem").read_text() != first
    assert [path.stat().st_mode & 0o777 for path in (secret, *secret.iterdir())] == [0o700, 0o600, 0o600]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it has ended since it was listed


# A grid that one processor stored is the same on another: OpenBLAS has other kernels for each, rounding otherwise.

CONFIG = """
name: processors
seed: 3
replicates: 2
planted: {kind: normalized_relu, k: 1}
patterns: {kind: sampled, all_ones: decide}
axes:
  data.ensemble: [gaussian, haar, rademacher]
  architecture: [relu_norm]
  method.program: [gated, exact]
  noise: [0.1]
  zip:
    - {n: [24, 30, 40], d: [14, 10, 5]}
data: {ensemble: gaussian}
architecture: relu_norm
method: {kind: min_norm, program: gated}
"""


def recover(kernels: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OPENBLAS_CORETYPE": kernels}
    command = [sys.executable, "-m", "recovery.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.deep
def test_normalised_networks_with_noise_have_the_same_rows_under_other_kernels(tmp_path: Path) -> None:
    """With fewer than about two rows a variable singular values are equal, and leave a choice of bases."""
    config, results = tmp_path / "processors.yaml", str(tmp_path / "results")
    config.write_text(CONFIG)
    swept = recover("Haswell", "sweep", str(config), "--out", results, "--quiet", "-j", "1")
    assert swept.returncode == 0, swept.stdout + swept.stderr
    verified = recover("Prescott", "verify", results, "--sample", "36", "--seed", "1")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "36 of 36 rows replayed" in verified.stdout
    assert ", 0 different" in verified.stdout
