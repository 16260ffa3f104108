"""Forecasts of run times from a few timed trials."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recovery.config import Trial, load
from recovery.runner.forecast import time_some
from recovery.runner.pool import POOL
from tests.invoke import recover

from .sweeps import write_config


def timed(monkeypatch: pytest.MonkeyPatch, seconds: Any) -> None:
    """Let each trial take `seconds(trial)` of a simulated clock."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def measure(trials: Sequence[Trial], timeout: float) -> list[dict[str, Any]]:
        took = seconds(trials[0])
        now[0] += min(took, timeout)
        return [{"status": "ok" if took <= timeout else "timeout", "seconds": took}]

    monkeypatch.setattr(POOL, "measure", measure)


def test_each_method_and_architecture_has_its_own_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = {"n": [4, 40], "d": [2, 8], "architecture": ["relu", "relu_skip"]}
    trials = load(write_config(tmp_path, axes=axes)).trials()

    def seconds(trial: Trial) -> float:
        return trial.cell.cost * (50 if trial.cell.coordinates["architecture"] == "relu" else 1)

    timed(monkeypatch, seconds)
    found = time_some(trials)
    assert found.work == pytest.approx(sum(map(seconds, trials)))
    assert f"of one core, from {found.timed} trials timed now" in str(found)


def test_what_the_first_trial_imports_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials, seen = load(write_config(tmp_path)).trials(), list[str]()

    def seconds(trial: Trial) -> float:
        seen.append(trial.id)
        return 1.0 if len(seen) == 1 else trial.cell.cost

    timed(monkeypatch, seconds)
    assert time_some(trials).work == pytest.approx(trials.costs.sum())


@pytest.mark.parametrize("act", ["hang", "die"])
def test_a_trial_that_hangs_or_dies_does_not_block_the_forecast(tmp_path: Path, act: str) -> None:
    config = write_config(tmp_path, method={"act": act}, axes={"n": [4], "d": [2]}, replicates=3)
    found = time_some(load(config).trials(), 0.5)
    assert found.timed > 0
    assert (found.failed > 0) == (act == "die")


def test_failed_trials_are_reported_with_the_first_error(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"act": "raise"}, axes={"n": [4], "d": [2]}, replicates=3)
    said = r"no forecast: all [1-4] trials timed now failed; the first error: ArithmeticError: no luck with n = 4"
    assert re.search(said, recover("sweep", config, "--dry-run", "--out", tmp_path / "o").stdout)
