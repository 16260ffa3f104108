"""Projections on the cones of patterns by an active-set method, started from a guess of the tight rows; compiled.

The projection of z on {v : s_i R_i v >= 0 for every row i} is v = z + sum_i mu_i s_i R_i, where mu >= 0 are the
multipliers of the rows that are tight at v. For a given set of tight rows, mu solves the normal equations. Rows with
negative mu leave the set, and rows that v violates enter it: all leaving rows at once, and several entering rows, as
long as ||v|| decreases from one feasible point to the next. If it does not, one row at a time moves, as in Lawson and
Hanson's method, which terminates. A start from the tight rows of the previous point needs few steps.
Source: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
"""

from typing import NamedTuple

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array, Index, Mask

INDEPENDENT = 1e-12
"""A row is dependent if its squared distance from the span of the others is below this fraction of its squared norm."""
ROUNDING = 1e-11
"""Slacks and multipliers below zero by at most this, relative to z and the row, count as zero."""
ENTERING = 0.5
"""Largest number of rows that enter at once, as a fraction of the dimensions that the tight rows leave (measured: 0.2
to 0.5 alike, 1 three times slower)."""
STEPS = 20
"""Steps per row of the cone. After them the result is z plus a non-negative combination of rows, not a projection."""

BELOW = 1.0 - 1e-12
"""A projection stops once it is known to be shorter than this fraction of the bound of interest."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


class Cone(NamedTuple):
    """The cone {v : s_i R_i v >= 0 for every i}: rows R (n, r), signs s (n,), and the norms of the rows (n,).

    gram: R R^T (n, n), or empty if its entries are computed where they are needed.
    """

    rows: Array
    signs: Array
    norms: Array
    gram: Array


class Cones(NamedTuple):
    """Cones of k signed groups whose rows are base @ frames[family], for base (n, r) and frames (f, r, r).

    family (k,): the frame of each group. signs (k, n). free (k,): groups without a cone. rows (f, n, r) and norms
    (f, n) are computed at the first use of a family; `filled` (f,) says which families have them. gram: as in `Cone`.
    """

    base: Array
    frames: Array
    family: Index
    signs: Array
    free: Mask
    rows: Array
    norms: Array
    filled: Mask
    gram: Array


class Last(NamedTuple):
    """The last projection of each of k groups, updated in place.

    tight (k, r): its tight rows, of which the first counts (k,) are set. factors (k, r (r + 1) / 2): lower triangles
    of their Gram factors, row by row, valid where `known` (k,). directions (k, r): unit vectors of the projections.
    shifts (k, r): projection minus point, divided by the step s; multipliers (k, n): divided by s, too.
    """

    tight: Index
    counts: Index
    factors: Array
    known: Mask
    directions: Array
    shifts: Array
    multipliers: Array


@_compiled
def _dot(a: Array, b: Array, m: int) -> float:
    total = 0.0
    for k in range(m):
        total += a[k] * b[k]
    return total


@_compiled
def _copy(a: Array | Index, b: Array | Index) -> None:
    """Copy a into b, entry by entry: `b[:] = a` takes five seconds to compile (for its error message)."""
    for i in range(len(a)):
        b[i] = a[i]


@_compiled
def kth_smallest(a: Array, count: int) -> float:
    """Return the `count`-th smallest entry of a, and reorder a. (`np.partition` takes eight seconds to compile.)"""
    low, high = 0, len(a) - 1
    while low < high:
        pivot, i, j = a[(low + high) // 2], low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i, j = i + 1, j - 1
        if count - 1 <= j:
            high = j
        elif count - 1 >= i:
            low = i
        else:
            break
    return float(a[count - 1])


@_compiled
def _row(L: Array, k: int) -> Array:
    """Return row k, of k + 1 entries, of a lower triangle that is stored row by row."""
    return L[k * (k + 1) // 2 : (k + 1) * (k + 2) // 2]


@_compiled
def _append(L: Array, m: int, cone: Cone, tight: Index, row: int) -> bool:
    """Add `row` to the m tight rows and to the factor L of their Gram matrix; return False if it depends on them."""
    R, s, gram, new = cone.rows, cone.signs, cone.gram, _row(L, m)
    r, known = R.shape[1], len(gram) > 0
    whole = gram[row, row] if known else _dot(R[row], R[row], r)
    for k in range(m):
        other, old = tight[k], _row(L, k)
        product = gram[row, other] if known else _dot(R[row], R[other], r)
        new[k] = (s[row] * s[other] * product - _dot(new, old, k)) / old[k]
    square = whole - _dot(new, new, m)
    if not square > INDEPENDENT * whole:
        return False
    new[m] = np.sqrt(square)
    tight[m] = row
    return True


@_compiled
def _remove(L: Array, m: int, place: int, tight: Index, held: Array, turns: Array) -> None:
    """Remove the tight row at `place`: move up the rows of the factor L below it, and restore its triangle."""
    for i in range(place, m - 1):
        tight[i], held[i] = tight[i + 1], held[i + 1]
        new, old = _row(L, i), _row(L, i + 1)
        for j in range(place):
            new[j] = old[j]
        # repeat the rotations of the rows above on this row; one more makes its last entry zero
        one = old[place]
        for j in range(place, i):
            c, d, two = turns[0, j], turns[1, j], old[j + 1]
            new[j], one = c * one + d * two, c * two - d * one
        size = np.sqrt(one * one + old[i + 1] * old[i + 1])
        turns[0, i], turns[1, i] = one / size, old[i + 1] / size
        new[i] = size


@_compiled
def _multipliers(L: Array, m: int, a: Array, tight: Index, x: Array) -> None:
    """Write into x the multipliers of the m tight rows: L L^T x = -a, a = s R z."""
    for k in range(m):
        row = _row(L, k)
        x[k] = (-a[tight[k]] - _dot(row, x, k)) / row[k]
    for k in range(m - 1, -1, -1):
        row = _row(L, k)
        x[k] /= row[k]
        for j in range(k):
            x[j] -= x[k] * row[j]


@_compiled
def _point(R: Array, s: Array, z: Array, tight: Index, x: Array, m: int, v: Array) -> None:
    """Write into v the sum of z and x_k s_k R_k over the m tight rows."""
    _copy(z, v)
    for k in range(m):
        row, weight = R[tight[k]], x[k] * s[tight[k]]
        for j in range(len(z)):
            v[j] += weight * row[j]


@_compiled
def _leave(norms: Array, tight: Index, L: Array, m: int, limit: float, x: Array, held: Array, single: bool) -> int:
    """Remove tight rows with negative multipliers x; returns the number of rows left.

    All of them leave, or, with `single`, the one that is first zero on the way from the last feasible multipliers
    `held` to x; `held` then moves to that place. Multipliers of at least -limit / norm of the row count as zero.
    """
    turns = np.empty((2, len(x)))
    first, length, count = -1, 1.0, m
    # go from the last place down, because removing a row moves the rows after it, which have then been examined
    for k in range(count - 1, -1, -1):
        if x[k] < -limit / norms[tight[k]]:
            if not single:
                _remove(L, m, k, tight, held, turns)
                m -= 1
            elif first < 0 or held[k] < length * (held[k] - x[k]):
                first, length = k, held[k] / (held[k] - x[k])
    if first >= 0:
        for k in range(m):
            held[k] = max(0.0, held[k] + length * (x[k] - held[k]))
        _remove(L, m, first, tight, held, turns)
        m -= 1
    return m


@_compiled
def _enter(cone: Cone, tight: Index, L: Array, m: int, slack: Array, limit: Array, held: Array, single: bool) -> int:
    """Add the most violated rows that are independent, several or a `single` one; returns the number of tight rows."""
    n, r = cone.rows.shape
    excess, worst, many = np.empty(n), np.empty(n, dtype=np.intp), 0
    for i in range(n):
        if slack[i] < limit[i]:
            worst[many], excess[many] = i, slack[i] / cone.norms[i]
            many += 1
    room = 1 if single else max(1, int(ENTERING * (r - 1 - m)))
    last = kth_smallest(excess[:many].copy(), room) if room < many else 0.0
    before = m
    for k in range(many):
        if excess[k] <= last and m < r and _append(L, m, cone, tight, worst[k]):
            held[m] = 0.0
            m += 1
            if m == before + room:
                break
    return m


@_compiled
def project(
    cone: Cone, z: Array, tight: Index, L: Array, count: int, known: bool, enough: float, v: Array, mu: Array
) -> int:
    """Project z (r,) on a cone; writes the projection v (r,) and its multipliers mu (n,).

    The first `count` of `tight` (r,) are the guess, and L the packed factor of their Gram matrix if it is `known`;
    afterwards `tight` and L begin with the tight rows, whose number is returned. The method stops early once the
    multipliers prove that the projection is at most `enough` long: then v = z + sum_i mu_i s_i R_i is as short.
    """
    R, s, norms = cone.rows, cone.signs, cone.norms
    n, r = R.shape
    size = np.sqrt(_dot(z, z, r))
    # a (n,): s_i R_i.z, set where row i is tight
    a, x, held, m, fresh = np.empty(n), np.zeros(r), np.zeros(r), 0, 0
    if known:
        m = count
    else:
        for k in range(count):
            if _append(L, m, cone, tight, tight[k]):
                m += 1
    best_tight, best_x, best_slack, best_m, least = tight.copy(), np.zeros(r), np.zeros(n), 0, np.inf
    single, limit = False, -ROUNDING * size * norms
    for _ in range(STEPS * n):
        for k in range(fresh, m):
            a[tight[k]] = s[tight[k]] * _dot(R[tight[k]], z, r)
        _multipliers(L, m, a, tight, x)
        before, m = m, _leave(norms, tight, L, m, ROUNDING * size, x, held, single)
        fresh = m
        if m < before:
            continue
        _point(R, s, z, tight, x, m, v)
        # r independent tight rows meet only in 0, the vertex of the cone, so the projection is 0
        if m == r:
            v[:] = 0.0
            break
        square = _dot(v, v, r)
        # each ||v|| bounds ||P z||, the minimum of ||z + sum mu_i s_i R_i|| over mu >= 0 (Moreau), so the method may
        # stop here
        if square <= enough * enough:
            break
        slack = np.dot(R, v)
        for i in range(n):
            slack[i] *= s[i]
        for k in range(m):
            slack[tight[k]] = 0.0
        if not (slack < limit).any():
            break
        # while ||v|| decreases, no set of tight rows recurs. If ||v|| does not decrease, return to the shortest point
        # so far and from there change one row at a time
        if not single and square >= least:
            single, m = True, 0
            _copy(best_x, x)
            _copy(best_slack, slack)
            for k in range(best_m):
                if _append(L, m, cone, tight, best_tight[k]):
                    x[m] = best_x[k]
                    m += 1
        _copy(tight, best_tight)
        _copy(x, best_x)
        _copy(slack, best_slack)
        best_m, least = m, square
        for k in range(r):
            held[k] = max(x[k], 0.0)
        fresh, m = m, _enter(cone, tight, L, m, slack, limit, held, single)
        if m == fresh:
            break
    else:
        for k in range(r):
            x[k] = max(x[k], 0.0)
        _point(R, s, z, tight, x, m, v)
    mu[:] = 0.0
    for k in range(m):
        mu[tight[k]] = max(x[k], 0.0)
    return m


@_compiled
def project_each(
    cones: Cones, last: Last, chosen: Index, Z: Array, s: float, bound: float, keep: bool
) -> tuple[Array, Array]:
    """Project row i of Z (k, r) on the cone of group chosen[i]; returns the projections (k, r) and their norms (k,).

    A group's last multipliers, scaled to s, bound the norm of its projection. A projection that is shown to be at most
    `bound` long is not completed: its norm is then such a bound, and its point is meaningless. keep: whether to keep
    new Gram factors.
    """
    r = Z.shape[1]
    points, norms, scratch = np.empty_like(Z), np.empty(len(Z)), np.empty(r * (r + 1) // 2)
    for i in range(len(chosen)):
        g, z, v = chosen[i], Z[i], points[i]
        square = moved = 0.0
        for j in range(r):
            square += z[j] * z[j]
            moved += (z[j] + s * last.shifts[g, j]) ** 2
        norms[i] = np.sqrt(min(square, moved))
        if not norms[i] > bound:
            continue
        at = cones.family[g]
        if not cones.filled[at]:
            np.dot(cones.base, cones.frames[at], cones.rows[at])
            for k in range(len(cones.base)):
                cones.norms[at, k] = np.sqrt(_dot(cones.rows[at, k], cones.rows[at, k], r))
            cones.filled[at] = True
        if cones.free[g]:
            _copy(z, v)
        else:
            L, mu = last.factors[g] if keep or last.known[g] else scratch, last.multipliers[g]
            cone = Cone(cones.rows[at], cones.signs[g], cones.norms[at], cones.gram)
            guess = last.tight[g], L, last.counts[g], last.known[g]
            last.counts[g] = project(cone, z, *guess, BELOW * bound, v, mu)
            last.known[g] |= keep
            for j in range(r):
                last.shifts[g, j] = (v[j] - z[j]) / s
            for k in range(len(mu)):
                mu[k] /= s
        norms[i] = np.sqrt(_dot(v, v, r))
        if norms[i] > bound:
            for j in range(r):
                last.directions[g, j] = v[j] / norms[i]
    return points, norms


@_compiled
def span_images(cones: Cones, last: Last, chosen: Index) -> Array:
    """Return B q (t, n) for orthonormal q that span the tight rows of the last projections, group by group."""
    X, at = np.empty((last.counts[chosen].sum(), len(cones.base))), 0
    for g in chosen:
        for k in range(last.counts[g]):
            x, row, factor = X[at], last.tight[g, k], _row(last.factors[g], k)
            for j in range(len(x)):
                x[j] = cones.signs[g, row] * cones.gram[row, j]
            for i in range(k):
                before = X[at - k + i]
                for j in range(len(x)):
                    x[j] -= factor[i] * before[j]
            for j in range(len(x)):
                x[j] /= factor[k]
            at += 1
    return X
