"""Projections on the cones of patterns, through the multipliers of their rows.

For a signed group and a dual lam, ||P_K(sigma A_g^T lam)|| is the least of ||b(mu)|| over multipliers mu >= 0, with
b(mu) = sigma B^T D_g lam + B^T (2 D_g - I) mu in group coordinates (Moreau): a non-negative least-squares problem.
"""

import numpy as np
from scipy.optimize import nnls

from recovery.errors import SolverError
from recovery.programs.exact import ExactProgram
from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.types import Array, Index

STRESS = 1e3
"""Weight, in the first of two passes, of the equations that hold b within what a group's weights see."""


def project(program: ExactProgram, lam: Array, chosen: Index) -> tuple[Array, Array]:
    """||P_K(sigma A_g^T lam)|| for each chosen signed group, (k,), and the multipliers that prove it, (k, n)."""
    multipliers = np.zeros((len(chosen), program.groups.n))
    pulls = program.pulls(lam, chosen)
    orientation = program.orientation(chosen)
    for i, k in enumerate(chosen):
        if orientation[i].any():
            multipliers[i] = _multipliers(program, int(k), pulls[i], orientation[i])
    return program.bounds(lam, chosen, multipliers), multipliers


def cone_neuron(program: ExactProgram, k: int, w: Array) -> Array | None:
    """Base weights v in the cone of signed group k with F v = w, or None where the neuron w has another pattern."""
    groups, g = program.groups, k % program.groups.count
    v = w if groups.transforms is None else groups.transforms[g] @ w
    slack = program.orientation(np.array([k]))[0] * (groups.base @ v)
    if slack.min() >= 0.0:
        return v
    scale = float(np.linalg.norm(groups.base, axis=1).max() * np.linalg.norm(v))
    unseen = _unseen(program, g)
    if unseen.shape[1] == 0:
        return v if slack.min() >= -1e-10 * scale else None
    C = program.orientation(np.array([k]))[0][:, None] * groups.base
    # the free part z of v = v0 + N z must give C N z >= -C v0: the least-squares distance of C v0 + C N z to h >= 0
    N = C @ unseen
    split, _ = _nnls(np.hstack([N, -N, -np.eye(len(C))]), -slack)
    moved = v + unseen @ (split[: N.shape[1]] - split[N.shape[1] : 2 * N.shape[1]])
    return moved if float((C @ moved).min()) >= -1e-10 * scale else None


def _unseen(program: ExactProgram, g: int) -> Array:
    """An orthonormal basis of the base weights with D_g B v = 0, (r, m)."""
    groups = program.groups
    if groups.transforms is None:
        return np.empty((groups.rank, 0))
    rows = groups.base[groups.patterns[:, g]]
    _, s, Vt = np.linalg.svd(rows, full_matrices=True)
    return Vt[int(np.count_nonzero(s > RANK_TOLERANCE)) :].T


def _multipliers(program: ExactProgram, k: int, pull: Array, orientation: Array) -> Array:
    groups, g = program.groups, k % program.groups.count
    Ct = (orientation[:, None] * groups.base).T
    if groups.transforms is None:
        return _nnls(Ct, -pull)[0]
    T = groups.transforms[g]
    A, a = T.T @ Ct, T.T @ pull
    unseen = _unseen(program, g)
    if unseen.shape[1] == 0:
        return _nnls(A, -a)[0]
    N = unseen.T @ Ct
    mu, _ = _nnls(np.vstack([A, STRESS * N]), np.concatenate([-a, np.zeros(len(N))]))
    support = np.flatnonzero(mu)
    if not len(support):
        return mu
    # on the support, exactly: min ||A mu + a|| subject to N mu = 0
    _, s, Vt = np.linalg.svd(N[:, support], full_matrices=True)
    free = Vt[int(np.count_nonzero(s > RANK_TOLERANCE * s.max(initial=1.0))) :].T
    exact = free @ np.linalg.lstsq(A[:, support] @ free, -a, rcond=None)[0] if free.shape[1] else np.zeros(len(support))
    result = np.zeros_like(mu)
    if exact.min(initial=0.0) >= 0.0:
        result[support] = exact
    return result


def _nnls(A: Array, b: Array) -> tuple[Array, float]:
    try:
        mu, residual = nnls(np.asfortranarray(A), b, maxiter=30 * A.shape[1])
    except RuntimeError as error:
        raise SolverError(f"a projection on a cone did not end: {error}") from error
    return mu, float(residual)
