"""Records are columns of their rows: written, compacted and read with them."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recovery.store import compaction
from recovery.store.compaction import compact
from recovery.store.grid import read_records
from recovery.store.parts import list_parts, write_part
from recovery.store.row_schema import RECORD, record_columns
from recovery.types import Array

from .rows import START, folder, rows

Arrays = dict[str, np.ndarray]


def record(seed: int, steps: int, k: int) -> Arrays:
    """Random arrays of k neurons at `steps` moments."""
    rng = np.random.default_rng(seed)
    return {"epoch": np.arange(float(steps)), "inner": rng.standard_normal((steps, k, 2))}


def with_records(table: pa.Table, *records: Arrays) -> pa.Table:
    for name, column in record_columns(records).items():
        table = table.append_column(name, column)
    return table


def assert_stored(path: Path, expected: dict[str, Arrays]) -> None:
    found = read_records(path)
    assert found.keys() == expected.keys()
    for name, item in expected.items():
        assert found[name].keys() == item.keys()
        for key, values in item.items():
            np.testing.assert_array_equal(found[name][key], values)


@pytest.mark.parametrize("size", [1, 2_000, 2**20])
def test_records_of_different_widths_and_rows_without_one_come_back_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(compaction, "BYTES_PER_PART", size)
    records = {f"t{i}": record(i, 3 + i % 5, 1 + i % 4) for i in range(12)}
    records["other"] = {"data": np.ones((1, 3, 2)), "labels": np.zeros((1, 3))}
    tables = [with_records(rows(name, "without"), item, {}) for name, item in records.items()]
    stored = folder(tmp_path, *tables, rows("plain"))
    assert_stored(tmp_path, records)
    compact(stored)
    assert_stored(tmp_path, records)
    again = list_parts(stored.trials)
    assert len(again) == {1: 15, 2**20: 1}.get(size, len(again))
    compact(stored)
    assert list_parts(stored.trials) == again


def test_the_record_of_the_stored_attempt_is_read(tmp_path: Path) -> None:
    late = with_records(rows("a", started_at=START + timedelta(hours=1)), record(1, 5, 2))
    stored = folder(tmp_path, late, with_records(rows("a"), record(0, 4, 2)))
    assert_stored(tmp_path, {"a": record(1, 5, 2)})
    assert compact(stored) == (2, 1)
    assert_stored(tmp_path, {"a": record(1, 5, 2)})


def test_other_programs_read_the_records(tmp_path: Path) -> None:
    path = write_part(tmp_path, with_records(rows("a"), record(0, 4, 2)))
    assert len(pq.read_table(path)["record.inner"][0].as_py()[0]) == 2


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
        np.float32([[0.1], [0.2]]),
    ],
    ids=lambda values: str(values.shape),
)
def test_arrays_become_nested_lists(values: Array) -> None:
    kind = pa.float64()
    for _ in range(values.ndim):
        kind = pa.list_(kind)
    column = record_columns([{"x": values}, {}])[f"{RECORD}x"]
    assert column.type == kind
    assert repr(column.to_pylist()) == repr([np.asarray(values, np.float64).tolist(), None])
