"""Update rules, each a value that steps one flat parameter vector in place, as published.

A rule owns its state (moments, a step count) and its scratch memory; the rate of each step comes from a schedule.
"""

import math
from typing import Protocol

import numpy as np

from recovery.types import Array


class Optimizer(Protocol):
    """One update rule for one parameter vector."""

    def step(self, theta: Array, gradient: Array, rate: float) -> None:
        """Move `theta` in place."""
        ...

    def reset(self) -> None:
        """Forget the state, as a new optimiser would have it."""
        ...


class GradientDescent:
    """b <- m b + g + w theta; theta <- theta - rate * s * b, with heavy-ball momentum m, an l2 term w, scaling s.

    Plain by default. Momentum: Polyak 1964, in the form of Sutskever et al. 2013 that deep-learning libraries use: b
    starts at the first gradient. Scaling: entrywise; P2, Theorems 1 and 2, scale the rows of W by diag(v)^{-2}.
    """

    def __init__(self, momentum: float = 0.0, weight_decay: float = 0.0, scaling: Array | None = None) -> None:
        self.momentum, self.weight_decay, self.scaling = momentum, weight_decay, scaling
        self.velocity: Array | None = None

    def step(self, theta: Array, gradient: Array, rate: float) -> None:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * theta
        if self.momentum:
            if self.velocity is None:
                self.velocity = gradient.copy()
            else:
                self.velocity *= self.momentum
                self.velocity += gradient
            gradient = self.velocity
        theta -= rate * (gradient if self.scaling is None else self.scaling * gradient)

    def reset(self) -> None:
        self.velocity = None


class Adam:
    """Kingma and Ba 2015, Algorithm 1, with the weight decay as an l2 term of the gradient.

    m <- b1 m + (1 - b1) g, s <- b2 s + (1 - b2) g^2,
    theta <- theta - rate * (m / (1 - b1^t)) / (sqrt(s / (1 - b2^t)) + eps).
    """

    decoupled = False

    def __init__(
        self,
        weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.weight_decay, self.betas, self.epsilon = weight_decay, betas, epsilon
        self.count = 0
        self.first: Array = np.empty(0)
        self.second: Array = np.empty(0)
        self.scratch: Array = np.empty(0)

    def step(self, theta: Array, gradient: Array, rate: float | Array) -> None:
        """Move `theta` in place; an array of rates must broadcast against theta: several networks side by side."""
        b1, b2 = self.betas
        if self.first.shape != theta.shape:
            self.first, self.second, self.scratch = np.zeros((3, *theta.shape), theta.dtype)
        work = self.scratch
        if self.weight_decay and self.decoupled:
            theta *= 1.0 - rate * self.weight_decay
        elif self.weight_decay:
            gradient = gradient + self.weight_decay * theta
        self.count += 1
        np.multiply(gradient, 1.0 - b1, out=work)
        self.first *= b1
        self.first += work
        np.multiply(gradient, gradient, out=work)
        work *= 1.0 - b2
        self.second *= b2
        self.second += work
        self.denominator(self.second, out=work)
        np.divide(self.first, work, out=work)
        work *= rate / (1.0 - b1**self.count)
        theta -= work

    def denominator(self, second: Array, out: Array) -> None:
        """Write sqrt(s / (1 - b2^t)) + eps of the last step into `out`, for s or a part of it."""
        np.sqrt(second, out=out)
        out *= 1.0 / math.sqrt(1.0 - self.betas[1] ** self.count)
        out += self.epsilon

    def reset(self) -> None:
        self.count = 0
        self.first.fill(0.0)
        self.second.fill(0.0)


class AdamW(Adam):
    """Loshchilov and Hutter 2019, Algorithm 2: `Adam` with theta <- (1 - rate * w) theta in place of the l2 term."""

    decoupled = True
