"""Records of trials, such as the path of a training run: a Parquet dataset with one row per recorded moment.

A record belongs to the row of the same trial and start time, so a record of an earlier attempt is never read as the
record of a later one. Records are written before their rows: a stored row has its record.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.store.parts import TRIALS, merge, read_parts, refuse
from recovery.types import Array

TRAJECTORIES = "trajectories"
"""Name of the dataset's folder in a results folder."""
TRIAL, START = "trial_id", "started_at"
KEY = (TRIAL, START)
"""Columns that identify a record. Parts of earlier versions have no start time."""


@dataclass(frozen=True)
class TrialRecord:
    """Arrays that a trial recorded, with time as their first axis, and when the trial started."""

    trial_id: str
    arrays: Mapping[str, Array]
    started_at: datetime | None = None


def record_table(records: Iterable[TrialRecord]) -> pa.Table:
    """Return a table with the key of each record, and one column per array: doubles, or nested lists of doubles."""
    tables = []
    for record in records:
        columns = {name: _column(np.asarray(values, np.float64)) for name, values in record.arrays.items()}
        length = len(next(iter(columns.values())))
        start = pa.scalar(record.started_at, pa.timestamp("us", tz="UTC"))
        tables.append(pa.table({TRIAL: pa.repeat(record.trial_id, length), START: pa.repeat(start, length), **columns}))
    return pa.concat_tables(tables, promote_options="permissive")


def _column(values: Array) -> pa.Array:
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
    """Return trial id -> arrays, for each trial the record of its row. Raises `StoreError` for a damaged part."""
    parts, damaged = read_parts(results / TRAJECTORIES)
    refuse(damaged)
    if not parts:
        return {}
    rows = merge([table for _, table in read_parts(results / TRIALS, [*KEY, "status"])[0]])
    stored = dict(_keys(rows))
    found: dict[str, dict[str, Array]] = {}
    exact = set[str]()
    for record in (record for _, table in parts for record in split_records(table)):
        ((trial, start),) = set(_keys(record))
        matches = start is not None and start == stored.get(trial)
        of_other_attempt = start is not None and trial in stored and not matches
        if trial in exact or of_other_attempt or (trial in found and not matches):
            continue
        if matches:
            exact.add(trial)
        columns = {name: record[name].to_pylist() for name in record.column_names if name not in KEY}
        found[trial] = {name: np.array(items, np.float64) for name, items in columns.items() if None not in items}
    return found


def without_record(results: Path, rows: pa.Table) -> set[str]:
    """Return the trials whose row counts recorded moments but whose record is gone.

    rows: trial_id, started_at and recorded, the number of recorded moments.
    """
    recorded = _keys(rows.filter(pc.is_valid(rows["recorded"]))) if "recorded" in rows.column_names else []
    if not recorded:
        return set()
    keys = {key for _, table in read_parts(results / TRAJECTORIES, columns=KEY)[0] for key in _keys(table)}
    return {trial for trial, start in recorded if not {(trial, start), (trial, None)} & keys}


def merge_records(tables: Sequence[pa.Table]) -> pa.Table:
    """Return each record once, from the first table that has it, in the order of trial ids and start times."""
    rows = pa.concat_tables(tables, promote_options="permissive")
    trial, start = zip(*_keys(rows), strict=True)
    number = [np.unique(trial, return_inverse=True)[1], [-1 if time is None else time for time in start]]
    keys, record = np.unique(np.array(number, np.int64), axis=1, return_inverse=True)
    record = record.ravel()
    origin = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    first = np.full(keys.shape[1], len(tables))
    np.minimum.at(first, record, origin)
    kept = np.flatnonzero(origin == first[record])
    return rows.take(kept[np.argsort(record[kept], kind="stable")])


def split_records(table: pa.Table, rows: int = 1) -> Iterator[pa.Table]:
    """Yield slices of whole records, each of at least `rows` rows except the last. Rows of a record are contiguous."""
    keys = _keys(table)
    begin = 0
    for i in range(1, len(keys) + 1):
        if i == len(keys) or (keys[i] != keys[i - 1] and i - begin >= rows):
            yield table.slice(begin, i - begin)
            begin = i


def _keys(table: pa.Table) -> list[tuple[str, int | None]]:
    """Return the trial id and start time in microseconds of each row; without a start time, None."""
    known = START in table.column_names
    start = table[START].cast(pa.int64()).to_pylist() if known else [None] * len(table)
    return list(zip(table[TRIAL].to_pylist(), start, strict=True))
