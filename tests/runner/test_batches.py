from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recovery.config import Trial, Trials, load
from recovery.errors import ParameterError
from recovery.runner.batches import BATCH_SECONDS, Batches, cost, in_turn, shard_numbers, slurm_shard
from recovery.runner.plan import plan
from recovery.store.folder import Folder
from recovery.types import Array

from .sweeps import rows, sweep, write_config


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


@pytest.mark.parametrize("count", [1, 2, 7])
def test_shards_are_a_balanced_partition(tmp_path: Path, count: int) -> None:
    axes = {"method.seconds": [0.001, 0.1, 30.0], "n": [4, 8]}
    assert_shared(load(write_config(tmp_path, axes=axes, d=2, replicates=50)).trials().costs, count)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("costs", [[8.0] + [1.0] * 7, [1.0, 2.0], [5.0], [1e-9] * 40, [2.0**-k for k in range(30)]])
def test_few_dear_trials_have_shards_of_their_own(costs: list[float], count: int) -> None:
    assert_shared(np.array(costs), count)
    if len(costs) == 8 and count == 2:
        assert np.flatnonzero(shard_numbers(np.array(costs), 2) == 1).tolist() == [0]


def test_the_last_of_ten_thousand_shards_costs_as_much_as_the_first() -> None:
    costs = np.random.default_rng(0).lognormal(sigma=2.0, size=1_000_000)
    loads = [costs[shard_numbers(costs, 10_000) == index].sum() for index in (1, 5_000, 10_000)]
    assert max(loads) - min(loads) <= costs.max()


def assert_shared(costs: Array, count: int) -> None:
    """Every trial is in one shard, and the costs of two shards differ by one trial's at most."""
    numbers = shard_numbers(costs, count)
    assert len(numbers) == len(costs)
    assert 1 <= numbers.min() <= numbers.max() <= count
    loads = np.bincount(numbers, costs, minlength=count + 1)[1:]
    assert max(loads) - min(loads) <= costs.max() * (1 + 1e-12)


def test_shards_in_any_order_fill_the_grid_of_a_plain_run(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    sweep(config, tmp_path / "plain")
    ran = [sum(sweep(config, tmp_path / "out", shard=(index, 3)).ran.values()) for index in (2, 3, 1)]
    assert sum(ran) == 24
    assert min(ran) > 0
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), rows(tmp_path / "plain"))


def slurm(task: int, first: int, last: int, count: int, step: int = 1) -> dict[str, str]:
    values = {"ID": task, "MIN": first, "MAX": last, "COUNT": count, "STEP": step}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in values.items()}


def test_a_slurm_task_knows_its_shard() -> None:
    assert slurm_shard({}) is None
    assert slurm_shard(slurm(0, 0, 7, 8)) == (1, 8)
    assert slurm_shard(slurm(7, 0, 7, 8)) == (8, 8)
    assert slurm_shard(slurm(5, 1, 9, 5, step=2)) == (3, 5)


def test_a_slurm_array_with_gaps_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"has gaps.*--shard"):
        slurm_shard(slurm(5, 3, 5, 2))


# Plans are arithmetic: stored grids have nothing to run, and columns say what the cells and trials do.

PAPERS = Path(__file__).parents[2] / "results" / "papers"
STORED = ("p1-fig04", "p1-fig10", "p1-theorem7", "p2-fig04", "p3-support-lasso", "p4-algorithms")


@pytest.mark.parametrize("name", STORED)
def test_a_stored_grid_of_the_papers_has_nothing_to_run(name: str) -> None:
    stored = Folder(PAPERS / name).load()["config"]
    planned = plan(load(name, [f"replicates={stored['replicates']}"]), PAPERS / name)
    assert len(planned.trials) > 0
    assert not planned.unstored.any()
    assert planned.counts.total() == len(planned.trials)


def blocks(folder: Path) -> Trials:
    """Two blocks that overlap, with a zip and a derived axis."""
    zipped = {"architecture": ["relu", "relu_skip"], "noise": [0.0, 0.1]}
    axes = [
        {"n": {"start": 2, "stop": 40, "step": 2}, "d": [1, 2, 3], "zip": [zipped]},
        {"n": {"times": "d", "values": [1, 2, 1.5]}, "d": [2, 3]},
    ]
    return load(write_config(folder, axes=axes, replicates=3)).trials()


def test_columns_are_those_of_the_cells_and_trials(tmp_path: Path) -> None:
    trials = blocks(tmp_path)
    each = list(trials)
    assert [trial.id for trial in each] == trials.ids
    assert len({*trials.ids}) == len(trials)
    assert [trials[i].id for i in (0, 7, -1)] == [each[i].id for i in (0, 7, -1)]
    assert [trial.cell.cost for trial in each] == trials.costs.tolist()
    for name in trials.cells[0].coordinates:
        assert trials.coordinates(name) == [trial.cell.coordinates[name] for trial in each]
    chosen = trials.take(np.arange(len(trials)) % 5 == 2)
    assert chosen.ids == trials.ids[2::5] == [trial.id for trial in chosen]


def test_trials_at_hand_are_the_same_columns(tmp_path: Path) -> None:
    trials = blocks(tmp_path)
    given = Trials.of(list(trials))
    assert given.ids == trials.ids
    assert given.costs.tolist() == trials.costs.tolist()
    assert in_turn(given).tolist() == in_turn(trials).tolist()
    assert Counter(in_turn(trials).tolist()) == Counter(range(len(trials)))
