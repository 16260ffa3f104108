"""The columns of a row, each with its type: fixed ones here, one a measured value, one for every axis."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa

from recovery.methods.measurement import Measurement

Status = Literal["ok", "failed", "timeout", "killed", "skipped"]
STATUSES: tuple[Status, ...] = get_args(Status)
FAILURES: tuple[Status, ...] = ("failed", "timeout", "killed")

Coordinate = int | float | str | bool | None

IDENTITY: dict[str, pa.DataType] = {"trial_id": pa.string(), "sweep": pa.string(), "replicate": pa.int64()}
CIRCUMSTANCE: dict[str, pa.DataType] = {
    "status": pa.string(),
    "seconds": pa.float64(),
    "started_at": pa.timestamp("us", tz="UTC"),
    "error_type": pa.string(),
    "error_message": pa.string(),
    "recorded": pa.int64(),
}
"""`recorded`: how many moments of its way the trial left in the trajectories; null for none."""
TIMES = ("seconds", "started_at")
"""The columns in which two runs of one trial differ."""

_ARROW: dict[Any, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def _measured() -> dict[str, pa.DataType]:
    """The fields that `Measurement.as_row` gives: each bool, int, float, str or Literal, or None."""
    hints = get_type_hints(Measurement)
    columns = {}
    for name in Measurement().as_row():
        (kind,) = (member for member in get_args(hints[name]) if member is not type(None))
        columns[name] = pa.string() if get_origin(kind) is Literal else _ARROW[kind]
    return columns


MEASURED = _measured()
"""The columns that methods measure, null where one does not. `Measurement` alone lists them."""


def coordinate_types(cells: Iterable[Mapping[str, Coordinate]]) -> dict[str, pa.DataType]:
    """Column -> Arrow type, from the values that it takes: numbers of both kinds are float64, mixtures text."""
    seen: dict[str, set[type]] = {}
    for coordinates in cells:
        for name, value in coordinates.items():
            seen.setdefault(name, set()).add(type(value))
    return {name: _common_type(found - {type(None)}) for name, found in seen.items()}


def _common_type(found: set[type]) -> pa.DataType:
    if found == {int, float}:
        return pa.float64()
    return _ARROW[found.pop()] if len(found) == 1 else pa.string()


def row_schema(coordinates: Mapping[str, pa.DataType]) -> pa.Schema:
    """The schema of a part: identity, coordinates, circumstances, measurements."""
    return pa.schema([*IDENTITY.items(), *coordinates.items(), *CIRCUMSTANCE.items(), *MEASURED.items()])
