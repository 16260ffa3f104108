"""From rows to the importance of each variable, the chosen variables, and a prediction."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from recovery.errors import DataError
from recovery.programs.relu_network import ReluNetwork
from recovery.selection.cutoffs import Cutoff, cut
from recovery.selection.hyperparameters import HyperparameterGrid, Outer, Shrinkage, choose
from recovery.types import Array, Index, Mask, Rng

FOLDS = 5
TREES = 100
"""scikit-learn's own number; P3 does not say how many."""


def _lasso(seed: int, trees: int) -> Any:
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import KFold

    return LassoCV(cv=KFold(FOLDS, shuffle=True, random_state=seed), max_iter=10_000)


def _omp(seed: int, trees: int) -> Any:
    from sklearn.linear_model import OrthogonalMatchingPursuitCV
    from sklearn.model_selection import KFold

    return OrthogonalMatchingPursuitCV(cv=KFold(FOLDS, shuffle=True, random_state=seed))


def _forest(seed: int, trees: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(trees, random_state=seed)


def _boosting(seed: int, trees: int) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=trees, random_state=seed)


BASELINES: dict[str, Callable[[int, int], Any]] = {
    "lasso": _lasso,
    "omp": _omp,
    "forest": _forest,
    "boosting": _boosting,
}
"""P3, section 4: scikit-learn's models. Linear ones are chosen by cross-validation over five shuffled parts, and their
importances are |coefficient|; trees have scikit-learn's defaults and their own importances (impurity). By the seed, and
the number of trees where there are any."""


def fit_baseline(name: str, rng: Rng, X: Array, y: Array, trees: int = TREES) -> tuple[Callable[[Array], Array], Array]:
    """The prediction X (n, p) -> (n,) and the importances (p,) of one of `BASELINES`, fitted.

    Raises `DataError` for what scikit-learn refuses, say fewer rows than folds.
    """
    from sklearn.linear_model import LinearRegression

    model = BASELINES[name](int(rng.integers(2**31)), trees)
    if name == "omp" and X.shape[1] == 1:  # scikit-learn's wants two columns; of one it is least squares
        model = LinearRegression()
    with warnings.catch_warnings():
        # noiseless labels are fitted exactly along the path: coordinate descent and OMP warn of it, and are right
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except ValueError as error:
            raise DataError(f"{name} cannot be fitted: {error}") from error
    importances = np.abs(model.coef_) if hasattr(model, "coef_") else model.feature_importances_
    return model.predict, np.asarray(importances, np.float64)


SelectorName = Literal["network", "lasso", "omp", "forest", "boosting"]


@dataclass(frozen=True)
class Standardization:
    """x -> (x - mean) / size, column by column; the size of a constant column is 1."""

    mean: Array
    size: Array

    @classmethod
    def of(cls, values: Array) -> "Standardization":
        """Mean and standard deviation over the rows; a deviation that is rounding of the values counts as none."""
        size = values.std(axis=0)
        rounding = 1e-14 * np.abs(values).max(axis=0)
        return cls(values.mean(axis=0), np.where(size > rounding, size, 1.0))

    def __call__(self, values: Array) -> Array:
        return (values - self.mean) / self.size


@dataclass(frozen=True)
class Fitted:
    """What was fitted: the importance of each column (p,), a prediction X (m, p) -> (m,), and how it came about.

    hyperparameters: those that validation chose. network: in the units of X and y, before the mean of y is added.
    """

    importances: Array
    predict: Callable[[Array], Array]
    hyperparameters: Mapping[str, float] = field(default_factory=dict)
    network: ReluNetwork | None = None


@dataclass(frozen=True)
class Selection:
    """What was selected: the importance of each variable, and which are chosen."""

    fitted: Fitted
    importances: Array
    chosen: Mask


GRID_FIELDS = {"penalties": "penalty", "rates": "rate", "neurons": "neurons", "epochs": "epochs"}
"""Field of `HyperparameterGrid` -> that of `Point`."""


@dataclass(frozen=True)
class Selector:
    """One way to select variables, as a value.

    grid, folds, cross, refit, shrinkage, outer: how the network is trained and chosen, see `choose`.
    trees: of the forest, and of boosting.
    cutoff, count: see `cut`; `shadow` is the selector's own. Beside the table it fits shadows, the same table with its
    rows in another order, and chooses what is more important than every shadow (Kursa and Rudnicki, Journal of
    Statistical Software 36(11), 2010).
    standardize: X and y are centred and divided by their standard deviations first, so that importances and penalties
    have no units; `inputs`: X alone. P3 does not say whether its code does; at large noise its errors need it.
    """

    name: SelectorName = "network"
    grid: HyperparameterGrid = HyperparameterGrid()
    folds: int = 5
    cross: bool = False
    refit: bool = False
    shrinkage: Shrinkage = "subgradient"
    cutoff: Cutoff = "mixture"
    count: int | None = None
    standardize: bool | Literal["inputs"] = True
    outer: Outer = "free"
    trees: int = TREES

    def __call__(self, rng: Rng, X: Array, y: Array, groups: Index | None = None) -> Selection:
        """Select among the columns of X (n, p) by y (n,). Raises `DataError` for what cannot be fitted.

        groups (p,): the variable 0..g-1 of each column; its importance is the norm of those of its columns.
        """
        if self.cutoff == "shadow":
            return self._among_shadows(rng, X, y, np.arange(X.shape[1]) if groups is None else groups)
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise DataError("X or y contains NaN or infinity; selection needs finite numbers")
        if np.ptp(y) == 0:
            raise DataError(f"every label is {y[0]:g}: no variable can explain what does not vary")
        inputs = Standardization.of(X) if self.standardize else _unscaled(X)
        labels = Standardization.of(y) if self.standardize is True else _unscaled(y)
        fitting, cutting = rng.spawn(2)
        if self.name == "network":
            fitted = self._network(fitting, inputs, labels, X, y)
        else:
            predict, shares = fit_baseline(self.name, fitting, inputs(X), labels(y), self.trees)
            fitted = Fitted(shares, lambda rows: np.asarray(labels.mean + labels.size * predict(inputs(rows))))
        shares = fitted.importances if groups is None else np.sqrt(np.bincount(groups, fitted.importances**2))
        return Selection(fitted, shares, cut(shares, self.cutoff, cutting, self.count))

    def _among_shadows(self, rng: Rng, X: Array, y: Array, groups: Index) -> Selection:
        fitting, shuffling = rng.spawn(2)
        p, variables = X.shape[1], int(groups.max()) + 1
        both = np.hstack([X, X[shuffling.permutation(len(X))]])
        selection = replace(self, cutoff="none")(fitting, both, y, np.concatenate([groups, variables + groups]))
        own, shadows = np.split(selection.importances, [variables])
        mean, fitted = X.mean(axis=0), selection.fitted
        network = fitted.network
        if network is not None:  # a shadow at its mean
            network = ReluNetwork(network.W[:, :p], network.b + network.W[:, p:] @ mean, network.a)
        alone = replace(
            fitted,
            importances=fitted.importances[:p],
            predict=lambda rows: fitted.predict(np.hstack([rows, np.broadcast_to(mean, rows.shape)])),
            network=network,
        )
        return Selection(alone, own, own > shadows.max())

    def only(self, hyperparameters: Mapping[str, float]) -> "Selector":
        """The same with one point of the grid, the one that was chosen before; unchanged for a baseline."""
        if not hyperparameters:
            return self
        values = {name: (hyperparameters[one],) for name, one in GRID_FIELDS.items()}
        return replace(self, grid=HyperparameterGrid(**values), cross=False)  # type: ignore[arg-type]  # neurons are integers

    def _network(self, rng: Rng, inputs: Standardization, labels: Standardization, X: Array, y: Array) -> Fitted:
        """The importance of variable i is ||W_.i||_2, of the network on standardized data (P3, section 3.4)."""
        fit = choose(
            rng,
            inputs(X),
            labels(y),
            self.grid,
            folds=self.folds,
            cross=self.cross,
            refit=self.refit,
            shrinkage=self.shrinkage,
            outer=self.outer,
        )
        scaled = fit.network
        W = scaled.W / inputs.size
        network = ReluNetwork(W, scaled.b - W @ inputs.mean, scaled.a * labels.size)
        chosen = {**vars(fit.point), "validation_mse": fit.error * float(labels.size) ** 2}
        importances = np.linalg.norm(scaled.W, axis=0)
        return Fitted(importances, lambda rows: np.asarray(labels.mean + network(rows)), chosen, network)


def _unscaled(values: Array) -> Standardization:
    return Standardization(np.zeros(values.shape[1:]), np.ones(values.shape[1:]))
