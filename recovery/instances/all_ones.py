"""Does the all-ones arrangement pattern exist? Decided exactly, with a certificate on either side.

The question is the sign of t* = max t subject to ||w|| <= 1, X w >= t 1 (P1, (31)). By Gordan's theorem either
some w has X w > 0, or some u >= 0, u != 0 has X^T u = 0; each side carries a bound:
    t* >= min(X w) / ||w||,        t* <= ||X^T u|| / sum(u).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from recovery.types import Array

MOST_STEPS = 50
ROUNDING = 1e-12
"""Bounds on t* below this times the largest row norm are rounding error, not a sign."""


@dataclass(frozen=True)
class AllOnes:
    """The decision and its certificate: `direction` w if the pattern exists, otherwise `weights` u.

    `bound` is the bound on t* that the certificate proves: from below (> 0) if `exists`, from above if not.
    """

    exists: bool
    bound: float
    direction: Array | None = None
    weights: Array | None = None


def decide_all_ones(X: Array) -> AllOnes:
    """Decide whether some w has X w > 0. X: (n, d). Source: P1, (31).

    Minimises f(w) = 1/2 ||(1 - X w)_+||^2 by Newton's method, which ends after finitely many steps. If the minimum
    is positive, u = (1 - X w)_+ satisfies X^T u = 0 and proves that there is none; otherwise w proves that there is.
    What rounding leaves open goes to a linear program.
    """
    scale = np.linalg.norm(X, axis=1).max(initial=0.0)
    if scale == 0.0:
        return AllOnes(False, 0.0, weights=np.ones(X.shape[0]))
    Z = X / scale
    w = np.zeros(X.shape[1])
    slack: Array = np.ones(X.shape[0])
    for _ in range(MOST_STEPS):
        decision = _decide(X, scale, w, slack)
        if decision is not None:
            return decision
        w, slack = _newton_step(Z, w, slack)
    return _decide_by_linear_program(X, scale)


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


def _decide(X: Array, scale: float, w: Array, slack: Array) -> AllOnes | None:
    length = float(np.linalg.norm(w))
    if length > 0:
        lower = float((X @ w).min()) / length
        if lower > ROUNDING * scale:
            return AllOnes(True, lower, direction=w / length)
    u = np.maximum(slack, 0.0)
    total = float(u.sum())
    if total > 0:
        upper = float(np.linalg.norm(X.T @ u)) / total
        if upper <= ROUNDING * scale:
            return AllOnes(False, upper, weights=u / total)
    return None


def _decide_by_linear_program(X: Array, scale: float) -> AllOnes:
    """max t s.t. X w >= t, |w_i| <= 1: the same sign of the optimum as (31), and its multipliers are u."""
    n, d = X.shape
    result: Any = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.hstack([-X / scale, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        bounds=[(-1, 1)] * d + [(0, None)],
        method="highs",
    )
    w = result.x[:d]
    decided = _decide(X, scale, w, np.maximum(-result.ineqlin.marginals, 0.0))
    if decided is not None:
        return decided
    exists = float((X @ w).min()) > 0
    length = max(float(np.linalg.norm(w)), np.finfo(float).tiny)
    if exists:
        return AllOnes(True, float((X @ w).min()) / length, direction=w / length)
    u = np.maximum(-result.ineqlin.marginals, 0.0)
    u = u / max(float(u.sum()), np.finfo(float).tiny)
    return AllOnes(False, float(np.linalg.norm(X.T @ u)), weights=u)
