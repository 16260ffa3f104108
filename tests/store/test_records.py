"""Records in a results folder: written and read by trial, whatever the parts; compaction; damage."""

import random
import signal
import subprocess
import sys
import time
import tracemalloc
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recovery.errors import StoreError
from recovery.store import compaction
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.parts import list_parts
from recovery.store.records import TRAJECTORIES, TrialRecord, read_records, record_table
from recovery.types import Array

from .rows import START, folder, rows, statuses

Arrays = dict[str, np.ndarray]


def record(seed: int, steps: int, k: int) -> Arrays:
    """Random arrays of k neurons at `steps` moments."""
    rng = np.random.default_rng(seed)
    return {
        "epoch": np.arange(float(steps)),
        "loss": rng.random(steps),
        "inner": rng.standard_normal((steps, k, 2)),
        "outer": rng.standard_normal((steps, k, 1)),
    }


def assert_stored(path: Path, expected: dict[str, Arrays]) -> None:
    found = read_records(path)
    assert found.keys() == expected.keys()
    for name, item in expected.items():
        assert found[name].keys() == item.keys()
        for key, values in item.items():
            np.testing.assert_array_equal(found[name][key], values)


def parts(path: Path) -> list[Path]:
    return list_parts(path / TRAJECTORIES)


def test_records_of_different_widths_come_back_exactly(tmp_path: Path) -> None:
    records = {f"t{i}": record(i, 3 + i, 2 + i) for i in range(3)}
    stored = Folder(tmp_path)
    stored.write_records(TrialRecord(name, records[name]) for name in ("t0", "t1"))
    stored.write_records([TrialRecord("t2", records["t2"])])
    assert_stored(tmp_path, records)


def test_no_record_makes_no_folder(tmp_path: Path) -> None:
    Folder(tmp_path).write_records([])
    assert not (tmp_path / TRAJECTORIES).exists()
    assert read_records(tmp_path) == {}


def test_a_trial_that_ran_twice_has_one_record(tmp_path: Path) -> None:
    records = {"a": record(0, 4, 2), "b": record(1, 5, 2)}
    stored = folder(tmp_path)
    stored.write_records([TrialRecord("a", records["a"])])
    stored.write_records(TrialRecord(name, item) for name, item in records.items())
    assert_stored(tmp_path, records)
    assert compact(stored) == (2, 1)
    assert_stored(tmp_path, records)
    assert len(pd.read_parquet(tmp_path / TRAJECTORIES)) == 9


@pytest.mark.parametrize("first", [True, False])
def test_the_record_of_the_stored_attempt_is_read_whatever_came_before(tmp_path: Path, first: bool) -> None:
    """A kill or a full disk between records and rows leaves records without rows of the same start time."""
    old, new = START - timedelta(hours=1), START
    attempts = [TrialRecord("a", record(0, 4, 2), old), TrialRecord("a", record(1, 5, 2), new)]
    stored = folder(tmp_path)
    for attempt in attempts if first else reversed(attempts):
        stored.write_records([attempt])
    stored.write(rows("a", recorded=5, started_at=new))
    for _ in range(2):
        assert_stored(tmp_path, {"a": record(1, 5, 2)})
        compact(stored)
    assert statuses(stored) == {"a": "ok"}
    stored.write(rows("b", recorded=4, started_at=new))
    stored.write_records([TrialRecord("b", record(2, 4, 2), old)])
    assert statuses(stored) == {"a": "ok"}


def test_other_programs_read_the_dataset(tmp_path: Path) -> None:
    Folder(tmp_path).write_records([TrialRecord("a", record(0, 4, 2))])
    frame = pd.read_parquet(tmp_path / TRAJECTORIES)
    assert frame["trial_id"].tolist() == ["a"] * 4
    assert len(frame["inner"][0]) == 2


@pytest.mark.parametrize("size", [1, 5_000, 2**20])
def test_compact_keeps_every_record_whole_whatever_the_size_of_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(compaction, "BYTES_PER_PART", size)
    records = {f"t{i:02d}": record(i, 3 + i % 5, 1 + i % 4) for i in range(24)}
    records["other"] = {"data": np.ones((1, 3, 2)), "labels": np.zeros((1, 3))}
    stored = folder(tmp_path, rows("t00"), rows("t01"))
    for name, item in records.items():
        stored.write_records([TrialRecord(name, item)])
    before, after = compact(stored)
    assert before == 27
    assert after == 1 + len(parts(tmp_path))
    assert len(parts(tmp_path)) == {1: 25, 2**20: 1}.get(size, len(parts(tmp_path)))
    assert_stored(tmp_path, records)
    again = {path.name for path in parts(tmp_path)}
    compact(stored)
    assert {path.name for path in parts(tmp_path)} == again


LOOP = """
import sys
from pathlib import Path
import numpy as np
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.records import TrialRecord
folder, first = Folder(Path(sys.argv[1])), int(sys.argv[2])
for i in range(first, first + 10_000):
    folder.write_records([TrialRecord(f"t{i}", {"epoch": np.arange(3.0), "inner": np.full((3, 2, 2), float(i))})])
    print(i, flush=True)
    if i % 3 == 0:
        compact(folder)
"""
"""Program that writes records, prints the number of each, and compacts, until it is killed."""


@pytest.mark.deep
def test_a_kill_at_any_moment_of_compaction_loses_no_record(tmp_path: Path) -> None:
    stored, rng, written = folder(tmp_path), random.Random(3), []
    for kill in range(6):
        command = [sys.executable, "-c", LOOP, str(tmp_path), str(100_000 * kill)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        written.append(process.stdout.readline())
        time.sleep(rng.uniform(0.0, 0.3))
        process.send_signal(signal.SIGKILL)
        written += process.communicate()[0].splitlines()
        found = read_records(tmp_path)
        assert {f"t{int(line)}" for line in written} <= found.keys()
    for name, item in found.items():
        np.testing.assert_array_equal(item["inner"], np.full((3, 2, 2), float(name[1:])))
    stored.prepare()
    assert not list(tmp_path.rglob("*.tmp"))
    compact(stored)
    assert len(parts(tmp_path)) == 1
    assert read_records(tmp_path).keys() == found.keys()


def test_readers_and_compactions_at_once_see_every_record(tmp_path: Path) -> None:
    stored = folder(tmp_path)
    process = subprocess.Popen([sys.executable, "-c", LOOP, str(tmp_path), "0"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            compact(stored)
            assert f"t{int(line)}" in read_records(tmp_path)
            if int(line) == 40:
                break
    finally:
        process.kill()
        process.communicate()


def test_a_damaged_part_is_named_set_aside_and_its_trials_count_as_missing(tmp_path: Path) -> None:
    stored = folder(tmp_path, rows("a", recorded=4), rows("b", recorded=5), rows("c"))
    stored.write_records([TrialRecord("a", record(0, 4, 2))])
    (damaged,) = parts(tmp_path)
    stored.write_records([TrialRecord("b", record(1, 5, 2))])
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(StoreError, match=damaged.name):
        read_records(tmp_path)
    with pytest.raises(StoreError, match=damaged.name):
        compact(stored)
    (aside,) = stored.prepare()
    assert aside.path == tmp_path / "damaged" / damaged.name
    assert statuses(stored) == {"b": "ok", "c": "ok"}
    assert read_records(tmp_path).keys() == {"b"}


# Records become Arrow columns without a Python object per number.

STRANGE = np.array([np.nan, np.inf, -0.0, 5e-324, 1e308, -np.inf])


@pytest.mark.parametrize(
    "values",
    [
        STRANGE,
        STRANGE.reshape(3, 2),
        STRANGE.reshape(1, 3, 2).transpose(2, 0, 1),  # not in C order
        np.arange(4),
        np.empty((2, 0)),
        np.empty((0, 3)),
        np.float32([[0.1], [0.2]]),
    ],
    ids=lambda values: str(values.shape),
)
def test_arrays_become_nested_lists(values: Array) -> None:
    kind = pa.float64()
    for _ in range(values.ndim - 1):
        kind = pa.list_(kind)
    column = record_table([TrialRecord("a", {"x": values})])["x"]
    assert column.type == kind
    assert repr(column.to_pylist()) == repr(np.asarray(values, np.float64).tolist())


def test_the_conversion_takes_less_than_three_times_the_memory_of_the_numbers() -> None:
    """Lists of Python floats would take four times."""
    values = np.random.default_rng(0).standard_normal((10_000, 30))
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        table = record_table([TrialRecord("a", {"x": values})])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(table) == len(values)
    assert peak + pa.total_allocated_bytes() - before < 3 * values.nbytes
