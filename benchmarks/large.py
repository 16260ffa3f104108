"""Large grids: how long commands take on 10^3 to 10^5 cells with 10 trials each, and their memory.

The method is an own one that computes nothing.

    python -m benchmarks.large

Rows that `status`, `report` and a sweep that goes on find are written as a sweep writes them, without running their
trials. Growth is the power of the number of cells, from the smallest to the largest grid.
"""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks import machine, table, written
from recovery.config import Sweep
from recovery.runner.loading import load
from recovery.runner.plan import content_of
from recovery.runner.recorder import Recorder
from recovery.store.folder import Folder
from recovery.store.parts import list_parts
from recovery.store.provenance import running_version

SHARDS = 10_000
SIDES = (32, 100, 316)
"""Values of n and of d, whose products are the cells. Trials at n = 1, which a grown sweep runs, draw little."""
ROWS_A_PART = 5_000
"""As a sweep stores in two seconds."""
CONFIG = """
name: large
replicates: 10
data: {{ensemble: gaussian}}
planted: {{kind: linear}}
architecture: relu
patterns: {{kind: sampled, count: 1}}
method: {{kind: "large_empty:Empty"}}
axes: {{n: {{start: {first}, stop: {side}}}, d: {{start: 1, stop: {side}}}}}
"""
EMPTY = """
from dataclasses import dataclass
from recovery.methods.columns import select

@dataclass(frozen=True)
class Empty:
    columns = select("recovered")

    def cost(self, n, d):
        return 1e-4

    def __call__(self, instance, architecture):
        return {"recovered": instance.setting.n > 2 * instance.setting.d}
"""


class Used(NamedTuple):
    """Seconds of wall and of processor time, and the GiB of the largest process."""

    wall: float
    processor: float
    memory: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s, {self.processor:.2f} s, {self.memory:.2f} GiB"


def used(folder: Path, arguments: Sequence[object], done: Callable[[], bool] | None = None) -> Used:
    """Measure `recover` until it ends, or until a condition holds, at which it is stopped."""
    clock = time.perf_counter()
    call = [sys.executable, "-m", "recovery.cli", *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, env=kept)
    wall, ended, pid = 0.0, 0, 0
    while not pid:
        pid, ended, spent = os.wait4(process.pid, os.WNOHANG if done and not wall else 0)
        if done and not pid and not wall:
            time.sleep(0.005)
            if done():
                wall = time.perf_counter() - clock
                process.send_signal(signal.SIGTERM)
    assert os.waitstatus_to_exitcode(ended) in ((75, 0, -signal.SIGTERM) if done else (0,)), ended
    wall = wall or time.perf_counter() - clock
    return Used(wall, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 2**20)


def store(sweep: Sweep, out: Path) -> None:
    """Rows of all trials, in parts as a sweep writes them."""
    content = content_of(sweep)
    folder = Folder(out)
    folder.create(content)
    schema = Recorder(folder, sweep, sweep.cells, content, print).schema
    trials = sweep.trials()
    n, d = (np.array(trials.coordinates(name), np.float64) for name in ("n", "d"))
    for start in range(0, len(trials), ROWS_A_PART):
        part = slice(start, start + ROWS_A_PART)
        some = trials[part]
        columns = {
            "trial_id": some.ids,
            "sweep": [sweep.name] * len(some),
            "replicate": some.replicate,
            **{name: pa.array(some.coordinates(name)) for name in sweep.cells[0].coordinates},
            "status": ["ok"] * len(some),
            "seconds": np.full(len(some), 1e-5),
            "started_at": [datetime.now(UTC)] * len(some),
            "recovered": n[part] > 2 * d[part],
            "made_by": [running_version()] * len(some),
            "made_on": ["this machine"] * len(some),
        }
        arrays = [pa.array(columns.get(field.name, [None] * len(some)), field.type) for field in schema]
        folder.write(pa.table(arrays, schema=schema))


def measure(folder: Path, side: int) -> dict[str, Used]:
    """Every command on a grid of side x side cells."""
    config, narrow = folder / f"large{side}.yaml", folder / f"narrow{side}.yaml"
    config.write_text(CONFIG.format(first=1, side=side))
    narrow.write_text(CONFIG.format(first=2, side=side))
    (folder / "large_empty.py").write_text(EMPTY)
    fresh, shard, out = (folder / f"{name}{side}" for name in ("fresh", "shard", "out"))
    sweep = ["sweep", config.name, "--jobs", 1, "--quiet"]
    found = {"check": used(folder, ["check", config.name])}
    found["sweep, to its first row"] = used(folder, [*sweep, "--out", fresh], lambda: stored(fresh) > 0)
    share = [*sweep, "--shard", f"{min(SHARDS, side**2) // 2}/{SHARDS}", "--out", shard]
    found[f"a shard of {SHARDS:,}, to its first row"] = used(folder, share, lambda: stored(shard) > 0)
    os.chdir(folder)
    store(load(narrow.name), out)
    before = stored(out)
    grown = used(folder, [*sweep, "--out", out], lambda: stored(out) > before)
    found["sweep grown by the value 1 of n, to its first row"] = grown
    found["the same sweep again, to its end"] = used(folder, [*sweep, "--out", out])
    found["status"] = used(folder, ["status", out])
    found["report --format csv"] = used(folder, ["report", out, "--format", "csv", "--out", f"{side}.csv"])
    return found


def stored(out: Path) -> int:
    """The parts of a folder."""
    return len(list_parts(Folder(out).trials))


def main() -> None:
    with TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        measured = [measure(folder, side) for side in SIDES]
    rows = []
    for name in measured[0]:
        times = [one[name] for one in measured]
        power = math.log(times[-1].processor / times[0].processor) / math.log((SIDES[-1] / SIDES[0]) ** 2)
        rows.append([name, *times, f"{power:.2f}"])
    note = (
        "Wall time, processor time of all processes that the command waits for, and the memory of the largest; one run "
        f"each, one job. Growth: the power of the number of cells in the processor time. {machine()}"
    )
    lines = table(["command", *(f"{side**2:,} cells" for side in SIDES), "growth"], rows)
    written(__file__, [*lines, "", note])


if __name__ == "__main__":
    main()
