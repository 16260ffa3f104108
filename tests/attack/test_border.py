"""The process that stores rows imports no code of the user's: its exit status is its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import recovery
from recovery.store import read
from tests.invoke import said
from tests.own_method import COST, write_method
from tests.runner.sweeps import rows, write_config
from tests.suites import first

FINE = "return {'recovered': True}"


def config_of(folder: Path, head: str = "", cost: str = COST, call: str = FINE) -> Path:
    kind = write_method(folder / "border_things.py", call, head=head, cost=cost)
    return write_config(folder, method={"kind": kind}, axes={"n": [4, 5], "d": [2]})


def recover(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "recovery.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=120)


@pytest.mark.parametrize(
    "code",
    first(
        1,
        [
            pytest.param({"cost": "def cost(self, n, d):\n    os._exit(0)"}, id="cost"),
            pytest.param({"head": "os._exit(0)"}, id="import"),
            pytest.param({"cost": f"def __post_init__(self):\n    os._exit(0)\n\n{COST}"}, id="made"),
            pytest.param({"head": "os.kill(os.getpid(), 9)"}, id="killed"),
        ],
    ),
)
def test_code_that_ends_its_process_is_no_success(tmp_path: Path, code: dict[str, str]) -> None:
    done = recover(tmp_path, "sweep", config_of(tmp_path, **code), "--out", "out")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "the code that the config names cannot be used: its process ended" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("call", "status"), first(1, [("raise ValueError", 1), (FINE, 0)]))
def test_the_end_of_own_code_is_not_that_of_the_program(tmp_path: Path, call: str, status: int) -> None:
    head = """
import atexit, signal, threading, warnings
atexit.register(lambda: os._exit(0))
threading.Thread(target=time.sleep, args=[3600]).start()
warnings.simplefilter("error")
np.seterr(all="raise")
for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
"""
    done = recover(tmp_path, "sweep", config_of(tmp_path, head, call=call), "--out", "out", "--jobs", 2)
    assert done.returncode == status, done.stdout + done.stderr
    assert set(rows(tmp_path / "out")["status"]) == {"ok" if status == 0 else "failed"}
    assert len(rows(tmp_path / "out")) == 8


def test_own_code_is_imported_by_no_process_that_stores_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    config = config_of(tmp_path, "with open(__file__ + '.pids', 'a') as f: print(os.getpid(), file=f)")
    assert recovery.load(config).cells[0].cost == 1.0
    recovery.run(config, "out", quiet=True)
    trial = read(tmp_path / "out").frame["trial_id"][0]
    for command in (
        *(["check", config], ["sweep", config, "--out", "out"], ["sweep", config, "--out", "out", "--dry-run"]),
        *(["sweep", config, "--out", "out", "--set", "replicates=5"], ["verify", "out", "--trust"]),
        ["replay", "out", trial, "--trust", "--save", "x.npz"],
    ):
        said(*command)
    assert "border_things" not in sys.modules
    assert str(os.getpid()) not in (tmp_path / "border_things.py.pids").read_text().split()
