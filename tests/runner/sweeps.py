"""Sweeps of the fake method, run and compared."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from recovery.config import load
from recovery.runner.plan import plan
from recovery.runner.pool import UNLIMITED, Limits
from recovery.runner.progress import Progress
from recovery.runner.run import Options, Summary, run
from recovery.runner.stop import Stop
from recovery.runner.workers import Engine
from recovery.store import read

HERE = Path(__file__).parent
TIMES = ("seconds", "started_at")
"""The columns in which two runs of one trial differ."""


def write_config(folder: Path, *, method: dict[str, Any] | None = None, **fields: Any) -> Path:
    """A config of 3 x 2 cells and 4 replicates, with other fields as given, and the fake method beside it."""
    shutil.copy(HERE / "fakes.py", folder / "fake_methods.py")
    document = {
        "name": "fake",
        "seed": 7,
        "replicates": 4,
        "data": {"ensemble": "gaussian"},
        "planted": {"kind": "linear"},
        "architecture": "relu",
        "method": {"kind": "fake_methods:Fake", **(method or {})},
        "axes": {"n": [4, 8, 12], "d": [2, 3]},
        **fields,
    }
    path = folder / "fake.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump(document, file)
    return path


def sweep(
    config: Path,
    out: Path,
    jobs: int = 1,
    *,
    backend: str = "processes",
    limits: Limits = UNLIMITED,
    max_time: float | None = None,
    **options: Any,
) -> Summary:
    """Run what is missing, as `recover sweep` does."""
    with Stop(max_time) as stop:
        return run(plan(load(config), out), Options(Engine(jobs, backend, limits), **options), Progress(), stop)


def rows(out: Path, drop: tuple[str, ...] = TIMES) -> pd.DataFrame:
    """The stored rows by trial, without the columns in which two runs differ."""
    return read(out).frame.drop(columns=list(drop)).set_index("trial_id").sort_index()


def interrupt_after(trials: int, monkeypatch: Any, number: int = signal.SIGTERM) -> None:
    """Let the next sweep receive a signal when it has so many rows."""

    advance: Callable[..., None] = Progress.advance
    seen = 0

    def counting(self: Progress, done: Any) -> None:
        nonlocal seen
        done = list(done)
        advance(self, done)
        seen += len(done)
        if seen >= trials:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Progress, "advance", counting)
