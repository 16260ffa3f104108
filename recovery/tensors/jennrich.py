"""Rank-one terms v_i v_i^T shared by symmetric matrices M_k ~ sum_i c_ki v_i v_i^T (Jennrich; P4, Claim 4.4).

The plain algorithm takes two random combinations A, B of the M_k. The generalised eigenvectors x_i of A x = t B x are
orthogonal to all v_j but v_i, so B x_i is parallel to v_i. `refine` then diagonalises all M_k jointly by congruence.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.types import Array, Rng

RESTARTS = 10
"""Most starts; they end sooner once the residual is rounding."""
SWEEPS = 50
"""Upper limit; `refine` converges quadratically, in 5 to 15 sweeps from a Jennrich start."""
STEP = 1e-14
"""`refine` stops when no entry of its step is above this, which is rounding."""


@dataclass(frozen=True)
class Terms:
    """Terms c_ki v_i v_i^T of K matrices M: unit columns V (D, r), coefficients (K, r), ||M - terms||_F / ||M||_F."""

    V: Array
    coefficients: Array
    residual: float


def singular_values(matrices: Array) -> Array:
    """Return the singular values (D,) of all matrices (K, D, D) concatenated to D x KD."""
    return np.linalg.svd(_concatenated(matrices), compute_uv=False)


def rank_above(matrices: Array, threshold: float, most: int) -> int:
    """Return the number of `singular_values` above `threshold`, at most `most` (P4, Algorithm 4, steps 2 and 3)."""
    return min(most, int(np.sum(singular_values(matrices) > threshold)))


def decompose(matrices: Array, rank: int, rng: Rng, joint: bool = True, restarts: int = RESTARTS) -> Terms:
    """Return `rank` terms of symmetric matrices (K, D, D) with the smallest residual over random restarts.

    joint: refine each start on all matrices. Restarts end when the residual is rounding. Rank 0 gives no terms.
    """
    if rank == 0:
        return fit(matrices, np.empty((matrices.shape[1], 0)))
    U = np.linalg.svd(_concatenated(matrices), full_matrices=False)[0][:, :rank]
    # all terms are in the span U of the leading singular vectors, so the problem reduces to r x r matrices
    small = U.T @ matrices @ U
    best: Terms | None = None
    for _ in range(restarts):
        V = jennrich(small, rng)
        if joint:
            V = refine(small, V)
        terms = fit(matrices, U @ V)
        if best is None or terms.residual < best.residual:
            best = terms
        if best.residual < 1e-13:
            break
    assert best is not None
    return best


def jennrich(matrices: Array, rng: Rng) -> Array:
    """Return unit columns (r, r) from one random pair of combinations of square matrices (K, r, r).

    Noise can turn two directions into a complex pair, which is replaced by its real and imaginary parts: they span the
    same plane.
    """
    # each generalised eigenvector x_i is orthogonal to all v_j but v_i, so B x_i = (sum_k b_k c_ki) (v_i.x_i) v_i
    A, B = np.tensordot(rng.standard_normal((2, len(matrices))), matrices, axes=1)
    _, vectors = scipy.linalg.eig(A, B)
    V = B @ vectors
    # eig returns complex conjugate pairs in adjacent columns: keep the real part of the first column of a pair and the
    # imaginary part of the second
    complex_columns = np.abs(V.imag).max(axis=0) > 0
    return _unit(np.where(complex_columns & (np.cumsum(complex_columns) % 2 == 0), V.imag, V.real))


def refine(matrices: Array, V: Array) -> Array:
    """Diagonalise all matrices (K, r, r) jointly, starting from V (r, r), and return the best V found.

    With C_k = V^{-1} M_k V^{-T} and V <- V (I + E), C_kij - E_ij c_kj - c_ki E_ji should vanish to first order. For
    each pair i, j, least squares over k gives these 2 unknowns. (Uniformly weighted exhaustive diagonalisation with
    Gauss iterations, Tichavsky and Yeredor 2009, which allows indefinite matrices.)
    """
    best, least, others = V, np.inf, 1.0 - np.eye(len(V))
    for _ in range(SWEEPS):
        try:
            inverse = np.linalg.inv(V)
        except np.linalg.LinAlgError:
            break
        C = inverse @ matrices @ inverse.T
        diagonal = np.einsum("kii->ki", C)
        # sum the squares of off-diagonal entries directly: as a difference of two sums they would be lost below the
        # square root of the rounding error
        off = float(np.sum((C * others) ** 2)) / float(np.sum(diagonal**2))
        if off < least:
            best, least = V, off
        Q, R = diagonal.T @ diagonal, np.einsum("kij,kj->ij", C, diagonal)
        own = np.diag(Q)
        # solve the 2 x 2 normal equations of E_ij and E_ji for all pairs by Cramer's rule
        determinant = np.outer(own, own) - Q**2
        np.fill_diagonal(determinant, 1.0)
        E = own[:, None] * R - Q * R.T
        E = np.divide(E, determinant, out=np.zeros_like(E), where=determinant > 0)
        np.fill_diagonal(E, 0.0)
        size = float(np.abs(E).max(initial=0.0))
        # E comes from a linearisation, so it is scaled until its entries are at most 1/2
        V = _unit(V @ (np.eye(len(V)) + E * min(1.0, 0.5 / max(size, STEP))))
        if size < STEP or not np.isfinite(V).all():
            break
    return best


def fit(matrices: Array, V: Array) -> Terms:
    """Return the terms of the given columns V (D, r), scaled to unit length, with least-squares coefficients."""
    V = _unit(V)
    # the columns of the design matrix are the flattened v_i v_i^T: one least-squares problem serves all matrices
    design = np.einsum("am,bm->abm", V, V).reshape(V.shape[0] ** 2, V.shape[1])
    flat = matrices.reshape(len(matrices), -1).T
    coefficients = np.linalg.lstsq(design, flat, rcond=None)[0]
    size = float(np.linalg.norm(flat))
    residual = float(np.linalg.norm(design @ coefficients - flat)) / size if size > 0 else 0.0
    return Terms(V, coefficients.T, residual)


def _concatenated(matrices: Array) -> Array:
    return np.moveaxis(matrices, 0, 1).reshape(matrices.shape[1], -1)


def _unit(V: Array) -> Array:
    norms = np.linalg.norm(V, axis=0)
    return V / np.where(norms > 0, norms, 1.0)
