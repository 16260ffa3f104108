"""Decide whether the all-ones arrangement pattern exists, with a certificate for either answer.

The answer is the sign of t* = max t subject to ||w|| <= 1, x_i.w >= t ||x_i|| (P1, (31)), over the non-zero rows; zero
rows are in no operator and have no effect. By Gordan's theorem either some w has x_i.w > 0 for all of them, or some
u >= 0, u != 0 has X^T u = 0. Each certificate proves a bound that does not depend on the scale of rows:
    t* >= min x_i.w / (||x_i|| ||w||),        t* <= ||X^T u|| / sum u_i ||x_i||.
The inequalities are strict. P1's (5) has closed ones: with rows x and -x it can admit the pattern where (31) does not.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from recovery.errors import ParameterError
from recovery.instances.patterns import live_rows
from recovery.programs.orthonormal import orthonormal_base
from recovery.types import Array

NEGLIGIBLE = 1e-9
"""Entries of u below this fraction of the largest count as zero."""
MOST_STEPS = 50
"""Limit of Newton steps. Gaussian draws take 4 on average and at most 23 of 48; after 50 an orthonormal basis is
tried."""
MANY_ROWS = 2.5
"""Rows per variable from which a draw usually has no all-ones pattern, which projections usually prove."""
MOST_PROJECTIONS = 8
LEAST = 0.2
"""Fraction of the mean of u at which small entries are reflected: Gaussian draws then take 5 projections at 3 rows per
variable, 3 at 4, 2 at 6, and none at 20."""
BALANCING = 8
"""Largest number of rounds of scaling rows and columns."""
UNEVEN = 1e-4
"""Rows are scaled if the smallest norm is below this fraction of the largest, which is rare in draws of ensembles."""
ROUNDING = 1e-12
"""Lower bounds on t*, and entries of X^T u relative to their sums of absolute values, count as zero below this."""


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
    projections on the null space of X^T first look for a u. If rounding prevents a decision, it is tried again with
    unit rows in an orthonormal basis, and by non-negative least squares. Raises `ParameterError` if X is so
    ill-conditioned that neither answer can be proved.
    """
    live = live_rows(X)
    if not live.any():
        return AllOnes(0.0, weights=np.full(X.shape[0], 1 / X.shape[0]))
    Z, sizes, rows, columns = _balanced(X if live.all() else X[live])
    decision = _minimise(Z, sizes) or _decide_in_basis(Z, sizes)
    if decision is None:
        raise ParameterError("the data are too ill-conditioned to decide whether the all-ones pattern exists")
    if decision.direction is not None:
        w = decision.direction / columns
        return AllOnes(decision.bound, direction=w / np.linalg.norm(w))
    assert decision.weights is not None
    weights: Array = np.zeros(X.shape[0])
    weights[live] = decision.weights / rows
    return AllOnes(decision.bound, weights=weights / weights.sum())


def _row_norms(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", Z, Z))


def _column_norms(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->j", Z, Z))


def _balanced(X: Array) -> tuple[Array, Array, Array, Array]:
    """Return Z with X = rows Z columns, unit columns and rows of similar norms; also its row norms and both scales."""
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


def _decide_in_basis(Z: Array, sizes: Array) -> AllOnes | None:
    """Decide in an orthonormal basis of Z with unit rows, by non-negative least squares if Newton's method fails."""
    unit = Z / sizes[:, None]
    U, coordinates = orthonormal_base(unit)
    decision = _minimise(U, _row_norms(U), unit) or _non_negative_least_squares(U, unit)
    if decision is not None and decision.weights is not None:
        return replace(decision, weights=decision.weights / sizes)
    if decision is not None and decision.direction is not None:
        return replace(decision, direction=np.linalg.lstsq(coordinates, decision.direction, rcond=None)[0])
    return None


def _minimise(Z: Array, rows: Array, unit: Array | None = None) -> AllOnes | None:
    """Decide by Newton's method on f, until a step proves an answer; None after MOST_STEPS. unit: see `_decide`."""
    n, d = Z.shape
    w: Array = np.zeros(d)
    image: Array = np.zeros(n)
    for number in range(MOST_STEPS):
        excess = np.maximum(1.0 - image, 0.0)
        residual = Z.T @ excess
        if number > 0 and (decision := _decide(Z, rows, w, image, excess, residual, unit)) is not None:
            return decision
        active = excess > 0
        every = bool(active.all())
        A = Z if every else Z[active]
        if len(A) < d:
            step = A.T @ _solved(A @ A.T, excess[active])[0]
        else:
            step, factor = _solved(A.T @ A, residual)
            if every and factor is not None and n >= MANY_ROWS * d and unit is None:
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
            return _decide_against(Z, rows, u, Z.T @ u)
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
    Z: Array, rows: Array, w: Array, image: Array, u: Array, residual: Array, unit: Array | None
) -> AllOnes | None:
    """Return the proof by w with image Z w, or by u >= 0 with residual Z^T u, or None. rows (n,): norms of rows of Z.

    unit: the data themselves with rows of norm 1, where Z is a basis of their columns. The test of each column is about
    them: a basis mixes columns, and has rounding errors where the data have zeros.
    """
    length = float(np.linalg.norm(w))
    if length > 0:
        lower = float((image / np.maximum(rows, np.finfo(float).tiny)).min()) / length
        if lower > ROUNDING:
            return AllOnes(lower, direction=w / length)
    if unit is None:
        return _decide_against(Z, rows, u, residual)
    return _decide_against(unit, np.ones(len(u)), u, unit.T @ u)


def _decide_against(Z: Array, rows: Array, u: Array, residual: Array) -> AllOnes | None:
    """Return the decision that the pattern does not exist if u >= 0 with residual Z^T u proves it, otherwise None."""
    total = float(u @ rows)
    if not (total > 0 and np.abs(residual).max() <= ROUNDING * total):
        return None
    # the residual must be zero up to the rounding of each column's sum, a test that does not depend on the scale of
    # rows and columns
    if not (np.abs(residual) <= ROUNDING * (np.abs(Z).T @ u)).all():
        u = _without_negligible(Z, rows, u)
        residual = Z.T @ u
        if u.min() < 0 or not (np.abs(residual) <= ROUNDING * (np.abs(Z).T @ u)).all():
            return None
    return AllOnes(float(np.linalg.norm(residual)) / float(u @ rows), weights=u / u.sum())


def _without_negligible(Z: Array, rows: Array, u: Array) -> Array:
    """Return u with entries at the level of rounding set to 0 and the others projected on the null space of Z^T.

    Columns that only rows of u = 0 enter have sums of rounding errors alone, which no relative test accepts.
    """
    kept = u * rows > NEGLIGIBLE * float((u * rows).max())
    support: Array = np.zeros_like(u)
    support[kept] = u[kept] - Z[kept] @ np.linalg.lstsq(Z[kept], u[kept], rcond=None)[0]
    return support


def _non_negative_least_squares(Z: Array, unit: Array | None = None) -> AllOnes | None:
    """Minimise ||Z^T u||^2 + (1 - sum u)^2 over u >= 0; the optimum proves either answer, by u or by w = Z^T u."""
    u = np.asarray(scipy.optimize.nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0))[0])
    residual = Z.T @ u
    return _decide(Z, np.linalg.norm(Z, axis=1), residual, Z @ residual, u, residual, unit)
