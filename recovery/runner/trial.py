"""One unit of work: draw the trial's instance, try to recover, hand back its row whatever happens."""

import math
import time
from datetime import UTC, datetime
from typing import Any

from recovery.config import Trial
from recovery.config.seeds import streams
from recovery.errors import RecoverError
from recovery.instances.draw import Instance, draw
from recovery.methods.measurement import Recorded

LONGEST_MESSAGE = 300
TRAJECTORY = "trajectory"
"""The key of an outcome that is no column: what a method recorded on its way, stored in a table of its own."""

Row = dict[str, Any]


class NotFiniteError(RecoverError):
    """A method measured NaN or infinity: a fault of the computation, never data."""


def draw_instance(trial: Trial) -> Instance:
    """The instance of a trial: the same for the same trial, wherever and whenever it is drawn."""
    return draw(trial.cell.setting, streams(trial.cell, trial.replicate))


def measure(trial: Trial) -> Row:
    """The outcome of one trial: `trial_id`, circumstances, and measured columns if its status is `ok`."""
    row: Row = {"trial_id": trial.id, "started_at": datetime.now(UTC)}
    clock = time.perf_counter()
    try:
        result = trial.cell.method(draw_instance(trial), trial.cell.architecture)
        measured = result.as_row()
        _check_finite(measured)
        row |= measured
        row["status"] = "ok"
        if isinstance(result, Recorded) and result.trajectory:
            row[TRAJECTORY] = result.trajectory
            row["recorded"] = len(next(iter(result.trajectory.values())))
    except Exception as error:
        row |= failure("failed", error)
    row["seconds"] = time.perf_counter() - clock
    return row


def failure(status: str, error: Exception) -> Row:
    """The columns that say why a trial has no measurements."""
    message = " ".join(str(error).split())
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE - 3] + "..."
    return {"status": status, "error_type": type(error).__name__, "error_message": message}


def _check_finite(measured: Row) -> None:
    wrong = [name for name, value in measured.items() if value is not None and not _finite(value)]
    if wrong:
        raise NotFiniteError(", ".join(f"{name} = {measured[name]}" for name in wrong))


def _finite(value: object) -> bool:
    return isinstance(value, str) or math.isfinite(value)  # type: ignore[arg-type]
