"""Comparison of a trained network with the planted one: distances of neurons, pairs, distinct neurons; stationarity."""

import numpy as np
import scipy
from scipy.optimize import lsq_linear

from recovery.programs.certificate import ACTIVE_TOLERANCE
from recovery.training.models import Empirical, Parameters, outputs
from recovery.types import Array, Index

COLINEAR = 1e-4
"""Two neurons with one activation pattern are merged when 1 - cos of their angle is below this (0.8 degrees)."""


def unit_outer(W: Array, V: Array) -> tuple[Array, Array]:
    """Return the same network with unit outer weights: rows ||v_i|| w_i and v_i/||v_i|| (0 for a zero row)."""
    sizes = np.linalg.norm(V, axis=1, keepdims=True)
    return W * sizes, np.divide(V, sizes, out=np.zeros_like(V), where=sizes > 0)


def weight_error(W: Array, V: Array, A: Array, outer: Array | None = None) -> float | None:
    """Return ||W - W*||_F after the best permutation of the neurons, at unit outer weights (P2, Theorems 1, 2 and 6).

    W (2r, d), V (2r, r), A (r, d). The optimum is W* = V* A with V* = (1, -1) for r = 1, or the fixed paired `outer`
    layer. The distance includes the outer directions, so a neuron is far from one with the other sign. None if no
    single optimum is known: k != 2r, or r > 1 with a trained outer layer. At v = +-1 this is the papers' norm; with
    other v, row i has the factor |v_i|.
    """
    r = len(A)
    if len(W) != 2 * r or (r > 1 and outer is None):
        return None
    P, Q = unit_outer(W, V)
    best = np.array([[1.0], [-1.0]]) if outer is None or r == 1 else unit_outer(W, outer)[1]
    learned, planted = np.hstack([P, Q]), np.hstack([best @ A, best])
    cost = np.sum((learned[:, None, :] - planted[None, :, :]) ** 2, axis=2)
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    return float(np.sqrt(cost[rows, columns].sum()))


def group_error(W: Array, V: Array, A: Array) -> float:
    """Return the distance of (sum of |v_i| w_i over v_i > 0, and over v_i < 0) from (a, -a), r = 1 (P2, Figure 2)."""
    v = V[:, 0]
    sums = [np.abs(v[v * sign > 0]) @ W[v * sign > 0] - sign * A[0] for sign in (1.0, -1.0)]
    return float(np.linalg.norm(sums))


def pairing(W: Array, V: Array) -> tuple[Index, float]:
    """Return each neuron's partner and the largest ||s_i + s_partner|| / ||s_i||, s_i = (w_i, v_i) (P2, Figure 3).

    Partners minimise the sum of ||s_i + s_j|| over the assignments of each neuron to another one.
    """
    S = np.hstack([W, V])
    sums = np.linalg.norm(S[:, None, :] + S[None, :, :], axis=2)
    cost = sums.copy()
    np.fill_diagonal(cost, 1e3 * (1.0 + sums.sum()))
    _, partner = scipy.optimize.linear_sum_assignment(cost)
    sizes = np.linalg.norm(S, axis=1)
    return partner, float(np.max(sums[np.arange(len(S)), partner] / np.maximum(sizes, np.finfo(float).tiny)))


def count_merged(parameters: Parameters, X: Array) -> int:
    """Return the number of non-zero neurons after merging those of equal direction, pattern on X and outer direction.

    Splitting a neuron does not change the count (P1, Appendix A).
    """
    W, V = np.asarray(parameters["W"], np.float64), np.asarray(parameters["V"], np.float64)
    if parameters.normalized:
        V = V * np.asarray(parameters["gamma"], np.float64)[:, None]
    active = X @ W.T > 0
    sizes = np.linalg.norm(V, axis=1) * active.any(axis=0)
    if not parameters.normalized:
        sizes = sizes * np.linalg.norm(W, axis=1)
    kept = np.flatnonzero(sizes > ACTIVE_TOLERANCE * sizes.max(initial=0.0))
    if not kept.size:
        return 0
    W, V, patterns = W[kept], V[kept], np.packbits(active[:, kept], axis=0)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    _, cone = np.unique(patterns, axis=1, return_inverse=True)
    cone = cone.ravel()
    same = (W @ W.T > 1.0 - COLINEAR) & (V @ V.T > 1.0 - COLINEAR) & (cone[:, None] == cone[None, :])
    return int(scipy.sparse.csgraph.connected_components(same, directed=False)[0])


KINK = 1e-6
"""A row x is at a neuron's kink if |x.w| is at most this fraction of ||x|| ||w||; its slope may be any in [0, 1]."""


def stationarity(loss: Empirical, parameters: Parameters) -> float:
    """Return the distance of 0 from the set of gradients that the chain rule gives with any ReLU slopes at kinks.

    The set contains Clarke's subdifferential, so the distance is a lower bound on the distance from that. Networks
    have one output and no normalisation. Each neuron is one bounded least-squares problem.
    """
    gradient = parameters.like()
    loss(parameters, gradient)
    X, W, v = loss.X, parameters["W"], parameters["V"][:, 0]
    residual = 2.0 * loss.terms[0] * (outputs(parameters, X)[:, 0] - loss.Y[0])
    total = float(np.vdot(gradient.flat, gradient.flat) - np.vdot(gradient["W"], gradient["W"]))
    lengths = np.linalg.norm(X, axis=1)
    for w, weight, slope in zip(W, v, gradient["W"], strict=True):
        z = X @ w
        free = np.abs(z) <= KINK * lengths * np.linalg.norm(w)
        columns = (weight * residual[free, None] * X[free]).T
        fixed = slope - columns @ (z[free] > 0)
        left = lsq_linear(columns, -fixed, bounds=(0.0, 1.0)).x @ columns.T + fixed if free.any() else fixed
        total += float(left @ left)
    return float(np.sqrt(total))
