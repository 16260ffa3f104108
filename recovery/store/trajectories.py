"""What methods recorded on their way: a Parquet dataset beside the rows, one row a trial and recorded moment."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from recovery.store.parts import read_parts
from recovery.types import Array

TRAJECTORIES = "trajectories"
"""The folder of the dataset, inside a results folder."""
TRIAL = "trial_id"


def trajectory_table(records: Iterable[tuple[str, Mapping[str, Array]]]) -> pa.Table:
    """`trial_id` and one column an array of the records, whose first axis is time: doubles, or nested lists of them."""
    tables = []
    for trial_id, record in records:
        columns: dict[str, pa.Array] = {}
        for name, values in record.items():
            kind = pa.float64()
            for _ in range(np.ndim(values) - 1):
                kind = pa.list_(kind)
            columns[name] = pa.array(np.asarray(values, np.float64).tolist(), kind)
        length = len(next(iter(columns.values())))
        tables.append(pa.table({TRIAL: pa.array([trial_id] * length, pa.string()), **columns}))
    return pa.concat_tables(tables, promote_options="permissive")


def read_trajectories(results: Path) -> dict[str, dict[str, Array]]:
    """Trial id -> its record, in the order of the parts; a trial that ran twice keeps the first. Empty if none."""
    folder = results / TRAJECTORIES
    if not folder.is_dir():
        return {}
    found: dict[str, dict[str, Array]] = {}
    for _, table in read_parts(folder)[0]:
        ids = table[TRIAL].to_pylist()
        starts = [i for i, name in enumerate(ids) if i == 0 or name != ids[i - 1]]
        for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
            if ids[start] not in found:
                rows = table.slice(start, end - start)
                columns = {name: rows[name].to_pylist() for name in table.column_names if name != TRIAL}
                found[ids[start]] = {
                    name: np.array(values, np.float64) for name, values in columns.items() if None not in values
                }
    return found
