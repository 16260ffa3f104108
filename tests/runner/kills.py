"""Sweeps killed with SIGKILL, the whole process group at a random moment, and called again."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from .sweeps import sweep

COMMAND = [sys.executable, "-m", "recovery.cli", "sweep"]
COMPACT = """
import sys, time
from pathlib import Path
from recovery.store.compaction import compact
from recovery.store.folder import Folder
while not Path(sys.argv[1], "sweep.json").exists():
    time.sleep(0.01)
while True:
    compact(Folder(Path(sys.argv[1])))
    time.sleep(0.02)
"""


def start(*arguments: object) -> subprocess.Popen[str]:
    """`recover sweep` in a process group of its own, as a terminal starts it."""
    return started([*COMMAND, *map(str, arguments)])


def started(command: list[str]) -> subprocess.Popen[str]:
    # the tests may run under nohup, which ignores SIGHUP, or in the background, which ignores SIGINT
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGHUP, signal.SIGINT)}
    try:
        return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, start_new_session=True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ended(process: subprocess.Popen[str], status: int = 0) -> str:
    """Wait for the end of a command, which exits with this status; return what it wrote to stderr."""
    _, stderr = process.communicate()
    assert process.returncode == status, stderr
    return stderr


def stored_ids(out: Path) -> Counter[str]:
    """How often each trial ran, counted in the files themselves.

    A compaction killed between its new part and the old ones leaves the same row in both, which is one run.
    """
    while True:
        try:
            parts = [pq.read_table(part, columns=["trial_id", "started_at"]) for part in out.glob("trials/*.parquet")]
        except FileNotFoundError:  # compacted away since it was listed
            continue
        runs = {
            run for part in parts for run in zip(*(part[name].to_pylist() for name in part.column_names), strict=True)
        }
        return Counter(trial for trial, _ in runs)


def kill_and_resume(config: Path, out: Path, rng: random.Random, slow: Path) -> None:
    """Start the sweep and kill it, twice; then let it end.

    The first kill comes while it starts, the second while it stores rows of two workers and another process, which is
    killed with it, compacts the folder over and over. slow: a file for methods that linger; there only while sweeps
    are killed.
    """
    slow.touch()
    for jobs in (1, 2):
        before = stored_ids(out)
        running = [start(config, "--out", out, "--jobs", jobs, "--quiet")]
        deadline = time.monotonic() + rng.uniform(0.0, 2.0)
        if jobs == 2:
            running.append(started([sys.executable, "-c", COMPACT, str(out)]))
            while running[0].poll() is None and set(stored_ids(out)) == set(before):
                time.sleep(0.05)
            deadline = time.monotonic() + rng.uniform(0.0, 0.5)
        while running[0].poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            _, stderr = process.communicate()
            assert process.returncode == -signal.SIGKILL, f"it ended by itself: {stderr}"
        assert before.keys() <= stored_ids(out).keys(), "a stored row was lost"
    slow.unlink()
    sweep(config, out, 2, refine=True)
