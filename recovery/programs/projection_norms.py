"""||P_j v|| for many patterns at once, P_j the projection on range(D_j U): the normalised conditions without a loop.

With U orthonormal, G_j = U^T D_j U and b_j = U^T D_j v,
    ||P_j v||^2 = b_j^T G_j^{-1} b_j = ||L_j^{-1} b_j||^2,  G_j = L_j L_j^T,
where every G_j comes from one product of the patterns with the rows' outer products, and L_j^{-1} b_j is the last row
of the Cholesky factor of G_j bordered by b_j: one batched call. Patterns with at most r rows have, in general
position, the whole coordinate space of their rows as range, so ||P_j v|| = ||D_j v||; a batched Cholesky of
(D_j U)(D_j U)^T proves it. What either factor leaves in doubt is decided by a singular value decomposition.
"""

import numpy as np

from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.types import Array, Mask

PIVOT = 1e-3
"""Smallest trusted Cholesky pivot: the value's relative error is then about 1e-10, eps times the condition number."""
CHUNK_BYTES = 48 * 2**20


def projection_norms(U: Array, patterns: Mask, v: Array) -> Array:
    """||P_j v|| for U (n, r) with orthonormal columns, patterns (n, p) and v (n,) or (n, p), one a pattern; (p,)."""
    n, r = U.shape
    count = patterns.shape[1]
    V = np.broadcast_to(v[:, None] if v.ndim == 1 else v, (n, count))
    result = np.full(count, np.nan)
    rows = patterns.sum(axis=0)
    wide = np.flatnonzero(rows <= r)
    tall = np.flatnonzero(rows > r)
    if wide.size:
        result[wide] = _full_row_rank(U, patterns[:, wide], V[:, wide])
    if tall.size:
        result[tall] = _full_column_rank(U, patterns[:, tall], V[:, tall])
    for j in np.flatnonzero(np.isnan(result)):
        result[j] = _by_decomposition(U[patterns[:, j]], V[patterns[:, j], j])
    return result


def _chunks(count: int, bytes_each: int) -> list[slice]:
    size = max(1, CHUNK_BYTES // max(1, bytes_each))
    return [slice(start, start + size) for start in range(0, count, size)]


def _full_column_rank(U: Array, patterns: Mask, V: Array) -> Array:
    """||L^{-1} b||; NaN where G is close to singular."""
    r = U.shape[1]
    i, j = np.triu_indices(r)
    outer = U[:, i] * U[:, j]
    result = np.empty(patterns.shape[1])
    for chunk in _chunks(patterns.shape[1], 16 * (r + 1) ** 2):
        D = patterns[:, chunk].astype(np.float64)
        v = D * V[:, chunk]
        bordered = np.empty((D.shape[1], r + 1, r + 1))
        bordered[:, j, i] = D.T @ outer
        bordered[:, r, :r] = v.T @ U
        bordered[:, r, r] = 1.0 + np.einsum("np,np->p", v, v)
        factor, sound = _cholesky(bordered)
        result[chunk] = np.where(sound, np.linalg.norm(factor[:, r, :r], axis=1), np.nan)
    return result


def _full_row_rank(U: Array, patterns: Mask, V: Array) -> Array:
    """||D v|| where the rows of D U are independent; NaN where that is in doubt."""
    n = U.shape[0]
    kernel = U @ U.T
    result = np.empty(patterns.shape[1])
    for chunk in _chunks(patterns.shape[1], 16 * n * n):
        D = patterns[:, chunk].T
        K = np.where(D[:, :, None] & D[:, None, :], kernel, 0.0)
        K[:, np.arange(n), np.arange(n)] += ~D
        norms = np.linalg.norm(D * V[:, chunk].T, axis=1)
        result[chunk] = np.where(_cholesky(K)[1], norms, np.nan)
    return result


def _cholesky(stack: Array) -> tuple[Array, Mask]:
    """Lower factors of the stack (p, k, k), and which of them have every pivot above PIVOT."""
    try:
        factor = np.linalg.cholesky(stack)
    except np.linalg.LinAlgError:  # some matrix of the batch has none: halve until it stands alone
        if len(stack) == 1:
            return np.zeros_like(stack), np.zeros(1, dtype=np.bool_)
        halves = [_cholesky(half) for half in np.array_split(stack, 2)]
        return np.concatenate([h[0] for h in halves]), np.concatenate([h[1] for h in halves])
    return factor, np.diagonal(factor, axis1=1, axis2=2).min(axis=1) > PIVOT


def _by_decomposition(rows: Array, v: Array) -> float:
    left, s, _ = np.linalg.svd(rows, full_matrices=False)
    return float(np.linalg.norm(left[:, s > RANK_TOLERANCE].T @ v))
