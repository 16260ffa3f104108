from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recovery.config import load
from recovery.errors import ParameterError
from recovery.runner.batches import shard_numbers, slurm_shard
from recovery.types import Array

from .sweeps import rows, sweep, write_config


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
