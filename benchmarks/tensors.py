"""Networks learned from samples by P4's moments: whether identified networks are right, and tables that users bring.

python -m benchmarks.tensors      about ten minutes, one thread
"""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from benchmarks import machine, one_thread, table, written
from recovery.instances.planted_functions import BiasedNetwork
from recovery.programs.relu_network import ReluNetwork, parameter_error
from recovery.tensors.hermite import from_samples
from recovery.tensors.learner import LearnOptions, learn
from recovery.tensors.polish import random_starts, search
from recovery.types import Array

NETWORKS = 50
"""Networks per case, N and series of seeds in the check of `identified`: 1 000 per series in all."""
SERIES = (2000, 3000)
"""First seeds of the series. The limit of `identified` was chosen with the series of 0 and 1000."""
FALSE = 0.4
"""Error of the parameters above which an identified network is false: four times `learner.STEADY`."""
CASES: tuple[tuple[str, int, int, dict[str, object], float], ...] = (
    ("d = 6, m = 3", 6, 3, {}, 0.0),
    ("d = 6, m = 3, equal biases", 6, 3, {"biases": "equal", "bias": 0.5}, 0.0),
    ("d = 6, m = 3, noise of variance 1", 6, 3, {}, 1.0),
    ("d = 6, m = 3, biases up to 2", 6, 3, {"bias": 2.0}, 0.0),
    ("d = 10, m = 5", 10, 5, {}, 0.0),
)
"""Name, d, m, law of the planted network, and deviation of the noise."""


def network(seed: int, d: int, m: int, **law: object) -> ReluNetwork:
    """Return a planted network with units of length 1."""
    planted = BiasedNetwork(m, outer="spread", **law)  # type: ignore[arg-type]
    return planted.draw(np.random.default_rng(seed), np.empty((1, d))).network.unit()


def identified(errors: list[float]) -> Iterator[list[object]]:
    """Yield a row per case and N; add the error of each identified network to the list."""
    for name, d, m, law, noise in CASES:
        for n in (3000, 10**4, 3 * 10**4, 10**5):
            said, found = Counter[str](), list[float]()
            for seed in (first + i for first in SERIES for i in range(NETWORKS)):
                planted, rng = network(seed, d, m, **law), np.random.default_rng([seed, n, d])
                X = rng.standard_normal((n, d))
                y = planted(X) + noise * rng.standard_normal(n)
                learned = learn(from_samples(X, y, 1, np.eye(d)), m, rng, data=(X, y))
                said[learned.status.label] += 1
                if learned.status.label == "identified":
                    error = parameter_error(learned.units, planted)
                    found.append(np.inf if error is None else error)
            count = said.pop("identified", 0)
            others = ", ".join(f"{label} {number}" for label, number in said.most_common())
            most, off = f"{max(found, default=np.nan):.2f}", [np.sum(np.array(found) > at) for at in (0.3, FALSE)]
            errors += found
            yield [name, f"{n:.0e}", NETWORKS * len(SERIES), count, others, most, *off]


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
        ratios, found = [], Counter[str]()
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[: 3 * len(y) // 4], order[3 * len(y) // 4 :]
            centre, (values, vectors) = X[train].mean(axis=0), np.linalg.eigh(np.cov(X[train].T))
            Z, scale = (X - centre) @ vectors / np.sqrt(values), y[train].std()
            t = (y - y[train].mean()) / scale
            data, own = (Z[train], t[train]), np.random.default_rng(seed)
            learned = learn(from_samples(*data, 1, np.eye(Z.shape[1])), 3, own, data, LearnOptions(trust=True))
            found[f"{learned.rank} {learned.status.label}"] += 1
            affine = np.linalg.lstsq(np.column_stack([Z[train], np.ones(len(train))]), t[train], rcond=None)[0]
            models: list[Callable[[Array], Array]] = [
                learned.network,
                search(*data, [learned.units], 240).network,
                search(*data, random_starts(*data, 3, own), 240).network,
                RandomForestRegressor(random_state=seed).fit(*data).predict,
            ]
            plain = np.mean((Z[test] @ affine[:-1] + affine[-1] - t[test]) ** 2)
            ratios.append([np.mean((model(Z[test]) - t[test]) ** 2) / plain for model in models])
        counts = ", ".join(f"{label}: {count}" for label, count in found.most_common())
        yield [name, counts, *(f"{value:.2f}" for value in np.median(ratios, axis=0))]


def main() -> None:
    errors = list[float]()
    columns = ("case", "N", "networks", "identified", "others", "largest error", "above 0.3", "false: above 0.4")
    lines = ["## Whether identified networks are right", "", *table(columns, identified(errors))]
    false = sum(error > FALSE for error in errors)
    most = stats.beta.ppf(0.95, false + 1, len(errors) - false)
    lines += ["", f"{false} of {len(errors)} identified networks are false; with 95 % confidence at most {most:.1%}."]
    lines += ["The error is the largest ||(w, b, a) - (w*, b*, a*)|| of a unit, where ||w|| = 1, signs included."]
    heads = ("table", "units found, outcomes", "moments", "moments, polished", "random starts, polished", "forest")
    lines += ["", "## Tables that users bring", "", *table(heads, tables())]
    lines += [
        "",
        "Medians of 10 splits, three quarters to learn from; whitened columns; 3 units. Squared test error divided",
    ]
    lines += ["by the error of least squares on the columns: 1 is a linear model."]
    written(__file__, [*lines, "", f"One thread, {machine()}"])


if __name__ == "__main__":
    with one_thread():
        main()
