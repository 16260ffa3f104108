"""Planted models in which only some variables matter, and the law says which (P3, section 4.1)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from annotated_types import Ge, MinLen

from recovery.errors import ParameterError
from recovery.instances.network import PlantedNetwork
from recovery.programs.relu_network import ReluNetwork
from recovery.types import Array, Mask, Rng


@runtime_checkable
class Sparse(Protocol):
    """A law of planted models that knows its support before anything is drawn."""

    def support(self, d: int) -> Mask:
        """Which of d variables matter, shape (d,). Raises `ParameterError` where d is too small."""
        ...


@dataclass(frozen=True)
class _Drawn:
    """A function of data that is no neuron of a convex program."""

    form: ClassVar[Literal["other"]] = "other"
    redraws: ClassVar[int] = 0

    d: int

    @property
    def hyperplanes(self) -> Array:
        return np.empty((self.d, 0))


@dataclass(frozen=True)
class PlantedWeights(_Drawn):
    """f(x) = w . x with w (d,)."""

    w: Array

    def labels(self, X: Array) -> Array:
        return X @ self.w


@dataclass(frozen=True)
class PlantedFriedman(_Drawn):
    """f(x) = 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5."""

    def labels(self, X: Array) -> Array:
        waves = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1])
        return waves + 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4]


@dataclass(frozen=True)
class _Law:
    form: ClassVar[Literal["other"]] = "other"
    neurons: ClassVar[int | None] = None
    slope: ClassVar[float] = 0.0


@dataclass(frozen=True)
class SparseNetwork(_Law):
    """`width` ReLU neurons on the first `active` variables: weights and biases uniform on (0, 1), signs random.

    P3, section 4.1.1, whose numbers are the defaults.
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
        return PlantedNetwork(ReluNetwork(W, b, 2.0 * rng.integers(0, 2, self.width) - 1.0))


@dataclass(frozen=True)
class SparseLinear(_Law):
    """y = X w, w = `weights` and then zeros; not normalised. The default is that of P3, section 4.1.2."""

    weights: Annotated[tuple[float, ...], MinLen(1)] = (3.0, 1.5, 0.0, 0.0, 2.0)

    def support(self, d: int) -> Mask:
        return _first(self.weights, d) != 0

    def draw(self, rng: Rng, X: Array) -> PlantedWeights:
        return PlantedWeights(X.shape[1], _first(self.weights, X.shape[1]))


@dataclass(frozen=True)
class Friedman(_Law):
    """y = 10 sin(pi x_1 x_2) + 20 (x_3 - 1/2)^2 + 10 x_4 + 5 x_5 (Friedman 1991; P3, section 4.1.3).

    Friedman's x are uniform on (0, 1): `data: {ensemble: unit_uniform}`. P3 says that its x are standard Gaussian;
    its errors of linear models, 6.28 and 5.8, are those of uniform ones (Gaussian ones give more than 800).
    """

    def support(self, d: int) -> Mask:
        return _first(np.ones(5), d) != 0

    def draw(self, rng: Rng, X: Array) -> PlantedFriedman:
        return PlantedFriedman(len(self.support(X.shape[1])))


def _first(values: object, d: int) -> Array:
    """The values, then zeros, shape (d,)."""
    given = np.asarray(values, np.float64)
    if len(given) > d:
        raise ParameterError(f"the planted model needs {len(given)} variables; d = {d} is too small")
    return np.concatenate([given, np.zeros(d - len(given))])
