"""Networks learned by P4's moments from tables that users bring.

python -m benchmarks.tensors      about a minute, one thread
"""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from benchmarks import machine, one_thread, table, written
from recovery.instances.planted_functions import BiasedNetwork
from recovery.programs.relu_network import ReluNetwork
from recovery.tensors.hermite import from_samples
from recovery.tensors.learner import LearnOptions, learn
from recovery.tensors.polish import random_starts, search
from recovery.types import Array

NOTE = """
Medians of 10 splits, three quarters to learn from; whitened columns; 3 units. Squared test error divided
by the error of least squares on the columns: 1 is a linear model."""


def network(seed: int, d: int, m: int) -> ReluNetwork:
    """Return a planted network with units of length 1."""
    planted = BiasedNetwork(m, outer="spread")
    return planted.draw(np.random.default_rng(seed), np.empty((1, d))).network.unit()


def tables() -> Iterator[list[str]]:
    """Yield medians over splits of test errors, relative to least squares on the columns."""
    rng = np.random.default_rng(0)
    planted = network(0, 10, 3)
    normal, skew = rng.standard_normal((2000, 10)), rng.exponential(size=(2000, 10))
    noise = 0.1 * rng.standard_normal(2000)
    cases: list[tuple[str, Array, Array]] = [
        ("diabetes (442 x 10)", *load_diabetes(return_X_y=True)),
        ("network of 3, normal columns (2000 x 10)", normal, planted(normal) + noise),
        ("network of 3, exponential columns (2000 x 10)", skew, planted(skew - 1.0) + noise),
    ]
    for name, X, y in cases:
        ratios, found = [], Counter[int]()
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[: 3 * len(y) // 4], order[3 * len(y) // 4 :]
            centre, (values, vectors) = X[train].mean(axis=0), np.linalg.eigh(np.cov(X[train].T))
            Z, scale = (X - centre) @ vectors / np.sqrt(values), y[train].std()
            t = (y - y[train].mean()) / scale
            data, own = (Z[train], t[train]), np.random.default_rng(seed)
            learned = learn(from_samples(*data, 1, np.eye(Z.shape[1])), 3, own, data, LearnOptions(trust=True))
            found[learned.rank] += 1
            affine = np.linalg.lstsq(np.column_stack([Z[train], np.ones(len(train))]), t[train], rcond=None)[0]
            models: list[Callable[[Array], Array]] = [
                learned.network,
                search(*data, [learned.units], 240).network,
                search(*data, random_starts(*data, 3, own), 240).network,
                RandomForestRegressor(random_state=seed).fit(*data).predict,
            ]
            plain = np.mean((Z[test] @ affine[:-1] + affine[-1] - t[test]) ** 2)
            ratios.append([np.mean((model(Z[test]) - t[test]) ** 2) / plain for model in models])
        counts = ", ".join(f"{rank} in {count}" for rank, count in found.most_common())
        yield [name, counts, *(f"{value:.2f}" for value in np.median(ratios, axis=0))]


def main() -> None:
    heads = ("table", "units found in splits", "moments", "moments, polished", "random starts, polished", "forest")
    lines = ["## Tables that users bring", "", *table(heads, tables()), NOTE]
    written(__file__, [*lines, "", f"One thread, {machine()}"])


if __name__ == "__main__":
    with one_thread():
        main()
