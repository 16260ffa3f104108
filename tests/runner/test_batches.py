from pathlib import Path

import pytest

from recovery.config import Trial, load
from recovery.runner.batches import BATCH_SECONDS, Batches, cost, in_turn

from .sweeps import write_config


@pytest.fixture
def trials(tmp_path: Path) -> list[Trial]:
    axes = {"method.seconds": [0.001, 0.1, 30.0], "n": [4, 8]}
    return list(load(write_config(tmp_path, axes=axes, d=2, replicates=400)).trials())


def test_one_cheap_trial_of_user_code_then_expensive_ones_alone_then_cheap_ones_together(trials: list[Trial]) -> None:
    batches = list(Batches(trials, jobs=2))
    assert cost(batches[0][0]) == min(map(cost, trials))
    assert sorted(trial.id for batch in batches for trial in batch) == sorted(trial.id for trial in trials)
    assert [len(batch) for batch in batches[:2]] == [1, 1]  # the first of each job: no row waits for another
    batches = batches[1:]
    costs = [cost(batch[0]) for batch in batches]
    assert costs == sorted(costs, reverse=True)
    assert {len(batch) for batch in batches if cost(batch[0]) > BATCH_SECONDS} == {1}
    assert max(len(batch) for batch in batches) > 50


def test_batches_follow_the_times_that_trials_really_take(trials: list[Trial]) -> None:
    cheap = [trial for trial in trials if trial.cell.coordinates["method.seconds"] == 0.001]
    batches = Batches(cheap, jobs=1)
    assert len(next(batches)) == 1
    first = next(batches)
    batches.returned(first, [{}] * len(first), 100 * sum(map(cost, first)))
    second = next(batches)
    assert len(second) <= len(first) / 50


def test_trials_that_a_batch_did_not_begin_run_next(trials: list[Trial]) -> None:
    batches = Batches(trials[:10], jobs=1)
    _, batch, *_ = list(batches)
    assert not batches
    assert len(batch) > 1
    batches.returned(batch, [{}], 1.0)
    again = [trial for later in batches for trial in later]
    assert again == batch[1:]


def test_a_coarse_grid_over_everything_comes_first(tmp_path: Path) -> None:
    text = "name: order\ndata: {ensemble: gaussian}\nplanted: {kind: linear}\narchitecture: relu_skip\n"
    text += "method: {kind: min_norm}\nreplicates: 3\n"
    text += "axes: {n: {start: 10, stop: 120, step: 10}, d: {start: 1, stop: 9, step: 1}}\n"
    everything = load(text).trials()
    order = [everything[place] for place in in_turn(everything)]
    assert sorted(trial.id for trial in order) == sorted(trial.id for trial in everything)
    first = [(trial.cell.setting.n, trial.cell.setting.d) for trial in order[:9]]
    assert sorted(first) == [(n, d) for n in (10, 50, 90) for d in (1, 5, 9)]
    costs = [cost(trial) for trial in order[9:]]
    assert costs == sorted(costs, reverse=True)
