"""One trial: draw its instance, run the method, and return a row whatever happens.

Each random stream of a trial is seeded with the root seed and a hash of the fields that the stream depends on. The same
replicate therefore has the same X under every method, solver, noise level and planted model, and no stream changes when
an axis or the number of replicates grows.
"""

import re
import struct
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any

import numpy as np

from recovery.compiled import compilation
from recovery.config import Cell, Trial
from recovery.config.tree import canonical_json
from recovery.instances.draw import Instance, Streams, draw
from recovery.methods.columns import checked, checked_record, not_finite, unmeasured
from recovery.methods.method import measuring
from recovery.runner.stop import StopRequested
from recovery.text import printable
from recovery.user import fingerprint

LONGEST_MESSAGE = 300
TRAJECTORY = "trajectory"
"""Key of a row that is not a column: the arrays that the method recorded as it ran, which become columns."""
TRACEBACK = "traceback"
"""Key of a failed row that is not a column: the traceback, innermost call last."""
MOST_FRAMES = 20
_ADDRESS = re.compile(r"\bat 0x[0-9A-Fa-f]+")
UNSEEN = ("kind", "signs", "angle", "weights", "condition", "tau", "biases", "bias", "outer")
"""Fields of a planted model that do not change its random draws, only how they are used."""


Row = dict[str, Any]


def draw_instance(trial: Trial) -> Instance:
    """Draw the instance of a trial: always the same for the same trial."""
    cell = trial.cell.imported
    instance = draw(cell.setting, streams(cell, trial.replicate), cell.architecture)
    return replace(instance, coordinates=cell.coordinates)


def arguments(trial: Trial) -> tuple[Any, ...]:
    """Return what the method of a trial is called with: its instance and the architecture, or with `data: none` its
    coordinates and a generator."""
    cell = trial.cell.imported
    if not cell.is_drawn:
        return cell.coordinates, streams(cell, trial.replicate).training
    return draw_instance(trial), cell.architecture


def streams(cell: Cell, replicate: int) -> Streams:
    """Return the random streams of a trial, each seeded with its fields in `_DEPENDS`, the axes that are not fields of
    the config, and the replicate."""
    own = [cell.canonical["axes"]] if "axes" in cell.canonical else []
    return Streams(lambda name: _seed(cell.seed, name, *_DEPENDS[name](cell.canonical), *own, replicate))


_DEPENDS: dict[str, Callable[[Mapping[str, Any]], tuple[Any, ...]]] = {
    "data": lambda at: (at["n"], at["d"], at["data"]),
    "planted": lambda at: (at["n"], at["d"], at["data"], {k: v for k, v in at["planted"].items() if k not in UNSEEN}),
    "noise": lambda at: (at["n"],),
    "patterns": lambda at: (at["n"], at["d"], at["patterns"]["count"]),
    "test": lambda at: (at["n"], at["d"], at["data"]),
    "training": lambda at: (at.get("n"), at.get("d"), at.get("architecture")),
    "hyperplane": lambda at: (at["n"], at["d"]),
}
"""Stream -> the fields that it depends on."""


def _seed(seed: int, *depends: Any) -> np.random.SeedSequence:
    """Return SeedSequence(seed, spawn_key=a hash of the JSON of `depends`, in four words).

    NumPy concatenates the words of the seed, padded with zeros to four, and of the key. Passing the result takes less
    than half of the time.
    """
    digest = blake2b(canonical_json(depends).encode(), digest_size=16).digest()
    count = max(4, -(-seed.bit_length() // 32))
    words = struct.unpack(f"<{count}I", seed.to_bytes(4 * count, "little")) + struct.unpack(">4I", digest)
    return np.random.SeedSequence(np.array(words, dtype=np.uint32))


def imported(cell: Cell) -> Cell:
    """Return the cell with its user code imported and hashed, neither of which is counted as the trial's time."""
    if not cell.own or "imported" in vars(cell):
        return cell.imported
    with compilation:
        made = cell.imported
        _fingerprint(cell.own)
        return made


def measure(trial: Trial) -> Row:
    """Run a trial and return its row: `trial_id`, times, status, and measured columns if the trial finished."""
    row: Row = {"trial_id": trial.id, "started_at": datetime.now(UTC)}
    clock = _clock()
    try:
        run_method(trial, row)
    except StopRequested:
        raise
    except BaseException as error:  # however a method ends, also by sys.exit or KeyboardInterrupt, its trial gets a row
        row |= failure("failed", error)
    row["seconds"] = _clock() - clock
    return row


def run_method(trial: Trial, row: Row) -> None:
    """Run the method of a trial, and add to its row what it measured. User code may raise anything."""
    cell = imported(trial.cell)
    if cell.own:
        row["own_code"] = _fingerprint(cell.own)
    method = cell.method
    result = measuring(method, cell.measures)(*arguments(trial))
    row |= checked(result, method.columns)
    row["unmeasured"] = canonical_json(unmeasured(result, method.columns))
    row["status"] = "diverged" if not_finite(result) else "ok"
    if record := checked_record(getattr(result, TRAJECTORY, None)):
        row[TRAJECTORY] = record


def _clock() -> float:
    """Return the seconds of this process, without time for compilation or for importing user code."""
    return time.perf_counter() - compilation.seconds


_fingerprint = cache(fingerprint)
"""Cached, because user code runs in processes that end with the sweep and import each module once."""


def failure(status: str, error: BaseException) -> Row:
    """Return the columns that give the reason why a trial has no measurements, and its `TRACEBACK`."""
    frames = traceback.extract_tb(error.__traceback__)[-MOST_FRAMES:]
    lines = [f'File "{frame.filename}", line {frame.lineno}, in {frame.name}: {frame.line}' for frame in frames]
    return {
        "status": status,
        "error_type": shown(type(error).__name__),
        "error_message": shown(_text(error)),
        TRACEBACK: "\n".join(map(printable, lines)),
    }


def shown(text: str) -> str:
    """Return text as one printable line of limited length, without addresses, which differ between processes."""
    line = _ADDRESS.sub("at 0x...", printable(text))
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 3] + "..."


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # `str` of an exception class of user code may raise anything
        return "(its message cannot be shown)"
