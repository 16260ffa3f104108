"""Which importances are large: the cut between variables that matter and the others (P3, section 3.4).

The clusterings are scikit-learn's. An importance of zero is never chosen.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from recovery.errors import ParameterError
from recovery.types import Array, Mask, Rng

Cutoff = Literal["mixture", "kmeans", "gap", "shadow", "count", "none"]
SMALLEST = 1e-2
"""Importances below this share of the largest are as good as zero to `gap`, and as large as each other."""


def mixture(importances: Array, seed: int) -> Mask:
    """Those that a two-component Gaussian mixture gives to its component of larger mean.

    A wide upper component can also claim what lies below the mean of the lower one; that is never chosen.
    """
    from sklearn.mixture import GaussianMixture

    values = importances[:, None]
    model = GaussianMixture(2, max_iter=1000, random_state=seed).fit(values)
    low, high = np.argsort(model.means_[:, 0])
    return (model.predict(values) == high) & (importances > model.means_[low, 0])


def kmeans(importances: Array, seed: int) -> Mask:
    """Those of the cluster of larger mean of two (k-means)."""
    from sklearn.cluster import KMeans

    model = KMeans(2, n_init=10, random_state=seed).fit(importances[:, None])
    return model.labels_ == np.argmax(model.cluster_centers_[:, 0])


CLUSTERINGS: dict[str, Callable[[Array, int], Mask]] = {"mixture": mixture, "kmeans": kmeans}


def gap(importances: Array) -> Mask:
    """Those above the widest gap, that of the largest ratio of neighbours in order of size.

    A variable that matters a third as much as another still matters; the largest noise is often a tenth of it.
    """
    order = np.argsort(-importances, kind="stable")
    steps = np.diff(np.log(np.maximum(importances[order], SMALLEST * importances.max())))
    chosen = np.zeros(len(importances), np.bool_)
    chosen[order[: np.argmin(steps) + 1]] = True
    return chosen


def cut(importances: Array, cutoff: Cutoff, rng: Rng, count: int | None = None) -> Mask:
    """The chosen variables, shape (p,): the `count` largest, all that are not zero (`none`), those above the widest
    `gap`, or a cluster.

    Clusterings see the importances in units of the largest one. Where all are equal there is nothing to separate,
    and those that are not zero are chosen. Ties at the last place of a count go to the first variable. Raises
    `ParameterError` for a count that is missing, and for `shadow`, which `Selector` fits itself.
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
