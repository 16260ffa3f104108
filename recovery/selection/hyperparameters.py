"""Training of a whole grid of hyperparameters at once, and the choice by validation (P3, section 3.4).

Numbers of epochs are checkpoints of one run, and all pairs (penalty, rate) are trained together: 4 x 3 x 3 x 3
fits are 3 runs, one for each number of neurons.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, product
from math import isfinite
from typing import Annotated, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, MinLen

from recovery.errors import DataError
from recovery.programs.relu_network import ReluNetwork
from recovery.selection.sparse_networks import Networks, initialize, network
from recovery.training.models import Minibatches
from recovery.training.optimizers import Adam
from recovery.types import Array, Rng

Positive = Annotated[float, Gt(0)]
Counts = Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)]


@dataclass(frozen=True)
class Training:
    """The grid of hyperparameters, all pairs (penalty, rate) with each number of neurons and of epochs, and how the
    networks are trained and chosen. The defaults are those of P3, section 4, where it states them.

    penalties: factors of the l1 penalty that the network tries. rates: learning rates of Adam. neurons: numbers of
    neurons. epochs: numbers of passes over the rows; all four are those of P3 by default.
    validation: the network is chosen on one random part of `folds` (`split`), or by cross-validation and trained again
    on all rows (`cross`). refit: train again after a `split` too.
    shrinkage: the form of the penalty in Adam's steps, `subgradient` or `proximal` (exact zeros).
    outer: outer weights of the network, `free` or `signs`, which stay at +-1 as in the model of P3.
    batch: number of rows in a step of Adam; `full` takes all rows.
    scale: a factor on the network's initial weights, which are uniform as in PyTorch.
    """

    penalties: Annotated[tuple[Positive, ...], MinLen(1)] = (0.1, 0.05, 0.01, 0.005)
    rates: Annotated[tuple[Positive, ...], MinLen(1)] = (0.05, 0.01, 0.005)
    neurons: Counts = (20, 50, 100)
    epochs: Counts = (200, 500, 1000)
    folds: Annotated[int, Ge(2)] = 5
    validation: Literal["split", "cross"] = "split"
    refit: bool = False
    shrinkage: Literal["subgradient", "proximal"] = "subgradient"
    outer: Literal["free", "signs"] = field(default="free", metadata={"later": True})
    batch: Annotated[int, Ge(1)] | Literal["full"] = field(default="full", metadata={"later": True})
    scale: Positive = field(default=1.0, metadata={"later": True})

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The pairs (penalty, rate), in the order of the networks in one run."""
        return list(product(self.penalties, self.rates))


class Point(NamedTuple):
    """Hyperparameters of one fit: lambda of equation (10), the learning rate of Adam, neurons, epochs."""

    penalty: float
    rate: float
    neurons: int
    epochs: int


@dataclass(frozen=True)
class Fit:
    """The chosen network, its hyperparameters, and its mean squared error on the validation rows."""

    network: ReluNetwork
    point: Point
    error: float


class PenalizedDescent:
    """Networks under Adam on (1/n) ||f - y||^2 + penalty ||W||_1, each with its own penalty and rate.

    `subgradient` adds penalty * sign(W) to the gradient, as automatic differentiation does: weights approach zero, up
    to about one learning rate. `proximal` takes Adam's step on the error alone, then the proximal map of the penalty in
    Adam's metric, W <- sign(W) (|W| - t)_+ with t = rate * penalty / (sqrt(s) + eps). It gives exact zeros, and its
    fixed points satisfy the optimality conditions of the same problem.

    outer: `free` trains the outer weights too. Then W -> W / c, a -> c a does not change the network but lowers the
    penalty; only the size of Adam's steps limits this. `signs` fixes them at +-1, as in P3's (2) and (4).
    """

    def __init__(
        self, theta: Array, networks: Networks | Minibatches, penalties: Array, rates: Array, training: Training
    ) -> None:
        self.theta, self.proximal = theta, training.shrinkage == "proximal"
        self.batches: Callable[[], Iterable[Networks]] = (
            networks if isinstance(networks, Minibatches) else lambda: (networks,)
        )
        self.fixed = training.outer == "signs"
        neurons = len(theta) // len(penalties)
        self.penalty, self.rate = (np.repeat(v, neurons).astype(theta.dtype)[:, None] for v in (penalties, rates))
        self.gradient = np.empty_like(theta)
        self.work = np.empty_like(theta[:, :-2])
        self.adam = Adam()

    def run(self, epochs: int) -> None:
        """Train for `epochs` more epochs; each is one step on every batch."""
        W, work, adam = self.theta[:, :-2], self.work, self.adam
        for networks in chain.from_iterable(self.batches() for _ in range(epochs)):
            networks.gradient(self.theta, self.gradient)
            if self.fixed:
                self.gradient[:, -1] = 0.0
            if self.proximal:
                adam.step(self.theta, self.gradient, self.rate)
                np.divide(self.penalty * self.rate, adam.scale.reshape(self.theta.shape)[:, :-2], out=work)
                W -= np.clip(W, -work, work)
            else:
                np.sign(W, out=work)
                work *= self.penalty
                self.gradient[:, :-2] += work
                adam.step(self.theta, self.gradient, self.rate)


def run_grid(rng: Rng, X: Array, y: Array, training: Training) -> Iterator[tuple[int, int, Array]]:
    """Train the whole grid and yield (neurons, epochs, theta) at each checkpoint. The next step overwrites theta."""
    penalties, rates = np.array(training.pairs).T
    for neurons in training.neurons:
        theta = initialize(rng, len(rates), neurons, X.shape[1], signs=training.outer == "signs", scale=training.scale)
        make = partial(Networks, networks=len(rates), neurons=neurons)
        rows = make(X, y) if training.batch == "full" else Minibatches(rng, X, y, training.batch, make)
        descent = PenalizedDescent(theta, rows, penalties, rates, training)
        done = 0
        for epochs in sorted(set(training.epochs)):
            descent.run(epochs - done)
            done = epochs
            yield neurons, epochs, theta


def choose(rng: Rng, X: Array, y: Array, training: Training) -> Fit:
    """Return the fit of the grid with the smallest mean squared error on the validation rows.

    The rows are split at random into `folds` parts. One of them validates, or each in turn for `cross`. The chosen
    hyperparameters are trained again on all rows for `refit` or `cross`; otherwise the network itself is returned. P3
    only says "splits the training data into training and validation parts". Raises `DataError` for fewer rows than
    folds, for numbers that are not finite, and if every fit overflows.
    """
    folds, cross = training.folds, training.validation == "cross"
    if len(X) < folds:
        raise DataError(f"{len(X)} rows are too few for validation by {folds} parts")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError("X or y contains NaN or infinity; training needs finite numbers")
    parts = np.array_split(rng.permutation(len(X)), folds)
    errors: dict[Point, float] = {}
    best, least = None, np.inf
    for held in parts if cross else parts[:1]:
        kept = np.setdiff1d(np.arange(len(X)), held)
        for neurons, epochs, theta in run_grid(rng, X[kept], y[kept], training):
            sums = Networks(X[held], y[held], len(training.pairs), neurons).errors(theta).astype(float) * len(held)
            for i, ((penalty, rate), error) in enumerate(zip(training.pairs, sums.tolist(), strict=True)):
                point = Point(penalty, rate, neurons, epochs)
                errors[point] = errors.get(point, 0.0) + (error if isfinite(error) else np.inf)
                if errors[point] < least and not cross:
                    best, least = network(theta, i, neurons), errors[point]
    point = min(errors, key=errors.__getitem__)
    if not isfinite(errors[point]):
        raise DataError("every fit of the grid overflowed; scale X and y to unit variance")
    if best is None or training.refit:
        penalty, rate, neurons, epochs = point
        alone = replace(training, penalties=(penalty,), rates=(rate,), neurons=(neurons,), epochs=(epochs,))
        ((_, _, theta),) = run_grid(rng, X, y, alone)
        best = network(theta, 0, neurons)
    return Fit(best, point, errors[point] / (len(X) if cross else len(parts[0])))
