"""Decide whether the all-ones arrangement pattern exists, with a certificate for either answer.

The answer is the sign of t* = max t subject to ||w|| <= 1, x_i.w >= t ||x_i|| (P1, (31)), over the non-zero rows; zero
rows are in no operator and have no effect. By Gordan's theorem either some w has x_i.w > 0 for all of them, or some
u >= 0, u != 0 has X^T u = 0. Each certificate proves a bound that does not depend on the scale of rows:
    t* >= min x_i.w / (||x_i|| ||w||),        t* <= ||X^T u|| / sum u_i ||x_i||.
The inequalities are strict. P1's (5) has closed ones: with rows x and -x it can admit the pattern where (31) does not.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from recovery.instances.hulls import separate
from recovery.instances.patterns import live_rows
from recovery.types import EPS, Array

NEGLIGIBLE = 1e-9
"""Entries of u below this fraction of the largest count as zero."""
MOST_STEPS = 50
"""Limit of Newton steps. Gaussian draws take 4 on average and at most 23 of 48; after 50, integers decide."""
MANY_ROWS = 2.5
"""Rows per variable from which a draw usually has no all-ones pattern, which projections usually prove."""
MOST_PROJECTIONS = 8
"""Limit of projections, after which Newton's method goes on."""
LEAST = 0.2
"""Fraction of the mean of u at which small entries are reflected: Gaussian draws then take 5 projections at 3 rows per
variable, 3 at 4, 2 at 6, and none at 20."""
BALANCING = 8
"""Largest number of rounds of scaling rows and columns."""
UNEVEN = 1e-4
"""Rows are scaled if the smallest norm is below this fraction of the largest, which is rare in draws of ensembles."""
ROUNDING = 1e-12
"""Lower bounds on t* above this are certain, and a residual X^T u up to this is tried as a proof."""
WELL_CONDITIONED = 1e10
"""Largest ||S||^2 tr (S^T S)^-1 at which rounding changes this trace by less than a factor of two."""
EXTREME = 300
"""Largest exponent of two of the largest entry of a row that needs no scaling."""


@dataclass(frozen=True)
class AllOnes:
    """The decision and its certificate: `direction` w (d,) with X w > 0 if the pattern exists, otherwise `weights` u
    (n,).

    Zero rows are excluded: X w and u are zero there. `bound` is the proved bound on t* of the column-normalised data: a
    lower bound > 0 if the pattern exists, otherwise an upper bound. Normalising columns does not change the sign of t*.
    """

    bound: float
    direction: Array | None = None
    weights: Array | None = None

    @property
    def exists(self) -> bool:
        return self.direction is not None


def decide_all_ones(X: Array) -> AllOnes:
    """Decide whether some w has x_i.w > 0 for every non-zero row of X (n, d); none exists if X is zero. Source: P1,
    (31).

    Minimises f(w) = 1/2 ||(1 - X w)_+||^2 by Newton's method, which terminates. If the minimum is positive, u = (1 - X
    w)_+ satisfies X^T u = 0 and proves that there is no such w; otherwise w itself is the proof. With many rows,
    projections on the null space of X^T first look for a u. Where rounding leaves a doubt, integers decide
    (`recovery.instances.hulls`). Raises `ParameterError` if that takes too many steps.
    """
    live = live_rows(X)
    if not live.any():
        return AllOnes(0.0, weights=np.full(X.shape[0], 1 / X.shape[0]))
    given = X if live.all() else X[live]
    lengths = np.frexp(np.abs(given).max(axis=1))[1]
    extreme = bool(np.abs(lengths).max() > EXTREME)
    if extreme:  # squares might underflow or overflow; powers of two change no digit
        given = np.ldexp(given, -lengths[:, None])
    Z, sizes, rows, columns = _balanced(given)
    decision = _minimise(Z, sizes)
    if decision is None:
        rows, columns = np.ones(len(rows)), np.exp2(np.round(np.log2(columns)))
        decision = decide_exactly(given / columns)
    if decision.direction is not None:
        w = decision.direction * (columns.min() / columns)
        return AllOnes(decision.bound, direction=w / np.linalg.norm(w))
    assert decision.weights is not None
    weights: Array = np.zeros(X.shape[0])
    weights[live] = decision.weights * (rows.min() / rows)
    if extreme:
        sizes = np.frexp(weights[live])[1] - lengths
        weights[live] = np.ldexp(weights[live], -lengths - sizes[weights[live] > 0].max())
    return AllOnes(decision.bound, weights=weights / weights.sum())


def _row_norms(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", Z, Z))


def _column_norms(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->j", Z, Z))


def _balanced(X: Array) -> tuple[Array, Array, Array, Array]:
    """Return Z, of unit columns and rows of similar norms, its row norms, and r, c with X = diag(r) Z diag(c)."""
    rows, columns = np.ones(X.shape[0]), _column_norms(X)
    columns[columns == 0] = 1.0
    Z = X / columns
    sizes = _row_norms(Z)
    for _ in range(BALANCING):
        if sizes.min() > UNEVEN * sizes.max():
            break
        Z = Z / sizes[:, None]
        again = _column_norms(Z)
        again[again == 0] = 1.0
        Z, rows, columns = Z / again, rows * sizes, columns * again
        sizes = _row_norms(Z)
    return Z, sizes, rows, columns


def _minimise(Z: Array, rows: Array) -> AllOnes | None:
    """Decide by Newton's method on f, until a step proves an answer; None after MOST_STEPS, or if rounding decides."""
    n, d = Z.shape
    w: Array = np.zeros(d)
    image: Array = np.zeros(n)
    for number in range(MOST_STEPS):
        excess = np.maximum(1.0 - image, 0.0)
        residual = Z.T @ excess
        if number > 0 and (decision := _decide(Z, rows, w, image, excess, residual)) is not None:
            return None if decision == "undecided" else decision
        active = excess > 0
        every = bool(active.all())
        A = Z if every else Z[active]
        if len(A) < d:
            step = A.T @ _solved(A @ A.T, excess[active])[0]
        else:
            step, factor = _solved(A.T @ A, residual)
            if every and factor is not None and n >= MANY_ROWS * d:
                decision = _decide_by_projections(Z, rows, factor, excess - Z @ step)
                if decision is not None:
                    return decision
        w, image = _moved(Z, w, step, excess, residual)
    return None


def _moved(Z: Array, w: Array, step: Array, excess: Array, residual: Array) -> tuple[Array, Array]:
    """Take a damped step on f from w, where (1 - Z w)_+ = excess and residual = -f'; returns the new w and Z w."""
    value, slope = 0.5 * float(excess @ excess), -float(residual @ step)
    length = 1.0
    while True:
        moved = w + length * step
        image = Z @ moved
        left = np.maximum(1.0 - image, 0.0)
        if 0.5 * float(left @ left) <= value + 1e-4 * length * slope or length <= 1e-8:
            return moved, image
        length /= 2


def _decide_by_projections(Z: Array, rows: Array, factor: Array, u: Array) -> AllOnes | None:
    """Return the proof by a u >= 0 with Z^T u = 0 near the given u, or None; `factor`: Cholesky factor of Z^T Z.

    Alternately reflects low entries at `LEAST` and projects on the null space of Z^T.
    """
    for _ in range(MOST_PROJECTIONS):
        if u.min() >= 0:
            return _decide_against(Z, rows, u, factor)
        least = LEAST * float(u.sum()) / len(u)
        u = least + np.abs(u - least)
        u -= Z @ scipy.linalg.lapack.dpotrs(factor, Z.T @ u)[0]
    return None


def _solved(gram: Array, b: Array) -> tuple[Array, Array | None]:
    """Return gram^-1 b for semidefinite gram, which may be overwritten, and b in its range; also its factor or None."""
    diagonal = np.einsum("ii->i", gram)
    diagonal += 1e-13 * diagonal.sum()
    factor, z, failed = scipy.linalg.lapack.dposv(gram, b)
    return (z, factor) if not failed else (np.linalg.lstsq(gram, b, rcond=None)[0], None)


def _decide(
    Z: Array, rows: Array, w: Array, image: Array, u: Array, residual: Array
) -> AllOnes | Literal["undecided"] | None:
    """Return the proof by w with image Z w, or by u >= 0 with residual Z^T u; None if neither is near one.

    rows (n,): norms of rows of Z. `undecided` if u is nearly a proof, but not one.
    """
    length = float(np.linalg.norm(w))
    if length > 0:
        lower = float((image / np.maximum(rows, np.finfo(float).tiny)).min()) / length
        if lower > ROUNDING:
            return AllOnes(lower, direction=w / length)
    total = float(u @ rows)
    if not (total > 0 and np.abs(residual).max() <= ROUNDING * total):
        return None
    return _decide_against(Z, rows, u) or "undecided"


def _decide_against(Z: Array, rows: Array, u: Array, factor: Array | None = None) -> AllOnes | None:
    """Return the decision that the pattern does not exist if some u' > 0 on the rows of u has Z^T u' = 0, else None.

    The nearest such u' is u - S (S^T S)^-1 S^T u on these rows S, whose columns must be independent, and not farther
    from u than ||S^T u|| / sigma_min, where 1 / sigma_min^2 <= tr (S^T S)^-1. All rounding is included, also that of Z
    itself, as a scaling of the data. factor: Cholesky factor of Z^T Z.
    """
    kept = u > NEGLIGIBLE * u.max()
    S, v = (Z, u) if kept.all() else (Z[kept], u[kept])
    if factor is None or S is not Z:
        S = S[:, S.any(axis=0)]
        factor, failed = scipy.linalg.lapack.dpotrf(S.T @ S)
        if failed or len(S) <= S.shape[1]:
            return None
    inverse, failed = scipy.linalg.lapack.dtrtri(factor)
    trace = float(np.square(np.triu(inverse)).sum())
    if failed or not trace * float(np.square(S).sum()) < WELL_CONDITIONED:
        return None
    v = v - S @ scipy.linalg.lapack.dpotrs(factor, S.T @ v)[0]
    residual = np.abs(S.T @ v) + (len(S) + 8) * EPS * (np.abs(S).T @ np.abs(v))
    if not v.min() > 2 * np.sqrt(trace) * float(np.linalg.norm(residual)):
        return None
    weights: Array = np.zeros(len(u))
    weights[kept] = v
    return AllOnes(float(np.linalg.norm(residual)) / float(weights @ rows), weights=weights / weights.sum())


def decide_exactly(X: Array) -> AllOnes:
    """Decide in integers, from the rows of a non-negative least-squares solution. Raises `ParameterError`.

    A direction may be rounded out of a thin cell; its bound is then 0.
    """
    unit = X / _row_norms(X)[:, None]
    u = scipy.optimize.nnls(np.vstack([unit.T, np.ones(len(unit))]), np.append(np.zeros(X.shape[1]), 1.0))[0]
    exists, found = separate(X, np.flatnonzero(u) if u.any() else np.zeros(1, dtype=np.intp))
    if not exists:
        return AllOnes(0.0, weights=found / found.sum())
    length = float(np.linalg.norm(found))
    return AllOnes(max(float((unit @ found).min()) / length, 0.0), direction=found / length)
