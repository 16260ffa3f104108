"""Projections on the cones of patterns, by non-negative least squares for the multipliers of their rows.

For a signed group and a dual lam, ||P_K(sigma A_g^T lam)|| is the minimum of ||b(mu)|| over multipliers mu >= 0, with
b(mu) = sigma B^T D_g lam + B^T (2 D_g - I) mu in group coordinates (Moreau).
"""

import numpy as np
import scipy

from recovery.errors import SolverError
from recovery.programs.groups import Groups
from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.types import Array

STRESS = 1e3
"""Weight, in the first of two passes, of the equations that keep b in the span of the group's weights."""
ROUNDING = 1e-10
"""Multipliers and slacks below zero by at most this fraction of the largest count as zero: far above rounding errors of
least squares."""


def cone_multipliers(groups: Groups, g: int, gradient: Array, orientation: Array) -> Array:
    """Return mu (n,) >= 0 that minimises ||b(mu)|| of group g; gradient: sigma B^T D_g lam; orientation: 2 D_g - I."""
    Ct = (orientation[:, None] * groups.base).T
    if groups.transforms is None:
        return _nnls(Ct, -gradient)
    T = groups.transforms[g]
    # in group coordinates b(mu) is T^T b = a + A mu, and its norm is the dual norm
    A, a = T.T @ Ct, T.T @ gradient
    null = _null_space(groups, g)
    if null.shape[1] == 0:
        return _nnls(A, -a)
    N = null.T @ Ct
    # first pass: N mu = 0, which keeps b in the span of the group's weights, enters as equations of large weight. They
    # hold only approximately, so this pass gives only the support of mu
    mu = _nnls(np.vstack([A, STRESS * N]), np.concatenate([-a, np.zeros(len(N))]))
    support = np.flatnonzero(mu)
    if not len(support):
        return mu
    # second pass: on this support minimise ||A mu + a|| subject to N mu = 0 exactly
    _, s, Vt = np.linalg.svd(N[:, support], full_matrices=True)
    free = Vt[int(np.count_nonzero(s > RANK_TOLERANCE * s.max(initial=1.0))) :].T
    exact = free @ np.linalg.lstsq(A[:, support] @ free, -a, rcond=None)[0] if free.shape[1] else np.zeros(len(support))
    result = np.zeros_like(mu)
    # if a multiplier of the second pass is negative, return zeros, which are valid too: the bound is then the norm of
    # the gated program
    if exact.min(initial=0.0) >= -ROUNDING * np.abs(exact).max(initial=0.0):
        result[support] = np.maximum(exact, 0.0)
    return result


def cone_point(groups: Groups, g: int, w: Array, orientation: Array) -> Array | None:
    """Return base weights v with (2 D_g - I) B v >= 0 and F_g v = w, or None if the neuron w has another pattern."""
    v = w if groups.transforms is None else groups.transforms[g] @ w
    # v is one of the base weights with F_g v = w; adding a null vector of D_g B gives the others
    slack = orientation * (groups.base @ v)
    if slack.min() >= 0.0:
        return v
    limit = -ROUNDING * float(np.linalg.norm(groups.base, axis=1).max() * np.linalg.norm(v))
    null = _null_space(groups, g)
    if null.shape[1] == 0:
        return v if slack.min() >= limit else None
    C = orientation[:, None] * groups.base
    # find z such that v + null z is in the cone: non-negative least squares for slack + C null z = h over z and h >= 0
    N = C @ null
    split = _nnls(np.hstack([N, -N, -np.eye(len(C))]), -slack)
    moved = v + null @ (split[: N.shape[1]] - split[N.shape[1] : 2 * N.shape[1]])
    return moved if float((C @ moved).min()) >= limit else None


def _null_space(groups: Groups, g: int) -> Array:
    """Return an orthonormal basis (r, m) of the base weights with D_g B v = 0 that a neuron of the group may have."""
    if groups.transforms is None or groups.confined:
        return np.empty((groups.rank, 0))
    rows = groups.base[groups.patterns[:, g]]
    _, s, Vt = np.linalg.svd(rows, full_matrices=True)
    return Vt[int(np.count_nonzero(s > RANK_TOLERANCE)) :].T


def _nnls(A: Array, b: Array) -> Array:
    try:
        solution: Array = scipy.optimize.nnls(np.asfortranarray(A), b, maxiter=30 * A.shape[1])[0]
    except RuntimeError as error:
        raise SolverError(f"a projection on a cone did not end: {error}") from error
    return solution
