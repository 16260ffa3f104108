"""Rows and rounds do not depend on workers, limits, shards, interruptions or kills."""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from .kills import kill_and_resume, start, stored_ids
from .slurm import wait_until
from .sweeps import interrupting, rounds, rows, sweep, until_config, write_config


@dataclass(frozen=True)
class Case:
    """A config, and the rows and rounds that one worker gives without a disturbance."""

    config: Path
    slow: Path
    rows: pd.DataFrame
    rounds: list[dict[str, Any]]


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp(request.param)
    slow = folder / "slow"
    lingering = {"path": str(slow), "seconds": 0.02}
    if request.param == "plain":
        config = write_config(folder, method={"act": "linger", **lingering}, replicates=40)
    else:
        sampling = {"kind": "until", "rule": "threshold +-0.3", "refine": True}
        axes = {"n": {"start": 4, "stop": 40, "step": 12}, "d": [4, 6, 8, 10, 12]}
        config = until_config(folder, method=lingering, sampling=sampling, axes=axes)
    sweep(config, folder / "one", refine=True)
    return Case(config, slow, rows(folder / "one"), rounds(folder / "one"))


def options(case: Case, out: Path, **given: Any) -> None:
    sweep(case.config, out, refine=True, **given)


def shards(case: Case, out: Path) -> None:
    for turn in range(60):
        done = sweep(case.config, out, shard=(1 + turn % 2, 2), refine=True)
        if done.stopped is None and turn:
            break


def interruptions(case: Case, out: Path) -> None:
    total, ran = len(case.rows), 0
    for stop in (5, total // 3, total // 2, total - 3, None):
        progress = interrupting(stop - ran) if stop else None
        ran += sum(sweep(case.config, out, progress=progress, refine=True).ran.values())
    assert ran == total


def kills(case: Case, out: Path, sweeps: int = 1) -> None:
    for seed in range(sweeps):
        shutil.rmtree(out, ignore_errors=True)
        kill_and_resume(case.config, out, random.Random(seed), case.slow)
        assert stored_ids(out) == dict.fromkeys(case.rows.index, 1)
        assert not list(out.rglob("*.tmp"))


def killed_notebooks(case: Case, out: Path) -> None:
    from jupyter_client.manager import start_new_kernel

    case.slow.touch()
    for _ in range(2):
        before = stored_ids(out)
        manager, client = start_new_kernel(cwd=str(out.parent))
        client.execute(f"import recovery; recovery.run({str(case.config)!r}, {str(out)!r}, jobs=1)")
        wait_until(lambda before=before: stored_ids(out).keys() > before.keys(), "rows of a notebook")
        manager.shutdown_kernel(now=True)
        client.stop_channels()
        assert before.keys() <= stored_ids(out).keys() < set(case.rows.index)
    case.slow.unlink()
    sweep(case.config, out, refine=True)


def two_sweeps(case: Case, out: Path) -> None:
    both = [start(case.config, "--out", out, "--jobs", 1, "--quiet") for _ in range(2)]
    assert [(process.communicate()[1], process.returncode)[1] for process in both] == [0, 0]


WAYS: dict[str, Callable[[Case, Path], None]] = {
    "two_workers": partial(options, jobs=2),
    "threads": partial(options, jobs=3, backend="threading"),
    "limits": partial(options, timeout=60),
    **{way.__name__: way for way in (shards, interruptions, kills, killed_notebooks, two_sweeps)},
    "many kills": partial(kills, sweeps=50),
}
PAIRS = [(case, name) for case in ("plain", "until") for name in WAYS]
MARKS = {pair: pytest.mark.deep for pair in PAIRS if pair[1] in ("killed_notebooks", "two_sweeps")}
MARKS |= {pair: pytest.mark.soak for pair in PAIRS if pair[1] == "many kills"} | {("until", "kills"): pytest.mark.deep}


@pytest.mark.parametrize(
    ("case", "way"), [pytest.param(*pair, marks=MARKS.get(pair, ())) for pair in PAIRS], indirect=["case"]
)
def test_rows_and_rounds_do_not_depend_on(case: Case, way: str, tmp_path: Path) -> None:
    WAYS[way](case, tmp_path / "out")
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), case.rows)
    assert rounds(tmp_path / "out") == case.rounds
