"""Helpers that run sweeps of the fake method and compare their rows."""

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from recovery.config import Trial, load
from recovery.report.until import interim_analysis
from recovery.runner.engine import Engine
from recovery.runner.plan import plan
from recovery.runner.progress import Progress
from recovery.runner.run import Options, Summary, run
from recovery.runner.stop import Stop
from recovery.runner.trial import Row
from recovery.store import read

HERE = Path(__file__).parent
TIMES = ("seconds", "started_at")
"""Columns in which two runs of a trial differ."""


def write_config(folder: Path, *, method: dict[str, Any] | None = None, **fields: Any) -> Path:
    """Write a config of 3 x 2 cells and 4 replicates with these fields, and the fake method beside it."""
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
    rule: str | None = None,
    refine: bool = False,
    overrides: Sequence[str] = (),
    backend: str = "processes",
    timeout: float | None = None,
    max_time: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Summary:
    """Run the missing trials, as `recover sweep` does. rule: as --until has it. refine: let it add values."""
    with Stop(max_time) as stop:
        whole = ["sampling.refine=false"] if rule and not refine else []
        planned = plan(load(config, [*overrides, *whole], rule), out)
        settings = Options(Engine(jobs, backend, timeout), **options)
        return run(planned, settings, progress or Progress(), stop, interim_analysis)


def until_config(folder: Path, **fields: Any) -> Path:
    """Write a config of cells whose transitions lie at n = 2d, as P(yes) = Phi((n - 2d) / sqrt n)."""
    axes = {"n": {"start": 2, "stop": 40, "step": 2}, "d": [4, 6, 8, 10, 12]}
    fields = {"axes": axes, "replicates": 2, "report": {"value": "recovered"}, **fields}
    return write_config(folder, method={"act": "transition", **fields.pop("method", {})}, **fields)


def rounds(out: Path) -> list[dict[str, Any]]:
    """Return the contents of the files of rounds."""
    return [json.loads(path.read_text()) for path in sorted((out / "rounds").glob("*.json"))]


def rows(out: Path, drop: tuple[str, ...] = TIMES) -> pd.DataFrame:
    """Return the stored rows by trial, without the columns in which two runs differ."""
    return read(out).frame.drop(columns=list(drop)).set_index("trial_id").sort_index()


def assert_undisturbed(config: Path, out: Path, **options: Any) -> None:
    """Assert that a folder has the rows of a sweep that nothing disturbs."""
    sweep(config, out.with_name("plain"), **options)
    pd.testing.assert_frame_equal(rows(out), rows(out.with_name("plain")))


class Acting(Progress):
    """Progress that calls a function once, as soon as a run has `trials` rows."""

    def __init__(self, trials: int, act: Callable[[], object]) -> None:
        super().__init__()
        self._missing, self._act = trials, act

    def advance(self, done: Iterable[tuple[Trial, Row]]) -> None:
        done = list(done)
        super().advance(done)
        before, self._missing = self._missing, self._missing - len(done)
        if before > 0 >= self._missing:
            self._act()


def interrupting(trials: int, number: int = signal.SIGTERM) -> Acting:
    """Progress that sends this process a signal as soon as a run has `trials` rows."""
    return Acting(trials, lambda: os.kill(os.getpid(), number))
