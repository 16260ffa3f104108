"""Uniform (strong) forms: one condition for every linear neuron at once."""

import numpy as np

from recovery.conditions.isometry import ROUNDING, Condition
from recovery.types import Array, Mask

CHUNK_BYTES = 48 * 2**20
"""Of d x d matrices, half of them packed, that are formed at a time."""


def uniform_isometry(X: Array, patterns: Mask) -> Condition:
    """max_j ||X^T D_j X (X^T X)^{-1}||_2 < 1, the spectral norm. X: (n, d) of full column rank. Source: P1, (7).

    It is what (NIC-L) becomes when asked of every w at once.
    """
    d = X.shape[1]
    identified = bool(np.linalg.matrix_rank(X) == d)
    if not identified or patterns.shape[1] == 0:
        return Condition("SNIC-L", 0.0 if identified else np.inf, identified, identified=identified)
    inverse = np.linalg.inv(X.T @ X)
    i, j = np.triu_indices(d)
    outer = X[:, i] * X[:, j]
    values = np.empty(patterns.shape[1])
    size = max(1, CHUNK_BYTES // (16 * d * d))
    for start in range(0, values.size, size):
        packed = patterns[:, start : start + size].T @ outer
        G = np.empty((len(packed), d, d))
        G[:, i, j] = packed
        G[:, j, i] = packed
        values[start : start + size] = np.linalg.svd(G @ inverse, compute_uv=False)[:, 0]
    best = int(np.argmax(values))
    return Condition("SNIC-L", float(values[best]), bool(values[best] < 1 - ROUNDING), best)


def orthogonal_uniform_isometry(patterns: Mask, d: int) -> Condition:
    """max_j tr(D_j) <= n - d: (7) for X with orthonormal columns in general position. Source: P1, (26).

    ||X^T D_j X|| < 1 means that X^T (I - D_j) X is positive definite, so that D_j leaves out at least d rows.
    """
    n = patterns.shape[0]
    traces = patterns.sum(axis=0)
    if traces.size == 0:
        return Condition("orth-SNIC-L", 0.0, True, bound=float(n - d))
    best = int(np.argmax(traces))
    return Condition("orth-SNIC-L", float(traces[best]), bool(traces[best] <= n - d), best, bound=float(n - d))
