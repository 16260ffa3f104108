"""The baselines of P3, section 4: scikit-learn's models, their importances and predictions.

Linear models are chosen by cross-validation over five shuffled parts; their importances are |coefficient|. Trees have
scikit-learn's defaults and their own importances (impurity). P3 says no more of them.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from recovery.errors import DataError
from recovery.types import Array, Rng

FOLDS = 5


def _lasso(seed: int) -> Any:
    from sklearn.linear_model import LassoCV
    from sklearn.model_selection import KFold

    return LassoCV(cv=KFold(FOLDS, shuffle=True, random_state=seed), max_iter=10_000)


def _omp(seed: int) -> Any:
    from sklearn.linear_model import OrthogonalMatchingPursuitCV
    from sklearn.model_selection import KFold

    return OrthogonalMatchingPursuitCV(cv=KFold(FOLDS, shuffle=True, random_state=seed))


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=seed)


BASELINES: dict[str, Callable[[int], Any]] = {
    "lasso": _lasso,
    "omp": _omp,
    "forest": _forest,
    "boosting": _boosting,
}


def fit_baseline(name: str, rng: Rng, X: Array, y: Array) -> tuple[Callable[[Array], Array], Array]:
    """The prediction X (n, p) -> (n,) and the importances (p,) of one of `BASELINES`, fitted.

    Raises `DataError` for what scikit-learn refuses, say fewer rows than folds.
    """
    from sklearn.linear_model import LinearRegression

    model = BASELINES[name](int(rng.integers(2**31)))
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
