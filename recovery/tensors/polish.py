"""Least squares on all parameters of a ReLU network, from a given start or from random ones (Levenberg-Marquardt)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from recovery.errors import ParameterError
from recovery.programs.relu_network import ReluNetwork
from recovery.tensors.learner import regress
from recovery.types import Array, Rng

EXACT = 1e-8
"""A fit is exact when its residual is below this fraction of the labels' size: rounding."""


@dataclass(frozen=True)
class Polished:
    """A network, its residual relative to the labels (root mean squares), and what it took."""

    network: ReluNetwork
    residual: float
    evaluations: int
    starts: int = 1


def residuals(X: Array, y: Array, network: ReluNetwork) -> Array:
    """f(X) - y, shape (n,)."""
    return network(X) - y


def jacobian(X: Array, network: ReluNetwork) -> Array:
    """d f(X) / d (W, b, a), shape (n, m (d + 2)), in the order of `flatten`; the ReLU has derivative 0 at 0."""
    Z = X @ network.W.T + network.b
    slope = network.a * (Z > 0)
    inner = (slope[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    return np.hstack([inner, slope, np.maximum(Z, 0.0)])


def flatten(network: ReluNetwork) -> Array:
    """W row by row, b, a."""
    return np.concatenate([network.W.ravel(), network.b, network.a])


def unflatten(theta: Array, d: int) -> ReluNetwork:
    m = len(theta) // (d + 2)
    return ReluNetwork(theta[: m * d].reshape(m, d), theta[m * d : m * (d + 1)], theta[m * (d + 1) :])


def polish(X: Array, y: Array, start: ReluNetwork, evaluations: int = 100) -> Polished:
    """Minimise ||f(X) - y||^2 from `start` by MINPACK's Levenberg-Marquardt, with at most so many evaluations.

    Raises `ParameterError` where there are fewer rows than the m (d + 2) parameters.
    """
    n, d = X.shape
    theta = flatten(start)
    if n < len(theta):
        raise ParameterError(f"a polish of {len(start.a)} units needs at least {len(theta)} rows, found {n}")

    def distance(theta: Array) -> Array:
        return residuals(X, y, unflatten(theta, d))

    def slopes(theta: Array) -> Array:
        return jacobian(X, unflatten(theta, d))

    found = least_squares(
        distance,
        theta,
        slopes,
        method="lm",
        max_nfev=evaluations,
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
    )
    size = float(np.linalg.norm(y))
    residual = float(np.linalg.norm(found.fun)) / size if size > 0 else 0.0
    return Polished(unflatten(found.x, d), residual, int(found.nfev))


def random_start(X: Array, y: Array, m: int, rng: Rng) -> ReluNetwork:
    """Directions uniform on the sphere, biases uniform on [-1, 1], outer weights by least squares."""
    W = rng.standard_normal((m, X.shape[1]))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    b = rng.uniform(-1.0, 1.0, m)
    return ReluNetwork(W, b, regress(X, y, W, b)[0])


def from_random_starts(X: Array, y: Array, m: int, rng: Rng, evaluations: int) -> Polished:
    """The best polish of as many random starts as fit into so many evaluations; it ends at an exact fit."""
    best, spent, starts = None, 0, 0
    while spent < evaluations:
        tried = polish(X, y, random_start(X, y, m, rng), evaluations - spent)
        spent, starts = spent + tried.evaluations, starts + 1
        if best is None or tried.residual < best.residual:
            best = tried
        if best.residual < EXACT:
            break
    if best is None:
        raise ParameterError(f"a polish needs at least 1 evaluation, found {evaluations}")
    return Polished(best.network, best.residual, spent, starts)
