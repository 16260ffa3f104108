"""The last digits of an exact program: Newton's method on the face that an interior point has come near.

Near the optimum the interior point's equations are too ill-conditioned for the dual, while it shows which signed
groups are active and which rows of their cones are tight. With v = Z x on the face of tight rows, ||F Z x|| = ||x||,
    b x / ||x|| = E^T lam,  E = sigma D B Z  for each group,        sum E x + delta lam = y
is smooth: a few steps, slightly regularised and refined, solve it. What comes out is a solution like any other.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Multipliers, Solution
from recovery.types import Array, Index, Mask

ACTIVE = (1e-6, 1e-5, 1e-4, 1e-3)
"""Fractions of the largest size above which a signed group counts as active: tried in turn."""
FACES = 40
STAYING = 0.5
"""The share of the active groups that has to stay: a point from which more leave is too far away."""
INSIDE = 1e-11
PULLING = 1e-9
"""Multipliers below zero by this, relative to the bound and to the rows, are rounding."""
VIOLATED = 1.0 + 1e-9
ENTERING = 1e-6
"""The weight of signed groups that a polished dual violates, as a fraction of the largest, where they come in."""
DEPENDENT = 1e-9
"""Pivots below this fraction of the largest count as zero."""
STEPS = 4
REFINEMENTS = 3
REGULARISATION = 1e-10


@dataclass
class Vicinity:
    """A point near the optimum: weights v (k, r) of the signed groups `chosen` (k,), their sizes t > 0 and cone slacks
    h > 0 (k, n), multipliers mu (k, n), the dual lam; of the program y, the bound, delta and the mean norm of a row.
    """

    chosen: Index
    v: Array
    t: Array
    h: Array
    mu: Array
    lam: Array
    y: Array
    bound: float
    delta: float
    row: float


def polish(program: ExactProgram, point: Vicinity, share: float) -> Solution | None:
    """A solution on the face of `point`'s tight rows, or None where the equations have no solution near it.

    share: signed groups above this fraction of the largest size are active. Groups whose weight turns back through
    zero leave. Of a group with violated rows, the one that is met first on the way from `point` becomes tight too; else
    the tight row that pulls most in the wrong direction is let go, each row at most once.
    """
    chosen = np.flatnonzero(point.t > share * point.t.max())
    members = point.chosen[chosen]
    S = program.orientation(members)
    tight = _tight(point, chosen) & (S != 0)
    freed, least = np.zeros_like(tight), max(1.0, STAYING * len(chosen))
    base, F = program.groups.base, program.factors
    own = program.group(members)
    faces = [_Face.of(base, rows, None if F is None else F[g]) for rows, g in zip(tight, own, strict=True)]
    for _ in range(FACES):
        found, stay = _on_face(program, point, chosen, S, faces)
        if stay.sum() < least:
            return None
        if not stay.all():
            chosen, members, own, S = chosen[stay], members[stay], own[stay], S[stay]
            tight, freed = tight[stay], freed[stay]
            faces = [face for face, stays in zip(faces, stay, strict=True) if stays]
            continue
        if found is None:
            return None
        weights, mu = found
        slack = S * (weights.W[members] @ base.T)
        outside = slack < -INSIDE * point.row * np.linalg.norm(weights.W[members], axis=1)[:, None]
        pulling = (mu < -PULLING * point.bound / point.row) & ~freed
        changed = outside.any(axis=1) | pulling.any(axis=1)
        if not changed.any():
            return weights
        first = np.where(outside, slack / point.h[chosen], np.inf).argmin(axis=1)
        for i in np.flatnonzero(changed):
            if outside[i].any():
                tight[i, first[i]] = True
            else:
                row = np.where(pulling[i], mu[i], 0.0).argmin()
                tight[i, row], freed[i, row] = False, True
            faces[i] = _Face.of(base, tight[i], None if F is None else F[own[i]])
    return weights


def widened(program: ExactProgram, point: Vicinity, found: Solution) -> Vicinity | None:
    """`point` moved to a polished solution and the signed groups that its dual violates; None if it violates none.

    Those come in along the projections of their pulls on their cones, with next to no weight.
    """
    members, norms = program.members, program.norms(found.W)
    violated = members[program.dual_norms(found) > VIOLATED * program.penalty]
    if not len(violated):
        return None
    active: Index = np.setdiff1d(np.flatnonzero(norms), violated)
    _, mu = program.project(found.lam, violated)
    pulls = program.pulls(found.lam, violated) + (program.orientation(violated) * mu) @ program.groups.base
    own = program.group(violated)
    w = program.groups.base_weights(program.groups.group_pulls(pulls, own), own)
    multipliers = np.zeros((program.size, program.groups.n))
    multipliers[found.multipliers.chosen] = found.multipliers.values
    multipliers[violated] = mu
    chosen, entering = np.concatenate([active, violated]), np.full(len(violated), ENTERING * norms.max())
    t = np.concatenate([norms[active], entering])
    v = np.vstack([found.W[active], w * (entering / np.linalg.norm(w, axis=1))[:, None]])
    slack = program.orientation(chosen) * (v @ program.groups.base.T) / (point.row * t[:, None])
    tight = np.where(slack < INSIDE, point.bound, 0.0)  # also where the multiplier is zero, or was below
    h = np.maximum(slack, INSIDE) * point.row * t[:, None]
    mu = np.maximum(multipliers[chosen], tight)
    return replace(point, chosen=chosen, v=v, t=t, h=h, mu=mu, lam=found.lam)


def _tight(point: Vicinity, chosen: Index) -> Mask:
    """Rows whose multiplier outweighs their slack: at most r - 1, as no neuron but zero lies on r of its rows."""
    stress = (point.mu[chosen] / point.bound) / (point.h[chosen] / point.t[chosen, None] / point.row**2)
    most = point.v.shape[1] - 1
    if most < stress.shape[1]:
        stress[stress <= np.partition(stress, -most - 1, axis=1)[:, -most - 1, None]] = 0.0
    tight: Mask = stress > 1.0
    return tight


@dataclass(frozen=True)
class _Face:
    """Weights v with base[rows] v = 0: x = R v are their coordinates, ||F v|| = ||x||, and Z x has coordinates x.

    kernel: all such weights, orthonormal; Z leaves out what no output sees. N = F^T F Z: the slope of ||F v|| is
    N x / ||x||. rows: independent ones, Q L = base[rows]^T.
    """

    Z: Array
    R: Array
    N: Array
    kernel: Array
    Q: Array
    L: Array
    rows: Index

    @classmethod
    def of(cls, base: Array, tight: Mask, F: Array | None) -> "_Face":
        r, rows = base.shape[1], np.flatnonzero(tight)
        Q, L, order = scipy.linalg.qr(base[rows].T, pivoting=True) if len(rows) else (np.eye(r), np.empty((r, 0)), rows)
        size = np.abs(np.diagonal(L))
        rank = int(np.count_nonzero(size > DEPENDENT * size.max(initial=0.0)))
        kernel = Z = Q[:, rank:]
        R, N = Z.T, Z
        if F is not None and Z.shape[1]:
            U, s, Vt = np.linalg.svd(F @ Z, full_matrices=False)
            seen = s > DEPENDENT * s[0]
            Z, R, N = Z @ (Vt[seen].T / s[seen]), (s[seen, None] * Vt[seen]) @ Z.T, F.T @ U[:, seen]
        return cls(Z, R, N, kernel, Q[:, :rank], L[:rank, :rank], rows[order[:rank]])

    def multipliers(self, pull: Array) -> Array:
        """mu of `rows` with base[rows]^T mu nearest to `pull`."""
        return scipy.linalg.solve_triangular(self.L, self.Q.T @ pull, check_finite=False)


def _on_face(
    program: ExactProgram, point: Vicinity, chosen: Index, S: Array, faces: list[_Face]
) -> tuple[tuple[Solution, Array] | None, Mask]:
    """The solution on these faces, and which groups stay: those whose weight does not turn back through zero."""
    groups, members = program.groups, point.chosen[chosen]
    lengths = np.array([len(face.R) for face in faces])
    stay = lengths > 0
    if not stay.all():
        return None, stay
    signed = groups.D[:, program.group(members)].T * program.sign(members)[:, None]
    E = np.hstack([signs[:, None] * (groups.base @ face.Z) for signs, face in zip(signed, faces, strict=True)])
    V = np.zeros((2 * groups.count, groups.rank))
    V[members] = [face.kernel @ (face.kernel.T @ v) for v, face in zip(point.v[chosen], faces, strict=True)]
    start: Array = np.concatenate([face.R @ v for v, face in zip(V[members], faces, strict=True)])
    x: Array = start
    lam: Array = point.lam
    starts = np.cumsum(lengths) - lengths
    for _ in range(STEPS):
        moved = _newton(E, x, lam, point, starts, lengths)
        if moved is None:
            return None, stay
        stay = np.minimum(np.add.reduceat(x * moved[0], starts), np.add.reduceat(moved[0] ** 2, starts)) > 0
        if not stay.all():
            return None, stay
        x, lam = moved
    d = x / np.repeat(np.sqrt(np.add.reduceat(x * x, starts)), lengths)
    multipliers, mu = point.mu.copy(), np.zeros_like(S)
    pulls = program.pulls(lam, members)
    for i, face in enumerate(faces):
        part = slice(starts[i], starts[i] + lengths[i])
        V[members[i]] += face.Z @ (x[part] - start[part])
        slope = point.bound * (face.N @ d[part])
        mu[i, face.rows] = S[i, face.rows] * face.multipliers(slope - pulls[i])
    multipliers[chosen] = np.maximum(mu, 0.0)
    return (Solution(V, lam, multipliers=Multipliers(point.chosen, multipliers)), mu), stay


def _newton(
    E: Array, x: Array, lam: Array, point: Vicinity, starts: Index, lengths: Index
) -> tuple[Array, Array] | None:
    """One Newton step in (x, lam). Across d the second derivative of the sizes is b / ||x||, along d it is zero: so
    the step is a d + (||x|| / b) (I - d d^T) (E^T dlam - residual), and (dlam, a) solve n + k equations.
    """
    b, delta, n = point.bound, point.delta, len(lam)
    sizes = np.sqrt(np.add.reduceat(x * x, starts))
    if not (sizes > 0).all():
        return None
    d, ratio = x / np.repeat(sizes, lengths), sizes / b
    G = np.add.reduceat(E * d, starts, axis=1)
    r_x, r_y = b * d - E.T @ lam, E @ x + delta * lam - point.y
    K = (E * np.repeat(ratio, lengths)) @ E.T - (G * ratio) @ G.T
    scale = float(np.trace(K)) / n
    along = np.add.reduceat(d * r_x, starts)
    across = np.repeat(ratio, lengths) * (r_x - d * np.repeat(along, lengths))
    J = np.zeros((n + len(sizes), n + len(sizes)))
    J[:n, :n] = K
    J[np.arange(n), np.arange(n)] += delta
    J[:n, n:], J[n:, :n] = scale * G, scale * G.T
    step = _solve(J, np.concatenate([E @ across - r_y, scale * along]), n)
    if step is None or not np.isfinite(step).all():
        return None
    dlam, a = step[:n], scale * step[n:]
    image = E.T @ dlam
    image -= d * np.repeat(np.add.reduceat(d * image, starts), lengths)
    dx = d * np.repeat(a, lengths) + np.repeat(ratio, lengths) * image - across
    return x + dx, lam + dlam


def _solve(J: Array, right: Array, n: int) -> Array | None:
    """The solution of J step = right nearest to zero, through a regularised factor and its refinement."""
    shift = np.full(len(J), REGULARISATION * float(np.abs(J).max()))
    shift[n:] *= -1.0
    factor, pivots, singular = scipy.linalg.lapack.dgetrf(J + np.diag(shift))
    if singular:
        return None
    step = np.zeros_like(right)
    for _ in range(REFINEMENTS):
        step = step + scipy.linalg.lapack.dgetrs(factor, pivots, right - J @ step)[0]
    return step
