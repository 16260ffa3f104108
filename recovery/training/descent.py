"""The one training loop. It owns the epochs, stopping, and the checks for divergence; a rule gives it a step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Protocol

import numpy as np

from recovery.training.models import Parameters
from recovery.training.optimizers import Optimizer, Schedule
from recovery.types import Array

DIVERGED = 1e8
"""A loss above this multiple of the first one counts as divergence."""


class Objective(Protocol):
    """A loss: its value is returned and its gradient written into `gradient`."""

    def __call__(self, parameters: Parameters, gradient: Parameters) -> float: ...


class Ending(Enum):
    """Why the loop ended; the value is a sentence for the user."""

    EPOCHS = "All epochs were run."
    TARGET = "The loss reached its target."
    STATIONARY = "The norm of the gradient fell below its tolerance."
    DIVERGED = "The loss or the gradient grew beyond bounds or stopped being a number."


@dataclass(frozen=True)
class Budget:
    """When to stop: after `epochs`, or once the loss is at most `target_loss`, or the gradient at most `tolerance`."""

    epochs: int
    target_loss: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class Descent:
    """Where the loop ended: parameters, the loss and gradient norm there, epochs completed, and the record.

    The gradient norm is that of the trained parameters only. `record` holds what `observe` returned at each recorded
    epoch, `epoch`, `loss` and `gradient_norm` beside it, as arrays whose first axis is the record.
    """

    parameters: Parameters
    loss: float
    gradient_norm: float
    epochs: int
    stop: Ending
    record: dict[str, Array]


def descend(
    objective: Objective,
    parameters: Parameters,
    optimizer: Optimizer,
    schedule: Schedule,
    limits: Budget,
    *,
    train_outer: bool = True,
    reset_state: bool = False,
    batches: Callable[[], Iterable[Objective]] | None = None,
    record_every: int = 0,
    observe: Callable[[Parameters], dict[str, Array]] | None = None,
) -> Descent:
    """Train `parameters` in place until a limit is met.

    `batches` gives the losses of one epoch's mini-batches; without it each epoch is one step on `objective`. With
    `reset_state` the optimiser forgets its state at every epoch, as the code of P1 does. Every `record_every` epochs,
    at powers of two before that, and at both ends, `observe` is recorded (0: never). The loss is looked at before
    each epoch and after the last one.
    """
    gradient = parameters.like()
    theta, slope = parameters.trainable(train_outer), gradient.trainable(train_outer)
    rows: list[dict[str, Array | float]] = []
    epoch = step = 0
    first = 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while True:
            loss = objective(parameters, gradient)
            size = float(np.sqrt(slope.dot(slope)))  # the number of np.linalg.norm, in less time
            first = loss if epoch == 0 else first
            stop = _stop(loss, size, first, epoch, limits)
            if record_every and (stop is not None or _recorded(epoch, record_every)):
                seen = observe(parameters) if observe else {}
                rows.append({"epoch": float(epoch), "loss": loss, "gradient_norm": size, **seen})
            if stop is not None:
                break
            if reset_state:
                optimizer.reset()
            if batches is None:
                optimizer.step(theta, slope, schedule(step))
                step += 1
            else:
                for batch in batches():
                    batch(parameters, gradient)
                    optimizer.step(theta, slope, schedule(step))
                    step += 1
            epoch += 1
    record = {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}
    return Descent(parameters, loss, size, epoch, stop, record)


def _recorded(epoch: int, every: int) -> bool:
    return epoch % every == 0 or (epoch < every and epoch & (epoch - 1) == 0)


def _stop(loss: float, size: float, first: float, epoch: int, limits: Budget) -> Ending | None:
    if not (isfinite(loss) and isfinite(size)) or loss > DIVERGED * first > 0:
        return Ending.DIVERGED
    if limits.target_loss is not None and loss <= limits.target_loss:
        return Ending.TARGET
    if limits.tolerance is not None and size <= limits.tolerance:
        return Ending.STATIONARY
    return Ending.EPOCHS if epoch >= limits.epochs else None
