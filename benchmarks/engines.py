"""Cost per trial of each backend on 2 workers of this machine, and the effect of many writers on one folder.

python -m benchmarks.engines [--trials N] [--writers W] [--parts P]      writes engines.md

Each engine runs N trials of a method that computes nothing. What a trial costs is the time between the first and the
last, over N; the rest is start and end. The load of the machine before it is in its row. Wall time: `processes` runs
before and after the others, and its two rows show the noise. Columns "planned" are computed: start and end plus the
trials at that cost. SLURM is one node, this machine, started here where it is installed; its two workers are
two tasks of an array. Then: the efficiency of two workers on trials that wait; what one more task costs, and what a
task of a thousand does before its first trial, by the size of the plan. Then W processes write P parts each into one
folder, as the sweeps of as many machines do, and it is read and compacted.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from benchmarks import machine, written
from recovery.instances.draw import Instance
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.parts import list_parts, read_parts, write_part
from tests.runner.slurm import PROGRAMS, one_node

ENGINES = ("processes", "threading", "dask", "ray", "slurm", "processes")
PLANNED = (1_000, 100_000, 10_000_000)
TASKS = 32
"""Tasks of a SLURM array with 1 trial per task."""
PLANS = (1_000, 100_000, 10_000_000)
SHARD = "500/1000"
ROWS = 20
"""Rows per part."""
MOST_WORDS = 400
"""Characters of the final message of a sweep that are printed."""
WAITS = (0.01, 0.1)
"""Seconds that a trial waits, where the efficiency of two workers is measured."""
CONFIG = """
name: overhead
seed: 1
replicates: {replicates}
data: {{ensemble: gaussian}}
planted: {{kind: linear, direction: basis}}
architecture: relu
patterns: {{kind: sampled, count: 1, all_ones: ignore}}
method: {{kind: "benchmarks.engines:Wait", seconds: {seconds}}}
axes: {{n: [1], d: [1]}}
"""


@dataclass(frozen=True)
class Wait:
    """A method that sleeps, which leaves the core to others, so that efficiency is the runner's alone."""

    seconds: float = 0.0

    def cost(self, n: int, d: int) -> float:
        return self.seconds or 1e-4

    columns: ClassVar[Columns] = select("recovered")

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        if self.seconds:
            time.sleep(self.seconds)
        return Measurement(recovered=True)


def command(*words: object) -> float:
    """Wall seconds of `recover`."""
    clock = time.perf_counter()
    line = [sys.executable, "-m", "recovery.cli", *map(str, words)]
    subprocess.run(line, check=True, capture_output=True, text=True)
    return time.perf_counter() - clock


def engine_row(engine: str, folder: Path, trials: int) -> str:
    """A sweep's start and end without its trials, and what a trial costs between the first and the last."""
    config, out = folder / "config.yaml", folder / "out"
    config.write_text(CONFIG.format(replicates=trials, seconds=0.0))
    load = f"{os.getloadavg()[0]:.1f}"
    try:
        if engine == "slurm":
            with one_node(folder / "slurm") as conf:
                wall = submitted(config, out, "2", {**os.environ, "SLURM_CONF": str(conf)})
        else:
            wall = command("sweep", config, "--out", out, "--jobs", 2, "--backend", engine, "--quiet")
    except subprocess.CalledProcessError as error:
        said = " ".join(error.stderr.split()).replace("|", "/")
        return f"| {engine} | {load} | ended with status {error.returncode}: {said[-MOST_WORDS:]} | | | | |"
    span = first_to_last(out, trials)
    cost = span / (trials - 1)
    plan = " | ".join(f"{wall - span + cost * count:,.0f}" for count in PLANNED)
    return f"| {engine} | {load} | {wall - span:.1f} | {1e3 * cost:.2f} | {plan} |"


def first_to_last(out: Path, trials: int) -> float:
    """Return the seconds between the starts of the first and the last trial."""
    began = read(out).frame["started_at"]
    assert len(began) == trials
    return float((began.max() - began.min()).total_seconds())


def waiting_rows(folder: Path) -> list[str]:
    """How much of two workers the trials have that only wait, and so leave the processors to the runner."""
    lines = []
    for seconds in WAITS:
        trials, config, out = round(20 / seconds), folder / "config.yaml", folder / f"{seconds}"
        config.write_text(CONFIG.format(replicates=trials, seconds=seconds))
        command("sweep", config, "--out", out, "--jobs", 2, "--quiet")
        efficiency = (trials - 1) * seconds / 2 / first_to_last(out, trials)
        lines.append(f"| {trials:,} trials that wait {1e3 * seconds:g} ms | {efficiency:.2f} |")
    return lines


def submitted(config: Path, out: Path, array: str, environment: Mapping[str, str]) -> float:
    """Wall seconds from the end of `recover submit`, which makes a forecast, to the end of the array."""
    words = ["submit", str(config), "--array", array, "--out", str(out), "--now", "--time", "60"]
    line = [sys.executable, "-m", "recovery.cli", *words]
    said = subprocess.run(line, check=True, capture_output=True, text=True, env=environment).stdout
    clock = time.perf_counter()
    while subprocess.run(
        ["squeue", "-h", "-j", said.split()[-1]], capture_output=True, text=True, env=environment
    ).stdout.strip():
        time.sleep(0.2)
    return time.perf_counter() - clock


def array_rows(folder: Path) -> list[str]:
    """Measure the fixed cost of an array task, and the time that one of many tasks takes before its first trial."""
    config = folder / "config.yaml"
    lines = []
    if all(map(shutil.which, PROGRAMS)):
        config.write_text(CONFIG.format(replicates=TASKS, seconds=0.0))
        with one_node(folder / "slurm") as conf:
            wall = submitted(config, folder / "tasks", f"{TASKS}%2", {**os.environ, "SLURM_CONF": str(conf)})
        assert len(read(folder / "tasks").frame) == TASKS
        lines.append(f"| an array of {TASKS} tasks of one trial, two at a time: s a task | {wall / TASKS:.1f} |")
    for trials in PLANS:
        config.write_text(CONFIG.format(replicates=trials, seconds=0.0))
        wall = command("sweep", config, "--out", folder / "none", "--shard", SHARD, "--dry-run")
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
        lines.append(
            f"| task {SHARD} of {trials:,} trials, to its plan: s, and MiB at most | {wall:.1f}, {most:,.0f} |"
        )
    return lines


def write_some(folder: Path, table: pa.Table, writer: int, parts: int) -> None:
    """As a sweep of another machine does: its rows, a part at a time."""
    at = table.schema.get_field_index("trial_id")
    for part in range(parts):
        ids = pa.array([f"{writer:04x}{part:06x}{row:06x}" for row in range(len(table))])
        write_part(folder, table.set_column(at, "trial_id", ids))


def folder_rows(folder: Path, writers: int, parts: int) -> list[str]:
    config, out = folder / "config.yaml", folder / "many"
    config.write_text(CONFIG.format(replicates=ROWS, seconds=0.0))
    command("sweep", config, "--out", out, "--quiet")
    tables = [table for _, table in read_parts(Folder(out).trials)[0]]
    table = pa.concat_tables(tables)
    processes = [
        get_context("fork").Process(target=write_some, args=(Folder(out).trials, table, writer, parts))
        for writer in range(writers)
    ]
    clock = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    wall = time.perf_counter() - clock
    count = len(list_parts(Folder(out).trials))
    assert count >= writers * parts
    before = command("status", out)
    clock = time.perf_counter()
    compact(Folder(out))
    compaction = time.perf_counter() - clock
    after = command("status", out)
    left = len(list_parts(Folder(out).trials))
    return [
        f"| parts that {writers} processes wrote, of {ROWS} rows | {count} |",
        f"| parts a minute, each with its fsync | {60 * writers * parts / wall:,.0f} |",
        f"| `recover status` of {count} parts, s | {before:.1f} |",
        f"| `recover compact`: {count} parts to {left}, s | {compaction:.1f} |",
        f"| `recover status` after it, s | {after:.1f} |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--parts", type=int, default=50)
    given = parser.parse_args()
    sizes = " | ".join(f"{count:,} trials, planned, s" for count in PLANNED)
    lines = [f"{machine()} Two workers; {given.trials} trials that compute nothing; wall time.", ""]
    lines += [f"| engine | load before | start and end, s | ms a trial | {sizes} |", "|---" * 7 + "|"]
    for engine in ENGINES if all(map(shutil.which, PROGRAMS)) else [name for name in ENGINES if name != "slurm"]:
        with tempfile.TemporaryDirectory() as name:
            lines.append(engine_row(engine, Path(name), given.trials))
            print(lines[-1], flush=True)
    with tempfile.TemporaryDirectory() as name:
        lines += ["", "| `processes` | efficiency |", "|---|---|", *waiting_rows(Path(name))]
    with tempfile.TemporaryDirectory() as name:
        lines += ["", "| many tasks | |", "|---|---|", *array_rows(Path(name))]
    with tempfile.TemporaryDirectory() as name:
        lines += ["", "| one folder | |", "|---|---|", *folder_rows(Path(name), given.writers, given.parts)]
    written(__file__, lines)


if __name__ == "__main__":
    main()
