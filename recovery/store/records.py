"""What methods recorded on their way: a Parquet dataset beside the rows, one row a trial and recorded moment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from recovery.store.parts import read_parts, refuse
from recovery.types import Array

TRAJECTORIES = "trajectories"
"""The folder of the dataset, inside a results folder."""
TRIAL = "trial_id"


def trajectory_table(records: Iterable[tuple[str, Mapping[str, Array]]]) -> pa.Table:
    """`trial_id` and one column an array of the records, whose first axis is time: doubles, or nested lists of them."""
    tables = []
    for trial_id, record in records:
        columns = {name: _column(np.asarray(values, np.float64)) for name, values in record.items()}
        length = len(next(iter(columns.values())))
        tables.append(pa.table({TRIAL: pa.repeat(trial_id, length), **columns}))
    return pa.concat_tables(tables, promote_options="permissive")


def _column(values: Array) -> pa.Array:
    """The first axis as rows, each of the others as lists: the numbers are copied once, and no object is made of one.

    A list of Python's own takes some 32 bytes a number, four times what it holds.
    """
    column = pa.array(values.ravel())
    for axis in range(values.ndim - 1, 0, -1):
        count = int(np.prod(values.shape[:axis]))
        ends = np.arange(count + 1, dtype=np.int64) * values.shape[axis]
        column = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), column)
    return column


def read_trajectories(results: Path) -> dict[str, dict[str, Array]]:
    """Trial id -> its record, in the order of the parts; a trial that ran twice keeps the first. Empty if none.

    Raises `StoreError` for a damaged part.
    """
    parts, damaged = read_parts(results / TRAJECTORIES)
    refuse(damaged)
    trajectories: dict[str, dict[str, Array]] = {}
    for _, table in parts:
        for record in split_records(table):
            trial_id = record[TRIAL][0].as_py()
            if trial_id not in trajectories:
                columns = {name: record[name].to_pylist() for name in record.column_names if name != TRIAL}
                trajectories[trial_id] = {
                    name: np.array(values, np.float64) for name, values in columns.items() if None not in values
                }
    return trajectories


def merge_records(tables: Sequence[pa.Table]) -> pa.Table:
    """One record a trial, that of the first table which has it, in the order of the trials' ids."""
    rows = pa.concat_tables(tables, promote_options="permissive")
    ids, trial = np.unique(rows[TRIAL].to_numpy(), return_inverse=True)
    origin = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    first = np.full(len(ids), len(tables))
    np.minimum.at(first, trial, origin)
    kept = np.flatnonzero(origin == first[trial])
    return rows.take(kept[np.argsort(trial[kept], kind="stable")])


def split_records(table: pa.Table, rows: int = 1) -> Iterator[pa.Table]:
    """Slices of whole records, each at least `rows` long but for the last; the rows of a record lie together."""
    ids = table[TRIAL].to_pylist()
    begin = 0
    for i in range(1, len(ids) + 1):
        if i == len(ids) or (ids[i] != ids[i - 1] and i - begin >= rows):
            yield table.slice(begin, i - begin)
            begin = i
