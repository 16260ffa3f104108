"""Forecasts of run times from a few timed trials, with a simulated clock."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from recovery.cli.main import main
from recovery.config import Trial, load
from recovery.runner.batches import cost
from recovery.runner.forecast import FIRST_LIMIT, MOST_SECONDS, SECONDS, SHARE, Timed, time_some, time_sweep

from .sweeps import write_config

AXES = {"n": {"start": 2, "stop": 40, "step": 2}, "d": [2, 4, 8, 16]}


def trials(folder: Path) -> list[Trial]:
    return list(load(write_config(folder, axes=AXES)).trials())


class Machine:
    """A clock, and trials that take `factor` cost^`power` seconds of it."""

    def __init__(self, factor: float, power: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.factor, self.power, self.now = factor, power, 0.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def seconds(self, trial: Trial) -> float:
        return float(self.factor * cost(trial) ** self.power)

    def time(self, trial: Trial, limit: float) -> Timed:
        self.now += min(self.seconds(trial), limit)
        return Timed(self.seconds(trial) if self.seconds(trial) <= limit else None)


def test_times_in_proportion_to_the_costs_are_forecast_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, machine = trials(tmp_path), Machine(1.0, 1.0, monkeypatch)
    found = time_some(some, 5.0, time_one=machine.time)
    assert found.work == pytest.approx(sum(map(machine.seconds, some)))
    assert str(found).endswith(f"of one core, from {found.timed} trials timed now")


@pytest.mark.parametrize(("factor", "power"), [(20.0, 0.7), (100.0, 1.0), (300.0, 1.3)])
def test_trials_too_long_to_time_are_extrapolated(
    tmp_path: Path, factor: float, power: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, machine = trials(tmp_path), Machine(factor, power, monkeypatch)
    found = time_some(some, 5.0, 5.0, machine.time)
    assert found.work == pytest.approx(sum(map(machine.seconds, some)), rel=0.3)
    assert machine.now <= 10.0
    assert 0.1 < found.covered < 0.995
    assert "longer trials are extrapolated" in str(found)


@pytest.mark.parametrize(("share", "ratio"), [(0.25, 1.0), (50.0, 200.0)])
def test_if_no_trial_ends_the_first_takes_its_guess_or_twice_its_limit(
    tmp_path: Path, share: float, ratio: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, machine = trials(tmp_path), Machine(1e6, 1.0, monkeypatch)
    limit = share * min(map(cost, some))
    found = time_some(some, limit, limit, machine.time)
    assert found.work == pytest.approx(max(1.0, 2 * FIRST_LIMIT * share) * sum(map(cost, some)))
    assert ratio == max(1.0, 2 * FIRST_LIMIT * share)


@pytest.mark.parametrize("whole", [10.0, 200.0, 1e5])
def test_a_long_sweep_is_timed_for_longer(tmp_path: Path, whole: float, monkeypatch: pytest.MonkeyPatch) -> None:
    some = trials(tmp_path) * 20
    machine = Machine(whole / sum(map(cost, some)), 1.0, monkeypatch)
    assert time_some(some, time_one=machine.time).work == pytest.approx(whole)
    assert machine.now <= max(SECONDS, min(MOST_SECONDS, SHARE * whole)) + 2 * max(map(machine.seconds, some))


@pytest.mark.parametrize("act", ["hang", "die"])
def test_a_trial_that_hangs_or_dies_does_not_block_the_forecast(tmp_path: Path, act: str) -> None:
    config = write_config(tmp_path, method={"act": act}, axes={"n": [4], "d": [2]}, replicates=3)
    assert time_some(list(load(config).trials()), 0.5).work > 0.0


def test_modules_that_the_first_trial_of_a_group_imports_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = {"patterns.kind": ["sampled", "exhaustive"]}
    some = list(load(write_config(tmp_path, axes=AXES | laws)).trials())
    machine, imported = Machine(1.0, 1.0, monkeypatch), set()

    def first_is_slow(trial: Trial, limit: float) -> Timed:
        kind, took = trial.cell.setting.patterns.kind, machine.time(trial, limit).seconds
        late = 0.0 if kind in imported else 3.0
        imported.add(kind)
        return Timed(None if took is None else took + late)

    found = time_some(some, 5.0, time_one=first_is_slow)
    assert imported == {"sampled", "exhaustive"}
    assert found.work == pytest.approx(sum(map(machine.seconds, some)))


def test_groups_have_their_own_times_and_few_long_trials_are_met(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One group takes 50 times longer; in the other, 5 % of the trials take 100 times longer than their cost."""
    axes = {"n": [4, 6], "d": [2], "patterns.kind": ["sampled", "exhaustive"]}
    some = list(load(write_config(tmp_path, axes=axes, replicates=200)).trials())
    clock = Machine(0.0, 1.0, monkeypatch)

    def seconds(trial: Trial) -> float:
        slow = 50 if trial.cell.setting.patterns.kind == "exhaustive" else 100 if trial.replicate % 20 == 0 else 1
        return 0.01 * slow

    def time_one(trial: Trial, limit: float) -> Timed:
        clock.now += seconds(trial)
        return Timed(seconds(trial))

    assert time_some(some, 60.0, 60.0, time_one).work == pytest.approx(sum(map(seconds, some)), rel=0.25)


def test_failed_trials_are_reported_with_the_first_error(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"act": "raise"}, axes={"n": [4], "d": [2]}, replicates=3)
    found = time_some(list(load(config).trials()), 600.0)
    assert (found.failed, found.timed) == (4, 4)
    said = "no forecast: all 4 trials timed now failed; the first error: ArithmeticError: no luck with n = 4"
    assert str(found) == said
    for command in (
        ["check", str(config), "--forecast"],
        ["sweep", str(config), "--dry-run", "--out", str(tmp_path / "o")],
    ):
        shown = CliRunner().invoke(main, command).stdout  # how many trials end in time depends on the machine
        assert re.search(r"no forecast: all [1-4] trials timed now failed; the first error: ArithmeticError: no", shown)
    some = time_some(
        list(load(config).trials()),
        time_one=lambda trial, limit: Timed(1.0, "KeyError: 'x'" if trial.replicate == 1 else ""),
    )
    assert (some.failed, some.timed) == (1, 4)
    assert str(some).endswith("from 4 trials timed now; 1 of them failed, the first with KeyError: 'x'")


def test_later_rounds_cost_as_much_per_trial_as_the_first(tmp_path: Path) -> None:
    sampling = {"kind": "boundary", "rounds": 3, "budget": 1000}
    method, axes = {"act": "transition", "seconds": 0.1}, {"n": [4, 8], "d": [2]}
    found = time_sweep(load(write_config(tmp_path, method=method, sampling=sampling, axes=axes)))
    assert found.trials == 1000
    assert 100.0 <= found.work < 200.0
