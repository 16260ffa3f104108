"""Selectors, which compute from rows the importance of each variable, the chosen variables and a prediction.

Cutoffs separate the importances of variables that matter from the others (P3, section 3.4).
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from recovery.errors import DataError, ParameterError
from recovery.programs.relu_network import ReluNetwork
from recovery.selection.hyperparameters import Training, choose
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


def fit_baseline(name: str, rng: Rng, X: Array, y: Array, trees: int = TREES) -> tuple[Callable[[Array], Array], Array]:
    """Fit a baseline of P3, section 4, by scikit-learn: lasso, OMP, random forest or gradient boosting.

    Cross-validation over `FOLDS` shuffled parts chooses lasso and OMP. Forest and boosting have `trees` trees. Return
    the prediction X (n, p) -> (n,) and the importances (p,): |coefficient| of linear models, the impurity importances
    of trees. Raises `DataError` for data that scikit-learn refuses, for example fewer rows than folds.
    """
    from sklearn import ensemble, linear_model
    from sklearn.model_selection import KFold

    seed = int(rng.integers(2**31))
    parts = KFold(FOLDS, shuffle=True, random_state=seed)
    model: Any
    match name:
        case "lasso":
            model = linear_model.LassoCV(cv=parts, max_iter=10_000)
        case "omp" if X.shape[1] == 1:  # scikit-learn's OMP needs two columns; with one column, OMP is least squares
            model = linear_model.LinearRegression()
        case "omp":
            model = linear_model.OrthogonalMatchingPursuitCV(cv=parts)
        case "forest":
            model = ensemble.RandomForestRegressor(trees, random_state=seed)
        case _:
            model = ensemble.GradientBoostingRegressor(n_estimators=trees, random_state=seed)
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
    def of(cls, values: Array, wanted: bool) -> "Standardization":
        """Return the map by mean and standard deviation over the rows; a deviation at rounding level becomes 1.

        The identity if not `wanted`.
        """
        if not wanted:
            return cls(np.zeros(values.shape[1:]), np.ones(values.shape[1:]))
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
class Selector(Training):
    """A procedure that selects variables.

    selector: `network` (l1-penalised ReLU networks), or scikit-learn's `lasso`, `omp`, `forest`, `boosting`.
    cutoff: `mixture` (two Gaussians), `kmeans`, `gap` (the largest ratio of neighbours in size), `shadow` (above all
    columns of the same table in shuffled order), `count` with `count` a number or `planted`, or `none` (all non-zero).
    standardize: centre X and y and divide them by their standard deviations first; `inputs`: X only.
    trees: the number of trees of `forest` and `boosting`.

    `shadow` is from Kursa and Rudnicki, Journal of Statistical Software 36(11), 2010. Standardized, importances and
    penalties have no units. P3 does not state whether it standardizes; its errors at large noise are reached only so.
    """

    selector: Literal["network", "lasso", "omp", "forest", "boosting"] = "network"
    cutoff: Cutoff = "mixture"
    count: Annotated[int, Ge(1)] | Literal["planted"] | None = None
    standardize: bool | Literal["inputs"] = True
    trees: Annotated[int, Ge(1)] = field(default=TREES, metadata={"later": True})

    def fit(self, rng: Rng, X: Array, y: Array, count: int | None = None) -> tuple[Fitted, Mask]:
        """Return the model fitted to X (n, p) and y (n,), and which columns are chosen, (p,).

        count: the number of columns that the cutoff `count` chooses. Raises `DataError` for data that cannot be fitted.
        """
        if self.cutoff == "shadow":
            return self._among_shadows(rng, X, y)
        if not (np.isfinite(X).all() and np.isfinite(y).all()):
            raise DataError("X or y contains NaN or infinity; selection needs finite numbers")
        if np.ptp(y) == 0:
            raise DataError(f"every label is {y[0]:g}: no variable can explain labels that do not vary")
        inputs, labels = Standardization.of(X, bool(self.standardize)), Standardization.of(y, self.standardize is True)
        fitting, cutting = rng.spawn(2)
        if self.selector == "network":
            fitted = self._network(fitting, inputs, labels, X, y)
        else:
            predict, shares = fit_baseline(self.selector, fitting, inputs(X), labels(y), self.trees)
            fitted = Fitted(shares, lambda rows: np.asarray(labels.mean + labels.size * predict(inputs(rows))))
        return fitted, cut(fitted.importances, self.cutoff, cutting, count)

    def _among_shadows(self, rng: Rng, X: Array, y: Array) -> tuple[Fitted, Mask]:
        fitting, shuffling = rng.spawn(2)
        p = X.shape[1]
        both = np.hstack([X, X[shuffling.permutation(len(X))]])
        fitted, _ = replace(self, cutoff="none", count=None).fit(fitting, both, y)
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
        fit = choose(rng, inputs(X), labels(y), self)
        scaled = fit.network
        W = scaled.W / inputs.size
        network = ReluNetwork(W, scaled.b - W @ inputs.mean, scaled.a * labels.size)
        chosen = {**fit.point._asdict(), "validation_mse": fit.error * float(labels.size) ** 2}
        importances = np.linalg.norm(scaled.W, axis=0)
        return Fitted(importances, lambda rows: np.asarray(labels.mean + network(rows)), chosen, network)
