"""Does the all-ones arrangement pattern exist? Decided exactly, with a certificate on either side.

The question is the sign of t* = max t subject to ||w|| <= 1, X w >= t 1 (P1, (31)). By Gordan's theorem either
some w has X w > 0, or some u >= 0, u != 0 has X^T u = 0; each side carries a bound:
    t* >= min(X w) / ||w||,        t* <= ||X^T u|| / sum(u).
"""

from dataclasses import dataclass, replace

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.orthonormal import orthonormal_base
from recovery.types import Array

MOST_STEPS = 50
ROUNDING = 1e-12
"""Bounds on t* below this are rounding error, not a sign (columns are normalised, rows then scaled below norm 1)."""


@dataclass(frozen=True)
class AllOnes:
    """The decision and its certificate: `direction` w (d,) with X w > 0 if the pattern exists, else `weights` u (n,).

    `bound` is the bound on t* of the column-normalised data that the certificate proves: from below (> 0) if
    `exists`, from above if not. Normalising columns changes the sign of t* for no data.
    """

    exists: bool
    bound: float
    direction: Array | None = None
    weights: Array | None = None


def decide_all_ones(X: Array) -> AllOnes:
    """Decide whether some w has X w > 0. X: (n, d). Source: P1, (31).

    Minimises f(w) = 1/2 ||(1 - X w)_+||^2 by Newton's method, which ends after finitely many steps. If the minimum
    is positive, u = (1 - X w)_+ satisfies X^T u = 0 and proves that there is none; otherwise w proves that there is.
    What rounding leaves open is tried once more in an orthonormal basis, by non-negative least squares too. Raises
    `ParameterError` where X is so ill-conditioned that neither side has a proof.
    """
    columns = np.linalg.norm(X, axis=0)
    columns[columns == 0] = 1.0
    decision = _minimise(X / columns)
    if decision is None:
        U, coordinates = orthonormal_base(X)
        if U.shape[1] == 0:
            return AllOnes(False, 0.0, weights=np.full(X.shape[0], 1 / X.shape[0]))
        decision = _minimise(U) or _non_negative_least_squares(U)
        if decision is None:
            raise ParameterError("the data are too ill-conditioned to decide whether the all-ones pattern exists")
        if decision.direction is not None:
            w = np.linalg.lstsq(coordinates, decision.direction, rcond=None)[0]
            return replace(decision, direction=w / np.linalg.norm(w))
    elif decision.direction is not None:
        w = decision.direction / columns
        return replace(decision, direction=w / np.linalg.norm(w))
    return decision


def _minimise(Z: Array) -> AllOnes | None:
    Z = Z / max(float(np.linalg.norm(Z, axis=1).max()), np.finfo(float).tiny)
    w: Array = np.zeros(Z.shape[1])
    slack: Array = np.ones(Z.shape[0])
    for _ in range(MOST_STEPS):
        decision = _decide(Z, w, np.maximum(slack, 0.0))
        if decision is not None:
            return decision
        w, slack = _newton_step(Z, w, slack)
    return None


def _newton_step(Z: Array, w: Array, slack: Array) -> tuple[Array, Array]:
    """One damped Newton step on f; gives the new w and its slack 1 - Z w."""
    active = slack > 0
    A = Z[active]
    gradient = -(A.T @ slack[active])
    if A.shape[0] < A.shape[1]:
        step = np.linalg.lstsq(A, slack[active], rcond=None)[0]
    else:
        hessian = A.T @ A
        hessian[np.diag_indices_from(hessian)] += 1e-13 * np.trace(hessian)
        step = -np.linalg.solve(hessian, gradient)
    value, slope = _value(slack), gradient @ step
    length = 1.0
    while length > 1e-8:
        trial = 1.0 - Z @ (w + length * step)
        if _value(trial) <= value + 1e-4 * length * slope:
            break
        length /= 2
    w = w + length * step
    return w, 1.0 - Z @ w


def _value(slack: Array) -> float:
    positive = np.maximum(slack, 0.0)
    return 0.5 * float(positive @ positive)


def _decide(Z: Array, w: Array, u: Array) -> AllOnes | None:
    """What w or u >= 0 prove, if anything."""
    length = float(np.linalg.norm(w))
    if length > 0:
        lower = float((Z @ w).min()) / length
        if lower > ROUNDING:
            return AllOnes(True, lower, direction=w / length)
    total = float(u.sum())
    if total > 0:
        upper = float(np.linalg.norm(Z.T @ u)) / total
        if upper <= ROUNDING:
            return AllOnes(False, upper, weights=u / total)
    return None


def _non_negative_least_squares(Z: Array) -> AllOnes | None:
    """min ||Z^T u||^2 + (1 - sum u)^2 over u >= 0: the optimum proves one side by u, the other by w = Z^T u."""
    from scipy.optimize import nnls  # a quarter of a second to import, and hardly ever needed

    u = np.asarray(nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0))[0])
    return _decide(Z, Z.T @ u, u)
