"""The planted model of P4: a ReLU network with biases, its weights perturbed as in smoothed analysis."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge

from recovery.errors import ParameterError
from recovery.programs.relu_network import ReluNetwork
from recovery.types import Array, Rng

HUGE = 10.0
"""A bias at which a unit is linear to rounding: P(w.x + b < 0) = 1e-23."""


@dataclass(frozen=True)
class PlantedNetwork:
    """A drawn network. No convex program holds its weights."""

    network: ReluNetwork
    form: ClassVar[Literal["other"]] = "other"
    redraws: ClassVar[int] = 0

    @property
    def hyperplanes(self) -> Array:
        """None, (d, 0): its hyperplanes do not go through the origin."""
        return np.empty((self.network.W.shape[1], 0))

    def labels(self, X: Array) -> Array:
        """f(X) for X (n, d); shape (n,)."""
        return self.network(X)


@dataclass(frozen=True)
class BiasedNetwork:
    """y = sum_i a_i (w_i.x + b_i)_+ with `neurons` units (P4).

    weights: `unit`, uniform on the sphere; `random`, N(0, I/d); `condition`, unit vectors of equal angles and the
    given condition number; `dependent`, uniform on the sphere of a random subspace of half as many dimensions as
    neurons. tau: N(0, tau^2/d) is added to each entry (smoothed analysis, P4, section E).
    biases: `range`, uniform on [-bias, bias]; `equal`, all of them `bias`; `zero`; `huge`, as `range`, but the first
    is 10. outer: `signs`, +-1 at random; `positive`, 1; `spread`, random signs times uniform on [1/2, 2].
    """

    neurons: Annotated[int, Ge(1)] = 5
    weights: Literal["unit", "random", "condition", "dependent"] = "unit"
    condition: Annotated[float, Ge(1)] | None = None
    tau: Annotated[float, Ge(0)] = 0.0
    biases: Literal["range", "equal", "zero", "huge"] = "range"
    bias: float = 1.0
    outer: Literal["signs", "positive", "spread"] = "signs"

    form: ClassVar[Literal["other"]] = "other"
    slope: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if (self.weights == "condition") != (self.condition is not None):
            raise ParameterError("`condition` (a number of at least 1) goes with weights: condition, and only with it")
        if self.biases == "range" and self.bias < 0:
            raise ParameterError(f"biases: range needs a bias of at least 0, found {self.bias}")

    def draw(self, rng: Rng, X: Array) -> PlantedNetwork:
        """Raises `ParameterError` for weights: condition with more neurons than dimensions."""
        m, d = self.neurons, X.shape[1]
        free, moved = rng.standard_normal((2, m, d))
        uniform, signs, sizes = rng.uniform(-1.0, 1.0, m), rng.choice([-1.0, 1.0], m), rng.uniform(0.5, 2.0, m)
        b = {
            "range": self.bias * uniform,
            "equal": np.full(m, self.bias),
            "zero": np.zeros(m),
            "huge": np.append(HUGE, self.bias * uniform[1:]),
        }[self.biases]
        a = {"signs": signs, "positive": np.ones(m), "spread": signs * sizes}[self.outer]
        return PlantedNetwork(ReluNetwork(self._weights(free) + self.tau / np.sqrt(d) * moved, b, a))

    def _weights(self, free: Array) -> Array:
        """The weights (m, d) from standard normal ones."""
        m, d = free.shape
        if self.weights == "random":
            return free / np.sqrt(d)
        if self.weights == "condition":
            return self._conditioned(free)
        if self.weights == "dependent":
            p = min(max(1, m // 2), d)
            free = free[:, :p] @ np.linalg.qr(free.T)[0].T[:p]
        return free / np.linalg.norm(free, axis=1, keepdims=True)

    def _conditioned(self, free: Array) -> Array:
        """Unit rows, W W^T = (1 - c) I + c 1 1^T, of eigenvalues 1 - c and 1 - c + m c, whose ratio is kappa^2."""
        m, d = free.shape
        if m > d:
            raise ParameterError(f"weights: condition needs neurons <= d, found {m} neurons, d = {d}")
        square = float(self.condition or 1.0) ** 2 - 1.0
        gram = np.eye(m) + square / (square + m) * (np.ones((m, m)) - np.eye(m))
        return np.linalg.cholesky(gram) @ np.linalg.qr(free.T)[0].T
