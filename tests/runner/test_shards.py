from pathlib import Path

import pandas as pd
import pytest

from recovery.config import load
from recovery.errors import ParameterError
from recovery.runner.batches import cost, share, slurm_shard

from .sweeps import rows, sweep, write_config


@pytest.mark.parametrize("count", [1, 2, 7])
def test_shards_are_a_balanced_partition(tmp_path: Path, count: int) -> None:
    axes = {"method.seconds": [0.001, 0.1, 30.0], "n": [4, 8]}
    trials = list(load(write_config(tmp_path, axes=axes, d=2, replicates=50)).trials())
    shards = [share(reversed(trials) if index % 2 else trials, index, count) for index in range(1, count + 1)]
    assert sorted(trial.id for shard in shards for trial in shard) == sorted(trial.id for trial in trials)
    loads = [sum(map(cost, shard)) for shard in shards]
    assert max(loads) - min(loads) <= max(map(cost, trials))


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
