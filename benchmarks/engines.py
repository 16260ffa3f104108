"""Cost per trial of each backend on 2 workers of this machine.

python -m benchmarks.engines [--trials N]      writes engines.md

Each engine runs N trials of a method that computes nothing. What a trial costs is the time between the first and the
last, over N; the rest is start and end. The load of the machine before it is in its row. Wall time: `processes` runs
before and after the others, and its two rows show the noise. SLURM is one node, this machine, started here where it is
installed; its two workers are two tasks of an array. Then: the efficiency of two workers on trials that wait; what one
more task costs, and what a task of a thousand does before its first trial, by the size of the plan.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from benchmarks import arguments, machine, table, written
from recovery.instances.draw import Instance
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.store import read
from tests.runner.slurm import PROGRAMS, one_node

ENGINES = ("processes", "threading", "slurm", "processes")
SLURM = all(map(shutil.which, PROGRAMS))
PLANNED = (1_000, 100_000, 1_000_000)
TASKS = 32
"""Tasks of a SLURM array with 1 trial per task."""
SHARD = "500/1000"
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


def recover(*words: object, environment: Mapping[str, str] | None = None) -> str:
    """Return what `recover` prints."""
    line = [sys.executable, "-m", "recovery.cli", *map(str, words)]
    return subprocess.run(line, check=True, capture_output=True, text=True, env=environment).stdout


def seconds_of(function: Callable[..., object], *words: object) -> float:
    """Return the wall seconds of a call."""
    clock = time.perf_counter()
    function(*words)
    return time.perf_counter() - clock


def config(folder: Path, replicates: int, seconds: float = 0.0) -> Path:
    """Write the config of a sweep whose trials wait, and return its path."""
    path = folder / "config.yaml"
    path.write_text(CONFIG.format(replicates=replicates, seconds=seconds))
    return path


def engine_row(engine: str, folder: Path, trials: int) -> list[str]:
    """Return the start and end of a sweep without its trials, and the cost of a trial from the first to the last."""
    path, out = config(folder, trials), folder / "out"
    load = f"{os.getloadavg()[0]:.1f}"
    try:
        if engine == "slurm":
            wall = submitted(folder, path, out, "2")
        else:
            wall = seconds_of(recover, "sweep", path, "--out", out, "--jobs", 2, "--backend", engine, "--quiet")
    except subprocess.CalledProcessError as error:
        said = " ".join(error.stderr.split()).replace("|", "/")
        return [engine, load, f"ended with status {error.returncode}: {said[-MOST_WORDS:]}", ""]
    span = first_to_last(out, trials)
    cost = span / (trials - 1)
    return [engine, load, f"{wall - span:.1f}", f"{1e3 * cost:.2f}"]


def first_to_last(out: Path, trials: int) -> float:
    """Return the seconds between the starts of the first and the last trial."""
    began = read(out).frame["started_at"]
    assert len(began) == trials
    return float((began.max() - began.min()).total_seconds())


def submitted(folder: Path, path: Path, out: Path, array: str) -> float:
    """Return the wall seconds from the end of `recover submit`, which makes a forecast, to the end of the array."""
    with one_node(folder / "slurm") as conf:
        environment = {**os.environ, "SLURM_CONF": str(conf)}
        words = ("submit", path, "--array", array, "--out", out, "--now", "--time", "60")
        queue = ["squeue", "-h", "-j", recover(*words, environment=environment).split()[-1]]
        clock = time.perf_counter()
        while subprocess.run(queue, capture_output=True, text=True, env=environment).stdout.strip():
            time.sleep(0.2)
        return time.perf_counter() - clock


def waiting_rows(folder: Path) -> Iterator[list[str]]:
    """Yield the efficiency of two workers on trials that only wait, and so leave the processors to the runner."""
    for seconds in WAITS:
        trials, out = round(20 / seconds), folder / f"{seconds}"
        recover("sweep", config(folder, trials, seconds), "--out", out, "--jobs", 2, "--quiet")
        efficiency = (trials - 1) * seconds / 2 / first_to_last(out, trials)
        yield [f"{trials:,} trials that wait {1e3 * seconds:g} ms", f"{efficiency:.2f}"]


def array_rows(folder: Path) -> Iterator[list[str]]:
    """Yield the fixed cost of an array task, and the time that one of many tasks takes before its first trial."""
    if SLURM:
        wall = submitted(folder, config(folder, TASKS), folder / "tasks", f"{TASKS}%2")
        assert len(read(folder / "tasks").frame) == TASKS
        yield [f"an array of {TASKS} tasks of one trial, two at a time: s a task", f"{wall / TASKS:.1f}"]
    for trials in PLANNED:
        words = ("sweep", config(folder, trials), "--out", folder / "none", "--shard", SHARD, "--dry-run")
        wall = seconds_of(recover, *words)
        most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
        yield [f"task {SHARD} of {trials:,} trials, to its plan: s, and MiB at most", f"{wall:.1f}, {most:,.0f}"]


def engine_rows(folder: Path, trials: int) -> Iterator[list[str]]:
    """Yield a row per engine, each in a folder of its own."""
    for i, engine in enumerate(ENGINES):
        if engine != "slurm" or SLURM:
            (folder / f"{i}").mkdir()
            yield engine_row(engine, folder / f"{i}", trials)


def main() -> None:
    given = arguments(__doc__, trials=1000)
    lines = [f"{machine()} Two workers; {given.trials} trials that compute nothing; wall time.", ""]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        columns = ("engine", "load before", "start and end, s", "ms a trial")
        lines += [*table(columns, engine_rows(folder, given.trials)), ""]
        lines += [*table(("`processes`", "efficiency"), waiting_rows(folder)), ""]
        lines += table(("many tasks", ""), array_rows(folder))
    written(__file__, lines)


if __name__ == "__main__":
    main()
