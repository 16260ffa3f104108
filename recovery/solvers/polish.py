"""The last digits of an exact program: Newton's method on the face that an interior point has come near.

Near the optimum the interior point's equations are too ill-conditioned for the dual, while it shows which signed
groups are active and which rows of their cones are tight. With v = Z x on the face of tight rows,
    b Z^T F^T d(x) = sigma Z^T B^T D lam,  d = F v / ||F v||,      sum sigma D B Z x + delta lam = y
is smooth: a few steps, slightly regularised and refined, solve it. What comes out is a candidate like any other.
"""

import numpy as np
from scipy.linalg import LinAlgError, lu_factor, lu_solve

from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Multipliers, Solution
from recovery.solvers.interior import InteriorPoint
from recovery.types import Array, Index, Mask

ACTIVE = (1e-6, 1e-5, 1e-4, 1e-3)
"""Fractions of the largest size above which a signed group counts as active: tried in turn."""
FACES = 8
INSIDE = 1e-11
STEPS = 4
REFINEMENTS = 3
REGULARISATION = 1e-10


def polish(program: ExactProgram, point: InteriorPoint, share: float) -> Solution | None:
    """A solution on the face of `point`'s tight rows, or None where the equations have no solution near it.

    share: signed groups above this fraction of the largest size are active. Rows that come out violated are tight too.
    """
    chosen = np.flatnonzero(point.t > share * point.t.max())
    members = point.chosen[chosen]
    S = program.orientation(members)
    tight = _tight(point, chosen) & (S != 0)
    for _ in range(FACES):
        found = _on_face(program, point, chosen, S, tight)
        if found is None:
            return None
        slack = S * (found.W[members] @ program.groups.base.T)
        outside = slack < -INSIDE * point.row * np.linalg.norm(found.W[members], axis=1)[:, None]
        if not outside.any():
            return found
        tight |= outside
    return found


def _tight(point: InteriorPoint, chosen: Index) -> Mask:
    """Rows whose multiplier outweighs their slack: at most r - 1, as no neuron but zero lies on r of its rows."""
    stress = (point.mu[chosen] / point.bound) / (point.h[chosen] / point.t[chosen, None] / point.row**2)
    most = point.v.shape[1] - 1
    if most < stress.shape[1]:
        stress[stress <= np.partition(stress, -most - 1, axis=1)[:, -most - 1, None]] = 0.0
    tight: Mask = stress > 1.0
    return tight


def _on_face(program: ExactProgram, point: InteriorPoint, chosen: Index, S: Array, tight: Mask) -> Solution | None:
    groups, members = program.groups, point.chosen[chosen]
    faces = [_kernel(groups.base[rows]) for rows in tight]
    ends = np.cumsum([0, *(Z.shape[1] for Z in faces)])
    signed = groups.D[:, program.group(members)].T * program.sign(members)[:, None]
    F = None if program.factors is None else program.factors[program.group(members)]
    E = np.hstack([(signed[i][:, None] * groups.base) @ Z for i, Z in enumerate(faces)])
    x = np.concatenate([Z.T @ point.v[k] for k, Z in zip(chosen, faces, strict=True)])
    lam, delta, b = point.lam, point.delta, point.bound
    images = [Z if F is None else F[i] @ Z for i, Z in enumerate(faces)]
    m, n = len(x), groups.n
    for _ in range(STEPS):
        J = np.zeros((m + n, m + n))
        residual = np.empty(m + n)
        for i, A in enumerate(images):
            part = slice(ends[i], ends[i + 1])
            f = A @ x[part]
            size = float(np.linalg.norm(f))
            if size == 0.0:
                return None
            d = A.T @ f / size
            J[part, part] = b * (A.T @ A - np.outer(d, d)) / size
            residual[part] = b * d
        residual[:m] -= E.T @ lam
        residual[m:] = E @ x + delta * lam - point.y
        J[:m, m:], J[m:, :m] = -E.T, E
        J[np.arange(m, m + n), np.arange(m, m + n)] = delta
        step = _solve(J, residual)
        if step is None or not np.isfinite(step).all():
            return None
        x, lam = x - step[:m], lam - step[m:]
    V = np.zeros((2 * groups.count, groups.rank))
    for i, Z in enumerate(faces):
        V[members[i]] = Z @ x[ends[i] : ends[i + 1]]
    multipliers = point.mu.copy()
    pulls = program.pulls(lam, members)
    for i, k in enumerate(chosen):
        v = V[members[i]]
        f = v if F is None else F[i] @ v
        d = f / np.linalg.norm(f)
        slope = b * d if F is None else F[i].T @ (b * d)
        rows = np.flatnonzero(tight[i])
        multipliers[k] = 0.0
        C = S[i][rows, None] * groups.base[rows]
        if len(rows):
            multipliers[k, rows] = np.maximum(np.linalg.lstsq(C.T, slope - pulls[i], rcond=None)[0], 0.0)
    return Solution(V, lam, multipliers=Multipliers(point.chosen, multipliers))


def _kernel(rows: Array) -> Array:
    """An orthonormal basis of the weights with `rows` @ v = 0."""
    r = rows.shape[1]
    if not len(rows):
        return np.eye(r)
    _, s, Vt = np.linalg.svd(rows, full_matrices=True)
    return Vt[int(np.count_nonzero(s > 1e-9 * s[0])) :].T


def _solve(J: Array, residual: Array) -> Array | None:
    """The solution of J step = residual nearest to zero, through a regularised factor and its refinement."""
    shift = np.full(len(J), REGULARISATION * float(np.abs(J).max()))
    try:
        factor = lu_factor(J + np.diag(shift), check_finite=False)
    except LinAlgError:
        return None
    step = np.zeros_like(residual)
    for _ in range(REFINEMENTS):
        step = step + lu_solve(factor, residual - J @ step, check_finite=False)
    return step
