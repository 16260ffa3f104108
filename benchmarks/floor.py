"""Figure 6(a), noiseless trials that are decided without a solve: their time against what nothing could do without.

python -m benchmarks.floor [--quick] prints a Markdown table and writes it to benchmarks/floor.md. The floor of a trial
draws X and the directions of its hyperplanes, multiplies them, compares signs, and multiplies the patterns with X: two
products of size n x d x p. All is processor time of this run on one thread, in turns; the spread is over the turns.
"""

import argparse
import ctypes
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from benchmarks import machine, one_thread, written
from recovery.config import Trial, load
from recovery.runner.trial import measure

ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of Linux's prctl."""
FIGURE = ("p1-fig06", "data.ensemble=gaussian", "name=p1-fig06a")
WHOLE = ("replicates=20",)
SMALL = ("replicates=1", "axes.n={start: 50, stop: 400, step: 50}")


def floor(trial: Trial) -> None:
    """Do the work that every trial of this size needs."""
    setting, rng = trial.cell.setting, np.random.default_rng(trial.replicate)
    X = rng.standard_normal((setting.n, setting.d))
    H = rng.standard_normal((setting.d, setting.patterns.samples(setting.n)))
    D = X @ H >= 0
    X.T @ D.astype(np.float64)


def processor(work: Callable[[Trial], object], trials: Sequence[Trial]) -> float:
    """Seconds of processor time for all of these trials."""
    clock = time.process_time()
    for trial in trials:
        work(trial)
    return time.process_time() - clock


def command(arguments: Sequence[str]) -> float:
    """Seconds of processor time of `recover sweep`, its workers included, from start to stored grid."""
    with tempfile.TemporaryDirectory() as folder:
        sets = [part for argument in arguments[1:] for part in ("--set", argument)]
        call = [sys.executable, "-m", "recovery.cli", "sweep", arguments[0], *sets, "--out", f"{folder}/out", "--quiet"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert subprocess.run(call, stdout=subprocess.DEVNULL).returncode == 0
        with suppress(ChildProcessError):  # workers that outlived it, whose time nobody has counted
            while True:
                os.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compared(title: str, count: int, turns: Sequence[tuple[float, float]]) -> str:
    """One line of the table, of turns (seconds of the floor, seconds taken)."""
    ratios = sorted(taken / least for least, taken in turns)
    least, taken = np.median(np.array(turns), axis=0) * 1e3 / count
    middle = ratios[len(ratios) // 2]
    spread = f"{middle:.2f}x ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return f"| {title} | {count} | {least:.2f} ms | {taken:.2f} ms | {spread} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few cells, for trying the script")
    quick = parser.parse_args().quick
    chosen = (*FIGURE, *(SMALL if quick else WHOLE))
    trials = list(load(chosen[0], chosen[1:]).trials())
    some = [trial for trial in trials if trial.replicate == 0]
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    with one_thread():
        processor(measure, some)  # what is imported and cached once
        inside = [(processor(floor, some), processor(measure, some)) for _ in range(7)]
        whole = [(processor(floor, trials), command(chosen)) for _ in range(3)]
    lines = [
        "| work | trials | floor a trial | taken a trial | ratio |",
        "|" + "---|" * 5,
        compared("inside the trials", len(some), inside),
        compared("`recover sweep`, from start to stored grid", len(trials), whole),
        "",
        f"One thread a process, processor time, {machine()}",
    ]
    written(__file__, lines, kept=not quick)


if __name__ == "__main__":
    main()
