"""Least squares on all parameters of a ReLU network, from a given start or from random ones (Levenberg-Marquardt)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from recovery.errors import ParameterError
from recovery.programs.relu_network import TINY, ReluNetwork
from recovery.tensors.scalars import regress
from recovery.types import Array, Rng

EXACT = 1e-8
"""A fit is exact when its residual is below this fraction of the labels' size: rounding."""

PER_START = 60
"""Exact fits of 5 and of 8 neurons in 10 dimensions took 11 to 32 evaluations; other starts sit in local minima."""
BLOCK = 4096
FIRST, LEAST = 1e-3, 1e-12
"""Damping, relative to the diagonal of J^T J. Scaling w_i against a_i leaves the loss: J^T J is singular."""
ROUNDING, SMALLEST = 1e-26, 1e-14
"""Of the labels' squares, what a fit leaves by rounding; of the loss, a step too small to see."""
ROWS, LAST = 50, 10
"""Rows a parameter that a start is polished on, and evaluations on all rows from there: it is near the optimum."""


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


def normal_equations(X: Array, y: Array, network: ReluNetwork) -> tuple[Array, Array, float]:
    """J^T J (p, p), J^T r (p,) and ||r||^2 at a network, by blocks of `BLOCK` rows: memory p^2, whatever n is."""
    size = len(flatten(network))
    H, g, loss = np.zeros((size, size)), np.zeros(size), 0.0
    for start in range(0, len(X), BLOCK):
        rows = slice(start, start + BLOCK)
        J, r = jacobian(X[rows], network), residuals(X[rows], y[rows], network)
        H += J.T @ J
        g += J.T @ r
        loss += float(r @ r)
    return H, g, loss


def polish(X: Array, y: Array, start: ReluNetwork, evaluations: int = 100) -> Polished:
    """Minimise ||f(X) - y||^2 from `start` by Levenberg-Marquardt steps, with at most so many evaluations.

    (H + mu D) step = -g with H = J^T J, g = J^T r and D the diagonal of H. mu by Nielsen's rule (1999): it shrinks
    with the gain, the fall of the loss over that of its model, and grows twice as fast at each failure in a row. The
    normal equations square the condition: that costs steps, and no accuracy where the fit is exact. MINPACK takes 2 to
    4 times the evaluations. Raises `ParameterError` for fewer rows than the m (d + 2) parameters.
    """
    n, d = X.shape
    theta, size = flatten(start), float(y @ y)
    if evaluations < 1:
        raise ParameterError(f"a polish needs at least 1 evaluation, found {evaluations}")
    if n < len(theta):
        raise ParameterError(f"a polish of {len(start.a)} units needs at least {len(theta)} rows, found {n}")
    H, g, loss = normal_equations(X, y, start)
    mu, growth, spent = FIRST, 2.0, 1
    while spent < evaluations and loss > ROUNDING * size:
        scale = np.sqrt(np.maximum(np.diag(H), max(TINY, np.finfo(float).eps * float(np.diag(H).max()))))
        # in units of the diagonal's roots, so that mu means the same for weights, biases and outer weights
        scaled = -scipy.linalg.solve(H / np.outer(scale, scale) + mu * np.eye(len(g)), g / scale, assume_a="pos")
        # the fall of ||r||^2 in the model: 2 (-g.step) - step.H step, where (H + mu D) step = -g
        step, predicted = scaled / scale, float(scaled @ (mu * scaled - g / scale))
        if predicted <= SMALLEST * loss:
            break
        tried = normal_equations(X, y, unflatten(theta + step, d))
        spent += 1
        # 1 where the model is exact; below 0 the loss has risen
        gain = (loss - tried[2]) / predicted
        if gain > 0:
            theta, (H, g, loss) = theta + step, tried
            # a gain of 1 makes mu a third, of 1/2 leaves it, of 0 doubles it
            mu, growth = max(LEAST, mu * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3)), 2.0
        else:
            mu, growth = mu * growth, 2.0 * growth
    residual = float(np.sqrt(loss / size)) if size > 0 else 0.0
    return Polished(unflatten(theta, d), residual, spent)


def random_start(X: Array, y: Array, m: int, rng: Rng) -> ReluNetwork:
    """Directions uniform on the sphere, biases uniform on [-1, 1], outer weights by least squares."""
    W = rng.standard_normal((m, X.shape[1]))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    b = rng.uniform(-1.0, 1.0, m)
    return ReluNetwork(W, b, regress(X, y, W, b)[0])


def random_starts(X: Array, y: Array, m: int, rng: Rng) -> Iterator[ReluNetwork]:
    """`random_start` without end."""
    while True:
        yield random_start(X, y, m, rng)


def search(X: Array, y: Array, starts: Iterable[ReluNetwork], evaluations: int) -> Polished:
    """The best polish of the starts in turn, until the evaluations are spent, the fit is exact or starts end.

    One start takes at most `PER_START` evaluations. Starts are polished on the first `ROWS` rows a parameter, and the
    best of them in at most `LAST` evaluations more on all rows. Raises `ParameterError` without start or evaluation.
    """
    best, spent, count = None, 0, 0
    for start in starts:
        rows = slice(ROWS * len(flatten(start)))
        tried = polish(X[rows], y[rows], start, min(PER_START, evaluations - spent))
        spent, count = spent + tried.evaluations, count + 1
        if best is None or tried.residual < best.residual:
            best = tried
        if best.residual < EXACT or spent >= evaluations:
            break
    if best is None:
        raise ParameterError("a polish needs at least one start")
    last = polish(X, y, best.network, LAST)
    return Polished(last.network, last.residual, spent + last.evaluations, count)
