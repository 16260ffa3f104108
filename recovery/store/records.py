"""Records of trials, such as the path of a training run: columns of their rows, with one nested list per array."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.store.parts import TRIALS, merge, read_parts
from recovery.store.row_schema import RECORD
from recovery.types import Array


def record_columns(records: Sequence[Mapping[str, Array]]) -> dict[str, pa.Array]:
    """Return the columns of the records of some rows; {} stands for a row without one."""
    names = dict.fromkeys(name for record in records for name in record)
    return {f"{RECORD}{name}": _column([record.get(name) for record in records]) for name in names}


def _column(arrays: Sequence[Array | None]) -> pa.Array:
    """Return a list for each array, null for None."""
    lists = pa.concat_arrays([_nested(np.asarray(array, np.float64)) for array in arrays if array is not None])
    ends = np.cumsum([0, *(0 if array is None else len(array) for array in arrays)])
    missing = pa.array([array is None for array in arrays])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), lists, mask=missing)


def _nested(values: Array) -> pa.Array:
    """Return the array as nested lists along its later axes.

    The numbers are copied once. Python lists would take about 32 bytes per number, four times its size.
    """
    column = pa.array(values.ravel())
    for axis in range(values.ndim - 1, 0, -1):
        count = int(np.prod(values.shape[:axis]))
        ends = np.arange(count + 1, dtype=np.int64) * values.shape[axis]
        column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)
    return column


def read_records(results: Path) -> dict[str, dict[str, Array]]:
    """Return trial id -> arrays, for each trial that has a record. Raises `StoreError` for a damaged part."""
    parts = read_parts(results / TRIALS, ["trial_id", "status", "started_at"], records=True)
    rows = merge([table for _, table in parts])
    names = [name for name in rows.column_names if name.startswith(RECORD)]
    found: dict[str, dict[str, Array]] = {}
    for name in names:
        kept = rows.select(["trial_id", name]).filter(pc.is_valid(rows[name]))
        for trial, values in zip(kept["trial_id"].to_pylist(), kept[name], strict=True):
            found.setdefault(trial, {})[name.removeprefix(RECORD)] = np.array(values.as_py(), np.float64)
    return found
