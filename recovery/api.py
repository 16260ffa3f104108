"""The Python API: what the commands do, from a script or a notebook."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from joblib import cpu_count

from recovery.config import Sweep, load
from recovery.errors import ParameterError, RecoverError
from recovery.report.notebook import Results
from recovery.runner.batches import slurm_shard
from recovery.runner.plan import plan
from recovery.runner.progress import Progress, display
from recovery.runner.stop import Stop
from recovery.runner.supervised import Limits
from recovery.runner.sweep import Options
from recovery.runner.sweep import run as run_plan
from recovery.runner.workers import Engine
from recovery.store import read as read_grid


class IncompleteError(RecoverError):
    """A run that ended before every trial was stored; calling it again goes on where it stopped."""


def run(
    config: Sweep | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    jobs: int | None = None,
    backend: str | None = None,
    trial_timeout: float | None = None,
    quiet: bool = False,
) -> Results:
    """Run what is missing of a sweep, store a row for each trial, and read the grid: `recover sweep` from Python.

    config: what `load` takes, or what it gave. out: the results folder, `results/NAME` by default; the same folder as
    the command's, with the same guarantees. overrides: `PATH=VALUE` each, of a config that is loaded here. jobs:
    processes, all cores by default. trial_timeout: seconds. Call it in the main thread.
    Raises `ConfigError`, `ParameterError`, `StoreError`, and `IncompleteError` where it was stopped early.
    """
    if isinstance(config, Sweep) and overrides:
        raise ParameterError("overrides are for a config that is loaded here; give them to `load`, which made this one")
    sweep = config if isinstance(config, Sweep) else load(config, overrides)
    planned = plan(sweep, Path(out) if out is not None else Path("results") / sweep.name)
    engine = Engine(cpu_count() if jobs is None else jobs, backend or sweep.backend, Limits(trial_timeout, None))
    options = Options(engine, shard=slurm_shard(os.environ) or (1, 1))
    with Stop() as stop:
        summary = run_plan(planned, options, Progress(display(sweep.name, quiet=quiet)), stop)
    folder = planned.folder.path
    if reason := summary.gave_up or summary.stopped:
        then = f"`recover status {folder}` says why" if summary.gave_up else "call it again to go on"
        stored = sum(summary.stored.values())
        raise IncompleteError(f"{folder}: {stored} of {summary.planned} trials stored: {reason}; {then}")
    return read(folder)


def read(path: str | Path) -> Results:
    """A results folder as a table with its report. Raises `StoreError` for a missing or damaged one."""
    return Results(read_grid(path))
