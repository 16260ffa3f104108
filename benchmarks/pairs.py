"""Seconds and Newton steps of the trials of configs in two checkouts, paired: the same trials, in turn.

    python -m benchmarks.pairs --against FOLDER [--configs p1-fig20 ...] [--count 30]      writes pairs.md

The trials of each config are drawn with probabilities proportional to their estimated costs. Each checkout runs them in
a process of its own, on one thread: each trial twice, the second time in the other order. Processor time, compiled
before. `mean ratio`: geometric mean of after / before, with its 95 % interval. `deviation`: the largest relative
difference of an objective.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks import arguments, commit, one_thread, table, written
from recovery.runner.loading import load
from recovery.runner.trial import measure

HERE = Path(__file__).resolve()
SEED = 1


def drawn(config: str, count: int) -> list[int]:
    """Return the places of the drawn trials of a config."""
    costs = np.cumsum([trial.cell.cost for trial in load(config).trials()])
    return sorted(np.searchsorted(costs / costs[-1], np.random.default_rng(SEED).random(count)).tolist())


def serve(config: str) -> None:
    """Measure the trials whose places are read, one per line: print processor seconds, steps, objective, verdict."""
    trials = load(config).trials()
    for line in sys.stdin:
        start = time.process_time()
        row = measure(trials[int(line)])
        seconds = time.process_time() - start
        print(seconds, row.get("iterations") or 0, row.get("objective"), row.get("verdict"), flush=True)


def paired(config: str, count: int, against: Path) -> list[str]:
    """Return the cells of one row."""
    path = str(HERE.parents[1] / "configs" / f"{config}.yaml")
    workers = [
        subprocess.Popen(
            [sys.executable, HERE, "--serve", path],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for folder in (against, HERE.parents[1])
    ]

    def answer(which: int, place: int) -> list[str]:
        worker = workers[which]
        assert worker.stdin is not None
        assert worker.stdout is not None
        print(place, file=worker.stdin, flush=True)
        return worker.stdout.readline().split()

    places = drawn(path, count)
    for which in (0, 1):
        answer(which, places[0])  # compiles
    seconds, steps, deviation, verdicts = np.zeros((2, count)), np.zeros((2, count)), 0.0, 0
    for i, place in enumerate(places):
        for order in ((0, 1), (1, 0)):
            found = {which: answer(which, place) for which in order}
            for which, (taken, taken_steps, _, _) in found.items():
                seconds[which, i] += float(taken) / 2
                steps[which, i] = float(taken_steps)
        deviation = max(deviation, abs(float(found[1][2]) / float(found[0][2]) - 1))
        verdicts += found[0][3] != found[1][3]
    for worker in workers:
        worker.terminate()
    logs = np.log(seconds[1] / seconds[0])
    half = 1.96 * logs.std(ddof=1) / np.sqrt(count)
    low, ratio, high = np.exp([logs.mean() - half, logs.mean(), logs.mean() + half])
    totals = [f"{seconds[which].sum():.1f} s, {steps[which].sum():.0f}" for which in (0, 1)]
    compared = f"{ratio:.2f} ({low:.2f} to {high:.2f})", f"{seconds[1].sum() / seconds[0].sum():.2f}"
    return [config, str(count), *totals, *compared, f"{deviation:.0e}", str(verdicts)]


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
        return
    given = arguments(__doc__, against=Path(), configs=("p1-fig20", "p1-fig24"), count=30)
    against = given.against.resolve()
    before = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=against, capture_output=True, text=True)
    columns = ("config", "trials", "before: s, steps", "after: s, steps", "mean ratio (95 %)", "ratio of totals")
    head = f"Before: commit {before.stdout.strip()}. After: commit {commit()}."
    lines = table(
        (*columns, "deviation", "other verdicts"), (paired(one, given.count, against) for one in given.configs)
    )
    written(__file__, [head, "", *lines])


if __name__ == "__main__":
    with one_thread():
        main()
