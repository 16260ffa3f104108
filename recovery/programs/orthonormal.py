"""The ranges of D_j X for many patterns: their orthonormal bases, and the norms of projections on them.

U holds the left singular vectors of X, so range(D_j X) = range(D_j U) and the conditioning of X (a column scaled by
1e-8, say) never enters. A basis is kept as D_j U T_j, with a small transform T_j. Which basis it is must not depend on
the way to it, since weights are coordinates in it. If D_j U has full column rank, it is that of its QR decomposition,
from a Cholesky factor of U^T D_j U where that is well conditioned; if it has full row rank, and fewer rows, it is the
unit vectors of these rows. Only where the rank is below both, a singular value decomposition D_j U = P S V^T leaves a
choice: T_j = V S^{-1}, zero columns beyond the rank.

The norm ||P_j v|| of a projection needs no basis. With G_j = U^T D_j U and b_j = U^T D_j v,
    ||P_j v||^2 = b_j^T G_j^{-1} b_j = ||L_j^{-1} b_j||^2,  G_j = L_j L_j^T,
where every G_j comes from one product of the patterns with the rows' outer products, and L_j^{-1} b_j is the last row
of the Cholesky factor of G_j bordered by b_j: one batched call. Patterns with at most r rows have, in general
position, the whole coordinate space of their rows as range, so ||P_j v|| = ||D_j v||; a batched Cholesky of
(D_j U)(D_j U)^T proves it. What either factor leaves in doubt is decided by a singular value decomposition.
"""

import numpy as np
import scipy

from recovery.types import Array, Index, Mask

RANK_TOLERANCE = 1e-10
"""Singular values below this fraction of the largest count as zero (the columns of U have norm 1)."""
UNEVEN = 1e-3
"""Rows whose norms differ by more are measured each by its own: the ensembles hardly ever draw such rows."""
ALIKE = 1e-6
"""Singular values of X nearer than this share of the largest leave a choice of U, which is then that of QR."""
SURE = 1e-8
"""Singular values above this fraction of the largest: eps over it is below the margin of proofs."""
CHOLESKY_PIVOT = 1e-2
"""Smallest diagonal of the Cholesky factor that is trusted: orthonormality is then lost by about 1e-12 at most."""
PIVOT = 1e-3
"""Smallest Cholesky pivot that a norm is trusted with: its relative error is then about 1e-10, eps times the condition
number. A norm has no direction to lose, so that this may be smaller than what a basis needs."""
CHUNK_BYTES = 48 * 2**20
PAIRS = 512
"""Products of two columns of U that are formed at once."""


def orthonormal_base(X: Array) -> tuple[Array, Array]:
    """U (n, r) with orthonormal columns and U^T X (r, d), r the numerical rank of X.

    From the compact decomposition X = U S V^T, or X = U R where equal singular values would leave a choice of U.
    """
    # columns of norm 1 first: the rank then does not depend on their units
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
    if (np.diff(s[:r]) > -ALIKE * s[0]).any():
        # U^T X = Q R makes X = (U Q) R its own QR decomposition, unique by the signs of R: no choice of U is left
        Q, R = np.linalg.qr(U.T @ X)
        U = U @ (Q * np.copysign(1.0, np.diagonal(R)))
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
        # with rows of one length, directions that small rows add are seen; with the rows as they are, those that
        # solvers see
        _directions(Z[rows], SURE) == _directions(even[rows], RANK_TOLERANCE)
        for rows in (live, *(column & live for column in patterns.T))
    )


def _directions(rows: Array, tolerance: float) -> int:
    s = np.linalg.svd(rows, compute_uv=False)
    return int(np.count_nonzero(s > tolerance * s.max(initial=0.0)))


def orthonormal_transforms(U: Array, patterns: Mask) -> Array:
    """T (p, r, r) such that the non-zero columns of D_j U T_j are an orthonormal basis of range(D_j U)."""
    r, p = U.shape[1], patterns.shape[1]
    T, sound = np.zeros((p, r, r)), np.zeros(p, dtype=np.bool_)
    tall = np.flatnonzero(patterns.sum(axis=0) >= r) if r else np.arange(0)
    size = max(1, CHUNK_BYTES // (3 * (r + 1) ** 2))
    for start in range(0, len(tall), size):
        some = tall[start : start + size]
        sound[some] = _from_cholesky(T, U, patterns, some)
    for j in np.flatnonzero(~sound) if r else ():  # LAPACK complains of matrices without columns
        part = _of_rows(U[patterns[:, j]])
        T[j], T[j, :, : part.shape[1]] = 0.0, part
    return T


def confined_transforms(T: Array, U: Array, patterns: Mask, coordinates: Array) -> Array:
    """T with base weights T_j w = U^T X u, u in the row space of D_j X: V_j S_j^{-1} of P1, (16), in the same basis.

    coordinates: U^T X (r, d). Any other right inverse of D_j U differs by base weights N that D_j U does not see; u has
    none of them exactly where N^T (U^T X X^T U)^{-1} T_j w = 0, the normal equations of least squares.
    """
    result, back = T.copy(), np.linalg.pinv(coordinates)
    columns = np.any(T, axis=1)
    for j in np.flatnonzero(~np.all(columns, axis=1)):
        seen = columns[j]
        N = np.linalg.svd(U[patterns[:, j]], full_matrices=True)[2][int(seen.sum()) :].T
        part = T[j][:, seen]
        # the normal equations of min ||back (part + N c)||: back = pinv(U^T X) takes base weights to weights on X
        result[j][:, seen] = part - N @ np.linalg.lstsq(back @ N, back @ part, rcond=None)[0]
    return result


def _of_rows(rows: Array) -> Array:
    """T (r, rank) of the rows (m, r) of one pattern, the columns of rows @ T being orthonormal."""
    m, r = rows.shape
    if 0 < m < r:
        factor, failed = scipy.linalg.lapack.dpotrf((rows @ rows.T).T, lower=1)
        if not failed and np.diagonal(factor).min() >= CHOLESKY_PIVOT:
            return scipy.linalg.lapack.dpotrs(factor, rows, lower=1)[0].T
    P, s, Vt = np.linalg.svd(rows, full_matrices=False)
    rank = int(np.count_nonzero(s > RANK_TOLERANCE))
    T: Array = Vt[:rank].T / s[:rank]
    # full row rank: T P^T makes rows @ T the identity, the unit vectors of these rows
    if rank == m:
        return T @ P.T
    if rank == r:
        # full column rank: T = R^{-1}, signed as a Cholesky factor has it, positive on the diagonal
        R = np.linalg.qr(rows, mode="r")
        return scipy.linalg.solve_triangular(R, np.diag(np.sign(np.diagonal(R))))
    return T


def _from_cholesky(T: Array, U: Array, patterns: Mask, some: Index) -> Mask:
    """T_j = L_j^{-T} of U^T D_j U = L_j L_j^T for some patterns, and of which of them that can be trusted."""
    from recovery.programs.transforms import inverse_factors

    D, columns = np.ascontiguousarray(patterns[:, some].T, dtype=np.float64), np.ascontiguousarray(U.T)
    i, j = np.tril_indices(len(columns))
    packed = np.empty((len(some), len(i)))
    for start in range(0, len(i), PAIRS):
        pairs = slice(start, start + PAIRS)
        # (U^T D_j U)_kl = sum_i D_ij U_ik U_il: all G_j are one product of patterns and pairs of columns
        np.matmul(D, (columns[i[pairs]] * columns[j[pairs]]).T, out=packed[:, pairs])
    return inverse_factors(packed, T, some, CHOLESKY_PIVOT)


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
        # the border's corner is ||D v||^2 + 1, above b^T G^{-1} b: the last pivot is at least 1, and says nothing
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
        # ones stand for the rows off the pattern, so that all factors have one size
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
