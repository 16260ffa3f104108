"""What the sweep and the processes that run trials say to each other.

A task goes there pickled. What comes back is data, JSON and plain arrays, and is checked like a stranger's: a trial may
have changed all that its process is.
"""

import json
import socket
import struct
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

_HEAD = struct.Struct(">8sQ")
_MARK = b"recover\n"
"""Every message has its length and this mark before it, so that stray bytes are no message."""
_LENGTH = struct.Struct(">Q")
LARGEST = 2**34
NUMBERS = "fiub"
"""Kinds of arrays that cross: none holds objects."""

Document = dict[str, Any]


class Answer(NamedTuple):
    """Rows of the first trials of a task. exhausted: the worker wants to be replaced before the next."""

    rows: list[Row]
    exhausted: bool = False


def send(connection: socket.socket, data: bytes) -> None:
    """Raises OSError if the other end is gone."""
    connection.sendall(_HEAD.pack(_MARK, len(data)))
    connection.sendall(data)


def receive(connection: socket.socket) -> bytes:
    """The next message. Raises OSError if the other end is gone, or what came is no message."""
    mark, length = _HEAD.unpack(_exactly(connection, _HEAD.size))
    if mark != _MARK or length > LARGEST:
        raise ConnectionError("not a message")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = connection.recv(min(count - len(data), 2**20))
        if not part:
            raise ConnectionError("the other end is gone")
        data += part
    return bytes(data)


def encode(document: Mapping[str, Any], arrays: Mapping[str, Array] | None = None) -> bytes:
    """A JSON document and named arrays as bytes."""
    parts = {name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()}
    kinds = {name: [array.dtype.str, array.shape] for name, array in parts.items()}
    head = json.dumps([document, kinds]).encode()
    return b"".join([_LENGTH.pack(len(head)), head, *(array.tobytes() for array in parts.values())])


def decode(data: bytes) -> tuple[Document, dict[str, Array]]:
    """What `encode` made bytes of. Raises ValueError for other bytes."""
    try:
        start = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        document, kinds = json.loads(data[_LENGTH.size : start])
        arrays = {}
        for name, (kind, shape) in kinds.items():
            dtype = np.dtype(kind)
            if dtype.kind not in NUMBERS or not isinstance(document, dict):
                raise ValueError(f"holds {dtype}")
            count = int(np.prod(shape, dtype=np.int64))
            arrays[name] = np.frombuffer(data, dtype, count, start).reshape(shape).copy()
            start += count * dtype.itemsize
    except (struct.error, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError("is no message of this program") from error
    return document, arrays


def encode_answer(answer: Answer) -> bytes:
    """Rows as plain data, their records as arrays."""
    rows = [{name: value for name, value in row.items() if name != TRAJECTORY} for row in answer.rows]
    records = {
        f"{i} {name}": array for i, row in enumerate(answer.rows) for name, array in row.get(TRAJECTORY, {}).items()
    }
    for row in rows:
        row["started_at"] = row["started_at"].isoformat()
    return encode({"rows": rows, "exhausted": answer.exhausted}, records)


def decode_answer(document: Document, arrays: Mapping[str, Array], trials: Sequence[Trial]) -> Answer:
    """The answer to a task of these trials. Raises ValueError for what no answer to it is."""
    records: dict[int, dict[str, Array]] = {}
    try:
        for key, array in arrays.items():
            i, name = key.split(" ", 1)
            records.setdefault(int(i), {})[name] = array
        if len(document["rows"]) > len(trials):
            raise ValueError("holds more rows than it was asked for")
        pairs = enumerate(zip(document["rows"], trials, strict=False))
        rows = [_row(found, trial, records.get(i, {})) for i, (found, trial) in pairs]
        return Answer(rows, bool(document["exhausted"]))
    except (KeyError, TypeError, AttributeError, RecoverError) as error:
        raise ValueError(f"holds no rows of its trials: {error}") from error


def _row(found: Mapping[str, Any], trial: Trial, record: Mapping[str, Array]) -> Row:
    if found["trial_id"] != trial.id or found["status"] not in ("ok", *FAILURES):
        raise ValueError("holds rows of other trials")
    row: Row = {"trial_id": trial.id, "started_at": datetime.fromisoformat(found["started_at"]).astimezone(UTC)}
    if "own_code" in found:
        row["own_code"] = shown(found["own_code"])
    if found["status"] == "ok":
        columns = trial.cell.method.columns
        row |= checked({name: found[name] for name in columns if name in found}, columns)
        if kept := checked_record(record):
            row[TRAJECTORY], row["recorded"] = kept, len(next(iter(kept.values())))
    else:
        row |= {"error_type": shown(found["error_type"]), "error_message": shown(found["error_message"])}
        row[TRACEBACK] = shown_lines(found[TRACEBACK])
    seconds = {name: float(found[name]) for name in ("seconds", PROCESSOR)}
    if not all(0 <= value < np.inf for value in seconds.values()):
        raise ValueError("holds no times")
    return row | {"status": found["status"], **seconds}
