"""The columns of a row, each with its type: fixed ones here, and one for every axis of the sweep."""

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import pyarrow as pa

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
}
MEASURED: dict[str, pa.DataType] = {
    "recovered": pa.bool_(),
    "verdict": pa.string(),
    "certificate": pa.string(),
    "isometry_value": pa.float64(),
    "max_deviation": pa.float64(),
    "absolute_distance": pa.float64(),
    "test_distance": pa.float64(),
    "objective": pa.float64(),
    "dual_objective": pa.float64(),
    "gap": pa.float64(),
    "primal_residual": pa.float64(),
    "dual_violation": pa.float64(),
    "active_groups": pa.int64(),
    "pattern_count": pa.int64(),
    "all_ones": pa.bool_(),
    "solver": pa.string(),
    "iterations": pa.int64(),
    "redraws": pa.int64(),
}
"""The fields of `recovery.methods.measurement.Measurement`, each null where a method does not measure it."""

TIMES = ("seconds", "started_at")
"""The columns in which two runs of one trial differ."""

_ARROW = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}

OUTCOME: tuple[str, ...] = ("trial_id", *CIRCUMSTANCE, *MEASURED)
"""What a worker hands back of a trial; coordinates, name and replicate are joined to it from the plan."""


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
