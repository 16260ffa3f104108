"""Levenberg-Marquardt least squares on all parameters of a ReLU network, from given or random starts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from recovery.errors import ParameterError
from recovery.programs.relu_network import TINY, ReluNetwork
from recovery.tensors.scalars import regress
from recovery.types import Array, Rng

EXACT = 1e-8
"""A fit is exact when its residual is below this fraction of the norm of the labels, which is rounding."""

PER_START = 60
"""Most evaluations per start. Exact fits of 5 and 8 neurons in 10 dimensions took 11 to 32; other starts end in local
minima."""
BLOCK = 4096
"""Rows of the Jacobian that are formed at a time."""
FIRST, LEAST = 1e-3, 1e-12
"""First and least damping, relative to the diagonal of J^T J, which is singular: (c w_i, a_i / c) has the same loss."""
ROUNDING, SMALLEST = 1e-26, 1e-14
"""Rounding of an exact fit, relative to ||y||^2; relative predicted decrease below which the steps end."""
ROWS, LAST = 50, 10
"""Rows per parameter for the polish of a start; limit of the evaluations on all rows, which begin near the optimum."""


@dataclass(frozen=True)
class Polished:
    """A polished network, its residual ||f(X) - y|| / ||y||, and the numbers of evaluations and starts."""

    network: ReluNetwork
    residual: float
    evaluations: int
    starts: int = 1


def jacobian(X: Array, network: ReluNetwork) -> Array:
    """Return d f(X) / d (W, b, a), shape (n, m (d + 2)), in the order of `flatten`. The ReLU has derivative 0 at 0."""
    Z = X @ network.W.T + network.b
    slope = network.a * (Z > 0)
    inner = (slope[:, :, None] * X[:, None, :]).reshape(len(X), -1)
    return np.hstack([inner, slope, np.maximum(Z, 0.0)])


def flatten(network: ReluNetwork) -> Array:
    """Return W row by row, b and a in one vector."""
    return np.concatenate([network.W.ravel(), network.b, network.a])


def unflatten(theta: Array, d: int) -> ReluNetwork:
    m = len(theta) // (d + 2)
    return ReluNetwork(theta[: m * d].reshape(m, d), theta[m * d : m * (d + 1)], theta[m * (d + 1) :])


def normal_equations(X: Array, y: Array, network: ReluNetwork) -> tuple[Array, Array, float]:
    """Return J^T J (p, p), J^T r (p,) and ||r||^2, r = f(X) - y, in blocks of rows: memory p^2, independent of n."""
    size = len(flatten(network))
    H, g, loss = np.zeros((size, size)), np.zeros(size), 0.0
    for start in range(0, len(X), BLOCK):
        rows = slice(start, start + BLOCK)
        J, r = jacobian(X[rows], network), network(X[rows]) - y[rows]
        H += J.T @ J
        g += J.T @ r
        loss += float(r @ r)
    return H, g, loss


def polish(X: Array, y: Array, start: ReluNetwork, evaluations: int = 100) -> Polished:
    """Minimise ||f(X) - y||^2 from `start` by Levenberg-Marquardt steps, with at most `evaluations` evaluations.

    (H + mu D) step = -g with H = J^T J, g = J^T r and D the diagonal of H. mu follows Nielsen's rule (1999): it shrinks
    with the gain, the decrease of the loss over the predicted decrease, and grows faster at each consecutive failure.
    The normal equations square the condition number: that costs steps, but no accuracy if the fit is exact. MINPACK
    takes 2 to 4 times as many evaluations. Raises `ParameterError` for fewer rows than parameters, or no evaluation.
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
        # the system is scaled by the roots of the diagonal of H, so that mu acts equally on weights, biases and outer
        # weights
        scaled = -scipy.linalg.solve(H / np.outer(scale, scale) + mu * np.eye(len(g)), g / scale, assume_a="pos")
        # `predicted` is the decrease of ||r||^2 in the quadratic model: -2 g.step - step.H step, where (H + mu D) step
        # = -g
        step, predicted = scaled / scale, float(scaled @ (mu * scaled - g / scale))
        if predicted <= SMALLEST * loss:
            break
        tried = normal_equations(X, y, unflatten(theta + step, d))
        spent += 1
        # `gain` is 1 if the quadratic model is exact, and negative if the loss increased
        gain = (loss - tried[2]) / predicted
        if gain > 0:
            theta, (H, g, loss) = theta + step, tried
            # Nielsen's rule: a gain of 1 divides mu by 3, a gain of 1/2 keeps mu, a gain near 0 doubles it
            mu, growth = max(LEAST, mu * max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3)), 2.0
        else:
            mu, growth = mu * growth, 2.0 * growth
    residual = float(np.sqrt(loss / size)) if size > 0 else 0.0
    return Polished(unflatten(theta, d), residual, spent)


def random_starts(X: Array, y: Array, m: int, rng: Rng) -> Iterator[ReluNetwork]:
    """Draw networks of m units without end: directions uniform on the sphere, biases uniform on [-1, 1], and outer
    weights by least squares.
    """
    while True:
        W = rng.standard_normal((m, X.shape[1]))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        b = rng.uniform(-1.0, 1.0, m)
        yield ReluNetwork(W, b, regress(X, y, W, b)[0])


def search(X: Array, y: Array, starts: Iterable[ReluNetwork], evaluations: int) -> Polished:
    """Polish the starts in turn until the evaluations are spent, a fit is exact or the starts end; return the best.

    One start takes at most `PER_START` evaluations. Starts are polished on the first `ROWS` rows per parameter; the
    best is then polished on all rows, in at most `LAST` evaluations. Raises `ParameterError` without start or
    evaluation.
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
