"""Whatever a method does, each trial is a row, and nothing that it started is left."""

from pathlib import Path

import pytest

from recovery.runner.supervised import UNLIMITED, Limits
from tests.runner.sweeps import rows, sweep, write_config

METHODS = """
import ctypes, os, signal, subprocess, sys, threading, time
from dataclasses import dataclass
from typing import ClassVar
from recovery.methods.columns import Columns, select

class Silent(Exception):
    def __str__(self):
        raise ValueError("no message")

class Deep(BaseException):
    pass

def go_on():
    return {"recovered": True}

def leave():
    sys.exit(0)

def interrupt():
    raise KeyboardInterrupt

def base():
    raise Deep("deep")

def silent():
    raise Silent

def half():
    raise ValueError("half \\ud800 and \\x1b[31mred")

def number():
    return {"recovered": 1}

def text():
    return {"gap": "small"}

def large():
    return {"iterations": 2**63}

def none():
    return None

def forked():
    os.fork()
    return {"recovered": True}

def fork_and_leave():
    if os.fork() == 0:
        time.sleep(3600)
    os._exit(0)

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open(PATH + "/daemon", "w").write(str(os.getpid()))
            time.sleep(3600)
        os._exit(0)
    while not os.path.exists(PATH + "/daemon"):
        time.sleep(0.01)
    os._exit(3)

def orphan():
    child = subprocess.Popen(["sleep", "3600"])
    open(PATH + "/orphan", "w").write(str(child.pid))
    child.wait()

def stop():
    os.kill(os.getpid(), signal.SIGSTOP)

def crash():
    ctypes.string_at(0)

def close_all():
    os.closerange(0, 1000)
    return {"recovered": True}

def scribble():
    for fd in range(3, 50):
        try:
            os.write(fd, b"x" * 100)
        except OSError:
            pass
    return {"recovered": True}

def kill_keeper():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)

def move():
    os.chdir("/")
    return {"recovered": True}

@dataclass(frozen=True)
class Own:
    act: str
    path: str
    columns: ClassVar[Columns] = select("recovered", "gap", "iterations")

    def cost(self, n, d):
        return 1.0

    def __call__(self, instance, architecture):
        global PATH
        PATH = self.path
        return globals()[self.act]()
"""
FAILED = {
    "leave": "SystemExit",
    "interrupt": "KeyboardInterrupt",
    "base": "Deep",
    "silent": "Silent",
    "half": "ValueError",
    "number": "ColumnError",
    "text": "ColumnError",
    "large": "ColumnError",
    "none": "ColumnError",
}
KILLED = ("fork_and_leave", "daemon", "stop", "crash", "close_all", "scribble", "kill_keeper")
OK = ("go_on", "forked", "move")


@pytest.mark.parametrize("limits", [UNLIMITED, Limits(seconds=30, memory=2000)], ids=["plain", "limits"])
def test_each_trial_is_a_row(tmp_path: Path, limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_acts.py").write_text(METHODS)
    acts = [*FAILED, *KILLED, *OK]
    config = write_config(
        tmp_path, method={"kind": "own_acts:Own", "path": str(tmp_path)}, axes={"n": [4], "method.act": acts}, d=2
    )
    monkeypatch.chdir(tmp_path)
    sweep(config, Path("out"), jobs=2, limits=limits)
    found = rows(tmp_path / "out").groupby("method.act")
    assert found.size().to_dict() == dict.fromkeys(acts, 4)
    assert found["status"].unique().map(list).to_dict() == {
        **{act: ["failed"] for act in FAILED},
        **{act: ["killed"] for act in KILLED},
        **{act: ["ok"] for act in OK},
    }
    assert {act: kind for act, (kind,) in found["error_type"].unique().items() if act in FAILED} == FAILED
    assert set(found.get_group("half")["error_message"]) == {"half ? and ?[31mred"}
    assert not Path("/proc", (tmp_path / "daemon").read_text()).exists()


def test_a_late_trial_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "own_acts.py").write_text(METHODS)
    config = write_config(
        tmp_path, method={"kind": "own_acts:Own", "path": str(tmp_path), "act": "orphan"}, axes={"n": [4]}, d=2
    )
    assert sweep(config, tmp_path / "out", limits=Limits(seconds=0.5)).stored == {"timeout": 4}
    assert not Path("/proc", (tmp_path / "orphan").read_text()).exists()
