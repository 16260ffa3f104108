"""Selectors, which compute from rows the importance of each variable, the chosen variables and a prediction.

Cutoffs separate the importances of variables that matter from the others (P3, section 3.4).
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from recovery.errors import DataError, ParameterError
from recovery.programs.relu_network import ReluNetwork
from recovery.selection.hyperparameters import HyperparameterGrid, Training, choose
from recovery.types import Array, Mask, Rng

Cutoff = Literal["mixture", "kmeans", "gap", "shadow", "count", "none"]
SMALLEST = 1e-2
"""`gap` replaces importances below this share of the largest by it, so that no gap is found among them."""


def mixture(importances: Array, seed: int) -> Mask:
    """Choose the variables that a two-component Gaussian mixture assigns to the component with the larger mean.

    A wide upper component can also claim values below the mean of the lower one; these are never chosen.
    """
    from sklearn.mixture import GaussianMixture

    values = importances[:, None]
    model = GaussianMixture(2, max_iter=1000, random_state=seed).fit(values)
    low, high = np.argsort(model.means_[:, 0])
    return (model.predict(values) == high) & (importances > model.means_[low, 0])


def kmeans(importances: Array, seed: int) -> Mask:
    """Choose the variables in the cluster with the larger mean, of two clusters of the importances (k-means)."""
    from sklearn.cluster import KMeans

    model = KMeans(2, n_init=10, random_state=seed).fit(importances[:, None])
    return model.labels_ == np.argmax(model.cluster_centers_[:, 0])


CLUSTERINGS: dict[str, Callable[[Array, int], Mask]] = {"mixture": mixture, "kmeans": kmeans}


def gap(importances: Array) -> Mask:
    """Choose the variables above the widest gap: the largest ratio of two neighbours among the sorted importances.

    A variable with a third of the largest importance still matters; the largest noise is often a tenth of it.
    """
    order = np.argsort(-importances, kind="stable")
    steps = np.diff(np.log(np.maximum(importances[order], SMALLEST * importances.max())))
    chosen = np.zeros(len(importances), np.bool_)
    chosen[order[: np.argmin(steps) + 1]] = True
    return chosen


def cut(importances: Array, cutoff: Cutoff, rng: Rng, count: int | None = None) -> Mask:
    """Return which variables are chosen, shape (p,).

    A variable of importance zero is never chosen. `cutoff` chooses the `count` largest importances, all non-zero ones
    (`none`), all above the widest `gap`, or the upper of two clusters. If all importances are equal, every non-zero one
    is chosen, except by `count`, where the first variables win ties. Raises `ParameterError` for a missing count, and
    for `shadow`, which `Selector` fits.
    """
    if cutoff == "shadow":
        raise ParameterError("cutoff: shadow compares with shadows of the table, which a Selector fits")
    positive = importances > 0
    if cutoff == "none":
        return positive
    if cutoff == "count":
        if count is None:
            raise ParameterError("cutoff: count needs `count`, the number of variables to choose")
        chosen = np.zeros(len(importances), np.bool_)
        chosen[np.argsort(-importances, kind="stable")[:count]] = True
        return chosen & positive
    if np.ptp(importances) == 0:
        return positive
    if cutoff == "gap":
        return gap(importances) & positive
    return CLUSTERINGS[cutoff](importances / importances.max(), int(rng.integers(2**31))) & positive


FOLDS = 5
"""Parts of the rows in the cross-validation of lasso and OMP."""
TREES = 100
"""scikit-learn's default; P3 does not state the number."""


SelectorName = Literal["network", "lasso", "omp", "forest", "boosting"]


def baseline(name: str, seed: int, columns: int, trees: int) -> Any:
    """Return an unfitted scikit-learn model of P3, section 4: lasso, OMP, random forest or gradient boosting.

    Cross-validation over `FOLDS` shuffled parts chooses lasso and OMP. Forest and boosting have `trees` trees.
    """
    from sklearn import ensemble, linear_model
    from sklearn.model_selection import KFold

    parts = KFold(FOLDS, shuffle=True, random_state=seed)
    match name:
        case "lasso":
            return linear_model.LassoCV(cv=parts, max_iter=10_000)
        case "omp" if columns == 1:  # scikit-learn's OMP needs two columns; with one column, OMP is least squares
            return linear_model.LinearRegression()
        case "omp":
            return linear_model.OrthogonalMatchingPursuitCV(cv=parts)
        case "forest":
            return ensemble.RandomForestRegressor(trees, random_state=seed)
    return ensemble.GradientBoostingRegressor(n_estimators=trees, random_state=seed)


def fit_baseline(name: str, rng: Rng, X: Array, y: Array, trees: int = TREES) -> tuple[Callable[[Array], Array], Array]:
    """Fit a baseline and return its prediction X (n, p) -> (n,) and its importances (p,).

    Importances are |coefficient| of linear models and the impurity importances of trees. Raises `DataError` for data
    that scikit-learn refuses, for example fewer rows than folds.
    """
    model = baseline(name, int(rng.integers(2**31)), X.shape[1], trees)
    with warnings.catch_warnings():
        # ignore the warnings of coordinate descent and OMP about noiseless labels, which are fitted exactly along the
        # path
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except ValueError as error:
            raise DataError(f"{name} cannot be fitted: {error}") from error
    importances = np.abs(model.coef_) if hasattr(model, "coef_") else model.feature_importances_
    return model.predict, np.asarray(importances, np.float64)


@dataclass(frozen=True)
class Standardization:
    """The map x -> (x - mean) / size, column by column; the size of a constant column is 1."""

    mean: Array
    size: Array

    @classmethod
    def of(cls, values: Array) -> "Standardization":
        """Return the map by mean and standard deviation over the rows; a deviation at rounding level becomes 1."""
        size = values.std(axis=0)
        rounding = 1e-14 * np.abs(values).max(axis=0)
        return cls(values.mean(axis=0), np.where(size > rounding, size, 1.0))

    def __call__(self, values: Array) -> Array:
        return (values - self.mean) / self.size


@dataclass(frozen=True)
class Fitted:
    """A fitted model: the importance of each column (p,) and a prediction X (m, p) -> (m,).

    hyperparameters: chosen by validation. network: in the units of X and y, without the mean of y.
    """

    importances: Array
    predict: Callable[[Array], Array]
    hyperparameters: Mapping[str, float] = field(default_factory=dict)
    network: ReluNetwork | None = None


@dataclass(frozen=True)
class Selector:
    """A procedure that selects variables.

    grid, training: training and choice of the network, see `choose`.
    trees: number of trees of the forest and of boosting.
    cutoff, count: see `cut`. `shadow` also fits shadow columns, which are the columns of X with permuted rows, and
    chooses each variable that is more important than every shadow (Kursa and Rudnicki, Journal of Statistical
    Software 36(11), 2010).
    standardize: centre X and y and divide by their standard deviations first, so that importances and penalties have
    no units; `inputs`: X only. P3 does not state whether its code does; at large noise its errors need it.
    """

    name: SelectorName = "network"
    grid: HyperparameterGrid = HyperparameterGrid()
    training: Training = field(default_factory=Training)
    cutoff: Cutoff = "mixture"
    count: int | None = None
    standardize: bool | Literal["inputs"] = True
    trees: int = TREES

    def __call__(self, rng: Rng, X: Array, y: Array) -> tuple[Fitted, Mask]:
        """Return the model fitted to X (n, p) and y (n,), and which columns are chosen, (p,).

        Raises `DataError` for data that cannot be fitted.
        """
        if self.cutoff == "shadow":
            return self._among_shadows(rng, X, y)
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise DataError("X or y contains NaN or infinity; selection needs finite numbers")
        if np.ptp(y) == 0:
            raise DataError(f"every label is {y[0]:g}: no variable can explain labels that do not vary")
        inputs = Standardization.of(X) if self.standardize else _unscaled(X)
        labels = Standardization.of(y) if self.standardize is True else _unscaled(y)
        fitting, cutting = rng.spawn(2)
        if self.name == "network":
            fitted = self._network(fitting, inputs, labels, X, y)
        else:
            predict, shares = fit_baseline(self.name, fitting, inputs(X), labels(y), self.trees)
            fitted = Fitted(shares, lambda rows: np.asarray(labels.mean + labels.size * predict(inputs(rows))))
        return fitted, cut(fitted.importances, self.cutoff, cutting, self.count)

    def _among_shadows(self, rng: Rng, X: Array, y: Array) -> tuple[Fitted, Mask]:
        fitting, shuffling = rng.spawn(2)
        p = X.shape[1]
        both = np.hstack([X, X[shuffling.permutation(len(X))]])
        fitted, _ = replace(self, cutoff="none")(fitting, both, y)
        own, shadows = np.split(fitted.importances, [p])
        mean, network = X.mean(axis=0), fitted.network
        if network is not None:  # drop the shadow inputs: fix them at their means, which adds a constant to each bias
            network = ReluNetwork(network.W[:, :p], network.b + network.W[:, p:] @ mean, network.a)
        alone = replace(
            fitted,
            importances=own,
            predict=lambda rows: fitted.predict(np.hstack([rows, np.broadcast_to(mean, rows.shape)])),
            network=network,
        )
        return alone, own > shadows.max()

    def _network(self, rng: Rng, inputs: Standardization, labels: Standardization, X: Array, y: Array) -> Fitted:
        """Fit the network by `choose`; the importance of column i is ||W_.i||_2 at standardized inputs (P3, 3.4)."""
        fit = choose(rng, inputs(X), labels(y), self.grid, self.training)
        scaled = fit.network
        W = scaled.W / inputs.size
        network = ReluNetwork(W, scaled.b - W @ inputs.mean, scaled.a * labels.size)
        chosen = {**vars(fit.point), "validation_mse": fit.error * float(labels.size) ** 2}
        importances = np.linalg.norm(scaled.W, axis=0)
        return Fitted(importances, lambda rows: np.asarray(labels.mean + network(rows)), chosen, network)


def _unscaled(values: Array) -> Standardization:
    return Standardization(np.zeros(values.shape[1:]), np.ones(values.shape[1:]))
