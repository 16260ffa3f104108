"""The trained architectures: parameters, predictions, exact gradients and initialisation.

With X (n, d), neurons w_i as rows of W (k, d) and outputs v_i as rows of V (k, r), Z = (W X^T)_+ (k, n):

| name | f(X)^T (r, n) |
|---|---|
| `relu` | V^T Z |
| `relu_skip` | V^T Z + a0 (w0 X^T), w0 (1, d), a0 (r, 1) |
| `relu_norm` | V^T diag(gamma) U, U = the rows of Z at unit norm over the n samples, gamma (k,) |

P1, sections II and VII, and (24); `relu` is the network of P2. `relu_bias` is `relu` on X and a column of ones.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from recovery.programs.architecture import Architecture
from recovery.training.passes import SMALLEST_NORM, empirical
from recovery.types import Array, Rng


@dataclass(frozen=True)
class Parameters:
    """Named arrays that are views into one flat vector, so that an optimiser sees a single array."""

    architecture: Architecture
    flat: Array
    shapes: Mapping[str, tuple[int, ...]]

    @classmethod
    def empty(cls, architecture: Architecture, k: int, d: int, r: int, dtype: type[np.floating]) -> "Parameters":
        """Return zero parameters of k neurons in d dimensions with r outputs.

        V is last in memory, so that it can be excluded from training. Raises `ParameterError` for an architecture that
        cannot be trained.
        """
        architecture.require("trained")
        shapes: dict[str, tuple[int, ...]] = {"W": (k, d)}
        if architecture.skip:
            shapes |= {"w0": (1, d), "a0": (r, 1)}
        if architecture.normalized:
            shapes["gamma"] = (k,)
        shapes["V"] = (k, r)
        return cls(architecture, np.zeros(sum(int(np.prod(s)) for s in shapes.values()), dtype), shapes)

    @property
    def normalized(self) -> bool:
        return "gamma" in self.shapes

    @cached_property
    def views(self) -> dict[str, Array]:
        """Parameter name -> its array, which shares memory with `flat`."""
        views, start = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            views[name] = self.flat[start : start + size].reshape(shape)
            start += size
        return views

    @cached_property
    def parts(self) -> tuple[Array, Array, Array | None, Array, Array]:
        """W, V, gamma or None, and w0, a0, empty without a skip connection: the parameters of compiled passes."""
        W, V = self["W"], self["V"]
        none = np.empty((0, W.shape[1]), W.dtype), np.empty((V.shape[1], 0), W.dtype)
        w0, a0 = (self["w0"], self["a0"]) if "w0" in self.shapes else none
        return W, V, self.views.get("gamma"), w0, a0

    def __getitem__(self, name: str) -> Array:
        return self.views[name]

    def like(self) -> "Parameters":
        """Return zero parameters of the same shapes."""
        return Parameters(self.architecture, np.zeros_like(self.flat), self.shapes)

    def copy(self) -> "Parameters":
        """Return a copy that shares no memory with these parameters."""
        return Parameters(self.architecture, self.flat.copy(), self.shapes)

    def trainable(self, outer: bool) -> Array:
        """Return the flat vector, or only its part before the outer layer V if `outer` is false; a view."""
        return self.flat if outer else self.flat[: -self["V"].size]


def predict(parameters: Parameters, X: Array) -> Array:
    """Return f(X), shape (n, r), for X (n, d). A normalised network divides by its norms over these rows."""
    return outputs(parameters, parameters.architecture.features(X))


def outputs(parameters: Parameters, X: Array) -> Array:
    """Return the outputs (n, r) of the network on the inputs X (n, d') of its neurons."""
    Z = np.maximum(parameters["W"] @ X.T, 0.0)
    if parameters.normalized:
        Z *= (parameters["gamma"] / np.maximum(np.linalg.norm(Z, axis=1), SMALLEST_NORM))[:, None]
    F = Z.T @ parameters["V"]
    if parameters.architecture.skip:
        F += (X @ parameters["w0"].T) @ parameters["a0"].T
    return F


class Empirical:
    """The loss c ||f(X) - Y||_F^2 + b/2 ||theta||^2 of one network on one data set, and its gradient, in preallocated
    memory.

    X (n, d'): the inputs of the neurons. Y (n, r), theta: all parameters. The factor c is 1 in P1's training, 1/2 in
    P1's (9), 1/(2n) in P2. The penalty b is 0 outside (9). The ReLU has derivative 0 at 0.
    """

    def __init__(
        self, X: Array, Y: Array, k: int, factor: float, dtype: type[np.floating] = np.float64, penalty: float = 0.0
    ) -> None:
        (n, d), r = X.shape, Y.shape[1]
        self.X, self.Y = np.empty((n, d), dtype), np.empty((r, n), dtype)
        self.load(X, Y)
        self.work = np.empty((k, n), dtype), np.empty(k, dtype), np.empty((r, n), dtype), np.empty((1, n), dtype)
        self.terms = factor, float(penalty)

    def load(self, X: Array, Y: Array) -> None:
        """Replace the rows and labels by others, as many as before."""
        self.X[...], self.Y[...] = X, Y.T

    def __call__(self, parameters: Parameters, gradient: Parameters) -> float:
        """Return the loss at `parameters` and write its gradient into `gradient`."""
        parts, slopes, data, work = self.network(parameters, gradient)
        return float(empirical(parameters.flat, gradient.flat, parts, slopes, data, work, *self.terms))

    def network(self, parameters: Parameters, gradient: Parameters) -> Any:
        """Return the parts, slopes, data and work of `recovery.training.passes.empirical`."""
        return parameters.parts, gradient.parts, (self.X, self.Y), self.work


class Minibatches:
    """Mini-batches of the rows: a call shuffles the rows and yields the loss of each batch; the last may be smaller.

    loss: (rows, labels) -> the loss of a batch. One is made per batch size, and `load` copies each batch into it.
    """

    def __init__(self, rng: Rng, X: Array, Y: Array, size: int, loss: Callable[[Array, Array], Any]) -> None:
        self.rng, self.X, self.Y = rng, X, Y
        self.ends = np.arange(size, len(X), size)
        self.losses = {b: loss(X[:b], Y[:b]) for b in set(np.diff([0, *self.ends, len(X)]).tolist())}

    def __call__(self) -> Iterator[Any]:
        for rows in np.split(self.rng.permutation(len(self.X)), self.ends):
            batch = self.losses[len(rows)]
            batch.load(self.X[rows], self.Y[rows])
            yield batch


Initialization = Literal["uniform", "xavier"]
Outer = Literal["trained", "signs", "paired"]


LAWS: dict[str, Callable[[Rng, tuple[int, ...], int, int], Array]] = {
    "uniform": lambda rng, shape, fan_in, fan_out: rng.uniform(-1.0, 1.0, shape) / np.sqrt(fan_in),
    "xavier": lambda rng, shape, fan_in, fan_out: rng.standard_normal(shape) * np.sqrt(2.0 / (fan_in + fan_out)),
}
"""Initial weights of a layer: uniform on +-1/sqrt(fan_in) (P1's code); N(0, 2/(fan_in + fan_out)) (P2, section 4)."""


def initialize(
    rng: Rng,
    architecture: Architecture,
    k: int,
    d: int,
    r: int = 1,
    law: Initialization = "uniform",
    scale: float = 1.0,
    dtype: type[np.floating] = np.float64,
) -> Parameters:
    """Draw every layer from `law` and multiply it by `scale`; the scales gamma of a normalised network are ones.

    The draws are made in float64 whatever the dtype, so that both precisions start at the same point.
    """
    fans = {"W": (d, k), "V": (k, r), "w0": (d, 1), "a0": (1, r)}
    parameters = Parameters.empty(architecture, k, d, r, dtype)
    for name in ("W", "V", "w0", "a0"):
        if name in parameters.shapes:
            parameters[name][...] = scale * LAWS[law](rng, parameters.shapes[name], *fans[name])
    if parameters.normalized:
        parameters["gamma"][...] = 1.0
    return parameters


def sign_halves(k: int) -> Array:
    """Return v = (1, .., 1, -1, .., -1), two equal halves, shape (k, 1), for even k."""
    return np.repeat([1.0, -1.0], k // 2)[:, None]


def paired_outer(rng: Rng, r: int) -> Array:
    """Draw V = [R; -R], (2r, r), R uniform orthogonal (P2, Theorem 6)."""
    Q, upper = np.linalg.qr(rng.standard_normal((r, r)))
    R = Q * np.sign(np.diag(upper))
    return np.vstack([R, -R])
