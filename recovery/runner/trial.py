"""One unit of work: draw the trial's instance, try to recover, hand back its row whatever happens."""

import time
from datetime import UTC, datetime
from typing import Any

from recovery.config import Trial
from recovery.config.seeds import streams
from recovery.instances.draw import Instance, draw
from recovery.methods.columns import checked, columns_of

LONGEST_MESSAGE = 300
TRAJECTORY = "trajectory"
"""The key of an outcome that is no column: what a method recorded on its way, stored in a table of its own."""

Row = dict[str, Any]


def draw_instance(trial: Trial) -> Instance:
    """The instance of a trial: the same for the same trial, wherever and whenever it is drawn."""
    return draw(trial.cell.setting, streams(trial.cell, trial.replicate))


def measure(trial: Trial) -> Row:
    """The outcome of one trial: `trial_id`, circumstances, and measured columns if its status is `ok`."""
    row: Row = {"trial_id": trial.id, "started_at": datetime.now(UTC)}
    clock = time.perf_counter()
    try:
        method = trial.cell.method
        result = method(draw_instance(trial), trial.cell.architecture)
        row |= checked(result, columns_of(method))
        row["status"] = "ok"
        if trajectory := getattr(result, TRAJECTORY, None):
            row[TRAJECTORY] = trajectory
            row["recorded"] = len(next(iter(trajectory.values())))
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
