"""The process that stores rows imports no code of the user's and takes rows as data: its exit status is its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recovery
from recovery.cli.main import main
from recovery.errors import ParameterError
from recovery.runner.loading import pack, unpack
from recovery.runner.messages import decode, decode_answer, encode
from recovery.store import read
from tests.runner.sweeps import rows, write_config
from tests.suites import first

MODULE = """
import atexit, os, signal, threading, time, warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import numpy as np
from recovery.methods.columns import Columns, select

HERE = Path(__file__).parent
{head}

class Text(str):
    def __str__(self):  # so that it stays one where a column is made plain
        return self

    def __reduce__(self):
        return os.mkdir, (str(HERE / "unpickled"),)

@dataclass(frozen=True)
class Own:
    columns: ClassVar[Columns] = select("recovered", "solver")
    {body}

    def __call__(self, instance, architecture):
        {call}
"""
COST = "def cost(self, n, d):\n        return 1.0"
FINE = 'return {"recovered": True}'


def config_of(folder: Path, head: str = "", body: str = COST, call: str = FINE) -> Path:
    (folder / "border_things.py").write_text(MODULE.format(head=head, body=body, call=call))
    config = write_config(folder, method={"kind": "border_things:Own"}, axes={"n": [4, 5], "d": [2]})
    return config


def recover(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "recovery.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=120)


@pytest.mark.parametrize(
    "code",
    first(
        1,
        [
            pytest.param({"body": "def cost(self, n, d):\n        os._exit(0)"}, id="cost"),
            pytest.param({"head": "os._exit(0)"}, id="import"),
            pytest.param({"body": f"def __post_init__(self):\n        os._exit(0)\n\n    {COST}"}, id="made"),
            pytest.param({"head": "os.kill(os.getpid(), signal.SIGKILL)"}, id="killed"),
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


def test_no_row_is_unpickled(tmp_path: Path) -> None:
    config = config_of(tmp_path, call='return {"recovered": True, "solver": Text("plain")}')
    done = recover(tmp_path, "sweep", config, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert set(rows(tmp_path / "out")["solver"]) == {"plain"}
    assert not (tmp_path / "unpickled").exists()


def test_own_code_is_imported_by_no_process_that_stores_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    config = config_of(tmp_path, "with open(HERE / 'pids', 'a') as f: print(os.getpid(), file=f)")
    assert recovery.load(config).cells[0].cost == 1.0
    recovery.run(config, "out", quiet=True)
    trial = read(tmp_path / "out").frame["trial_id"][0]
    for command in (
        *(["check", config], ["sweep", config, "--out", "out"], ["sweep", config, "--out", "out", "--dry-run"]),
        *(["sweep", config, "--out", "out", "--set", "replicates=5"], ["verify", "out", "--trust"]),
        ["replay", "out", trial, "--trust", "--save", "x.npz"],
    ):
        result = CliRunner().invoke(main, [str(word) for word in command])
        assert result.exit_code == 0, (command, result.output)
    assert "border_things" not in sys.modules
    assert str(os.getpid()) not in (tmp_path / "pids").read_text().split()


@pytest.mark.parametrize(
    "sent",
    first(
        1,
        [
            pytest.param("__import__('pickle').dumps(Text('x'))", id="pickle"),
            pytest.param("b'no message'", id="bytes"),
            pytest.param("worker.encode({'rows': 5, 'exhausted': False})", id="no rows"),
            pytest.param("worker.encode({'rows': [{'trial_id': 'x', 'status': 'ok'}], 'exhausted': False})", id="row"),
            pytest.param("worker.encode({})", id="nothing"),
        ],
    ),
)
def test_what_is_no_row_costs_its_own_trial(tmp_path: Path, sent: str) -> None:
    call = (
        "import recovery.runner.worker as worker; from recovery.runner.worker import send; "
        f"worker.send = lambda connection, data: send(connection, {sent}); {FINE}"
    )
    done = recover(tmp_path, "sweep", config_of(tmp_path, call=call), "--out", "out")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert set(rows(tmp_path / "out")["status"]) == {"killed"}
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"trial_id": "x"},
        {"seconds": -1.0},
        {"seconds": None},
        {"recovered": "yes"},
        {"started_at": "now"},
        {"solver": ["a"]},
    ],
)
def test_rows_of_another_kind_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    trial = recovery.load(config_of(tmp_path)).trials()[0]
    row = {"trial_id": trial.id, "status": "ok", "recovered": True, "solver": "a", "seconds": 1.0, "processor": 1.0}
    row["started_at"] = "2026-01-01T00:00:00+00:00"
    answer = {"rows": [row], "exhausted": False}
    assert decode_answer(decode(encode(answer)), [trial]).rows[0]["recovered"] is True
    with pytest.raises(ValueError, match=r"holds|isoformat"):
        decode_answer(decode(encode({**answer, "rows": [row | change]})), [trial])
    with pytest.raises(ValueError, match="holds"):
        decode_answer(decode(encode({**answer, "rows": [row, row]})), [trial])


def test_sweeps_from_the_process_that_imports_user_code_are_checked(tmp_path: Path) -> None:
    sweep = recovery.load(config_of(tmp_path))
    packed, arrays = pack(sweep)
    assert unpack(json.loads(json.dumps(packed)), arrays).trials().ids == sweep.trials().ids
    costs = arrays["costs"]
    broken: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, arrays),
        (packed, {}),
        ({**packed, "parts": {}}, arrays),
        ({**packed, "parts": {**packed["parts"], "method": [{"user": ["{}", "x"]}]}}, arrays),
        ({**packed, "coordinates": {"n": [[4]]}}, arrays),
        ({**packed, "coordinates": {"n": [4, 5]}}, {**arrays, "at n": np.full(len(costs), 2)}),
        ({**packed, "coordinates": {"n": [4, 5]}}, {**arrays, "at n": np.zeros(len(costs))}),
    ]
    broken += [(packed, {**arrays, "costs": np.array(each)}) for each in ([[1.0]], 1.0, [-1.0], [np.nan], ["b"])]
    for answer, given in broken:
        with pytest.raises(ParameterError, match="has changed what the program reports"):
            unpack(answer, given)
