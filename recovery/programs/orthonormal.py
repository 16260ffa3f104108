"""Orthonormal bases U_j of range(D_j X), kept as D_j U T_j with one base U and small transforms T_j.

U holds the left singular vectors of X, so range(D_j X) = range(D_j U) and the conditioning of X (a column scaled by
1e-8, say) never enters. T_j comes from a Cholesky factor of U^T D_j U where that is well conditioned, else from the
singular value decomposition of D_j U: D_j U = P S V^T gives T_j = V S^{-1} on the rank of D_j U, zero columns beyond.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from recovery.types import Array, Mask

RANK_TOLERANCE = 1e-10
"""Singular values below this fraction of the largest count as zero (the columns of U have norm 1)."""
UNEVEN = 1e-3
"""Rows whose norms differ by more are measured each by its own: the ensembles hardly ever draw such rows."""
SURE = 1e-8
"""Singular values above this fraction of the largest: eps over it is below the margin of proofs."""
CHOLESKY_PIVOT = 1e-2
"""Smallest diagonal of the Cholesky factor that is trusted: orthonormality is then lost by about 1e-12 at most."""
CHUNK_BYTES = 64 * 2**20


def orthonormal_base(X: Array) -> tuple[Array, Array]:
    """U (n, r) and S V^T (r, d) of the compact decomposition X = U S V^T, r the numerical rank of X."""
    scale = np.linalg.norm(X, axis=0)
    scale[scale == 0] = 1.0
    Z = X / scale
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    r = int(np.count_nonzero(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0 else 0
    U = np.ascontiguousarray(U[:, :r])
    sizes = np.sqrt(np.einsum("nd,nd->n", Z, Z))
    small = sizes < UNEVEN * sizes.max(initial=0.0)
    if small.any():  # the decomposition has them to rounding of the largest row only
        U[small] = Z[small] @ (Vt[:r].T / s[:r])
    return U, U.T @ X


def ranks_are_sure(X: Array, patterns: Mask) -> bool:
    """Whether rounding leaves alone which directions the ranges of X (n, d) and of every D_j X have.

    Rows whose norms differ by more than UNEVEN can hide behind each other: a range then has to have as many directions
    as those of its rows divided by their norms, each of a singular value above SURE of the largest.
    """
    sizes = np.sqrt(np.einsum("nd,nd->n", X, X))
    live = sizes > 0
    if not live.any() or sizes[live].min() >= UNEVEN * sizes.max():
        return True
    scale = np.linalg.norm(X, axis=0)
    Z = X / np.where(scale > 0, scale, 1.0)
    even = X / np.where(live, sizes, 1.0)[:, None]
    scale = np.linalg.norm(even, axis=0)
    even /= np.where(scale > 0, scale, 1.0)
    return all(
        _directions(Z[rows], SURE) == _directions(even[rows], RANK_TOLERANCE)
        for rows in (live, *(column & live for column in patterns.T))
    )


def _directions(rows: Array, tolerance: float) -> int:
    s = np.linalg.svd(rows, compute_uv=False)
    return int(np.count_nonzero(s > tolerance * s.max(initial=0.0)))


def orthonormal_transforms(U: Array, patterns: Mask) -> Array:
    """T (p, r, r) such that the non-zero columns of D_j U T_j are an orthonormal basis of range(D_j U)."""
    r, p = U.shape[1], patterns.shape[1]
    T = np.zeros((p, r, r))
    size = max(1, CHUNK_BYTES // max(1, 8 * r * r))
    for start in range(0, p if r else 0, size):  # LAPACK complains of matrices without columns
        _fill(T[start : start + size], U, patterns[:, start : start + size])
    return T


def _fill(T: Array, U: Array, patterns: Mask) -> None:
    for j in range(patterns.shape[1]):
        rows = U[patterns[:, j]]
        if rows.shape[0] >= rows.shape[1] and _from_cholesky(T[j], rows):
            continue
        _, s, Vt = np.linalg.svd(rows, full_matrices=False)
        rank = int(np.count_nonzero(s > RANK_TOLERANCE))
        T[j, :, :rank] = Vt[:rank].T / s[:rank]


def _from_cholesky(T: Array, rows: Array) -> bool:
    factor, failed = dpotrf((rows.T @ rows).T, lower=1, overwrite_a=1)  # in Fortran order it is not copied
    if failed or np.diagonal(factor).min(initial=1.0) < CHOLESKY_PIVOT:
        return False
    T[:] = dtrtri(factor, lower=1, overwrite_c=1)[0].T
    return True
