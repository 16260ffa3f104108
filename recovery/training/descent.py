"""The training loop: epochs, stopping and checks for divergence. An optimiser provides the step, or SciPy's L-BFGS."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, Protocol

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from recovery.training.models import Empirical, Parameters
from recovery.training.optimizers import Optimizer, Schedule
from recovery.training.passes import train
from recovery.types import Array

DIVERGED = 1e8
"""A loss above this multiple of the first loss counts as divergence."""


class Objective(Protocol):
    """A loss: the call returns its value and writes its gradient into `gradient`."""

    def __call__(self, parameters: Parameters, gradient: Parameters) -> float: ...


Ending = Literal["epochs", "flat", "target", "stationary", "diverged"]
"""Why the loop ended: all epochs were run; the loss stopped falling; the loss reached its target; the norm of the
gradient fell below its tolerance; loss or gradient grew beyond bounds or stopped being a number."""
CHUNK = 10_000
"""Epochs whose rates are computed at a time."""


@dataclass(frozen=True)
class Budget:
    """Limits of training: `epochs`, a loss of at most `target_loss`, or a gradient norm of at most `tolerance`."""

    epochs: int
    target_loss: float = -np.inf
    tolerance: float = -np.inf


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

    `batches` returns the losses of one epoch's mini-batches; without it each epoch is one step on `objective`, and the
    epochs of an `Empirical` loss are one compiled loop.
    `reset_state` clears the state of the optimiser at every epoch, as the code of P1 does. The values of `observe` are
    recorded every `record_every` epochs, at powers of 2 before that, and at both ends (0: never). The limits are
    checked before each epoch and after the last one.
    """
    run = _Run(objective, parameters, optimizer, schedule, limits, train_outer, reset_state, batches)
    rows: list[dict[str, Array | float]] = []
    for until in [*_halts(limits.epochs, record_every), limits.epochs]:
        stop = run.advance(until)
        if record_every:
            seen = observe(parameters) if observe else {}
            rows.append({"epoch": float(run.epoch), "loss": run.loss, "gradient_norm": run.size, **seen})
        if stop is not None:
            break
    assert stop is not None  # the last halt is at the limit of epochs
    record = {name: np.array([row[name] for row in rows]) for name in rows[0]} if rows else {}
    return Descent(parameters, run.loss, run.size, run.epoch, stop, record)


@dataclass
class _Run:
    """A run of `descend`: its epoch, and the loss and the gradient norm there. first: the first loss."""

    objective: Objective
    parameters: Parameters
    optimizer: Optimizer
    schedule: Schedule
    limits: Budget
    train_outer: bool
    reset_state: bool
    batches: Callable[[], Iterable[Objective]] | None
    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    size: float = 0.0
    first: float | None = None

    def __post_init__(self) -> None:
        self.gradient = self.parameters.like()
        self.theta, self.slope = (each.trainable(self.train_outer) for each in (self.parameters, self.gradient))

    def advance(self, until: int) -> Ending | None:
        """Run to the epoch `until` at most, and measure there; return how training ended, None if it has not."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if isinstance(self.objective, Empirical) and self.batches is None:
                self._in_one_loop(self.objective, until)
            else:
                self._by_steps(until)
        self.first = self.loss if self.first is None else self.first
        return self._end()

    def _end(self) -> Ending | None:
        first = self.loss if self.first is None else self.first
        if not (isfinite(self.loss) and isfinite(self.size)) or self.loss > DIVERGED * first > 0:
            return "diverged"
        return _limit_met(self.loss, self.size, self.epoch, self.limits)

    def _in_one_loop(self, objective: Empirical, until: int) -> None:
        steps = np.arange(self.epoch, max(until, self.epoch + 1), dtype=np.float64)
        self.epoch, self.loss, self.size, self.optimizer.count = train(
            *(self.theta, self.slope, self.parameters.flat, self.gradient.flat),
            *(objective.network(self.parameters, self.gradient), objective.terms),
            (self.optimizer.state(self.theta), self.optimizer.rule, self.optimizer.count, self.reset_state),
            np.array(np.broadcast_to(self.schedule(steps), steps.shape), dtype=np.float64),
            (self.epoch, until, self.first is not None),
            (self.limits.target_loss, self.limits.tolerance, DIVERGED * self.first if self.first else np.inf),
        )

    def _by_steps(self, until: int) -> None:
        measured = self.first is not None
        while True:
            if not measured:
                self.loss = self.objective(self.parameters, self.gradient)
                self.size = float(np.sqrt(self.slope.dot(self.slope)))  # faster than np.linalg.norm, the same value
                if self._end() is not None or self.epoch == until:
                    return
            measured = False
            if self.reset_state:
                self.optimizer.reset()
            for batch in (None,) if self.batches is None else self.batches():
                if batch is not None:
                    batch(self.parameters, self.gradient)
                self.optimizer.step(self.theta, self.slope, float(self.schedule(self.step)))
                self.step += 1
            self.epoch += 1


def _halts(epochs: int, every: int) -> list[int]:
    """Return the epochs before `epochs` at which the run is recorded, or only computes more rates if `every` is 0."""
    if not every:
        return list(range(0, epochs, CHUNK))
    powers = (2**i for i in range(every.bit_length()) if 2**i < min(every, epochs))
    return sorted({*range(0, epochs, every), *powers})


def _limit_met(loss: float, size: float, epoch: int, limits: Budget) -> Ending | None:
    if loss <= limits.target_loss:
        return "target"
    if size <= limits.tolerance:
        return "stationary"
    return "epochs" if epoch >= limits.epochs else None


LEAST_FALL = 1e-12
"""Training ends when a step lowers the loss by less than this fraction of it."""
PAIRS = 30
"""Pairs of steps and gradients that the approximate Hessian is made of."""


def lbfgs(objective: Objective, parameters: Parameters, limits: Budget) -> Descent:
    """Train all `parameters` in place by SciPy's L-BFGS until a limit is met, or the loss is flat or diverges.

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
        most = {"maxiter": limits.epochs, "maxfun": 100 * limits.epochs}
        options: Any = {**most, "maxcor": PAIRS, "ftol": 0.0, "gtol": 0.0}
        end = minimize(fun, parameters.flat.copy(), jac=True, method="L-BFGS-B", callback=after_step, options=options)
        loss, _ = fun(end.x)
        if stop is None and not at_start - loss >= LEAST_FALL * loss:  # type: ignore[redundant-expr] # after_step sets it
            stop = "flat" if np.isfinite(loss) else "diverged"
    return Descent(parameters, loss, float(np.linalg.norm(gradient.flat)), epochs, stop, {})
