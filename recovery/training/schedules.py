"""Learning rates as functions of the step, counted from 0."""

from collections.abc import Callable

import numpy as np

Schedule = Callable[[int], float]


def constant(rate: float, steps: int) -> Schedule:
    """The same rate at every step."""
    return lambda step: rate


def theorem2(rate: float, steps: int) -> Schedule:
    """A first step of 2, then `rate` (P2, Theorem 2: the first step lands near the optimum)."""
    return lambda step: 2.0 if step == 0 else rate


def cosine(rate: float, steps: int) -> Schedule:
    """rate * (1 + cos(pi step / steps)) / 2 (Loshchilov and Hutter 2017, without restarts)."""
    return lambda step: 0.5 * rate * (1.0 + float(np.cos(np.pi * step / steps)))


def inverse_root(rate: float, steps: int) -> Schedule:
    """rate / sqrt(step + 1), the classical decay of stochastic gradient descent."""
    return lambda step: rate / float(np.sqrt(step + 1))


SCHEDULES: dict[str, Callable[[float, int], Schedule]] = {
    "constant": constant,
    "theorem2": theorem2,
    "cosine": cosine,
    "inverse_root": inverse_root,
}
