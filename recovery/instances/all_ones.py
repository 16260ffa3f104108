"""Does the all-ones arrangement pattern exist? Decided exactly, with a certificate on either side.

The question is the sign of t* = max t subject to ||w|| <= 1, x_i.w >= t ||x_i|| (P1, (31)) over the rows that are not
zero: a zero row is in no operator and decides nothing. By Gordan's theorem either some w has x_i.w > 0 for all of
them, or some u >= 0, u != 0 has X^T u = 0; each side carries a bound that scaling rows does not change:
    t* >= min x_i.w / (||x_i|| ||w||),        t* <= ||X^T u|| / sum u_i ||x_i||.
The conditions are strict. P1's (5) has closed ones: with rows x and -x it can admit the pattern where (31) does not.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from recovery.errors import ParameterError
from recovery.instances.patterns import live_rows
from recovery.programs.orthonormal import RANK_TOLERANCE, orthonormal_base
from recovery.types import Array

NEGLIGIBLE = 1e-9
"""Weights below this fraction of the largest are what ROUNDING leaves in them."""
MOST_STEPS = 50
"""Gaussian draws take 4 steps in the middle, 23 at most of 48; where 50 decide nothing, an orthonormal basis may."""
MANY_ROWS = 2.5
"""A draw of so many rows a variable has no all-ones pattern as a rule; projections prove that for most."""
MOST_PROJECTIONS = 8
LEAST = 0.2
"""Of the mean of u: Gaussian draws take 5 projections at 3 rows a variable, 3 at 4, 2 at 6, none at 20."""
BALANCING = 8
"""Rounds of scaling rows and columns; what is uneven then stays so."""
UNEVEN = 1e-4
"""Rows whose norms differ by more than this are scaled: no law of the ensembles makes such rows often."""
ROUNDING = 1e-12
"""A bound on t* from below, or the sum of a column against that of its absolute values, is zero up to rounding."""


@dataclass(frozen=True)
class AllOnes:
    """The decision and its certificate: `direction` w (d,) with X w > 0 if the pattern exists, else `weights` u (n,).

    Zero rows are left out: X w is zero there, and so is u. `bound` is the bound on t* of the column-normalised data
    that the certificate proves: from below (> 0) if `exists`, from above if not. Normalising columns changes the sign
    of t* for no data.
    """

    bound: float
    direction: Array | None = None
    weights: Array | None = None

    @property
    def exists(self) -> bool:
        return self.direction is not None


def decide_all_ones(X: Array) -> AllOnes:
    """Decide whether some w has x_i.w > 0 for every row but the zero ones. X: (n, d), all zero: no. Source: P1, (31).

    Minimises f(w) = 1/2 ||(1 - X w)_+||^2 by Newton's method, which ends after finitely many steps. If the minimum
    is positive, u = (1 - X w)_+ satisfies X^T u = 0 and proves that there is none; otherwise w proves that there is.
    Where there are many rows, a u is looked for first by projections on the null space of X^T. What rounding leaves
    open is tried once more with unit rows and in an orthonormal basis, by non-negative least squares too. Raises
    `ParameterError` where X is so ill-conditioned that neither side has a proof.
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


def admits_all_ones_closed(X: Array) -> bool:
    """Whether some h has X h >= 0 and X h != 0: P1's (5), which admits rows at zero. X: (n, d).

    Where (31) fails, u >= 0 with X^T u = 0 holds every such h at zero on the rows of u: the question goes on in their
    common null space, with the rows that are left.
    """
    while X.any():
        decision = decide_all_ones(X)
        if decision.weights is None:
            return True
        held = X[decision.weights > NEGLIGIBLE * decision.weights.max()]
        _, s, Vt = np.linalg.svd(held / np.linalg.norm(held, axis=1, keepdims=True))
        free = Vt[int(np.count_nonzero(s > RANK_TOLERANCE * s[0])) :].T
        rest = X @ free
        X = rest[np.linalg.norm(rest, axis=1) > RANK_TOLERANCE * np.linalg.norm(X, axis=1)]
    return False


def _row_norms(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", Z, Z))


def _column_norms(Z: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->j", Z, Z))


def _balanced(X: Array) -> tuple[Array, Array, Array, Array]:
    """Z with X = rows Z columns, its columns of norm 1 and its rows of even norms; these norms, and both scales."""
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
    """The same in an orthonormal basis of Z with unit rows, by non-negative least squares if need be."""
    U, coordinates = orthonormal_base(Z / sizes[:, None])
    decision = _minimise(U, _row_norms(U)) or _non_negative_least_squares(U)
    if decision is not None and decision.weights is not None:
        return replace(decision, weights=decision.weights / sizes)
    if decision is not None and decision.direction is not None:
        return replace(decision, direction=np.linalg.lstsq(coordinates, decision.direction, rcond=None)[0])
    return None


def _minimise(Z: Array, rows: Array) -> AllOnes | None:
    n, d = Z.shape
    w: Array = np.zeros(d)
    image: Array = np.zeros(n)
    for number in range(MOST_STEPS):
        excess = np.maximum(1.0 - image, 0.0)
        pull = Z.T @ excess
        if number > 0 and (decision := _decide(Z, rows, w, image, excess, pull)) is not None:
            return decision
        active = excess > 0
        every = bool(active.all())
        A = Z if every else Z[active]
        if len(A) < d:
            step = A.T @ _solved(A @ A.T, excess[active])[0]
        else:
            step, factor = _solved(A.T @ A, pull)
            if every and factor is not None and n >= MANY_ROWS * d:
                decision = _decide_by_projections(Z, rows, factor, excess - Z @ step)
                if decision is not None:
                    return decision
        w, image = _moved(Z, w, step, excess, pull)
    return None


def _moved(Z: Array, w: Array, step: Array, excess: Array, pull: Array) -> tuple[Array, Array]:
    """A damped step on f from w, where (1 - Z w)_+ = excess and -f' = pull; the new w and Z w."""
    value, slope = 0.5 * float(excess @ excess), -float(pull @ step)
    length = 1.0
    while True:
        moved = w + length * step
        image = Z @ moved
        left = np.maximum(1.0 - image, 0.0)
        if 0.5 * float(left @ left) <= value + 1e-4 * length * slope or length <= 1e-8:
            return moved, image
        length /= 2


def _decide_by_projections(Z: Array, rows: Array, factor: Array, u: Array) -> AllOnes | None:
    """Is there some u >= 0 with Z^T u = 0 near the one given, whose low entries are reflected at `LEAST`, again and
    again, and the rest projected on the null space of Z^T? factor: Cholesky's, of Z^T Z."""
    for _ in range(MOST_PROJECTIONS):
        if u.min() >= 0:
            return _decide_against(Z, rows, u, Z.T @ u)
        least = LEAST * float(u.sum()) / len(u)
        u = least + np.abs(u - least)
        u -= Z @ scipy.linalg.lapack.dpotrs(factor, Z.T @ u)[0]
    return None


def _solved(gram: Array, b: Array) -> tuple[Array, Array | None]:
    """gram^-1 b for a positive semidefinite matrix, which it may overwrite, and b in its range; and its factor."""
    diagonal = np.einsum("ii->i", gram)
    diagonal += 1e-13 * diagonal.sum()
    factor, z, failed = scipy.linalg.lapack.dposv(gram, b)
    return (z, factor) if not failed else (np.linalg.lstsq(gram, b, rcond=None)[0], None)


def _decide(Z: Array, rows: Array, w: Array, image: Array, u: Array, pull: Array) -> AllOnes | None:
    """What w with image Z w, or u >= 0 with Z^T u = `pull`, prove, if anything; rows (n,): the norms of those of Z."""
    length = float(np.linalg.norm(w))
    if length > 0:
        lower = float((image / np.maximum(rows, np.finfo(float).tiny)).min()) / length
        if lower > ROUNDING:
            return AllOnes(lower, direction=w / length)
    return _decide_against(Z, rows, u, pull)


def _decide_against(Z: Array, rows: Array, u: Array, pull: Array) -> AllOnes | None:
    """That there is none, if u >= 0 proves it."""
    total = float(u @ rows)
    # zero up to what rounding leaves of each column's sum: scaling rows or columns changes nothing of that
    if total > 0 and np.abs(pull).max() <= ROUNDING * total and (np.abs(pull) <= ROUNDING * (np.abs(Z).T @ u)).all():
        return AllOnes(float(np.linalg.norm(pull)) / total, weights=u / u.sum())
    return None


def _non_negative_least_squares(Z: Array) -> AllOnes | None:
    """min ||Z^T u||^2 + (1 - sum u)^2 over u >= 0: the optimum proves one side by u, the other by w = Z^T u."""
    u = np.asarray(scipy.optimize.nnls(np.vstack([Z.T, np.ones(len(Z))]), np.append(np.zeros(Z.shape[1]), 1.0))[0])
    pull = Z.T @ u
    return _decide(Z, np.linalg.norm(Z, axis=1), pull, Z @ pull, u, pull)
