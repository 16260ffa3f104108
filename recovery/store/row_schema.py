"""Columns of a row and their types: the fixed ones, one per axis, and one per measured value."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.methods.columns import Columns
from recovery.text import printable
from recovery.types import Array, Scalar

Status = Literal["ok", "diverged", "failed", "timeout", "killed"]
FAILURES: tuple[Status, ...] = ("failed", "timeout", "killed")
FINISHED: tuple[Status, ...] = ("ok", "diverged")
"""A trial is `diverged` if its method returned a number that is not finite: this number alone is not measured."""

IDENTITY: dict[str, pa.DataType] = {"trial_id": pa.string(), "sweep": pa.string(), "replicate": pa.int64()}
CIRCUMSTANCE: dict[str, pa.DataType] = {
    "status": pa.string(),
    "seconds": pa.float64(),
    "started_at": pa.timestamp("us", tz="UTC"),
    "error_type": pa.string(),
    "error_message": pa.string(),
    "own_code": pa.string(),
    "made_by": pa.string(),
    "made_on": pa.string(),
    "unmeasured": pa.string(),
}
"""own_code: hash of the user code that the trial ran, null without any. made_by, made_on: version of the program, and
the processor. unmeasured: JSON of column -> reason, for the columns that the trial did not measure although they have a
value; a null that it does not name is not defined. Null where the row does not say."""
NEVER_NULL = (*IDENTITY, "status", "started_at", "made_by")
RECORD = "record."
"""Beginning of the names of columns with a trial's record: arrays with time as their first axis, as nested lists."""
_ARROW: dict[Any, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
_ID_DIGITS = 16


def coordinate_types(cells: Iterable[Mapping[str, Scalar]]) -> dict[str, pa.DataType]:
    """Return column -> Arrow type from the coordinates of cells: int and float together are float64. A coordinate
    without values is text."""
    values = dict[str, list[Scalar]]()
    for coordinates in cells:
        for name, value in coordinates.items():
            values.setdefault(name, []).append(value)
    types = {name: pa.infer_type(found) for name, found in values.items()}
    return {name: pa.string() if pa.types.is_null(kind) else kind for name, kind in types.items()}


def row_schema(coordinates: Mapping[str, pa.DataType], columns: Columns) -> pa.Schema:
    """Return the schema of a part: identity, coordinates, circumstances, and the columns that the methods declare."""
    measured = {name: _ARROW[column.kind] for name, column in columns.items()}
    return pa.schema([*IDENTITY.items(), *coordinates.items(), *CIRCUMSTANCE.items(), *measured.items()])


def record_columns(records: Sequence[Mapping[str, Array]]) -> dict[str, pa.Array]:
    """Return the columns for the records of some rows; a row without a record, given as {}, has nulls."""
    columns = dict[str, pa.Array]()
    for name in dict.fromkeys(name for record in records for name in record):
        arrays = [record.get(name) for record in records]
        kind = pa.float64()
        for _ in range(max(np.ndim(array) for array in arrays if array is not None)):
            kind = pa.list_(kind)
        lists = [None if array is None else np.asarray(array, np.float64).tolist() for array in arrays]
        columns[f"{RECORD}{name}"] = pa.array(lists, kind)
    return columns


def fault_of(schema: pa.Schema, drawn: bool) -> str | None:
    """Return why a Parquet file is no part of this program, such as a missing column; None if it may be one.

    drawn: its config draws data, so that every row has n and d.
    """
    for name in schema.names:
        if schema.names.count(name) > 1 or printable(name) != name:
            return f"has two columns {name!a}, or it is not plain text"
    for name, kind in {**IDENTITY, "n": pa.int64(), "d": pa.int64(), **CIRCUMSTANCE}.items():
        if name not in schema.names and name in ("n", "d") and not drawn:
            continue
        if name not in schema.names:
            return f"has no column {name!r}, which every row of this program has"
        if schema.field(name).type != kind:
            return f"its column {name!r} is {schema.field(name).type}, not {kind}"
    lists = [field.name for field in schema if pa.types.is_nested(field.type) != field.name.startswith(RECORD)]
    return f"its column {lists[0]!r} is {schema.field(lists[0]).type}" if lists else None


def finished(rows: pa.Table) -> pa.ChunkedArray:
    """Return the mask of the rows of finished trials."""
    return pc.is_in(rows["status"], pa.array(FINISHED))


def may_lack(unmeasured: str | None, column: str) -> bool:
    """Return whether a null may mean "not measured": if the row's `unmeasured` lists the column, or is null itself."""
    # quotes inside reasons are escaped, so this text can only be a key
    return unmeasured is None or f'"{column}":' in unmeasured


def keys_of(ids: pa.ChunkedArray) -> Array:
    """Return trial ids, 16 hexadecimal digits, as 64-bit integers; other text as 0, a key of probability 2^-64."""
    valid = pc.fill_null(pc.match_substring_regex(ids, f"^[0-9a-f]{{{_ID_DIGITS}}}$"), False)
    digits = "".join(pc.if_else(valid, ids, "0" * _ID_DIGITS).to_pylist())
    return np.frombuffer(bytes.fromhex(digits), ">u8").astype(np.uint64)
