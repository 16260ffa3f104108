"""Proofs that planted weights are the unique optimum of an interpolation program.

Weights with support S and directions u = w_g / ||w_g|| are the unique interpolant of least norm if some lam has
A_S^T lam = u and ||A_g^T lam|| < 1 for every g outside S, and the images A_g u_g are linearly independent: every
optimal W has sum ||w_g|| = lam.y, so it is zero outside S and has direction u on S. For the least-norm lam this is the
isometry condition of P1: (NIC-L), (NIC-1), (NIC-k), (NNIC-1), (NNIC-k).
"""

from dataclasses import dataclass

import numpy as np

from recovery.programs.groups import DualImages, Groups
from recovery.programs.norms import NEAR
from recovery.programs.program import Program
from recovery.programs.range_factor import RANK_TOLERANCE, RangeFactor
from recovery.programs.solution import Multipliers
from recovery.types import Array, Index, Mask

EQUALITY_TOLERANCE = 1e-9
"""Largest accepted ||A_S^T lam - u||; u has unit rows. A hundredth of MARGIN."""
MARGIN = 1e-7
"""Strict inequalities must hold by this margin: far above rounding, far below the resolution of a sample."""


@dataclass(frozen=True)
class Candidate:
    """Planted weights as a candidate optimum: support S, directions u = w_g / ||w_g||, and a factor of A_S.

    factor: of the non-zero columns of A_S, (n, m). present: the coordinates of S that exist. lam: the least-norm
    solution of A_S^T lam = u, (n,), or None if there is none. error: ||A_S^T lam - u||. distinct: whether the images
    A_g u_g are linearly independent.
    """

    weights: Array
    support: Index
    directions: Array
    present: Mask
    factor: RangeFactor
    lam: Array | None
    error: float
    distinct: bool

    def solve(self, labels: Array) -> Array:
        """Return the weights of S, one row per group, whose labels are nearest to the given ones (n,)."""
        v = np.zeros(self.present.shape)
        v[self.present] = np.linalg.lstsq(self.factor.A, labels, rcond=None)[0]
        return v


def planted_candidate(groups: Groups, W: Array, support: Index) -> Candidate:
    """Return planted weights W (p, r), zero outside the rows `support`, as a candidate: one factorisation of A_S."""
    directions = W[support] / np.linalg.norm(W[support], axis=1, keepdims=True)
    present = groups.dimensions(support)
    A, u = groups.columns(support)[:, present.ravel()], directions[present]
    factor = RangeFactor(A)
    lam = factor.least_norm(u)
    error = float(np.linalg.norm(A.T @ lam - u))
    # an optimum has weights t_g u_g on S only; if the images A_g u_g are independent, sum t_g A_g u_g = y has one
    # solution t
    distinct = _independent(groups.images(directions, support))
    return Candidate(
        W, support, directions, present, factor, lam if error <= EQUALITY_TOLERANCE else None, error, distinct
    )


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
    """The largest dual norm outside the planted rows, whether lam proves uniqueness, the multipliers used, and the
    images of lam.
    """

    value: float
    proved: bool
    multipliers: Multipliers
    images: DualImages


def examine_dual(
    program: Program, rows: Index, planted: Candidate, lam: Array, known: Multipliers | None = None
) -> Examined:
    """Check whether lam proves that the planted weights, on these rows of W, are the unique interpolant of least norm.

    The proof needs independent images, A_S^T lam = u to EQUALITY_TOLERANCE, and a largest dual norm below 1 by MARGIN
    plus the effect of correcting lam to exact equality. Costs one product with the groups, and for cones projections,
    unless the `known` multipliers suffice.
    """
    images = program.groups.dual_images(lam)
    error = float(np.linalg.norm(images.values[planted.support] - planted.directions))
    others = np.setdiff1d(program.members, rows)
    known = Multipliers.none(program.groups.n) if known is None else known
    bounds, multipliers = program.dual_bounds(lam, images, others, 1.0 - MARGIN, known)
    largest = float(bounds.max(initial=0.0))
    # the nearest lam with A_S^T lam = u is at most error / sigma_min away. This distance times the largest operator
    # norm bounds the change of every dual norm
    correction = error / planted.factor.smallest * program.groups.largest_norm
    proved = planted.distinct and error <= EQUALITY_TOLERANCE and largest < 1.0 - MARGIN - correction
    return Examined(largest, proved, multipliers, images)
