"""Training of a whole grid of hyperparameters at once, and the choice by validation (P3, section 3.4).

Numbers of epochs are checkpoints of one run, and all pairs (penalty, rate) are trained together: 4 x 3 x 3 x 3
fits are 3 runs, one for each number of neurons.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from recovery.errors import DataError, ParameterError
from recovery.programs.relu_network import ReluNetwork
from recovery.selection.sparse_networks import Networks, initialize, network
from recovery.training.models import Minibatches
from recovery.training.optimizers import Adam
from recovery.types import Array, Rng

Shrinkage = Literal["subgradient", "proximal"]
Outer = Literal["free", "signs"]
Batch = Annotated[int, Ge(1)] | Literal["full"]


@dataclass(frozen=True)
class Training:
    """How networks are trained and chosen: `shrinkage` and `outer` as in `PenalizedDescent`.

    batch: number of rows in a step of Adam. scale: factor on the initial weights; see `initialize`. folds, cross,
    refit: see `choose`.
    """

    shrinkage: Shrinkage = "subgradient"
    outer: Outer = "free"
    batch: Batch = "full"
    scale: float = 1.0
    folds: int = 5
    cross: bool = False
    refit: bool = False


@dataclass(frozen=True)
class Point:
    """Hyperparameters of one fit: lambda of equation (10), the learning rate of Adam, neurons, epochs."""

    penalty: float
    rate: float
    neurons: int
    epochs: int


@dataclass(frozen=True)
class HyperparameterGrid:
    """Cartesian product of these hyperparameters, by default as in P3, section 4."""

    penalties: tuple[float, ...] = (0.1, 0.05, 0.01, 0.005)
    rates: tuple[float, ...] = (0.05, 0.01, 0.005)
    neurons: tuple[int, ...] = (20, 50, 100)
    epochs: tuple[int, ...] = (200, 500, 1000)

    def __post_init__(self) -> None:
        for name, values in vars(self).items():
            if not values or min(values) <= 0:
                raise ParameterError(f"{name} must be positive numbers, at least one, found {list(values)}")

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The pairs (penalty, rate), in the order of the networks in one run."""
        return [(penalty, rate) for penalty in self.penalties for rate in self.rates]


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
        self,
        theta: Array,
        networks: Networks | Minibatches,
        penalties: Array,
        rates: Array,
        training: Training = Training(),
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


def run_grid(
    rng: Rng, X: Array, y: Array, grid: HyperparameterGrid, training: Training = Training()
) -> Iterator[tuple[int, int, Array]]:
    """Train the whole grid and yield (neurons, epochs, theta) at each checkpoint. The next step overwrites theta."""
    penalties, rates = np.array(grid.pairs).T
    for neurons in grid.neurons:
        theta = initialize(rng, len(rates), neurons, X.shape[1], signs=training.outer == "signs", scale=training.scale)
        make = partial(Networks, networks=len(rates), neurons=neurons)
        rows = make(X, y) if training.batch == "full" else Minibatches(rng, X, y, training.batch, make)
        descent = PenalizedDescent(theta, rows, penalties, rates, training)
        done = 0
        for epochs in sorted(set(grid.epochs)):
            descent.run(epochs - done)
            done = epochs
            yield neurons, epochs, theta


def choose(rng: Rng, X: Array, y: Array, grid: HyperparameterGrid, training: Training = Training()) -> Fit:
    """Return the fit of the grid with the smallest mean squared error on the validation rows.

    The rows are split at random into `folds` parts. One of them validates, or each in turn if `cross`. The chosen
    hyperparameters are trained again on all rows if `refit` or `cross`; otherwise the network itself is returned. P3
    only says "splits the training data into training and validation parts". Raises `DataError` for fewer rows than
    folds, for numbers that are not finite, and if every fit overflows.
    """
    folds, cross = training.folds, training.cross
    if len(X) < folds:
        raise DataError(f"{len(X)} rows are too few for validation by {folds} parts")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError("X or y contains NaN or infinity; training needs finite numbers")
    parts = np.array_split(rng.permutation(len(X)), folds)
    errors: dict[Point, float] = {}
    best: Fit | None = None
    for held in parts if cross else parts[:1]:
        kept = np.setdiff1d(np.arange(len(X)), held)
        for neurons, epochs, theta in run_grid(rng, X[kept], y[kept], grid, training):
            held_errors = Networks(X[held], y[held], len(grid.pairs), neurons).errors(theta)
            held_errors = np.where(np.isfinite(held_errors), held_errors, np.inf)
            for i, ((penalty, rate), error) in enumerate(zip(grid.pairs, held_errors, strict=True)):
                point = Point(penalty, rate, neurons, epochs)
                errors[point] = errors.get(point, 0.0) + float(error) * len(held)
                if not cross and (best is None or errors[point] < best.error):
                    best = Fit(network(theta, i, neurons), point, errors[point])
    rows = len(X) if cross else len(parts[0])
    point = min(errors, key=errors.__getitem__)
    if not np.isfinite(errors[point]):
        raise DataError("every fit of the grid overflowed; scale X and y to unit variance")
    if best is not None and not training.refit:
        return Fit(best.network, point, best.error / rows)
    alone = HyperparameterGrid((point.penalty,), (point.rate,), (point.neurons,), (point.epochs,))
    ((neurons, _, theta),) = run_grid(rng, X, y, alone, training)
    return Fit(network(theta, 0, neurons), point, errors[point] / rows)
