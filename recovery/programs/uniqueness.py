"""Proofs that planted weights are the unique optimum of an interpolation program.

Weights with support S and directions u = w_g / ||w_g|| are the unique interpolant of least norm if some lam has
A_S^T lam = u and ||A_g^T lam|| < 1 for every g outside S, and the images A_g u_g are linearly independent: every
optimal W has sum ||w_g|| = lam.y, so it is zero outside S and has direction u on S. For the least-norm lam this is the
isometry condition of P1: (NIC-L), (NIC-1), (NIC-k), (NNIC-1), (NNIC-k).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from recovery.programs.groups import Groups
from recovery.programs.norms import NEAR
from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.programs.program import Program
from recovery.programs.solution import Multipliers
from recovery.types import Array, Index, Mask

EQUALITY_TOLERANCE = 1e-9
"""Largest accepted ||A_S^T lam - u||; u has unit rows."""
MARGIN = 1e-7
"""Strict inequalities must hold by this margin: far above rounding, far below the resolution of a sample."""
WELL_CONDITIONED = 1e-8
"""Reciprocal condition number of A_S^T A_S, or of a QR factor, below which singular values are used instead."""


@dataclass(frozen=True)
class Candidate:
    """Planted weights as a candidate optimum: support S, directions u = w_g / ||w_g||, and quantities derived from A_S.

    block: A_S, (n, m). full: whether its non-zero columns are independent. smallest: a lower estimate of its smallest
    non-zero singular value. lam: the least-norm solution of A_S^T lam = u, (n,), or None if there is none. distinct:
    whether the images A_g u_g are linearly independent. error: ||A_S^T lam - u||. present: the coordinates of S that
    exist.
    """

    weights: Array
    support: Index
    directions: Array
    block: Array
    smallest: float
    lam: Array | None
    distinct: bool
    error: float
    present: Mask
    full: bool

    @cached_property
    def frame(self) -> Array:
        """An orthonormal basis of range(A_S), (n, m)."""
        return _frame(self.block)

    def solve(self, labels: Array) -> Array:
        """Return the weights of S, one row per group, whose labels are nearest to the given ones (n,)."""
        v = np.zeros(self.present.shape)
        v[self.present] = np.linalg.lstsq(self.block, labels, rcond=None)[0]
        return v


def planted_candidate(groups: Groups, W: Array, support: Index) -> Candidate:
    """Return planted weights W (p, r), zero outside the rows `support`, as a candidate: one factorisation of A_S."""
    directions = W[support] / np.linalg.norm(W[support], axis=1, keepdims=True)
    present = groups.dimensions(support)
    A, u = groups.columns(support), directions.ravel()
    if not present.all():
        A, u = A[:, present.ravel()], u[present.ravel()]
    lam, smallest, full = _least_norm_dual(A, u)
    error = float(np.linalg.norm(A.T @ lam - u))
    ends = present.sum(axis=1).cumsum().tolist()
    # an optimum has weights t_g u_g on S only; if the images A_g u_g are independent, sum t_g A_g u_g = y has one
    # solution t
    images = np.array([A[:, a:b] @ u[a:b] for a, b in zip([0, *ends], ends, strict=False)]).T
    lam_or_none = lam if error <= EQUALITY_TOLERANCE else None
    return Candidate(W, support, directions, A, smallest, lam_or_none, _independent(images), error, present, full)


def _least_norm_dual(A: Array, u: Array) -> tuple[Array, float, bool]:
    """Return the least-norm solution of A^T lam = u, and `smallest` and `full` of `Candidate` for A."""
    if not A.shape[1]:  # A is empty: LAPACK rejects matrices without columns
        return np.zeros(len(A)), np.inf, True
    # use the normal equations if their condition number, cond(A)^2, leaves enough digits; otherwise the SVD
    gram = A.T @ A
    size = float(np.abs(gram).sum(axis=0).max(initial=0.0))
    factor, failed = scipy.linalg.lapack.dpotrf(gram)
    reciprocal = 0.0 if failed else float(scipy.linalg.lapack.dpocon(factor, size)[0])
    if reciprocal > WELL_CONDITIONED:
        z = scipy.linalg.lapack.dpotrs(factor, u)[0]
        # refine the solution once, because the Gram matrix has the condition number of A squared
        z += scipy.linalg.lapack.dpotrs(factor, u - A.T @ (A @ z))[0]
        return A @ z, float(np.sqrt(reciprocal * size)), True
    P, s, Vt = np.linalg.svd(A, full_matrices=False)
    keep = s > RANK_TOLERANCE * s.max(initial=0.0)
    frame, inverse = P[:, keep], Vt[keep].T / s[keep]
    lam = frame @ (inverse.T @ u)
    # refine lam once, because dividing by small singular values amplifies rounding
    lam += frame @ (inverse.T @ (u - A.T @ lam))
    return lam, float(s[keep].min(initial=np.inf)), int(keep.sum()) == int(A.any(axis=0).sum())


def _frame(A: Array) -> Array:
    """Return an orthonormal basis of range(A), (n, rank)."""
    if A.shape[0] >= A.shape[1]:
        Q, R = scipy.linalg.qr(A, mode="economic", check_finite=False)
        if float(scipy.linalg.lapack.dtrcon(R)[0]) > WELL_CONDITIONED:
            return Q
    P, s, _ = np.linalg.svd(A, full_matrices=False)
    return P[:, s > RANK_TOLERANCE * s.max(initial=0.0)]


def _independent(images: Array) -> bool:
    if images.shape[1] == 1:
        return bool(images.any())
    lengths = np.linalg.norm(images, axis=0)
    if not lengths.all():
        return False
    # divide the images by their lengths, so that a short image does not count as dependent
    s = np.linalg.svd(images / lengths, compute_uv=False)
    return len(s) == images.shape[1] and bool(s[-1] > RANK_TOLERANCE * s[0])


def optimum_is_unique(program: Program, lam: Array) -> bool:
    """Return whether an optimal dual lam (n,) of a gated program with any norm proves that its optimum is unique.

    Each optimal w_g has lam.A_g w_g = ||w_g||: it is 0 if the dual norm of A_g^T lam is below 1, and otherwise lies in
    the face that `Norm.face` gives. The optimum is unique if the images of these faces are linearly independent.
    """
    norm, Z = program.norm, program.groups.adjoint(lam)
    sizes = norm.dual_values(Z)
    largest = max(1.0, float(sizes.max(initial=0.0)) / program.penalty) * program.penalty
    active = np.flatnonzero(sizes >= (1.0 - NEAR) * largest)
    A = np.hstack(
        [np.empty((program.groups.n, 0)), *(program.groups.block(int(g)) @ norm.face(Z[g] / sizes[g]) for g in active)]
    )
    return not A.shape[1] or _independent(A)


@dataclass(frozen=True)
class Examined:
    """The largest dual norm outside the planted rows, whether lam proves uniqueness, and the multipliers used."""

    value: float
    proved: bool
    multipliers: Multipliers


def examine_dual(
    program: Program, rows: Index, planted: Candidate, lam: Array, known: Multipliers | None = None
) -> Examined:
    """Check whether lam proves that the planted weights, on these rows of W, are the unique interpolant of least norm.

    The proof needs distinct images, A_S^T lam = u to EQUALITY_TOLERANCE, and a largest dual norm below 1 by MARGIN plus
    the effect of correcting lam to exact equality. Costs one product with the groups, and for cones projections, unless
    the `known` multipliers suffice.
    """
    At = program.groups.adjoint(lam)
    error = float(np.linalg.norm(At[planted.support] - planted.directions))
    bounds, multipliers = program.off_support(lam, program.groups.adjoint_norms(lam), rows, known)
    largest = float(bounds.max(initial=0.0))
    # the nearest lam with A_S^T lam = u is at most error / sigma_min away. This distance times the largest operator
    # norm bounds the change of every dual norm
    correction = error / planted.smallest * program.groups.largest_norm
    proved = planted.distinct and error <= EQUALITY_TOLERANCE and largest < 1.0 - MARGIN - correction
    return Examined(largest, proved, multipliers)
