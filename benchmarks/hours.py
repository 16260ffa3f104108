"""The hours of processor time that all of a paper's sweeps take, from a sample of their stored trials.

python -m benchmarks.hours [--trials N] [--prefix p1-] [--against CLONE] [CONFIG ...]

Each config's trials are drawn with chances in proportion to the seconds in its stored grid, at least FEWEST of them and
in all about N, and run again, one thread. A config's hours are its stored ones times the mean ratio of new to stored
seconds: unbiased whatever machine stored the grid, and near since seconds of one config mostly have one ratio.
--against: another clone of the program, which runs every trial beside this one, in turns. Without configs, all of the
prefix are measured and the table is written to hours.md. --to: a run that was ended goes on there.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401  # its BLAS is limited only where it is loaded before
from threadpoolctl import threadpool_limits

from recovery.types import Array

GRIDS = Path(__file__).parents[1] / "results" / "papers"
SEED = 39
FEWEST = 4
WORKER = "--worker"


def serve() -> None:
    """A worker: a line `config id` runs that trial; its seconds of processor time are the answer, `nan` without it."""
    from recovery.compiled import compilation
    from recovery.config import load
    from recovery.runner.trial import measure

    def seconds(trial: Any) -> float:
        start = time.process_time() - compilation.processor
        measure(trial)
        return time.process_time() - compilation.processor - start

    config, trials = "", dict[str, Any]()
    with threadpool_limits(1):
        for line in sys.stdin:
            name, wanted = line.split()
            if name != config:
                config, trials = name, {trial.id: trial for trial in load(f"configs/{name}.yaml").trials()}
                if wanted in trials:
                    seconds(trials[wanted])  # compiles and imports what the config needs
            print(seconds(trials[wanted]) if wanted in trials else "nan", flush=True)


class Worker:
    """A process that runs trials with the program of a clone."""

    def __init__(self, clone: Path) -> None:
        script = str(Path(__file__).resolve())
        self._process = subprocess.Popen(
            [sys.executable, script, WORKER], cwd=clone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"PYTHONPATH": str(clone), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip

    def seconds(self, config: str, trial: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(config, trial, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


@dataclass(frozen=True)
class Measured:
    """A config's hours in each clone (NaN where it lacks the trials), with their standard errors."""

    name: str
    trials: int
    hours: list[float]
    errors: list[float]


def stored_seconds(name: str) -> tuple[list[str], Array]:
    """Ids of a grid's trials and the seconds that they took."""
    import pyarrow.dataset as ds

    table = ds.dataset(GRIDS / name / "trials").to_table(columns=["trial_id", "seconds"])
    return table["trial_id"].to_pylist(), np.nan_to_num(table["seconds"].to_numpy().astype(np.float64))


def measured(name: str, count: int, workers: Sequence[Worker]) -> Measured:
    """`count` trials of a config by every worker, in turns."""
    from recovery.config import load

    ids, stored = stored_seconds(name)
    planned = {trial.id for trial in load(name).trials()}  # without trials that later rounds added
    open_to = np.array([one in planned for one in ids])
    chances = np.where(open_to, stored, 0.0)
    drawn = np.random.default_rng(SEED).choice(len(ids), count, p=chances / chances.sum())
    ratios = np.array([[worker.seconds(name, ids[i]) / stored[i] for worker in workers] for i in drawn])
    hours = stored.sum() / 3600
    means, errors = ratios.mean(axis=0) * hours, ratios.std(axis=0, ddof=1) * hours / np.sqrt(count)
    return Measured(name, count, means.tolist(), errors.tolist())


def shares(names: Sequence[str], count: int) -> Iterator[tuple[str, int]]:
    """Trials of each config: in proportion to its stored seconds."""
    totals = {name: float(stored_seconds(name)[1].sum()) for name in names}
    for name, total in totals.items():
        yield name, max(FEWEST, round(count * total / sum(totals.values())))


def main() -> None:
    from benchmarks import commit, machine, written
    from recovery.config import shipped

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--prefix", default="p1-")
    parser.add_argument("--against", type=Path, help="a clone of the program at another commit")
    parser.add_argument(
        "--to", type=Path, help="a JSON file of what is measured; configs that it has are not run again"
    )
    parser.add_argument("names", nargs="*", metavar="CONFIG")
    given = parser.parse_args()
    clones = [Path(__file__).parents[1], *([given.against] if given.against else [])]
    names = [name for name in shipped() if name.startswith(given.prefix) and (GRIDS / name).is_dir()]
    workers = [Worker(clone.resolve()) for clone in clones]
    done = json.loads(given.to.read_text()) if given.to and given.to.exists() else []
    for name, count in shares(names, given.trials):
        if (given.names and name not in given.names) or name in {one[0] for one in done}:
            continue
        one = measured(name, count, workers)
        done.append([one.name, one.trials, one.hours, one.errors])
        print(done[-1], flush=True)
        if given.to:
            given.to.write_text(json.dumps(done))
    columns = ["hours", *([f"hours at {commit(given.against)}", "ratio"] if given.against else [])]
    lines = [f"| config | trials drawn | {' | '.join(columns)} |", f"|{'---|' * (2 + len(columns))}"]
    whole = np.array([hours for _, _, hours, _ in done]).sum(axis=0)
    error = np.sqrt(np.square([errors for _, _, _, errors in done]).sum(axis=0))
    rows = [*sorted(done, key=lambda one: -one[2][0]), ["all", sum(one[1] for one in done), whole, error]]
    for name, count, hours, errors in rows:
        cells = [f"{hour:.3f} +- {doubt:.3f}" for hour, doubt in zip(hours, errors, strict=True)]
        cells += [f"{hours[0] / hours[1]:.2f}"] if given.against else []
        lines.append(f"| {name} | {count} | {' | '.join(cells)} |")
    lines += ["", f"Standard errors after +-. One thread, processor time, {machine()}"]
    written(__file__, lines, kept=not given.names)


if __name__ == "__main__":
    serve() if sys.argv[1:] == [WORKER] else main()
