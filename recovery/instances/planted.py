"""Planted models, from which labels are computed: each a frozen value with an entry in `PLANTED`.

`draw` returns the planted function for a given X; `labels` evaluates it on any data.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np
from annotated_types import Ge, Interval

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.files import FileColumn
from recovery.instances.planted_functions import BiasedNetwork, Friedman, SparseLinear, SparseNetwork
from recovery.programs.groups import leaky_relu
from recovery.types import Array, Rng

SMALLEST_ACTIVATION = 1e-10
"""A draw with some ||(X w_i)_+|| / ||X|| of at most this is repeated (P1, section VII, without ||X||)."""
MOST_REDRAWS = 1000
"""Limit of repeated draws. Even if only 1 % of draws are active, it is exceeded once in 23 000 instances."""

Form = Literal["linear", "relu", "normalized_relu", "other"]
"""The role of a planted model in convex programs; `other` has no weights there."""


class Target(Protocol):
    """A drawn planted function. redraws: earlier draws, which had an inactive neuron."""

    @property
    def form(self) -> Form: ...

    @property
    def redraws(self) -> int: ...

    @property
    def hyperplanes(self) -> Array:
        """Directions (d, m) whose patterns a program must contain to represent it; none for a linear neuron."""
        ...

    def labels(self, X: Array, /) -> Array:
        """Return noiseless labels on X (n, d); shape (n,)."""
        ...


@dataclass(frozen=True)
class Neurons:
    """Planted neurons: unit directions as columns, shape (d, k), and their signs, shape (k,).

    slope: of the activation for negative arguments; 0 is the ReLU. A linear neuron has no activation.
    """

    form: Form
    directions: Array
    signs: Array
    redraws: int = 0
    slope: float = 0.0

    @property
    def linear(self) -> bool:
        return self.form == "linear"

    @property
    def hyperplanes(self) -> Array:
        """The directions (d, k); (d, 0) for a linear neuron."""
        return self.directions[:, :0] if self.linear else self.directions

    def activate(self, Z: Array) -> Array:
        """Return the activations of Z (n, k), before normalisation."""
        return Z if self.linear else leaky_relu(Z, self.slope)

    def sizes(self, X: Array) -> Array:
        """Return the divisor of each activation on X (n, d), (k,): norm (inf for 0) if normalised, otherwise 1."""
        if self.form != "normalized_relu":
            return np.ones(len(self.signs))
        norms: Array = np.linalg.norm(self.activate(X @ self.directions), axis=0)
        return np.where(norms > 0, norms, np.inf)

    def labels(self, X: Array) -> Array:
        """Return noiseless labels on X (n, d): X w*, or the signed sum of (normalised) ReLU neurons; shape (n,)."""
        return self.activate(X @ self.directions) / self.sizes(X) @ self.signs


class Planted(Protocol):
    """A law of planted functions given X: a frozen value.

    form: form of the drawn function. neurons: the number of planted neurons, None for functions without neurons. slope:
    of their activation for negative arguments.
    """

    @property
    def form(self) -> Form: ...

    @property
    def neurons(self) -> int | None: ...

    @property
    def slope(self) -> float: ...

    def draw(self, rng: Rng, X: Array) -> Target: ...


@dataclass(frozen=True)
class Linear:
    """y = X w*, ||w*|| = 1.

    Directions: `random`; `smallest_singular`, the last right singular vector of X; `nonnegative`, with X w* >= 0, which
    exists only if the all-ones pattern does; `basis`, e_1.
    """

    direction: Literal["random", "smallest_singular", "nonnegative", "basis"] = "random"

    form: ClassVar[Form] = "linear"
    neurons: ClassVar[int] = 1
    slope: ClassVar[float] = 0.0

    def draw(self, rng: Rng, X: Array) -> Neurons:
        d = X.shape[1]
        if self.direction == "basis":
            w = np.eye(d)[0]
        elif self.direction == "smallest_singular":
            w = _last_right_singular_vector(X)
        elif self.direction == "nonnegative":
            w = _nonnegative_direction(X)
        else:
            w = rng.standard_normal(d)
        return Neurons("linear", (w / np.linalg.norm(w))[:, None], np.ones(1))


def _last_right_singular_vector(X: Array) -> Array:
    """Return the unit v that minimises ||X v||, with the sign that makes its largest entry positive."""
    w: Array = np.linalg.svd(X, full_matrices=X.shape[0] < X.shape[1])[2][-1]
    return w * np.sign(w[np.argmax(np.abs(w))])


def _nonnegative_direction(X: Array) -> Array:
    w = decide_all_ones(X).direction
    if w is None:
        raise ParameterError(
            "planted.direction: nonnegative needs some w with X w > 0, but this X has none; most have one for n < 2d"
        )
    return w


@dataclass(frozen=True)
class Relu:
    """y = sum_i r_i (X w_i)_+, ||w_i|| = 1.

    Geometry: `random` (uniform on the sphere), `opposite` (w, -w), `basis` (e_1..e_k), `angle` (two directions
    at `angle` degrees). Signs r_i: all `positive`, `alternating` from +1, or `random`. active: the number of variables
    that random neurons see, the first ones; all others have weight 0.
    """

    k: Annotated[int, Ge(1)] = 1
    geometry: Literal["random", "opposite", "basis", "angle"] = "random"
    angle: Annotated[float, Interval(ge=0, le=180)] | None = None
    signs: Literal["positive", "alternating", "random"] = "positive"
    active: Annotated[int, Ge(1)] | None = field(default=None, metadata={"later": True})

    form: ClassVar[Form] = "relu"
    slope: ClassVar[float] = 0.0

    @property
    def neurons(self) -> int:
        return self.k

    def __post_init__(self) -> None:
        if self.geometry in ("opposite", "angle") and self.k != 2:
            raise ParameterError(f"geometry {self.geometry!r} is for k = 2 neurons, found k = {self.k}")
        if (self.geometry == "angle") != (self.angle is not None):
            raise ParameterError("`angle` (degrees) goes with geometry 'angle', and only with it")
        if self.active is not None and self.geometry != "random":
            raise ParameterError(f"`active` goes with geometry 'random', found {self.geometry!r}")

    def draw(self, rng: Rng, X: Array) -> Neurons:
        d = X.shape[1]
        if self.geometry == "basis" and self.k > d:
            raise ParameterError(f"geometry 'basis' needs k <= d, found k = {self.k}, d = {d}")
        if self.geometry == "angle" and d < 2:
            raise ParameterError("geometry 'angle' needs d >= 2")
        if self.active is not None and self.active > d:
            raise ParameterError(f"`active` is a number of variables, at most d = {d}; found {self.active}")
        for redraws in range(MOST_REDRAWS):
            W = self._place(rng, d)
            if np.linalg.norm(np.maximum(X @ W, 0.0), axis=0).min() > SMALLEST_ACTIVATION * np.linalg.norm(X):
                return Neurons(self.form, W, self._signs(rng), redraws, self.slope)
            if self.geometry == "basis":
                break
        raise ParameterError(
            f"planted neurons were inactive in all {redraws + 1} draws: "
            + (f"n = {X.shape[0]} rows are too few" if X.any() else "all rows of X are zero")
        )

    def _place(self, rng: Rng, d: int) -> Array:
        """Draw unit directions as columns, shape (d, k)."""
        if self.geometry == "basis":
            return np.eye(d, self.k)
        free = rng.standard_normal((d, self.k if self.geometry == "random" else 2))
        if self.active is not None:
            free[self.active :] = 0.0
        free /= np.linalg.norm(free, axis=0)
        if self.geometry == "random":
            return free
        w, other = free.T
        if self.geometry == "opposite":
            return np.column_stack([w, -w])
        assert self.angle is not None
        orthogonal = other - (w @ other) * w
        orthogonal /= np.linalg.norm(orthogonal)
        turn = np.deg2rad(self.angle)
        return np.column_stack([w, np.cos(turn) * w + np.sin(turn) * orthogonal])

    def _signs(self, rng: Rng) -> Array:
        if self.signs == "random":
            return 2.0 * rng.integers(0, 2, self.k) - 1.0
        return np.ones(self.k) if self.signs == "positive" else 1.0 - 2.0 * (np.arange(self.k) % 2)


@dataclass(frozen=True)
class NormalizedRelu(Relu):
    """y = sum_i r_i (X w_i)_+ / ||(X w_i)_+||, with the geometries and signs of `Relu`."""

    form: ClassVar[Form] = "normalized_relu"


PLANTED: dict[str, type[Planted]] = {
    "linear": Linear,
    "relu": Relu,
    "normalized_relu": NormalizedRelu,
    "network": BiasedNetwork,
    "sparse_network": SparseNetwork,
    "sparse_linear": SparseLinear,
    "friedman": Friedman,
    "column": FileColumn,
}
