"""Rows from which the network itself recovers a planted linear neuron: the theorems of docs/network-threshold.md.

The exact program with a skip connection, over all activation patterns and without noise, recovers a unit weight w if
    T(X) = inf over X^T lam = w of max over |u| = 1 of (|w.u| + |lam^T |X u||)
is below 2. If T(X) > 2, w is not optimal. If T(X) = 2, w is optimal, but perhaps not the only optimum. Theorem A bounds
the probability of failure of one matrix up to the signs of its rows. Theorems B and C are limits for Gaussian rows as d
grows.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array

SUFFICIENT_GAUSSIAN = 1.282383
"""n/d from which Gaussian rows recover a fixed w with probability to 1. Theorem B, proved in ball arithmetic."""

FAILURE_GAUSSIAN = 1.007
"""n/d up to which Gaussian rows do not recover a fixed w, with probability to 1. Source: Theorem C."""


def failure_bound(X: Array, w: Array) -> float:
    """Return Theorem A's bound on the probability that w is not recovered, given X up to the signs of its rows.

    X: shape (n, d). w: shape (d,), fixed or a function of X^T X, so that signs of rows do not change it.
    With rows scaled to length 1, lam = X (X^T X)^{-1} w/|w|, q = |lam|^2 and L = ||diag(lam) X||, the bound is
    2 exp(-(2 - sqrt(1 + q))^2 / (8 L^2)) if q < 3, and otherwise 1. It is 1 too if X has a rank below d.
    Source: docs/network-threshold.md, Theorem A.
    """
    rows = X[X.any(axis=1)]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    if np.linalg.matrix_rank(rows) < X.shape[1]:
        return 1.0
    left, singular, right = np.linalg.svd(rows, full_matrices=False)
    lam = left @ (right @ (w / np.linalg.norm(w)) / singular)
    return float(_sign_bound(lam @ lam, np.linalg.norm(lam[:, None] * rows, 2)))


def network_sufficient(n: ArrayLike, d: ArrayLike) -> Array:
    """Return a lower bound on P(recovered) for Gaussian rows and a fixed direction; 0 where it says nothing.

    n, d: broadcast together. It is Theorem A with q and L at quantiles of their bounds, so it has explicit constants,
    and is above 0 only for hundreds to thousands of rows. Source: docs/network-threshold.md, "With explicit constants".
    """
    n, d = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64))
    best = np.zeros(n.shape)
    enough = (n > d) & (d >= 1)
    n, d = np.where(enough, n, 2.0), np.where(enough, d, 1.0)
    for share in np.geomspace(1e-12, 0.2, 24):
        best = np.maximum(best, 1 - share - _gaussian_bound(n, d, share / 5))
    return np.where(enough, best, 0.0)


def network_recovery(n: ArrayLike, d: ArrayLike, kappa: float = 0.277) -> Array:
    """Return P(chi^2_{n - d + 1} > kappa d), a description of P(recovered) for Gaussian rows; 0 for n < d.

    1/|lam|^2 of the least-norm dual has this chi-squared law. That recovery is nearly 1/|lam|^2 > kappa d is an
    observation; the default is a replica-symmetric value, a heuristic that is not derived here. Source:
    docs/network-threshold.md, "The law of one draw".
    """
    n, d = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(d, dtype=np.float64))
    return np.where(n >= d, scipy.special.chdtrc(np.maximum(n - d + 1, 1.0), kappa * d), 0.0)


def _sign_bound(q: ArrayLike, L: ArrayLike) -> Array:
    exponent = np.maximum(2 - np.sqrt(1 + np.asarray(q)), 0) ** 2 / (8 * np.square(L))
    return np.minimum(2 * np.exp(-exponent), 1.0)


def _gaussian_bound(n: Array, d: Array, share: float) -> Array:
    """Return Theorem A's bound at q and L that hold unless one of five events fails, each with probability `share`."""
    scale = np.sqrt(scipy.special.chdtri(n - d + 1, 1 - share))  # |lam| = 1/scale
    largest = np.sqrt(1 - scipy.special.betaincinv((n - 1) / 2, 0.5, np.minimum(share / n, 1)))  # entry of lam/|lam|
    reach = np.sqrt(-2 * np.log(share))
    fourth = ((3 * n) ** 0.25 + reach) ** 2 / scipy.special.chdtri(n, 1 - share)  # |lam/|lam||_4^2
    tilt = (n + 1) * n / ((n - d + 2) * (n - d + 1))
    far = np.sqrt(2 * np.log(2 * tilt / share**2))
    fourth = np.minimum(fourth, largest)
    q = (fourth + (np.sqrt(d - 1) + largest * far) / scale) ** 2
    L = fourth + (1 + largest * (np.sqrt(d - 1) + far)) / scale
    return _sign_bound(q, L)
