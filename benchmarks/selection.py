"""How much faster a grid of sparse networks is trained as a whole than fit by fit: one replicate of P3, Table 1.
`benchmarks.rivals` asks which columns are chosen.

Epochs are checkpoints of one run and the pairs (penalty, rate) networks side by side; the plain loop trains each of the
108 fits alone, once with the same kernels and once as one writes it down in NumPy, all in float32. The last line is
what the two large products of each epoch take alone, which no order of the fits can save.

python -m benchmarks.selection
"""

import time
from collections.abc import Callable
from itertools import product

import numpy as np

from benchmarks import machine, one_thread, written
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Standard
from recovery.instances.planted_functions import SparseNetwork
from recovery.selection.hyperparameters import HyperparameterGrid, PenalizedDescent, run_grid
from recovery.selection.sparse_networks import Networks, initialize
from recovery.types import Array

SETTING = Setting(500, 100, Standard(), SparseNetwork(), noise=1.0, noise_scale="unit")
TRAINED = 400
"""Four fifths of the rows; the others validate."""
GRID = HyperparameterGrid()


def whole(X: Array, y: Array) -> float:
    """Three runs for the 108 fits; the smallest training error."""
    least = np.inf
    for neurons, _, theta in run_grid(np.random.default_rng(0), X, y, GRID):
        least = min(least, Networks(X, y, len(GRID.pairs), neurons).errors(theta).min())
    return float(least)


def loop(fit: Callable[..., float]) -> Callable[[Array, Array], float]:
    """Each of the 108 fits alone."""

    def run(X: Array, y: Array) -> float:
        points = product(GRID.penalties, GRID.rates, GRID.neurons, GRID.epochs)
        return min(fit(X, y, *point) for point in points)

    return run


def same_kernels(X: Array, y: Array, penalty: float, rate: float, neurons: int, epochs: int) -> float:
    theta = initialize(np.random.default_rng(0), 1, neurons, X.shape[1])
    networks = Networks(X, y, 1, neurons)
    PenalizedDescent(theta, networks, np.array([penalty]), np.array([rate])).run(epochs)
    return float(networks.errors(theta)[0])


def plain(X: Array, y: Array, penalty: float, rate: float, neurons: int, epochs: int) -> float:
    """The gradient and Adam as their formulas stand."""
    start = initialize(np.random.default_rng(0), 1, neurons, X.shape[1])
    X, y, n = X.astype(np.float32), y.astype(np.float32), len(X)
    parameters = [start[:, :-2].copy(), start[:, -2].copy(), start[:, -1].copy()]
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    for t in range(1, epochs + 1):
        W, b, a = parameters
        Z = X @ W.T + b
        H = np.maximum(Z, 0)
        residual = (2 / n) * (H @ a - y)
        back = np.outer(residual, a) * (Z > 0)
        gradients = [back.T @ X + penalty * np.sign(W), back.sum(axis=0), H.T @ residual]
        for i, g in enumerate(gradients):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.999 * second[i] + 0.001 * g**2
            step = (first[i] / (1 - 0.9**t)) / (np.sqrt(second[i] / (1 - 0.999**t)) + 1e-8)
            parameters[i] = parameters[i] - rate * step
    W, b, a = parameters
    return float(np.mean((np.maximum(X @ W.T + b, 0) @ a - y) ** 2))


def products(X: Array, y: Array) -> float:
    """For each number of neurons and each epoch: weights times inputs, and the gradient's product with them; no fit."""
    rows = np.ones((len(X), X.shape[1] + 1), np.float32)
    columns = np.ascontiguousarray(rows.T)
    for neurons in GRID.neurons:
        W = np.ones((len(GRID.pairs) * neurons, X.shape[1] + 1), np.float32)
        Z = np.ones((len(W), len(X)), np.float32)
        for _ in range(max(GRID.epochs)):
            np.matmul(W, columns, out=Z)
            np.matmul(Z, rows, out=W)
            W.fill(1.0)  # or it grows to infinity
    return np.nan


WAYS = {"three runs (`recovery.selection`)": whole, "same kernels, fit by fit": loop(same_kernels)}
WAYS |= {"plain NumPy, fit by fit": loop(plain), "the products of the three runs alone": products}


def _shown(error: float) -> str:
    return "" if np.isnan(error) else f"{error:.2g}"


def main() -> None:
    instance = draw(SETTING, np.random.default_rng(0))
    X, y = instance.X[:TRAINED], instance.y[:TRAINED] / instance.y.std()
    seconds, least = {}, {}
    with one_thread():
        for name, way in WAYS.items():
            start = time.process_time()
            least[name] = way(X, y)
            seconds[name] = time.process_time() - start
    first = next(iter(seconds.values()))
    lines = [
        "| 108 fits, n = 400, p = 100 | processor time | times the first | smallest training error |",
        "|---|---|---|---|",
        *[f"| {name} | {s:.1f} s | {s / first:.1f} | {_shown(least[name])} |" for name, s in seconds.items()],
        "",
        f"One thread, {machine()}",
    ]
    written(__file__, lines)


if __name__ == "__main__":
    main()
