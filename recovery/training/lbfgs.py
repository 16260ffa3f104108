"""Training by L-BFGS (SciPy), which ends by itself: at a kink of the ReLU the gradient does not vanish."""

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from recovery.training.descent import Budget, Descent, Ending, Objective
from recovery.training.models import Parameters
from recovery.types import Array

LEAST_FALL = 1e-12
"""Training ends when a step lowers the loss by less than this fraction of it."""
PAIRS = 30
"""Pairs of steps and gradients that the approximate Hessian is made of."""


def lbfgs(objective: Objective, parameters: Parameters, limits: Budget) -> Descent:
    """Train all `parameters` in place until a limit is met, or the loss is flat.

    A line search that fails at a kink ends one run of SciPy. Another run begins there with the gradient alone, until a
    run does not lower the loss.
    """
    gradient = parameters.like()
    epochs, loss = 0, objective(parameters, gradient)
    stop = _stop(loss, gradient, epochs, limits)

    def fun(theta: Any) -> tuple[float, Array]:
        parameters.flat[...] = theta
        return objective(parameters, gradient), gradient.flat.copy()

    def after_step(intermediate_result: OptimizeResult) -> None:
        nonlocal epochs, loss, stop
        epochs, before, loss = epochs + 1, loss, float(intermediate_result.fun)
        stop = _stop(loss, gradient, epochs, limits)
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


def _stop(loss: float, gradient: Parameters, epochs: int, limits: Budget) -> Ending | None:
    if limits.target_loss is not None and loss <= limits.target_loss:
        return Ending.TARGET
    if limits.tolerance is not None and np.linalg.norm(gradient.flat) <= limits.tolerance:
        return Ending.STATIONARY
    return Ending.EPOCHS if epochs >= limits.epochs else None
