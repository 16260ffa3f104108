"""Planted functions that no weights of a convex program represent: networks with biases (P4), sparse models (P3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from annotated_types import Ge, MinLen

from recovery.errors import ParameterError
from recovery.programs.relu_network import ReluNetwork
from recovery.types import Array, Mask, Rng


@runtime_checkable
class Sparse(Protocol):
    """A law of planted models whose support is known before anything is drawn."""

    def support(self, d: int) -> Mask:
        """Return which of d variables matter, (d,). Raises `ParameterError` if d is too small."""
        ...


@dataclass(frozen=True)
class PlantedFunction:
    """A drawn function of d variables: `labels` maps X (n, d) to f(X), (n,)."""

    form: ClassVar[Literal["other"]] = "other"
    redraws: ClassVar[int] = 0

    d: int
    labels: Callable[[Array], Array]

    @property
    def hyperplanes(self) -> Array:
        """No directions, (d, 0): a program needs no patterns for this function."""
        return np.empty((self.d, 0))


@dataclass(frozen=True)
class PlantedNetwork(PlantedFunction):
    """A drawn network. Its hyperplanes do not pass through the origin."""

    labels: ReluNetwork

    @property
    def network(self) -> ReluNetwork:
        return self.labels


def friedman(X: Array) -> Array:
    """Return 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5 for the rows of X (n, d), (n,)."""
    waves = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return waves + 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4]


@dataclass(frozen=True)
class BiasedNetwork:
    """y = sum_i a_i (w_i.x + b_i)_+ with `neurons` units (P4).

    weights: `unit`, uniform on the sphere; `random`, N(0, I/d); `condition`, unit vectors with equal angles and the
    given condition number; `dependent`, uniform on the unit sphere of a random subspace with half as many dimensions as
    neurons. tau: N(0, tau^2/d) is added to each entry (smoothed analysis, P4, section E). biases: `range`, uniform on
    [-bias, bias]; `equal`, all equal to `bias`; `zero`. outer: `signs`, +-1 at
    random; `positive`, 1; `spread`, random signs times uniform on [1/2, 2].
    """

    neurons: Annotated[int, Ge(1)] = 5
    weights: Literal["unit", "random", "condition", "dependent"] = "unit"
    condition: Annotated[float, Ge(1)] | None = None
    tau: Annotated[float, Ge(0)] = 0.0
    biases: Literal["range", "equal", "zero"] = "range"
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
        """Draw a network. Raises `ParameterError` for weights: condition with more neurons than dimensions."""
        m, d = self.neurons, X.shape[1]
        free, moved = rng.standard_normal((2, m, d))
        uniform, signs, sizes = rng.uniform(-1.0, 1.0, m), rng.choice([-1.0, 1.0], m), rng.uniform(0.5, 2.0, m)
        b = {"range": self.bias * uniform, "equal": np.full(m, self.bias), "zero": np.zeros(m)}[self.biases]
        a = {"signs": signs, "positive": np.ones(m), "spread": signs * sizes}[self.outer]
        return PlantedNetwork(d, ReluNetwork(self._weights(free) + self.tau / np.sqrt(d) * moved, b, a))

    def _weights(self, free: Array) -> Array:
        """Return the weights (m, d) from standard normal variables."""
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
        """Return unit rows with W W^T = (1 - c) I + c 1 1^T, eigenvalues 1 - c and 1 - c + m c of ratio condition^2."""
        m, d = free.shape
        if m > d:
            raise ParameterError(f"weights: condition needs neurons <= d, found {m} neurons, d = {d}")
        square = float(self.condition or 1.0) ** 2 - 1.0
        gram = np.eye(m) + square / (square + m) * (np.ones((m, m)) - np.eye(m))
        return np.linalg.cholesky(gram) @ np.linalg.qr(free.T)[0].T


@dataclass(frozen=True)
class _Law:
    form: ClassVar[Literal["other"]] = "other"
    neurons: ClassVar[int | None] = None
    slope: ClassVar[float] = 0.0


@dataclass(frozen=True)
class SparseNetwork(_Law):
    """`width` ReLU neurons on the first `active` variables: weights and biases uniform on (0, 1), random signs.

    The default numbers are those of P3, section 4.1.1.
    """

    active: Annotated[int, Ge(1)] = 10
    width: Annotated[int, Ge(1)] = 16

    def support(self, d: int) -> Mask:
        return _first(np.ones(self.active), d) != 0

    def draw(self, rng: Rng, X: Array) -> PlantedNetwork:
        support = self.support(X.shape[1])
        W = np.zeros((self.width, len(support)))
        W[:, support] = rng.uniform(size=(self.width, self.active))
        b = rng.uniform(size=self.width)
        return PlantedNetwork(len(support), ReluNetwork(W, b, 2.0 * rng.integers(0, 2, self.width) - 1.0))


@dataclass(frozen=True)
class SparseLinear(_Law):
    """y = X w, where w is `weights` followed by zeros, not normalised. The default is from P3, section 4.1.2."""

    weights: Annotated[tuple[float, ...], MinLen(1)] = (3.0, 1.5, 0.0, 0.0, 2.0)

    def support(self, d: int) -> Mask:
        return _first(self.weights, d) != 0

    def draw(self, rng: Rng, X: Array) -> PlantedFunction:
        w = _first(self.weights, X.shape[1])
        return PlantedFunction(len(w), lambda rows: rows @ w)


@dataclass(frozen=True)
class Friedman(_Law):
    """y = 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5 (Friedman 1991; P3, section 4.1.3).

    Friedman's x are uniform on (0, 1): `data: {ensemble: unit_uniform}`. P3 says that its x are standard Gaussian, but
    its errors of linear models, 6.28 and 5.8, match uniform ones (Gaussian ones give more than 800).
    """

    def support(self, d: int) -> Mask:
        return _first(np.ones(5), d) != 0

    def draw(self, rng: Rng, X: Array) -> PlantedFunction:
        return PlantedFunction(len(self.support(X.shape[1])), friedman)


def _first(values: object, d: int) -> Array:
    """Return the values followed by zeros, shape (d,)."""
    given = np.asarray(values, np.float64)
    if len(given) > d:
        raise ParameterError(f"the planted model needs {len(given)} variables; d = {d} is too small")
    return np.concatenate([given, np.zeros(d - len(given))])
