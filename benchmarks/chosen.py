"""Cuts of `recover select` on tables of scikit-learn and drawn tables: prediction, stability, right and wrong columns.

    python -m benchmarks.chosen

In each of ten splits the network is fitted to 80 % of the rows, and its importances are cut in four ways. A forest on
the chosen columns predicts the other rows (R2). Nogueira, Sechidis and Brown define the stability (Journal of Machine
Learning Research 18(174), 2018): 1 if all splits choose the same columns, about 0 if they choose at random.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import RandomForestRegressor

from benchmarks import one_thread, table, written
from benchmarks.rivals import SHIPPED
from recovery.extras.user_table import Table, encode
from recovery.selection.selectors import Cutoff, Selector, cut
from recovery.types import Array, Index, Mask

SPLITS = 10
CUTS: tuple[Cutoff, ...] = ("shadow", "mixture", "kmeans", "gap")


def wide(n: int = 500, seed: int = 0) -> pd.DataFrame:
    """300 columns beside y: numbers, whole numbers, text, gaps, constants, copies of one value, an id and a name.

    y = 3 area + 2 |age| - 2 (town is Oslo) + 2 rate, where rate has gaps, - 1.5 (member), and noise of deviation 1;
    all numbers but `rooms` have deviation 1.
    """
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.standard_normal((n, 240)), columns=[f"number{i}" for i in range(240)])
    more = {
        "id": np.arange(n),
        "name": [f"person {i}" for i in rng.permutation(n)],
        "area": rng.standard_normal(n),
        "age": rng.standard_normal(n),
        "town": rng.choice(["Oslo", "Rome", "Lima"], n),
        "rate": rng.standard_normal(n),
        "member": rng.choice(["yes", "no"], n),
        "rooms": rng.integers(1, 9, n),
        **{f"text{i}": rng.choice(list("abcd"), n) for i in range(20)},
        **{f"gaps{i}": np.where(rng.random(n) < 0.2, np.nan, rng.standard_normal(n)) for i in range(20)},
        **{f"constant{i}": np.full(n, float(i)) for i in range(10)},
        "empty": np.full(n, np.nan),
        "unit": "EUR",
    }
    table = pd.concat([table, pd.DataFrame(more)], axis=1)
    noise = rng.standard_normal(n)
    table["y"] = 3 * table.area + 2 * table.age.abs() - 2.0 * (table.town == "Oslo") + 2 * table.rate
    table["y"] += noise - 1.5 * (table.member == "yes")
    table.loc[rng.random(n) < 0.05, "rate"] = np.nan
    return table[[*rng.permutation(table.columns.drop("y")), "y"]]


def pair(n: int = 200) -> pd.DataFrame:
    """y = a + b + c + noise, where a and b have correlation .9, beside seven columns that do not matter."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_normal((n, 10)), columns=[*"abc", *(f"x{i}" for i in range(7))])
    table["b"] = 0.9 * table.a + np.sqrt(1 - 0.9**2) * table.b
    return table.assign(y=table.a + table.b + table.c + 0.5 * rng.standard_normal(n))


def linear(n: int = 60) -> pd.DataFrame:
    """P3, section 4.1.2, at noise 1: the columns x0, x1 and x4 of eight matter, with correlations 1/2^|i - j|."""
    rng = np.random.default_rng(2)
    root = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
    X = rng.standard_normal((n, 8)) @ root.T
    labels = X @ np.array([3, 1.5, 0, 0, 2, 0, 0, 0]) + rng.standard_normal(n)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(8)]).assign(y=labels)


def friedman(k: int, noise: float, n: int = 300) -> pd.DataFrame:
    """Friedman's function k of scikit-learn, with columns that do not matter: ten columns in all."""
    X, y = getattr(datasets, f"make_friedman{k}")(n_samples=n, noise=noise, random_state=k)
    more = np.random.default_rng(k).uniform(size=(n, 10 - X.shape[1]))
    return pd.DataFrame(np.hstack([X, more]), columns=[f"x{i}" for i in range(10)]).assign(y=y)


DRAWN: dict[str, tuple[pd.DataFrame, set[str]]] = {
    "wide": (wide(), {"area", "age", "town", "rate", "member"}),
    "friedman1": (friedman(1, 1.0), {f"x{i}" for i in range(5)}),
    "friedman2": (friedman(2, 125.0), {f"x{i}" for i in range(4)}),
    "friedman3": (friedman(3, 0.1), {f"x{i}" for i in range(4)}),
    "linear (P3)": (linear(), {"x0", "x1", "x4"}),
    "correlated pair": (pair(), {"a", "b", "c"}),
}
"""Drawn tables and the columns that matter."""


def splits(known: Table) -> Iterator[tuple[dict[Cutoff, Mask], dict[Cutoff, float]]]:
    """Yield the chosen columns of each cut in each split, and the R2 of a forest on them for the other rows."""
    rng, network = np.random.default_rng(0), Selector(cutoff="none")
    X, y, groups = known.X, known.y, known.groups
    selectors = [network, replace(network, cutoff="shadow")]
    again = [one.only(one(rng, X, y, groups).fitted.hyperparameters) for one in selectors]
    for _ in range(SPLITS):
        kept, left = np.split(rng.permutation(len(y)), [round(0.8 * len(y))])
        plain, shadow = (one(rng, X[kept], y[kept], groups) for one in again)
        chosen = {rule: shadow.chosen if rule == "shadow" else cut(plain.importances, rule, rng) for rule in CUTS}
        yield chosen, {rule: predicted(X[:, mask[groups]], y, kept, left) for rule, mask in chosen.items()}


def predicted(X: Array, y: Array, kept: Index, left: Index) -> float:
    """Return the R2 of a forest for the rows `left`; of their mean if there are no columns."""
    if not X.shape[1]:
        return 0.0
    guess = RandomForestRegressor(100, random_state=0).fit(X[kept], y[kept]).predict(X[left])
    return float(1 - np.mean((guess - y[left]) ** 2) / y[left].var())


def stability(chosen: Mask) -> float:
    """Return the stability of the choices (splits, columns), 1 if all choices are the same."""
    mean = float(chosen.mean())
    spread = float(chosen.var(axis=0, ddof=1).mean())
    return 1.0 - spread / (mean * (1 - mean)) if 0 < mean < 1 else 1.0


def rows() -> Iterator[list[object]]:
    """Yield a row per table, with R2, stability, and the mean numbers of right and wrong columns of each cut."""
    shipped = {name: (getattr(datasets, f"load_{name}")(as_frame=True).frame, set[str]()) for name in SHIPPED}
    numbers = list[list[float]]()
    for name, (frame, right) in {**shipped, **DRAWN}.items():
        known = encode(frame, SHIPPED.get(name, "y"))
        found = list(splits(known))
        matter = np.isin(known.names, list(right))
        cells, values = list[str](), list[float]()
        for rule in CUTS:
            chosen = np.array([masks[rule] for masks, _ in found])
            values += [float(np.mean([r2[rule] for _, r2 in found])), stability(chosen)]
            count = f"{chosen[:, matter].sum(axis=1).mean():.1f} + " if right else ""
            cells.append(f"{values[-2]:.2f}, {values[-1]:.2f}, {count}{chosen[:, ~matter].sum(axis=1).mean():.1f}")
        numbers.append(values)
        yield [name, len(known.y), f"{len(right)} of {len(known.names)}" if right else len(known.names), *cells]
    mean = np.mean(numbers, axis=0)
    yield ["mean", "", "", *(f"{mean[2 * i]:.3f}, {mean[2 * i + 1]:.3f}" for i in range(len(CUTS)))]


if __name__ == "__main__":
    with one_thread():
        written(__file__, table(("table", "rows", "columns", *CUTS), rows()))
