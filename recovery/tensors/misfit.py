"""A test of learned units on the rows: whether least squares moves them beyond their sampling error.

Nearly equal units with opposite outer weights have moments that wrong units explain within their error. The function of
these units on the rows is wrong.
"""

from collections.abc import Iterable

import numpy as np
import scipy

from recovery.programs.relu_network import ReluNetwork, affine
from recovery.tensors.hermite import PARTS
from recovery.tensors.polish import polish
from recovery.tensors.scalars import regress
from recovery.types import Array

LEVEL = 0.005
"""Probability that correct units exceed LIMIT, at most."""
LIMIT = float(scipy.special.fdtri(1, PARTS - 1, 1.0 - LEVEL))
"""Largest `disagreement` of correct units, 10.8: the quantile of a squared normal number over the mean of 15 others.
This ratio has the longest tail of all ratios of weighted sums of squares."""
LEADING = 5
"""Largest number of directions that `disagreement` leaves out: at most half of the m d in which m units can change."""
ROWS, EVALUATIONS = 200, 10
"""Rows per parameter and evaluations of the least squares."""


def disagreement(draws: Iterable[ReluNetwork], units: ReluNetwork, X: Array, y: Array) -> float:
    """Return the squared change of the function by least squares on the rows, over the mean square of sampling errors.

    The outer weights and the linear part are regressed on the rows for these units and for each of the `draws`, whose
    functions differ from the function of the units by sampling errors. Then all p parameters are polished. Nearly equal
    units are uncertain in few directions, which hold most of the sampling error and would hide a change in all others.
    The squares are therefore taken outside the leading principal directions of the draws; for a draw, outside those of
    the others. The share of label noise of variance s^2, at most p s^2 + 3 sqrt(2 p) s^2, is subtracted. Infinite for
    fewer than 2 rows per parameter.
    """
    count = (len(units.a) + 2) * (X.shape[1] + 2)
    X, y = X[: ROWS * count], y[: ROWS * count]
    if len(X) < 2 * count:
        return np.inf

    def regression(W: Array, b: Array) -> ReluNetwork:
        a, v, c = regress(X, y, W, b)
        return ReluNetwork(W, b, a) + affine(v, c)

    start = regression(units.W, units.b)
    values = start(X)
    polished = polish(X, y, start, EVALUATIONS).network(X)
    leading = min(LEADING, units.W.size // 2)
    errors = np.array([regression(drawn.W, drawn.b)(X) - values for drawn in draws])
    noise = float(np.sum((polished - y) ** 2)) / (len(X) - count)
    change = max(0.0, _outside(polished - values, errors, leading) - (count + 3.0 * np.sqrt(2.0 * count)) * noise)
    sampling = float(np.mean([_outside(x, np.delete(errors, k, axis=0), leading) for k, x in enumerate(errors)]))
    return change / sampling if sampling > 0 else (np.inf if change > 0 else 0.0)


def _outside(change: Array, errors: Array, count: int) -> float:
    """Return the squared distance of `change` (n,) from the span of `count` principal directions of `errors` (k, n)."""
    first = np.linalg.svd(errors, full_matrices=False)[2][:count]
    return float(np.sum((change - (first @ change) @ first) ** 2))
