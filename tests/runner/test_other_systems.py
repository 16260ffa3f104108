"""The branches for systems other than Linux, run here with the name of macOS as the platform of the worker processes.

Only the processes that run trials ask for the platform. It is changed in them once their modules are loaded, because
libraries would otherwise load files of macOS. The system calls stay those of Linux.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from recovery.store import read
from tests.own_method import write_method
from tests.suites import first

from .slurm import wait_until
from .sweeps import write_config

SITE = """
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder


class Renaming(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "recovery.runner.child":
            return None
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            import numba.core.event, psutil, scipy.linalg.lapack
            load(module)
            sys.platform = "darwin"

        spec.loader.exec_module = exec_module
        return spec


if sys.argv[:1] == ["-c"]:  # the fork server
    sys.meta_path.insert(0, Renaming())
"""
METHOD = """
assert sys.platform == "darwin"
if self.act == "die":
    os._exit(3)
if self.act == "hang":
    with open(self.path, "a") as file:
        print(os.getpid(), file=file)
    time.sleep(3600)
if self.act == "raise":
    raise ArithmeticError("no luck")
return Measurement(recovered=True)
"""


def environment(folder: Path) -> dict[str, str]:
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(SITE)
    write_method(folder / "apple.py", METHOD, members="act: str = 'measure'\npath: str = ''")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])}


def command(folder: Path, acts: list[str], *options: str) -> list[str]:
    method = {"kind": "apple:Own", "path": str(folder / "pids")}
    config = write_config(folder, method=method, axes={"n": [4, 5], "method.act": acts}, d=2, replicates=2)
    return [sys.executable, "-m", "recovery.cli", "sweep", str(config), "--out", str(folder / "out"), *options]


def test_each_trial_has_its_row(tmp_path: Path) -> None:
    acts = ["measure", "die", "hang", "raise"]
    line = command(tmp_path, acts, "--jobs", "2", "--trial-timeout", "1")
    assert subprocess.run(line, env=environment(tmp_path), check=False).returncode == 1
    statuses = read(tmp_path / "out").frame.groupby("method.act")["status"].agg(["unique", "size"])
    assert set(statuses["size"]) == {4}
    assert {act: list(found) for act, found in statuses["unique"].items()} == {
        "measure": ["ok"], "die": ["killed"], "hang": ["timeout"], "raise": ["failed"],
    }  # fmt: skip


@pytest.mark.parametrize("number", first(1, [signal.SIGKILL, signal.SIGTERM]))
def test_workers_end_with_the_sweep(tmp_path: Path, number: signal.Signals) -> None:
    pids = tmp_path / "pids"
    with subprocess.Popen(command(tmp_path, ["hang"], "--jobs", "2"), env=environment(tmp_path)) as process:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2, "two trials that hang")
        process.send_signal(number)
        assert process.wait(30) == (75 if number == signal.SIGTERM else -number)
    wait_until(lambda: not any(map(psutil.pid_exists, map(int, pids.read_text().split()))), "the end of the workers")
