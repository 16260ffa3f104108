"""Messages from the processes that run trials: lines of JSON, never pickles.

User code may have changed anything in the process that sends a message, so all of it is checked here.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from recovery.config import Trial
from recovery.errors import RecoverError
from recovery.methods.columns import checked, checked_record
from recovery.runner.trial import PROCESSOR, TRACEBACK, TRAJECTORY, Row, shown, shown_lines
from recovery.store.row_schema import FAILURES
from recovery.types import Array

ARRAY = "array of dtype, shape, bytes"
"""The only key of the mapping that stands for an array."""
NUMBERS = "fiub"
"""Kinds of arrays that are accepted: none holds objects."""


class Answer(NamedTuple):
    """The rows of the first few of several trials. exhausted: the worker must be replaced before it runs another."""

    rows: list[Row]
    exhausted: bool = False


def encode(document: object) -> bytes:
    """Encode plain data and arrays as one line of JSON, without its end."""
    return json.dumps(document, default=_as_mapping).encode()


def decode(data: bytes) -> Any:
    """Return the data and arrays that `encode` has encoded. Raises ValueError for other bytes."""
    try:
        return json.loads(data, object_hook=_as_array)
    except (TypeError, RecursionError, OverflowError) as error:
        raise ValueError("not a message of this program") from error


def _as_mapping(array: Array) -> dict[str, Any]:
    return {ARRAY: [array.dtype.str, array.shape, b64encode(array.tobytes()).decode()]}


def _as_array(mapping: dict[str, Any]) -> dict[str, Any] | Array:
    if mapping.keys() != {ARRAY}:
        return mapping
    kind, shape, data = mapping[ARRAY]
    dtype = np.dtype(kind)
    if dtype.kind not in NUMBERS:
        raise ValueError(f"holds {dtype}")
    return np.frombuffer(b64decode(data), dtype).reshape(shape).copy()


def encode_answer(answer: Answer) -> bytes:
    """Encode the rows of an answer as one line of JSON, without its end."""
    rows = [{**row, "started_at": row["started_at"].isoformat()} for row in answer.rows]
    return encode({"rows": rows, "exhausted": answer.exhausted})


def decode_answer(document: Any, trials: Sequence[Trial]) -> Answer:
    """Return the checked answer about these trials from decoded data. Raises ValueError for data that is no answer."""
    try:
        if len(document["rows"]) > len(trials):
            raise ValueError("holds more rows than trials")
        rows = [_row(found, trial) for found, trial in zip(document["rows"], trials, strict=False)]
        return Answer(rows, bool(document["exhausted"]))
    except (KeyError, TypeError, AttributeError, RecoverError) as error:
        raise ValueError(f"holds no rows of these trials: {error}") from error


def _row(found: Mapping[str, Any], trial: Trial) -> Row:
    if found["trial_id"] != trial.id or found["status"] not in ("ok", *FAILURES):
        raise ValueError("holds rows of other trials")
    row: Row = {"trial_id": trial.id, "started_at": datetime.fromisoformat(found["started_at"]).astimezone(UTC)}
    if "own_code" in found:
        row["own_code"] = shown(found["own_code"])
    if found["status"] == "ok":
        columns = trial.cell.method.columns
        row |= checked({name: found[name] for name in columns if name in found}, columns)
        if record := checked_record(found.get(TRAJECTORY)):
            row[TRAJECTORY], row["recorded"] = record, len(next(iter(record.values())))
    else:
        row |= {"error_type": shown(found["error_type"]), "error_message": shown(found["error_message"])}
        row[TRACEBACK] = shown_lines(found[TRACEBACK])
    seconds = {name: float(found[name]) for name in ("seconds", PROCESSOR)}
    if not all(0 <= value < np.inf for value in seconds.values()):
        raise ValueError("holds no times")
    return row | {"status": found["status"], **seconds}
