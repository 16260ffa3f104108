"""Orthonormal bases of range(D_j X) for many patterns, and norms of projections on these ranges.

U holds the left singular vectors of X, so range(D_j X) = range(D_j U), and the conditioning of X (a column scaled by
1e-8, say) does not matter. A basis is stored as D_j U T_j with a small transform T_j. Weights are coordinates in this
basis, so it must not depend on how it is computed. If D_j U has full column rank, it is the basis of the QR
decomposition, from a Cholesky factor of U^T D_j U where that is well conditioned. If it has full row rank and fewer
rows than columns, it consists of the unit vectors of these rows. Only if the rank is below both is there a choice: then
T_j = V S^{-1} from D_j U = P S V^T, with zero columns beyond the rank.

The norm ||P_j v|| of a projection needs no basis. With G_j = U^T D_j U and b_j = U^T D_j v,
    ||P_j v||^2 = b_j^T G_j^{-1} b_j = ||L_j^{-1} b_j||^2,  G_j = L_j L_j^T,
all G_j come from one product of the patterns with the outer products of rows, and L_j^{-1} b_j is the last row of the
Cholesky factor of G_j bordered by b_j: one batched call. Patterns with at most r rows usually span the coordinate space
of their rows, so ||P_j v|| = ||D_j v||; a batched Cholesky factor of (D_j U)(D_j U)^T proves it. If either factor is
too close to singular, a singular value decomposition decides.
"""

from typing import Any

import numpy as np
import scipy

from recovery.programs.integers import quick_rank
from recovery.programs.range_factor import RANK_TOLERANCE
from recovery.types import Array, Index, Mask

UNEVEN = 1e-3
"""Rows are uneven, and measured relative to their own norms, if norms differ by more than this factor. Ensembles rarely
draw such rows."""
ALIKE = 1e-6
"""If singular values of X differ by less than this fraction of the largest, U is not unique, and QR determines it."""
SURE = 1e-8
"""Singular values above this fraction of the largest are reliable: eps divided by it is below the margin of proofs."""
CHOLESKY_PIVOT = 1e-2
"""Smallest accepted diagonal entry of a Cholesky factor: orthonormality is then accurate to about 1e-12."""
SURELY = 1e-6
"""Singular values above this give directions with an error of at most about 1e-10."""
PIVOT = 1e-3
"""Smallest accepted Cholesky pivot for a norm, whose relative error is then about 1e-10 (eps times the condition
number). It may be smaller than for a basis, because a norm has no direction to lose."""
PROJECTED = 2e-10
"""Error of the norm of a projection, relative to the norm of the vector: twice what PIVOT leaves."""
CHUNK_BYTES = 48 * 2**20
"""Memory of the matrices, and of their products, that are formed at a time."""
PAIRS = 512
"""Number of products of two columns of U that are formed at once."""


def orthonormal_base(X: Array) -> tuple[Array, Array]:
    """Return U (n, r) with orthonormal columns and U^T X (r, d), where r is the numerical rank of X.

    U comes from the compact decomposition X = U S V^T, or from X = U R if equal singular values leave a choice of U.
    """
    # divide columns by their norms first, so that the numerical rank does not depend on the units of the columns
    scale = np.linalg.norm(X, axis=0)
    scale[scale == 0] = 1.0
    Z = X / scale
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    r = int(np.count_nonzero(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0 else 0
    U = np.ascontiguousarray(U[:, :r])
    sizes = np.sqrt(np.einsum("nd,nd->n", Z, Z))
    small = sizes < UNEVEN * sizes.max(initial=0.0)
    # the SVD is accurate only relative to the largest row, so small rows of U are computed again from U = Z V S^{-1}
    if small.any():
        U[small] = Z[small] @ (Vt[:r].T / s[:r])
    if (np.diff(s[:r]) > -ALIKE * s[0]).any():
        # nearly equal singular values leave a choice of U. With U^T X = Q R, X = (U Q) R is a QR decomposition, which
        # is unique once the diagonal of R is positive: take U Q
        Q, R = np.linalg.qr(U.T @ X)
        U = U @ (Q * np.copysign(1.0, np.diagonal(R)))
    return U, U.T @ X


def ranks_are_sure(X: Array, patterns: Mask, doubted: Mask | None = None) -> bool:
    """Return whether the directions in the range of X (n, d), and of every D_j X, are determined beyond rounding.

    doubted (p,): which D_j X may have lower rank (`orthonormal_transforms`). Only these are examined, none for None;
    where rows are uneven, all are.
    """
    examined: Any = slice(None) if _are_uneven(np.linalg.norm(X, axis=1)) else [] if doubted is None else doubted
    return all(range_is_sure(X, rows) for rows in (np.ones(len(X), dtype=np.bool_), *patterns[:, examined].T))


def range_is_sure(X: Array, rows: Mask) -> bool:
    """Return whether the directions in the range of some rows of X (n, d) are determined beyond rounding.

    Rows divided by their norms must have as many reliable directions (singular values above SURE of the largest) as
    rows or columns, or as their rank in integers. If rows are uneven, small ones can be hidden by large ones: the
    undivided rows must then have as many reliable directions too.
    """
    sizes = np.linalg.norm(X, axis=1)
    rows = rows & (sizes > 0)
    rank = _directions(_even_columns(X / np.where(sizes > 0, sizes, 1.0)[:, None])[rows])
    if rank < min(int(rows.sum()), X.shape[1]) and rank != quick_rank(X[rows]):
        return False
    return not _are_uneven(sizes) or _directions(_even_columns(X)[rows]) == rank


def _are_uneven(sizes: Array) -> bool:
    live = sizes[sizes > 0]
    return bool(live.size and live.min() < UNEVEN * live.max())


def _even_columns(X: Array) -> Array:
    scale = np.linalg.norm(X, axis=0)
    return np.asarray(X / np.where(scale > 0, scale, 1.0))


def _directions(rows: Array) -> int:
    s = np.linalg.svd(rows, compute_uv=False)
    return int(np.count_nonzero(s > SURE * s.max(initial=0.0)))


def orthonormal_transforms(U: Array, patterns: Mask) -> tuple[Array, Mask]:
    """Return T (p, r, r) such that the non-zero columns of D_j U T_j are an orthonormal basis of range(D_j U).

    Also return which ranges are doubted, (p,): rounding might decide their rank.
    """
    r, p = U.shape[1], patterns.shape[1]
    T, sound = np.zeros((p, r, r)), np.zeros(p, dtype=np.bool_)
    tall = np.flatnonzero(patterns.sum(axis=0) >= r) if r else np.arange(0)
    for chunk in chunks(len(tall), 3 * (r + 1) ** 2):
        sound[tall[chunk]] = _from_cholesky(T, U, patterns, tall[chunk])
    doubted = np.zeros(p, dtype=np.bool_)
    for j in np.flatnonzero(~sound) if r else ():  # if r = 0 skip the loop: LAPACK rejects matrices without columns
        part, doubted[j] = _of_rows(U[patterns[:, j]])
        T[j], T[j, :, : part.shape[1]] = 0.0, part
    return T, doubted


def confined_transforms(T: Array, U: Array, patterns: Mask, coordinates: Array) -> Array:
    """Return T changed so that base weights T_j w = U^T X u have u in the row space of D_j X: V_j S_j^{-1} of P1, (16).

    The basis stays the same. coordinates: U^T X (r, d). Right inverses of D_j U differ by base weights N in its null
    space; u has no such component if N^T (U^T X X^T U)^{-1} T_j w = 0, the normal equations of a least-squares problem.
    """
    result, back = T.copy(), np.linalg.pinv(coordinates)
    columns = np.any(T, axis=1)
    for j in np.flatnonzero(~np.all(columns, axis=1)):
        present = columns[j]
        N = np.linalg.svd(U[patterns[:, j]], full_matrices=True)[2][int(present.sum()) :].T
        part = T[j][:, present]
        # back = pinv(U^T X) maps base weights to weights on X: subtract from `part` the N c that minimises ||back (part
        # - N c)||
        result[j][:, present] = part - N @ np.linalg.lstsq(back @ N, back @ part, rcond=None)[0]
    return result


def _of_rows(rows: Array) -> tuple[Array, bool]:
    """Return T (r, rank) such that rows @ T has orthonormal columns, for the rows (m, r) of one pattern.

    Also return whether rounding might decide the rank.
    """
    m, r = rows.shape
    if 0 < m < r:
        factor, failed = scipy.linalg.lapack.dpotrf((rows @ rows.T).T, lower=1)
        if not failed and np.diagonal(factor).min() >= CHOLESKY_PIVOT:
            return scipy.linalg.lapack.dpotrs(factor, rows, lower=1)[0].T, False
    P, s, Vt = np.linalg.svd(rows, full_matrices=False)
    rank, doubted = int(np.count_nonzero(s > RANK_TOLERANCE)), _is_doubted(s)
    T: Array = Vt[:rank].T / s[:rank]
    # with full row rank return T P^T, because rows @ (T P^T) is the identity
    if rank == m:
        return T @ P.T, doubted
    if rank == r:
        # with full column rank return R^{-1}, with the signs that a positive diagonal of R gives, as for a Cholesky
        # factor
        R = np.linalg.qr(rows, mode="r")
        return scipy.linalg.solve_triangular(R, np.diag(np.sign(np.diagonal(R)))), doubted
    return T, doubted


def _is_doubted(s: Array) -> bool:
    """Return whether rows with these singular values are dependent, or nearly so."""
    return bool((s < SURELY).any())


def _from_cholesky(T: Array, U: Array, patterns: Mask, some: Index) -> Mask:
    """Write T_j = L_j^{-T} with U^T D_j U = L_j L_j^T for the chosen patterns; returns which of them are reliable."""

    D, columns = np.ascontiguousarray(patterns[:, some].T, dtype=np.float64), np.ascontiguousarray(U.T)
    i, j = np.tril_indices(len(columns))
    packed = np.empty((len(some), len(i)))
    for start in range(0, len(i), PAIRS):
        pairs = slice(start, start + PAIRS)
        # the matrices G_j = U^T D_j U have entries (G_j)_kl = sum_i D_ij U_ik U_il, so one product of patterns and
        # column pairs yields these entries for all j
        np.matmul(D, (columns[i[pairs]] * columns[j[pairs]]).T, out=packed[:, pairs])
    sound, gram = np.zeros(len(some), dtype=np.bool_), np.zeros((len(columns), len(columns)))
    for k, g in enumerate(some):
        gram[i, j] = packed[k]
        factor, failed = scipy.linalg.lapack.dpotrf(gram, lower=1)
        if not failed and np.diagonal(factor).min() >= CHOLESKY_PIVOT:
            T[g], sound[k] = scipy.linalg.lapack.dtrtri(factor, lower=1)[0].T, True
    return sound


def projection_norms(U: Array, patterns: Mask, v: Array, doubted: Mask | None = None) -> Array:
    """Return ||P_j v||, (p,), P_j projecting on range(D_j U): U (n, r) orthonormal, patterns (n, p), v (n,) or (n, p).

    doubted (p,): set where rounding might decide the rank of D_j U.
    """
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
        result[j], doubt = _by_decomposition(U[patterns[:, j]], V[patterns[:, j], j])
        if doubted is not None:
            doubted[j] = doubt
    return result


def chunks(count: int, bytes_each: int) -> list[slice]:
    """Return slices of `count` matrices, each of at most CHUNK_BYTES."""
    size = max(1, CHUNK_BYTES // max(1, bytes_each))
    return [slice(start, start + size) for start in range(0, count, size)]


def _full_column_rank(U: Array, patterns: Mask, V: Array) -> Array:
    """Return ||P_j v|| = ||L^{-1} U^T D v||, (p,), for columns v of V; NaN where U^T D U = L L^T is nearly singular."""
    r = U.shape[1]
    i, j = np.triu_indices(r)
    outer = U[:, i] * U[:, j]
    result = np.empty(patterns.shape[1])
    for chunk in chunks(patterns.shape[1], 16 * (r + 1) ** 2):
        D = patterns[:, chunk].astype(np.float64)
        v = D * V[:, chunk]
        bordered = np.empty((D.shape[1], r + 1, r + 1))
        bordered[:, j, i] = D.T @ outer
        bordered[:, r, :r] = v.T @ U
        # G is bordered with b = U^T D v and the corner ||D v||^2 + 1, which exceeds b^T G^{-1} b by at least 1: the
        # last pivot never rejects a matrix
        bordered[:, r, r] = 1.0 + np.einsum("np,np->p", v, v)
        factor, sound = _cholesky(bordered)
        result[chunk] = np.where(sound, np.linalg.norm(factor[:, r, :r], axis=1), np.nan)
    return result


def _full_row_rank(U: Array, patterns: Mask, V: Array) -> Array:
    """Return ||P_j v|| = ||D v||, (p,), for columns v of V; NaN unless the active rows of U are surely independent."""
    n = U.shape[0]
    kernel = U @ U.T
    result = np.empty(patterns.shape[1])
    for chunk in chunks(patterns.shape[1], 16 * n * n):
        D = patterns[:, chunk].T
        K = np.where(D[:, :, None] & D[:, None, :], kernel, 0.0)
        # put ones on the diagonal for rows outside the pattern, so that all matrices have the same size n
        K[:, np.arange(n), np.arange(n)] += ~D
        norms = np.linalg.norm(D * V[:, chunk].T, axis=1)
        result[chunk] = np.where(_cholesky(K)[1], norms, np.nan)
    return result


def _cholesky(stack: Array) -> tuple[Array, Mask]:
    """Return lower factors of the stack (p, k, k), and a mask of those with every pivot above PIVOT."""
    try:
        factor = np.linalg.cholesky(stack)
    # some matrix in the batch has no Cholesky factor: bisect the batch to isolate it
    except np.linalg.LinAlgError:
        if len(stack) == 1:
            return np.zeros_like(stack), np.zeros(1, dtype=np.bool_)
        halves = [_cholesky(half) for half in np.array_split(stack, 2)]
        return np.concatenate([h[0] for h in halves]), np.concatenate([h[1] for h in halves])
    return factor, np.diagonal(factor, axis1=1, axis2=2).min(axis=1) > PIVOT


def _by_decomposition(rows: Array, v: Array) -> tuple[float, bool]:
    left, s, _ = np.linalg.svd(rows, full_matrices=False)
    return float(np.linalg.norm(left[:, s > RANK_TOLERANCE].T @ v)), _is_doubted(s)
