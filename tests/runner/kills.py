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

COMMAND = [sys.executable, "-m", "recovery.cli", "sweep"]


def start(*arguments: object) -> subprocess.Popen[str]:
    """`recover sweep` in a process group of its own, as a terminal starts it."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, start_new_session=True)


def stored_ids(out: Path) -> Counter[str]:
    """How often each trial is stored, counted in the files themselves."""
    return Counter(
        trial for part in out.glob("trials/*.parquet") for trial in pq.read_table(part)["trial_id"].to_pylist()
    )


def kill_and_resume(config: Path, out: Path, kills: int, rng: random.Random) -> list[int]:
    """Start the sweep, kill it, `kills` times over; then let it end. Returns how many rows each kill found stored.

    Half of the kills come while it starts, the other half while it stores rows of two workers.
    """
    found = []
    for kill in range(kills):
        before = len(stored_ids(out))
        process = start(config, "--out", out, "--jobs", 1 + kill % 2, "--quiet")
        deadline = time.monotonic() + rng.uniform(0.0, 2.0)
        if kill % 2:
            parts = len(list(out.glob("trials/*.parquet")))
            while process.poll() is None and len(list(out.glob("trials/*.parquet"))) == parts:
                time.sleep(0.01)
            deadline = time.monotonic() + rng.uniform(0.0, 0.5)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        _, stderr = process.communicate()
        assert process.returncode == -signal.SIGKILL, f"the sweep ended by itself: {stderr}"
        after = stored_ids(out)
        assert len(after) >= before, "a stored row was lost"
        found.append(len(after))
    process = start(config, "--out", out, "--jobs", 2, "--quiet")
    _, stderr = process.communicate()
    assert process.returncode == 0, stderr
    return found
