from pathlib import Path

import numpy as np
import pytest

from recovery.config import Trial, load
from recovery.errors import ParameterError
from recovery.runner.batches import BATCH_SECONDS, Batches, shard_numbers, slurm_shard
from recovery.runner.plan import plan
from recovery.store.folder import Folder

from .sweeps import write_config


@pytest.fixture
def trials(tmp_path: Path) -> list[Trial]:
    axes = {"method.seconds": [0.001, 0.1, 30.0], "n": [4, 8]}
    return list(load(write_config(tmp_path, axes=axes, d=2, replicates=400)).trials())


def test_one_cheap_trial_of_user_code_then_expensive_ones_alone_then_cheap_ones_together(trials: list[Trial]) -> None:
    batches = list(Batches(trials, jobs=2))
    assert batches[0][0].cell.cost == min(trial.cell.cost for trial in trials)
    assert sorted(trial.id for batch in batches for trial in batch) == sorted(trial.id for trial in trials)
    assert [len(batch) for batch in batches[:2]] == [1, 1]  # the first of each job: no row waits for another
    batches = batches[1:]
    costs = [batch[0].cell.cost for batch in batches]
    assert costs == sorted(costs, reverse=True)
    assert {len(batch) for batch in batches if batch[0].cell.cost > BATCH_SECONDS} == {1}
    assert max(len(batch) for batch in batches) > 50


def test_batches_follow_the_times_that_trials_really_take(trials: list[Trial]) -> None:
    cheap = [trial for trial in trials if trial.cell.coordinates["method.seconds"] == 0.001]
    batches = Batches(cheap, jobs=1)
    assert len(next(batches)) == 1
    first = next(batches)
    batches.returned(first, [{}] * len(first), 100 * sum(trial.cell.cost for trial in first))
    assert len(next(batches)) <= len(first) / 50


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
    """Every trial is in one shard, and the costs of two shards differ by one trial's at most."""
    axes = {"method.seconds": [0.001, 0.1, 30.0], "n": [4, 8]}
    costs = load(write_config(tmp_path, axes=axes, d=2, replicates=50)).trials().costs
    numbers = shard_numbers(costs, count)
    assert len(numbers) == len(costs)
    assert 1 <= numbers.min() <= numbers.max() <= count
    loads = np.bincount(numbers, costs, minlength=count + 1)[1:]
    assert max(loads) - min(loads) <= costs.max() * (1 + 1e-12)


def test_the_last_of_ten_thousand_shards_costs_as_much_as_the_first() -> None:
    costs = np.random.default_rng(0).lognormal(sigma=2.0, size=200_000)
    numbers = shard_numbers(costs, 10_000)
    loads = [costs[numbers == index].sum() for index in (1, 5_000, 10_000)]
    assert max(loads) - min(loads) <= costs.max()


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
    with pytest.raises(ParameterError, match=r"of no array.*'x'.*--shard"):
        slurm_shard({"SLURM_ARRAY_TASK_ID": "x"})


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
