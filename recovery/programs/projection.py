"""Projections on the cones of patterns, through the multipliers of their rows.

For a signed group and a dual lam, ||P_K(sigma A_g^T lam)|| is the least of ||b(mu)|| over multipliers mu >= 0, with
b(mu) = sigma B^T D_g lam + B^T (2 D_g - I) mu in group coordinates (Moreau): a non-negative least-squares problem.
"""

import numpy as np
import scipy

from recovery.errors import SolverError
from recovery.programs.groups import Groups
from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.types import Array

STRESS = 1e3
"""Weight, in the first of two passes, of the equations that hold b within what a group's weights see."""
ROUNDING = 1e-10
"""Multipliers and slacks below zero by this fraction of the largest are zeros: far above what least squares round."""


def cone_multipliers(groups: Groups, g: int, pull: Array, orientation: Array) -> Array:
    """mu (n,) >= 0 with the least ||b(mu)|| of group g, for its pull sigma B^T D_g lam (r,) and 2 D_g - I (n,)."""
    Ct = (orientation[:, None] * groups.base).T
    if groups.transforms is None:
        # min over mu >= 0 of ||pull + C^T mu||
        return _nnls(Ct, -pull)
    T = groups.transforms[g]
    # in group coordinates: ||T^T b|| is what a weight of norm 1 can reach
    A, a = T.T @ Ct, T.T @ pull
    unseen = _unseen(groups, g)
    if unseen.shape[1] == 0:
        return _nnls(A, -a)
    N = unseen.T @ Ct
    # b must lie in what group weights see, N mu = 0: as heavy equations it only finds the support
    mu = _nnls(np.vstack([A, STRESS * N]), np.concatenate([-a, np.zeros(len(N))]))
    support = np.flatnonzero(mu)
    if not len(support):
        return mu
    # on the support, exactly: min ||A mu + a|| subject to N mu = 0
    _, s, Vt = np.linalg.svd(N[:, support], full_matrices=True)
    free = Vt[int(np.count_nonzero(s > RANK_TOLERANCE * s.max(initial=1.0))) :].T
    exact = free @ np.linalg.lstsq(A[:, support] @ free, -a, rcond=None)[0] if free.shape[1] else np.zeros(len(support))
    result = np.zeros_like(mu)
    # no multipliers are a valid answer too: they bound by the gated norm
    if exact.min(initial=0.0) >= -ROUNDING * np.abs(exact).max(initial=0.0):
        result[support] = np.maximum(exact, 0.0)
    return result


def cone_point(groups: Groups, g: int, w: Array, orientation: Array) -> Array | None:
    """Base weights v in the cone (2 D_g - I) B v >= 0 with F_g v = w; None where the neuron w has another pattern."""
    v = w if groups.transforms is None else groups.transforms[g] @ w
    # w_g fixes v but for what D_g B does not see
    slack = orientation * (groups.base @ v)
    if slack.min() >= 0.0:
        return v
    limit = -ROUNDING * float(np.linalg.norm(groups.base, axis=1).max() * np.linalg.norm(v))
    unseen = _unseen(groups, g)
    if unseen.shape[1] == 0:
        return v if slack.min() >= limit else None
    C = orientation[:, None] * groups.base
    # the free part z of v = v0 + N z must give C N z >= -C v0: the least-squares distance of C v0 + C N z to h >= 0
    N = C @ unseen
    split = _nnls(np.hstack([N, -N, -np.eye(len(C))]), -slack)
    moved = v + unseen @ (split[: N.shape[1]] - split[N.shape[1] : 2 * N.shape[1]])
    return moved if float((C @ moved).min()) >= limit else None


def _unseen(groups: Groups, g: int) -> Array:
    """An orthonormal basis of the base weights with D_g B v = 0 that a neuron of the group may have, (r, m)."""
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
