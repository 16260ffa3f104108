"""Which columns of a stranger's table are chosen: `recovery.select_columns` against packages that are kept.

uv pip install 'recover[rivals]'; python -m benchmarks.rivals [TABLE ...]      prints rows; all tables: writes rivals.md

LassoCV takes what is not zero. Boruta (Kursa and Rudnicki 2010; package boruta) asks a forest of depth 5. LassoNet
(Lemhadri et al. 2021; package lassonet, one hidden layer of 100) takes the point of its path that predicts a fifth of
the rows best. On five drawn tables the right columns are known. The four of scikit-learn get a shuffled copy of each
column: those are wrong, and nobody knows which of the others are right. One thread, processor time.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold

import recovery
from benchmarks import machine, one_thread, table, written
from recovery.types import Array, Mask

SHIPPED = {"diabetes": "target", "iris": "petal width (cm)", "wine": "flavanoids", "breast_cancer": "target"}
"""Data sets of scikit-learn, and the column that is explained."""
DRAWN: dict[str, tuple[int, int, int, Callable[[Array], Array], float]] = {
    "few rows": (60, 500, 3, lambda X: X[:, :3] @ np.array([3.0, 2.0, -2.0]), 1.0),
    "linear": (400, 206, 5, lambda X: X[:, :5] @ np.array([3.0, 2.0, -2.0, 1.5, 1.0]), 2.0),
    "hinges": (400, 100, 4, lambda X: np.maximum(X[:, :4], 0) @ np.array([2.0, -2.0, 2.0, -2.0]), 1.0),
    "absolute values": (400, 100, 3, lambda X: np.abs(X[:, :3]) @ np.array([2.0, 2.0, 1.5]), 1.0),
    "a product": (400, 50, 3, lambda X: 2 * X[:, 0] * X[:, 1] + X[:, 2], 0.5),
}
"""Rows, columns, how many of the first are right, the labels, and the deviation of the noise on them."""


def drawn(name: str) -> tuple[pd.DataFrame, int]:
    n, p, right, labels, noise = DRAWN[name]
    rng = np.random.default_rng(list(DRAWN).index(name))
    X = rng.standard_normal((n, p))
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(p)])
    return table.assign(y=labels(X) + noise * rng.standard_normal(n)), right


def shipped(name: str) -> tuple[pd.DataFrame, int]:
    """Own columns first, then shuffled copies of them, then y."""
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    own = frame.drop(columns=SHIPPED[name])
    copies = own.sample(frac=1, random_state=0).reset_index(drop=True).add_suffix(" (shuffled)")
    return pd.concat([own, copies, frame[SHIPPED[name]].rename("y")], axis=1), own.shape[1]


def ours(X: Array, y: Array) -> dict[str, Mask]:
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(y=y)
    report = recovery.select_columns(table, "y", keep=list(table.columns[:-1]), baselines=False)
    return {
        label: np.isin(table.columns[:-1], names)
        for label, names in (("ours, chosen", report.chosen), ("ours, stable", report.stable))
    }


def lasso(X: Array, y: Array) -> dict[str, Mask]:
    model = LassoCV(cv=KFold(5, shuffle=True, random_state=0), max_iter=10_000).fit(X, y)
    return {"LassoCV": model.coef_ != 0}


def boruta(X: Array, y: Array) -> dict[str, Mask]:
    from boruta import BorutaPy

    forest = RandomForestRegressor(max_depth=5, random_state=0)
    return {"Boruta": np.asarray(BorutaPy(forest, n_estimators="auto", random_state=0).fit(X, y).support_)}


def lassonet(X: Array, y: Array) -> dict[str, Mask]:
    import torch
    from lassonet import LassoNetRegressor

    torch.set_num_threads(1)
    held = np.random.default_rng(0).permutation(len(X)) < len(X) // 5
    errors: list[float] = []
    chosen: list[Mask] = []

    def look(model: LassoNetRegressor, path: list[object]) -> None:
        errors.append(float(np.mean((model.predict(X[held]).ravel() - y[held]) ** 2)))
        chosen.append(np.array(model.model.input_mask()))

    X, rows = X.astype(np.float32), y.astype(np.float32)[:, None]
    model = LassoNetRegressor(random_state=0, torch_seed=0)
    model.path(X[~held], rows[~held], X_val=X[held], y_val=rows[held], callback=look)
    return {"LassoNet": chosen[int(np.argmin(errors))]}


METHODS = (ours, lasso, boruta, lassonet)


def rows(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield the choice of each method on each table."""
    for name in names:
        data, right = drawn(name) if name in DRAWN else shipped(name)
        X, y = data.drop(columns="y").to_numpy(float), data["y"].to_numpy(float)
        X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
        for method in METHODS:
            start = time.process_time()
            found = method(X, y)
            seconds = f"{time.process_time() - start:.0f} s"
            for label, chosen in found.items():
                good, bad = int(chosen[:right].sum()), int(chosen[right:].sum())
                yield [f"{name}, {len(X)} x {X.shape[1]}", label, f"{good} of {right}", f"{bad}", seconds]


if __name__ == "__main__":
    columns = ("table", "chosen by", "right, or own", "wrong", "processor time")
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = table(columns, rows(sys.argv[1:] or [*DRAWN, *SHIPPED]))
    written(__file__, [*lines, "", f"One thread, {machine()}"], kept=len(sys.argv) == 1)
