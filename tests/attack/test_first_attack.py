"""Faults found by the first attack, reproduced with commands alone, so that the file runs on any version."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytestmark = pytest.mark.deep
RECOVER = f'"{sys.executable}" -m recovery.cli'
OWN = """
import os, resource, signal, sys, time, warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import numpy as np
from recovery.methods.columns import Columns, select
{head}
HERE = Path(__file__).parent

def first():
    try:
        os.close(os.open(HERE / "first", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

@dataclass(frozen=True)
class Own:
    act: str = "honest"
    columns: ClassVar[Columns] = select("recovered", "solver")

    def cost(self, n, d):
        return 0.001 if self.act == "honest" else 0.0001

    def __call__(self, instance, architecture):
        if self.act != "honest":
            {call}
        assert np.isinf(np.array([1.0]) / 0).all()
        warnings.warn("heard")
        time.sleep(0.02)
        return {{"recovered": True}}
"""
SECONDS = 200
"""A command that takes longer hangs: none of these takes nearly as long."""


def config_of(folder: Path, call: str = "pass", head: str = "", **fields: Any) -> Path:
    (folder / "own_things.py").write_text(OWN.format(call=call, head=head))
    document = {
        "name": "fell",
        "seed": 5,
        "replicates": 20,
        "data": {"ensemble": "gaussian"},
        "planted": {"kind": "linear"},
        "architecture": "relu_skip",
        "method": {"kind": "own_things:Own"},
        "axes": {"n": [4], "d": [2], "method.act": ["other", "honest"]},
    }
    path = folder / "fell.yaml"
    path.write_text(json.dumps({**document, **fields}))
    return path


PLAIN: dict[str, Any] = {"method": {"kind": "isometry"}, "axes": {"n": [4, 8], "d": [2, 3]}, "replicates": 10}


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell with its own session, which is killed if it hangs."""
    process = subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{command}: it hangs")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def recover(folder: Path, words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return shell(f"{RECOVER} {words}", folder, **environment)


def statuses(folder: Path) -> dict[str, set[str]]:
    """Return the statuses of the trials of each act."""
    rows = pd.concat([pd.read_parquet(part) for part in (folder / "out" / "trials").glob("part-*.parquet")])
    return {act: set(rows.loc[rows["method.act"] == act, "status"]) for act in ("other", "honest")}


def test_1_rows_of_another_sweep_are_not_counted(tmp_path: Path) -> None:
    config_of(tmp_path, **PLAIN)
    recover(tmp_path, "sweep fell.yaml --out out")
    recover(tmp_path, "sweep fell.yaml --out other --set seed=6")
    for part in (tmp_path / "other" / "trials").iterdir():
        shutil.copy(part, tmp_path / "out" / "trials")
    counts = json.loads(recover(tmp_path, "status out --json").stdout)
    assert (counts["stored"], counts["missing"]) == (40, 0)
    (grid,) = json.loads(recover(tmp_path, "report out --format json").stdout)
    assert grid["totals"]["trials"] == 40


def test_1_a_lost_record_is_missing_for_every_command(tmp_path: Path) -> None:
    method = {"kind": "train", "optimizer": "gd", "epochs": 20, "record": 5}
    config_of(tmp_path, **{**PLAIN, "method": method, "replicates": 2, "architecture": "relu"})
    done = recover(tmp_path, "sweep fell.yaml --out out")
    assert (tmp_path / "out" / "trajectories").exists(), done.stderr
    next((tmp_path / "out" / "trajectories").glob("part-*")).unlink()
    missing = json.loads(recover(tmp_path, "status out --json").stdout)["missing"]
    assert missing > 0
    assert f"{missing} to run" in recover(tmp_path, "sweep fell.yaml --out out --dry-run").stdout


SPOILS = {
    "errors": 'np.seterr(all="raise")',
    "warnings": 'warnings.simplefilter("error")',
    "module": "np.isinf = None",
    "own module": "sys.modules[__name__].time = None",
    "alarm": "signal.signal(signal.SIGALRM, signal.SIG_DFL); signal.setitimer(signal.ITIMER_REAL, 0.1)",
    "descriptors": "resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
    "path": "sys.meta_path.clear(); sys.path.clear()",
}


@pytest.mark.parametrize("spoil", SPOILS)
def test_2_a_trial_changes_none_after_it(tmp_path: Path, spoil: str) -> None:
    config_of(tmp_path, f"{SPOILS[spoil]}; return {{'recovered': True}}")
    recover(tmp_path, "sweep fell.yaml --out out --jobs 1")
    assert statuses(tmp_path)["honest"] == {"ok"}


def test_3_a_stopped_supervisor_does_not_hang_the_sweep(tmp_path: Path) -> None:
    config_of(tmp_path, "first() and (os.kill(os.getppid(), signal.SIGSTOP), os._exit(1))")
    recover(tmp_path, "sweep fell.yaml --out out --jobs 1")
    assert statuses(tmp_path)["honest"] == {"ok"}


def test_3_what_a_killed_supervisor_leaves_is_ended(tmp_path: Path) -> None:
    leave = """
            if os.fork() == 0:
                os.setsid()
                os.closerange(0, 3)
                with open(HERE / "pids", "a") as file:
                    file.write(f"{os.getpid()}\\n")
                time.sleep(3600)
            while not (HERE / "pids").exists():
                time.sleep(0.01)
            time.sleep(0.1)
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(3600)"""
    config_of(tmp_path, leave.strip(), replicates=3)
    recover(tmp_path, "sweep fell.yaml --out out --jobs 1")
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) >= 3
    deadline = time.monotonic() + 20
    while (left := [pid for pid in pids if Path("/proc", str(pid)).exists()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def test_4_little_memory_damages_no_part(tmp_path: Path) -> None:
    """A part that unpacks to 400 MB, read by a process that may have 512 MB."""
    from recovery.store.parts import read_part, write_part

    config_of(tmp_path, **PLAIN)
    recover(tmp_path, "sweep fell.yaml --out out")
    trials = tmp_path / "out" / "trials"
    (path,) = trials.glob("part-*.parquet")
    part = read_part(path)
    assert isinstance(part, pa.Table)
    many = part.take(pa.array(np.zeros(250_000, np.int64)))
    column = pa.array([f"{i:01600x}" for i in range(len(many))])
    write_part(trials, many.set_column(many.schema.get_field_index("trial_id"), "trial_id", column))
    before = set(trials.iterdir())
    done = shell(f"ulimit -d 512000; {RECOVER} sweep fell.yaml --out out", tmp_path, OPENBLAS_NUM_THREADS="1")
    assert not (tmp_path / "out" / "damaged").exists()
    assert set(trials.iterdir()) == before
    assert "memory" in done.stderr


ENDS = {
    "import": ("os._exit(0)", 2),
    "atexit": ("import atexit; atexit.register(lambda: os._exit(0))", 1),
}


@pytest.mark.parametrize("end", ENDS)
def test_5_the_end_of_own_code_is_no_success(tmp_path: Path, end: str) -> None:
    head, status = ENDS[end]
    config_of(tmp_path, "raise ValueError", head, replicates=5, axes={"n": [4], "d": [2], "method.act": ["other"]})
    assert recover(tmp_path, "sweep fell.yaml --out out").returncode == status


def test_5_a_thread_of_own_code_does_not_keep_the_sweep(tmp_path: Path) -> None:
    head = "import threading; threading.Thread(target=time.sleep, args=[3600]).start()"
    config_of(tmp_path, "pass", head, replicates=2)
    assert recover(tmp_path, "sweep fell.yaml --out out").returncode == 0


def test_5_no_row_is_unpickled_by_what_stores_it(tmp_path: Path) -> None:
    head = """
class Text(str):
    def __str__(self):
        return self
    def __reduce__(self):
        return os.mkdir, (str(HERE / "unpickled"),)
"""
    config_of(tmp_path, 'return {"recovered": True, "solver": Text("plain")}', head, replicates=2)
    recover(tmp_path, "sweep fell.yaml --out out")
    assert not (tmp_path / "unpickled").exists()


def test_6_words_of_a_config_are_no_code_elsewhere(tmp_path: Path) -> None:
    title = "a\n\\input{/etc/passwd} ![seen](http://a/b.png) \u202e"
    config_of(tmp_path, **PLAIN, title=title)
    recover(tmp_path, "sweep fell.yaml --out out")
    page = recover(tmp_path, "report out --format markdown").stdout
    assert "![seen]" not in page
    assert "\u202e" not in page
    assert "\n\\input" not in page


def test_6_a_folder_begins_no_line_of_a_script(tmp_path: Path) -> None:
    folder = tmp_path / "a\ntouch PWN\n#"
    folder.mkdir()
    config_of(folder, **PLAIN)
    recover(folder, "submit fell.yaml --array 2 --out out")
    assert not [script for script in folder.rglob("*.sbatch") if "touch PWN" in script.read_text().splitlines()]


def test_7_the_import_of_a_module_is_no_time_of_a_trial(tmp_path: Path) -> None:
    config_of(tmp_path, "pass", "time.sleep(6)", replicates=2)
    recover(tmp_path, "sweep fell.yaml --out out --trial-timeout 3")
    assert statuses(tmp_path)["honest"] == {"ok"}


@pytest.mark.parametrize(
    "name", ["sweep.json", "rounds/02.json", "trials/part-00000000000000000000000000000000.parquet"]
)
@pytest.mark.parametrize("kind", ["pipe", "zeros"])
@pytest.mark.parametrize("command", ["status", "report"])
def test_8_looking_never_hangs(tmp_path: Path, name: str, kind: str, command: str) -> None:
    config_of(tmp_path, **PLAIN)
    recover(tmp_path, "sweep fell.yaml --out out")
    path = tmp_path / "out" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    done = shell(f"ulimit -v 8000000; timeout 60 {RECOVER} {command} out", tmp_path)
    assert done.returncode in (0, 2), done.stderr
    assert name == "sweep.json" or path.name in done.stderr  # the parts say what it said


def test_8_a_small_part_of_many_rows_takes_little_memory(tmp_path: Path) -> None:
    config_of(tmp_path, **PLAIN)
    recover(tmp_path, "sweep fell.yaml --out out")
    from recovery.store.parts import write_part

    zeros = pa.DictionaryArray.from_arrays(pa.array(np.zeros(40_000_000, np.int8)), pa.array(["0" * 16]))
    write_part(tmp_path / "out" / "trials", pa.table({"trial_id": zeros, "status": zeros}))
    done = shell(f"ulimit -v 3000000; {RECOVER} status out", tmp_path, OPENBLAS_NUM_THREADS="1")
    assert done.returncode == 2
    assert "part-" in done.stderr
