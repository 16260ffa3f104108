"""How long a sweep will take, from a few trials: exact where times follow the guesses, near where they bend."""

from pathlib import Path

import pytest

from recovery.config import Trial, load
from recovery.runner.batches import cost
from recovery.runner.forecast import (
    LOADING,
    MOST_SECONDS,
    NARROWEST,
    PART,
    SECONDS,
    WIDEST,
    Timing,
    _kinds,
    _strata,
    time_some,
    time_sweep,
)

from .sweeps import write_config

AXES = {"n": {"start": 2, "stop": 40, "step": 2}, "d": [2, 4, 8, 16]}


def trials(folder: Path) -> list[Trial]:
    return list(load(write_config(folder, axes=AXES)).trials())


class Machine:
    """A clock, and trials that take `factor` cost^`power` seconds of it."""

    def __init__(self, factor: float, power: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.factor, self.power, self.now = factor, power, 0.0
        monkeypatch.setattr("recovery.runner.forecast.time.monotonic", lambda: self.now)

    def seconds(self, trial: Trial) -> float:
        return float(self.factor * cost(trial) ** self.power)

    def time(self, trial: Trial, limit: float) -> float | None:
        self.now += min(self.seconds(trial), limit)
        return self.seconds(trial) if self.seconds(trial) <= limit else None


def test_times_that_follow_the_guesses_are_told_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some, machine = trials(tmp_path), Machine(1.0, 1.0, monkeypatch)
    found = time_some(some, 5.0, time_one=machine.time)
    assert found.seconds == pytest.approx(sum(map(machine.seconds, some)))
    assert found.share == 1.0
    assert str(found) == f"{found.timed} trials timed now"


@pytest.mark.parametrize(("factor", "power"), [(20.0, 0.7), (100.0, 1.0), (300.0, 1.3)])
def test_what_is_too_dear_to_time_lies_on_the_line_of_the_rest(
    tmp_path: Path, factor: float, power: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    some, machine = trials(tmp_path), Machine(factor, power, monkeypatch)
    found = time_some(some, 5.0, 5.0, machine.time)
    assert found.seconds == pytest.approx(sum(map(machine.seconds, some)), rel=0.3)
    assert machine.now <= 10.0
    assert 0.2 < found.share < 0.9
    assert "the dearest took too long" in str(found)


@pytest.mark.parametrize(("share", "ratio"), [(0.25, 1.0), (50.0, 200.0)])
def test_a_trial_that_is_cut_takes_its_guess_or_twice_the_longer_time_that_it_was_given(
    tmp_path: Path, share: float, ratio: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first trial tells for all: none is ever done."""
    some, machine = trials(tmp_path), Machine(1e6, 1.0, monkeypatch)
    given = share * min(map(cost, some))
    monkeypatch.setattr("recovery.runner.forecast.SHORTEST", 0.0)
    found = time_some(some, given, given, machine.time)
    assert found.seconds == pytest.approx(ratio * sum(map(cost, some)))


@pytest.mark.parametrize("whole", [10.0, 200.0, 1e5])
def test_a_long_sweep_is_timed_for_longer(tmp_path: Path, whole: float, monkeypatch: pytest.MonkeyPatch) -> None:
    some = trials(tmp_path) * 20
    machine = Machine(whole / sum(map(cost, some)), 1.0, monkeypatch)
    found = time_some(some, time_one=machine.time)
    assert found.seconds == pytest.approx(whole)
    assert machine.now <= max(SECONDS, min(MOST_SECONDS, PART * whole)) + 2 * max(map(machine.seconds, some))


def test_a_first_trial_that_was_cut_counts_with_those_that_were_not(tmp_path: Path) -> None:
    """One of four trials takes 20 s, the others 1 s: the whole is known to be 15 s at least, and not taken for 4 s."""
    some = list(load(write_config(tmp_path, axes={"n": [4], "d": [2]})).trials())
    found = time_some(some, time_one=lambda trial, limit: 1.0 if trial.replicate else None)
    assert found.seconds == pytest.approx(4 * (LOADING * SECONDS + 3) / 4)


def test_a_trial_that_hangs_or_dies_is_no_trial_to_wait_for(tmp_path: Path) -> None:
    for act in ("hang", "die"):
        config = write_config(tmp_path, method={"act": act}, axes={"n": [4], "d": [2]}, replicates=3)
        found = time_some(list(load(config).trials()), 0.5)
        assert found.seconds >= 0.0


def test_what_a_kind_of_trial_loads_is_in_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first trial of each law of patterns takes longer; each of them counts as a kind of its own."""
    laws = {"patterns.kind": ["sampled", "exhaustive"]}
    some = list(load(write_config(tmp_path, axes=AXES | laws)).trials())
    machine, loaded = Machine(1.0, 1.0, monkeypatch), set()

    def first_is_slow(trial: Trial, limit: float) -> float | None:
        kind, took = trial.cell.setting.patterns.kind, machine.time(trial, limit)
        late = 0.0 if kind in loaded else 3.0
        loaded.add(kind)
        return None if took is None else took + late

    found = time_some(some, 5.0, time_one=first_is_slow)
    assert loaded == {"sampled", "exhaustive"}
    assert found.seconds == pytest.approx(sum(map(machine.seconds, some)))


def test_rounds_to_come_are_as_dear_as_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recovery.runner.forecast.time_some", lambda some: Timing(float(len(some)), 1, 1.0))
    sampling = {"kind": "boundary", "rounds": 3, "budget": 1000}
    sweep = load(write_config(tmp_path, method={"act": "transition"}, sampling=sampling, axes=AXES))
    assert time_sweep(sweep).seconds == pytest.approx(1000)


def test_trials_of_a_stratum_are_alike(tmp_path: Path) -> None:
    """A few dear trials do not lie among the cheap ones before them, of which samples would hardly meet them."""
    some = list(load(write_config(tmp_path, axes={"n": [*range(1, 101), 3000], "d": [1]})).trials())
    strata = _strata(some)
    assert [trial for stratum in strata for trial in stratum.trials] == sorted(some, key=cost)
    assert all(cost(stratum.trials[-1]) <= WIDEST * cost(stratum.trials[0]) for stratum in strata)


def test_trials_of_about_the_same_guess_are_one_stratum(tmp_path: Path) -> None:
    some = list(load(write_config(tmp_path, axes={"n": [*range(100, 121)], "d": [1]})).trials())
    assert cost(max(some, key=cost)) < NARROWEST * cost(min(some, key=cost))
    assert len(_strata(some)) == 1


def test_kinds_are_told_apart_by_words_where_numbers_make_too_many() -> None:
    """p2-fig04: twenty rates, of gradient descent with and without scaling, which takes a thousandth of the time."""
    kinds = _kinds(list(load("configs/p2-fig04.yaml").trials()))
    assert [{trial.cell.method.optimizer for trial in kind} for kind in kinds] == [{"scaled_gd"}, {"gd"}]  # type: ignore[attr-defined]


def test_kinds_are_told_apart_by_what_is_planted_where_that_makes_few() -> None:
    """p4-smoothed: networks that are harder to learn take five times as long, at the same size."""
    assert len(_kinds(list(load("configs/p4-smoothed.yaml").trials()))) == 6
    assert len(_kinds(list(load("configs/p4-overcomplete.yaml").trials()))) == 2  # two orders, of 16 numbers of neurons
