"""The training loop: epochs, stopping and checks for divergence. An optimiser provides the step, or SciPy's L-BFGS."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Any, Protocol

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from recovery.training.models import Parameters
from recovery.training.optimizers import Optimizer, Schedule
from recovery.types import Array

DIVERGED = 1e8
"""A loss above this multiple of the first loss counts as divergence."""


class Objective(Protocol):
    """A loss: the call returns its value and writes its gradient into `gradient`."""

    def __call__(self, parameters: Parameters, gradient: Parameters) -> float: ...


class Ending(Enum):
    """Reason why the loop ended; the value is a sentence for the user."""

    EPOCHS = "All epochs were run."
    FLAT = "The loss stopped falling."
    TARGET = "The loss reached its target."
    STATIONARY = "The norm of the gradient fell below its tolerance."
    DIVERGED = "The loss or the gradient grew beyond bounds or stopped being a number."


@dataclass(frozen=True)
class Budget:
    """Limits of training: `epochs`, a loss of at most `target_loss`, or a gradient norm of at most `tolerance`."""

    epochs: int
    target_loss: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class Descent:
    """Result of training: final parameters, their loss and gradient norm, epochs completed, reason to stop, record.

    The gradient norm covers the trained parameters only. `record` has `epoch`, `loss`, `gradient_norm` and the values
    returned by `observe` at each recorded epoch, as arrays whose first axis is the record.
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
    """Train `parameters` in place until a limit is met or the loss diverges.

    `batches` returns the losses of one epoch's mini-batches; without it each epoch is one step on `objective`.
    `reset_state` clears the state of the optimiser at every epoch, as the code of P1 does. The values of `observe` are
    recorded every `record_every` epochs, at powers of 2 before that, and at both ends (0: never). The limits are
    checked before each epoch and after the last one.
    """
    gradient = parameters.like()
    theta, slope = parameters.trainable(train_outer), gradient.trainable(train_outer)
    rows: list[dict[str, Array | float]] = []
    epoch = step = 0
    first = 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while True:
            loss = objective(parameters, gradient)
            size = float(np.sqrt(slope.dot(slope)))  # faster than np.linalg.norm(slope), with the same value
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
    return _limit_met(loss, size, epoch, limits)


def _limit_met(loss: float, size: float, epoch: int, limits: Budget) -> Ending | None:
    if limits.target_loss is not None and loss <= limits.target_loss:
        return Ending.TARGET
    if limits.tolerance is not None and size <= limits.tolerance:
        return Ending.STATIONARY
    return Ending.EPOCHS if epoch >= limits.epochs else None


LEAST_FALL = 1e-12
"""Training ends when a step lowers the loss by less than this fraction of it."""
PAIRS = 30
"""Pairs of steps and gradients that the approximate Hessian is made of."""


def lbfgs(objective: Objective, parameters: Parameters, limits: Budget) -> Descent:
    """Train all `parameters` in place by SciPy's L-BFGS until a limit is met, or the loss is flat.

    At a kink of the ReLU the gradient does not vanish. A line search that fails there ends one run of SciPy. Another
    run begins with the gradient alone, until a run does not lower the loss.
    """
    gradient = parameters.like()
    epochs, loss = 0, objective(parameters, gradient)
    stop = _limit_met(loss, float(np.linalg.norm(gradient.flat)), epochs, limits)

    def fun(theta: Any) -> tuple[float, Array]:
        parameters.flat[...] = theta
        return objective(parameters, gradient), gradient.flat.copy()

    def after_step(intermediate_result: OptimizeResult) -> None:
        nonlocal epochs, loss, stop
        epochs, before, loss = epochs + 1, loss, float(intermediate_result.fun)
        stop = _limit_met(loss, float(np.linalg.norm(gradient.flat)), epochs, limits)
        if stop is not None or before - loss < LEAST_FALL * loss:
            raise StopIteration

    while stop is None:
        at_start = loss
        options: Any = {
            "maxiter": limits.epochs,
            "maxfun": 100 * limits.epochs,
            "maxcor": PAIRS,
            "ftol": 0.0,
            "gtol": 0.0,
        }
        end = minimize(fun, parameters.flat.copy(), jac=True, method="L-BFGS-B", callback=after_step, options=options)
        loss, _ = fun(end.x)
        if stop is None and not at_start - loss >= LEAST_FALL * loss:  # type: ignore[redundant-expr] # after_step sets it
            stop = Ending.FLAT if np.isfinite(loss) else Ending.DIVERGED
    return Descent(parameters, loss, float(np.linalg.norm(gradient.flat)), epochs, stop, {})
