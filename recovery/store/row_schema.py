"""The columns of a row, each with its type: fixed ones here, one a measured value, one for every axis."""

from binascii import unhexlify
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.methods.columns import COLUMNS, Columns, columns_from
from recovery.types import Array, Scalar

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
EVERY_ROW = (*IDENTITY, "n", "d", "status", "seconds", "started_at")
"""The columns that all parts of trials have, whichever version wrote them."""
_ARROW: dict[Any, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def coordinate_types(coordinates: Mapping[str, Iterable[Scalar]]) -> dict[str, pa.DataType]:
    """Column -> Arrow type, from the values that it takes: numbers of both kinds are float64, mixtures text."""
    return {name: _common_type({*map(type, values)} - {type(None)}) for name, values in coordinates.items()}


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


def keys_of(ids: pa.ChunkedArray) -> Array:
    """Ids of trials as numbers, whose hexadecimal digits they are; 0 for what is no id, which no trial has but by a
    chance of 2^-64."""
    text = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    if len(text) and not text.null_count and pc.all(pc.equal(pc.binary_length(text), DIGITS)).as_py():
        digits = text.cast(pa.binary(DIGITS)).buffers()[1].to_pybytes()
        with suppress(ValueError):  # what is no id; capitals are none either
            if len(digits) == DIGITS * len(text) and digits == digits.lower():
                return np.frombuffer(unhexlify(digits), ">u8").astype(np.uint64)
    whole = pc.fill_null(pc.match_substring_regex(text, f"^[0-9a-f]{{{DIGITS}}}$"), False)
    text = pc.if_else(whole, text, "0" * DIGITS)
    if not len(text):
        return np.zeros(0, np.uint64)
    values = _DIGIT[np.frombuffer(text.buffers()[2], np.uint8)[: DIGITS * len(text)]].reshape(-1, DIGITS)
    return (values[:, ::2] << 4 | values[:, 1::2]).view(">u8").ravel().astype(np.uint64)


DIGITS = 16
"""Of an id."""
_DIGIT = np.zeros(256, np.uint8)
_DIGIT[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)
