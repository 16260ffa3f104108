"""Update rules as published, each of which steps one flat parameter vector in place.

An optimiser has its state (moments, a step count) and scratch memory; a schedule gives the rate of each step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from recovery.errors import ParameterError
from recovery.training.passes import update
from recovery.types import Array


class Optimizer:
    """A rule with its state: first and second moments and a scale, entrywise, and the number of steps.

    adaptive: whether it is Adam. decoupled: whether weight decay shrinks theta, not as an l2 term of the gradient.
    """

    adaptive = decoupled = False

    def __init__(self, weight_decay: float = 0.0, momentum: float = 0.0, scaling: Array | None = None) -> None:
        self.weight_decay, self.momentum, self.scaling = weight_decay, momentum, scaling
        self.first: Array = np.empty(0)
        self.second: Array = np.empty(0)
        self.scale: Array = np.empty(0)
        self.count = 0

    def state(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return the arrays of the state, which are made at the first step."""
        if self.first.size != theta.size:
            self.first, self.second = np.zeros((2, theta.size), theta.dtype)
            self.scale = np.ones(theta.size, theta.dtype) if self.scaling is None else self.scaling
        return self.first, self.second, self.scale

    @property
    def rule(self) -> tuple[bool, bool, float, float]:
        """The rule as `recovery.training.passes.update` takes it."""
        return self.adaptive, self.decoupled, self.weight_decay, self.momentum

    def step(self, theta: Array, gradient: Array, rate: float | Array) -> None:
        """Take one step, which changes `theta` in place. Several rates divide it into equal parts, one for each rate.

        Raises `ParameterError` if theta is not contiguous, because a copy would move instead.
        """
        if not theta.flags.c_contiguous:
            raise ParameterError("theta must be contiguous in C order: use numpy.ascontiguousarray")
        self.count += 1
        rates = np.asarray(rate, theta.dtype).ravel()
        update(theta.ravel(), gradient.ravel(), self.state(theta), rates, self.rule, self.count)

    def reset(self) -> None:
        """Clear the state, as before the first step."""
        self.count = 0
        self.first.fill(0.0)
        self.second.fill(0.0)


class GradientDescent(Optimizer):
    """The rule b <- m b + g + w theta; theta <- theta - rate * s * b: heavy-ball momentum m, l2 term w, scaling s.

    Plain by default. Momentum: Polyak 1964, in the form of Sutskever et al. 2013 that deep-learning libraries use: b
    starts at the first gradient. Scaling: entrywise; P2, Theorems 1 and 2, scale the rows of W by diag(v)^{-2}.
    """


class Adam(Optimizer):
    """Adam of Kingma and Ba 2015, Algorithm 1, with the weight decay as an l2 term of the gradient.

    m <- b1 m + (1 - b1) g, s <- b2 s + (1 - b2) g^2,
    theta <- theta - rate * (m / (1 - b1^t)) / (sqrt(s / (1 - b2^t)) + eps). `scale` is sqrt(s / (1 - b2^t)) + eps.
    """

    adaptive = True


class AdamW(Adam):
    """AdamW of Loshchilov and Hutter 2019: `Adam` with theta <- (1 - rate * w) theta in place of the l2 term."""

    decoupled = True


Schedule = Callable[[Any], Any]
"""The number of a step, or an array of these -> the rate of each step."""


SCHEDULES: dict[str, Callable[[float, int], Schedule]] = {
    "constant": lambda rate, steps: lambda step: rate,
    # P2, Theorem 2: the first step ends near W*
    "theorem2": lambda rate, steps: lambda step: np.where(np.asarray(step) == 0, 2.0, rate),
    # Loshchilov and Hutter 2017, without restarts
    "cosine": lambda rate, steps: lambda step: 0.5 * rate * (1.0 + np.cos(np.pi * step / steps)),
}
"""Name -> the schedule with this rate, for so many steps."""
