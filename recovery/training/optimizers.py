"""Update rules as published, each of which steps one flat parameter vector in place.

An optimiser has its state (moments, a step count) and scratch memory; a schedule gives the rate of each step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from recovery.errors import ParameterError
from recovery.training.passes import adam, descent_step
from recovery.types import Array

Rule = tuple[bool, float, bool, tuple[float, float], float, float, int]
"""Whether it is Adam, the weight decay, whether that is decoupled, betas, epsilon, momentum, the steps taken."""


class GradientDescent:
    """The rule b <- m b + g + w theta; theta <- theta - rate * s * b: heavy-ball momentum m, l2 term w, scaling s.

    Plain by default. Momentum: Polyak 1964, in the form of Sutskever et al. 2013 that deep-learning libraries use: b
    starts at the first gradient. Scaling: entrywise; P2, Theorems 1 and 2, scale the rows of W by diag(v)^{-2}.
    """

    def __init__(self, momentum: float = 0.0, weight_decay: float = 0.0, scaling: Array | None = None) -> None:
        self.momentum, self.weight_decay, self.scaling = momentum, weight_decay, scaling
        self.velocity: Array = np.empty(0)
        self.count = 0

    def for_one_loop(self, theta: Array) -> tuple[tuple[Array, Array, Array], Rule]:
        """Return the state and the rule for `recovery.training.passes.train`."""
        if self.scaling is None:
            self.scaling = np.ones_like(theta)
        if self.velocity.size != theta.size:
            self.velocity = np.zeros_like(theta)
        state = self.velocity, self.velocity, self.scaling
        return state, (False, self.weight_decay, False, (0.0, 0.0), 0.0, self.momentum, self.count)

    def step(self, theta: Array, gradient: Array, rate: float) -> None:
        """Take one step of size `rate`: change `theta` in place by its gradient."""
        (velocity, _, scaling), _ = self.for_one_loop(theta)
        descent_step(theta, gradient, velocity, scaling, rate, self.momentum, self.weight_decay, self.count == 0)
        self.count += 1

    def reset(self) -> None:
        """Clear the state, as before the first step."""
        self.count = 0


class Adam:
    """Adam of Kingma and Ba 2015, Algorithm 1, with the weight decay as an l2 term of the gradient.

    m <- b1 m + (1 - b1) g, s <- b2 s + (1 - b2) g^2,
    theta <- theta - rate * (m / (1 - b1^t)) / (sqrt(s / (1 - b2^t)) + eps).
    """

    decoupled = False

    def __init__(
        self, weight_decay: float = 0.0, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8
    ) -> None:
        self.weight_decay, self.betas, self.epsilon = weight_decay, betas, epsilon
        self.count = 0
        self.first: Array = np.empty(0)
        self.second: Array = np.empty(0)
        self.scale: Array = np.empty(0)

    def step(self, theta: Array, gradient: Array, rate: float | Array) -> None:
        """Take one step, which changes `theta` in place. Several rates divide it into equal parts, one for each rate.

        Afterwards `scale` is sqrt(s / (1 - b2^t)) + eps. Raises `ParameterError` if theta is not contiguous, because a
        copy would move instead.
        """
        if not theta.flags.c_contiguous:
            raise ParameterError("theta must be contiguous in C order: use numpy.ascontiguousarray")
        self.for_one_loop(theta)
        self.count += 1
        state = theta.ravel(), gradient.ravel(), self.first, self.second, self.scale
        rates = np.asarray(rate, theta.dtype).ravel()
        adam(*state, rates, self.weight_decay, self.decoupled, self.betas, self.count, self.epsilon)

    def for_one_loop(self, theta: Array) -> tuple[tuple[Array, Array, Array], Rule]:
        """Return the state and the rule for `recovery.training.passes.train`."""
        if self.first.size != theta.size:
            self.first, self.second, self.scale = np.zeros((3, theta.size), theta.dtype)
        state = self.first, self.second, self.scale
        return state, (True, self.weight_decay, self.decoupled, self.betas, self.epsilon, 0.0, self.count)

    def reset(self) -> None:
        self.count = 0
        self.first.fill(0.0)
        self.second.fill(0.0)


class AdamW(Adam):
    """AdamW of Loshchilov and Hutter 2019: `Adam` with theta <- (1 - rate * w) theta in place of the l2 term."""

    decoupled = True


Optimizer = GradientDescent | Adam
Schedule = Callable[[Any], Any]
"""The number of a step, or an array of these -> the rate of each step."""


def constant(rate: float, steps: int) -> Schedule:
    """Return a schedule with the same rate at every step."""
    return lambda step: rate


def theorem2(rate: float, steps: int) -> Schedule:
    """Return a schedule with rate 2 at the first step, then `rate` (P2, Theorem 2: the first step ends near W*)."""
    return lambda step: np.where(np.asarray(step) == 0, 2.0, rate)


def cosine(rate: float, steps: int) -> Schedule:
    """Return the schedule rate * (1 + cos(pi step / steps)) / 2 (Loshchilov and Hutter 2017, without restarts)."""
    return lambda step: 0.5 * rate * (1.0 + np.cos(np.pi * step / steps))


SCHEDULES: dict[str, Callable[[float, int], Schedule]] = {"constant": constant, "theorem2": theorem2, "cosine": cosine}
