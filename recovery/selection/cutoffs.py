"""Cutoffs between the importances of variables that matter and the others (P3, section 3.4).

scikit-learn computes the clusterings. `cut` never chooses a variable of importance zero.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from recovery.errors import ParameterError
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

    `cutoff` chooses the `count` largest importances, all non-zero ones (`none`), all above the widest `gap`, or the
    upper of two clusters. If all importances are equal, every non-zero one is chosen, except by `count`, where the
    first variables win ties. Raises `ParameterError` for a missing count, and for `shadow`, which `Selector` fits.
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
