"""The columns of a row, each with its type: fixed ones here, one a measured value, one for every axis."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import pyarrow as pa

from recovery.methods.columns import COLUMNS, Columns, columns_from
from recovery.types import Scalar

Status = Literal["ok", "failed", "timeout", "killed"]
FAILURES: tuple[Status, ...] = ("failed", "timeout", "killed")

IDENTITY: dict[str, pa.DataType] = {"trial_id": pa.string(), "sweep": pa.string(), "replicate": pa.int64()}
CIRCUMSTANCE: dict[str, pa.DataType] = {
    "status": pa.string(),
    "seconds": pa.float64(),
    "started_at": pa.timestamp("us", tz="UTC"),
    "error_type": pa.string(),
    "error_message": pa.string(),
    "recorded": pa.int64(),
    "own_code": pa.string(),
}
"""`recorded`: how many moments of its way the trial left in the trajectories; null for none. `own_code`: a hash of the
user's code that it ran; null for the program's own."""
_ARROW: dict[Any, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def coordinate_types(cells: Iterable[Mapping[str, Scalar]]) -> dict[str, pa.DataType]:
    """Column -> Arrow type, from the values that it takes: numbers of both kinds are float64, mixtures text."""
    seen: dict[str, set[type]] = {}
    for coordinates in cells:
        for name, value in coordinates.items():
            seen.setdefault(name, set()).add(type(value))
    return {name: _common_type(types - {type(None)}) for name, types in seen.items()}


def _common_type(types: set[type]) -> pa.DataType:
    if types == {int, float}:
        return pa.float64()
    return _ARROW[types.pop()] if len(types) == 1 else pa.string()


def row_schema(coordinates: Mapping[str, pa.DataType], columns: Columns) -> pa.Schema:
    """The schema of a part: identity, coordinates, circumstances, and the columns that the methods declare."""
    measured = {name: _ARROW[column.kind] for name, column in columns.items()}
    return pa.schema([*IDENTITY.items(), *coordinates.items(), *CIRCUMSTANCE.items(), *measured.items()])


def stored_columns(document: Mapping[str, Mapping[str, str]] | None) -> Columns:
    """The columns that sweep.json lists; the shared vocabulary for a folder that was written without them."""
    return COLUMNS if document is None else columns_from(document)
