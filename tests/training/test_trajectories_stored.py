"""Trajectories in a results folder: what is written is what is read, by trial, whatever the parts are."""

import numpy as np

from recovery.store.folder import Folder
from recovery.store.trajectories import TRAJECTORIES, read_trajectories


def record(seed: int, steps: int, k: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "epoch": np.arange(float(steps)),
        "loss": rng.random(steps),
        "inner": rng.standard_normal((steps, k, 2)),
        "outer": rng.standard_normal((steps, k, 1)),
    }


def test_records_of_different_widths_come_back_exactly(tmp_path):
    records = {f"t{i}": record(i, 3 + i, 2 + i) for i in range(3)}
    folder = Folder(tmp_path)
    folder.write_trajectories((name, records[name]) for name in ("t0", "t1"))
    folder.write_trajectories([("t2", records["t2"])])
    found = read_trajectories(tmp_path)
    assert found.keys() == records.keys()
    for name, expected in records.items():
        for key, values in expected.items():
            np.testing.assert_array_equal(found[name][key], values)


def test_no_record_makes_no_folder(tmp_path):
    Folder(tmp_path).write_trajectories([])
    assert not (tmp_path / TRAJECTORIES).exists()
    assert read_trajectories(tmp_path) == {}


def test_a_trial_that_ran_twice_has_one_record(tmp_path):
    folder = Folder(tmp_path)
    folder.write_trajectories([("a", record(0, 4, 2))])
    folder.write_trajectories([("a", record(0, 4, 2)), ("b", record(1, 5, 2))])
    found = read_trajectories(tmp_path)
    assert {name: len(item["epoch"]) for name, item in found.items()} == {"a": 4, "b": 5}


def test_other_programs_read_the_dataset(tmp_path):
    import pandas as pd

    Folder(tmp_path).write_trajectories([("a", record(0, 4, 2))])
    frame = pd.read_parquet(tmp_path / TRAJECTORIES)
    assert frame["trial_id"].tolist() == ["a"] * 4
    assert len(frame["inner"][0]) == 2
