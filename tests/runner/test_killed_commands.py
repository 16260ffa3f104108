"""SIGKILL of commands that run trials, except `recover sweep`: no stored row is lost, and the same command completes
the rows of an undisturbed sweep."""

import os
import pty
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from jupyter_client.manager import start_new_kernel

from recovery.store import read
from recovery.store.grid import read_records

from .kills import ended, started, stored_ids
from .sweeps import TIMES, assert_undisturbed, rows, sweep, write_config

pytestmark = pytest.mark.deep
RECOVER = [sys.executable, "-m", "recovery.cli"]
KILLS = 4
TRIALS = 120
WAIT_SECONDS = 90.0

Begun = tuple[Callable[[], None], Callable[[], bool]]
"""Functions that kill a command, and that return whether it has ended."""


def killed(begin: Callable[[], Begun], out: Path, rng: random.Random, longest: float = 2.0) -> None:
    """Half of the kills come while it starts, half after a row of its own is stored."""
    for kill in range(KILLS):
        before = stored_ids(out)
        kill_it, ended = begin()
        end = time.monotonic() + WAIT_SECONDS
        while kill % 2 and stored_ids(out) == before and not ended() and time.monotonic() < end:
            time.sleep(0.05)
        assert kill % 2 == 0 or ended() or stored_ids(out) != before, "nothing was stored"
        time.sleep(rng.uniform(0.0, longest))
        kill_it()
        after = stored_ids(out)
        assert before.keys() <= after.keys(), "a stored row was lost"
    assert stored_ids(out)


def group(*words: object, cwd: Path) -> Begun:
    """In a process group of its own, with a terminal that somebody reads."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        list(map(str, words)), stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, start_new_session=True
    )
    os.close(theirs)

    def drain() -> None:
        with suppress(OSError):  # the terminal is gone with its last process
            while os.read(ours, 4096):
                pass
        os.close(ours)

    threading.Thread(target=drain, daemon=True).start()

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    return kill, lambda: process.poll() is not None


def kernel(code: str, pid: Path, cwd: Path) -> Begun:
    manager, client = start_new_kernel(cwd=str(cwd))
    client.execute(f"import os; open({str(pid)!r}, 'w').write(str(os.getpid()))\n{code}")
    end = time.monotonic() + WAIT_SECONDS
    while not (pid.exists() and pid.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    number = int(pid.read_text())

    def kill() -> None:
        os.kill(number, signal.SIGKILL)
        manager.shutdown_kernel(now=True)
        client.stop_channels()
        pid.unlink()

    return kill, lambda: False


@pytest.mark.parametrize("way", ["run", "notebook"])
def test_a_kill_loses_nothing_and_the_rest_is_run(tmp_path: Path, way: str) -> None:
    slow, out = tmp_path / "slow", tmp_path / "out"
    method = {"act": "linger", "seconds": 0.1, "path": str(slow)}
    config = write_config(tmp_path, method=method, replicates=TRIALS // 6)
    slow.touch()
    code = f"import recovery; recovery.run({str(config)!r}, {str(out)!r}, jobs=1)"

    def begin() -> Begun:
        if way == "notebook":
            return kernel(code, tmp_path / "pid", tmp_path)
        return group(sys.executable, "-c", code, cwd=tmp_path)

    killed(begin, out, random.Random(way), 0.8)
    assert len(stored_ids(out)) < TRIALS, "it was killed at its end only"
    slow.unlink()
    assert sweep(config, out).stored == {"ok": TRIALS}
    assert_undisturbed(config, out)


@pytest.mark.soak
def test_killed_reproductions_end_in_the_same_figures(tmp_path: Path) -> None:
    """Kills while a figure is run and while the gallery is drawn."""
    figures = ("p1-fig03", "p2-fig01")
    words = [*RECOVER, "reproduce", *figures, "--jobs", "1", "--out"]
    out, plain = tmp_path / "out", tmp_path / "plain"
    for name in figures:
        out.joinpath(name).mkdir(parents=True)
    killed(lambda: group(*words, out, cwd=tmp_path), out / figures[1], random.Random(42), 6.0)
    for folder in (out, plain):
        process = started([*words, str(folder), "--quiet"])
        ended(process)
    for name in figures:
        ours, undisturbed = (read(folder / name).frame.set_index("trial_id").sort_index() for folder in (out, plain))
        different = [column for column in undisturbed if column not in (*TIMES, "processor")]
        pd.testing.assert_frame_equal(ours[different], undisturbed[different])
    assert {path.name for path in out.glob("pictures/*")} == {path.name for path in plain.glob("pictures/*")}
    assert not list(out.rglob("*.tmp"))


def test_killed_merges_lose_nothing_and_leave_their_sources(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"act": "transition", "record": True}, replicates=40)
    shares, out = [tmp_path / name for name in ("first", "second", "third")], tmp_path / "out"
    for i, share in enumerate(shares, start=1):
        sweep(config, share, shard=(i, 3))
    before = {path: path.read_bytes() for share in shares for path in share.rglob("*") if path.is_file()}
    command = [*RECOVER, "merge", *map(str, shares), "--out"]
    clock = time.monotonic()
    subprocess.run([*command, str(tmp_path / "undisturbed")], check=True, capture_output=True)
    longest, rng = time.monotonic() - clock, random.Random(9)
    for _ in range(12):
        known = stored_ids(out)
        process = started([*command, str(out)])
        time.sleep(rng.uniform(0.5, 1.0) * longest)
        process.kill()
        process.communicate()
        assert known.keys() <= stored_ids(out).keys(), "a stored row was lost"
    subprocess.run([*command, str(out)], check=True, capture_output=True)
    pd.testing.assert_frame_equal(rows(out), rows(tmp_path / "undisturbed"))
    assert read_records(out).keys() == read_records(tmp_path / "undisturbed").keys()
    assert {path: path.read_bytes() for path in before} == before
    assert not list(out.rglob("*.tmp"))
