"""What the runner costs: trials a second that compute nothing, parallel efficiency, and start to stored grid.

python -m benchmarks.overhead [TRIALS]        one cell, then 10 000 cells (1000000 takes minutes)
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from recovery.config import Trial, load
from recovery.instances.draw import Instance
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.runner.plan import plan
from recovery.runner.progress import Progress
from recovery.runner.sweep import Options, run
from recovery.runner.trial import draw_instance
from recovery.runner.workers import Engine

CONFIG = """
name: overhead
seed: 1
replicates: {replicates}
data: {{ensemble: gaussian}}
planted: {{kind: linear, direction: basis}}
architecture: relu
patterns: {{kind: sampled, count: 1, all_ones: ignore}}
method: {{kind: "benchmarks.overhead:Wait", seconds: {seconds}}}
axes: {{n: [1], d: [1]}}
"""
MANY_CELLS = """
name: cells
replicates: {replicates}
data: {{ensemble: gaussian}}
planted: {{kind: linear}}
architecture: relu
patterns: {{kind: sampled, count: 1}}
method: {{kind: "benchmarks.overhead:Wait"}}
axes: {{n: {{start: 1, stop: 100}}, d: {{start: 1, stop: 100}}}}
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


def timed(function: Callable[[], object]) -> tuple[float, float]:
    """(wall seconds, processor seconds of this process)."""
    wall, processor = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - wall, time.process_time() - processor


def sweep(folder: Path, replicates: int, seconds: float, jobs: int) -> tuple[float, float]:
    """Time to run so many trials that sleep, from plan to stored grid."""
    config = folder / "overhead.yaml"
    config.write_text(CONFIG.format(replicates=replicates, seconds=seconds))
    out = folder / f"{replicates}-{seconds}-{jobs}"
    return timed(lambda: run(plan(load(config), out), Options(Engine(jobs)), Progress()))


def command(*arguments: object) -> str:
    """Run `recover`; its wall and processor seconds, those of its workers included, and its peak memory."""
    clock = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "recovery.cli", *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - clock
    assert status == 0
    return f"{wall:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, {used.ru_maxrss / 2**20:.2f} GiB"


def many_cells(folder: Path, replicates: int) -> None:
    """100 x 100 cells: sweep them, go on with nothing to do, and count them."""
    config, out = folder / "cells.yaml", folder / "cells"
    config.write_text(MANY_CELLS.format(replicates=replicates))
    clock = time.perf_counter()
    said = command("sweep", config, "--out", out, "--jobs", 2, "--quiet")
    count = 10_000 * replicates
    print(f"{count} trials of 10000 cells: {count / (time.perf_counter() - clock):.0f} trials/s with 2 workers, {said}")
    print(f"  the same command again: {command('sweep', config, '--out', out, '--jobs', 2, '--quiet')}")
    print(f"  recover status: {command('status', out)}")


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wall, processor = sweep(folder, trials, 0.0, jobs=1)
        drawing = timed(lambda: [draw_instance(trial) for trial in _some(folder, 2000)])[1] / 2000
        print(f"{trials} empty trials, one process: {trials / processor:.0f} trials/s a core, {wall:.1f} s in all")
        print(f"  of {1e6 * processor / trials:.0f} us a trial, {1e6 * drawing:.0f} us draw the 1 x 1 instance")
        sweep(folder, 100, 0.0, jobs=2)  # start the workers
        for seconds in (0.01, 0.1):
            count = round(20 / seconds)
            wall, processor = sweep(folder, count, seconds, jobs=2)
            print(
                f"{count} trials of {1e3 * seconds:g} ms, 2 workers: "
                f"parallel efficiency {count * seconds / 2 / wall:.2f}, "
                f"{1e6 * processor / count:.0f} us a trial in the parent"
            )
        many_cells(folder, max(trials // 10_000, 1))


def _some(folder: Path, replicates: int) -> list[Trial]:
    config = folder / "overhead.yaml"
    config.write_text(CONFIG.format(replicates=replicates, seconds=0))
    return list(load(config).trials())


if __name__ == "__main__":
    main()
