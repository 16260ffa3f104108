"""Projections on the cones of patterns from a guess of their tight rows, compiled.

The projection of z on {v : s_i R_i v >= 0 for every row i} is v = z + sum_i mu_i s_i R_i, where mu >= 0 are the
multipliers of the rows that are tight at v. An active set finds them: on the rows taken for tight, mu solves the normal
equations; rows whose mu comes out negative leave, rows that v violates come in. All that leave do so at once, and
several come in, as long as ||v|| falls from one feasible point to the next; where it does not, one row at a time as
Lawson and Hanson do, which ends. From the rows that were tight at the last point it takes a few steps.
Source: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array, Index, Mask

INDEPENDENT = 1e-12
"""A row whose square off the span of the others is below this share of it depends on them."""
ROUNDING = 1e-11
"""Slacks and multipliers below zero by this, relative to z and the row, are zeros."""
ENTERING = 0.5
"""The share of the directions left that rows may take at once (measured: 0.2 to 0.5 alike, 1 three times slower)."""
STEPS = 20
"""Steps a row of the cone after which what is handed back is no projection, but still z and its multipliers' part."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


@_compiled
def _dot(a: Array, b: Array, m: int) -> float:
    total = 0.0
    for k in range(m):
        total += a[k] * b[k]
    return total


@_compiled
def _copy(a: Array | Index, b: Array | Index) -> None:
    """b = a; `b[:] = a` takes five seconds to compile, for the words of its error."""
    for i in range(len(a)):
        b[i] = a[i]


@_compiled
def _smallest(a: Array, count: int) -> float:
    """The largest of the `count` smallest entries of a, which it reorders; `np.partition` takes eight to compile."""
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
def _append(L: Array, m: int, R: Array, s: Array, tight: Index, row: int) -> bool:
    """Take `row` into the factor L of the Gram matrix of m tight rows; False where it depends on them."""
    r = R.shape[1]
    whole = _dot(R[row], R[row], r)
    for k in range(m):
        other = tight[k]
        product = s[row] * s[other] * _dot(R[row], R[other], r)
        L[m, k] = (product - _dot(L[m], L[k], k)) / L[k, k]
    square = whole - _dot(L[m], L[m], m)
    if not square > INDEPENDENT * whole:
        return False
    L[m, m] = np.sqrt(square)
    tight[m] = row
    return True


@_compiled
def _remove(L: Array, m: int, place: int, tight: Index, held: Array, turns: Array) -> None:
    """Take the row at `place` out of the factor: the rows below move up and are turned back to a triangle."""
    for i in range(place, m - 1):
        tight[i], held[i] = tight[i + 1], held[i + 1]
        for j in range(i + 2):
            L[i, j] = L[i + 1, j]
        for j in range(place, i):
            c, d, one, two = turns[0, j], turns[1, j], L[i, j], L[i, j + 1]
            L[i, j], L[i, j + 1] = c * one + d * two, c * two - d * one
        size = np.sqrt(L[i, i] * L[i, i] + L[i, i + 1] * L[i, i + 1])
        turns[0, i], turns[1, i] = L[i, i] / size, L[i, i + 1] / size
        L[i, i] = size


@_compiled
def _multipliers(L: Array, m: int, a: Array, tight: Index, x: Array) -> None:
    """x with L L^T x = -a on the tight rows."""
    for k in range(m):
        x[k] = (-a[tight[k]] - _dot(L[k], x, k)) / L[k, k]
    for k in range(m - 1, -1, -1):
        x[k] /= L[k, k]
        for j in range(k):
            x[j] -= x[k] * L[k, j]


@_compiled
def _point(R: Array, s: Array, z: Array, tight: Index, x: Array, m: int, v: Array) -> None:
    """v = z + sum of x_k s_k R_k over the m tight rows."""
    _copy(z, v)
    for k in range(m):
        row, weight = R[tight[k]], x[k] * s[tight[k]]
        for j in range(len(z)):
            v[j] += weight * row[j]


@_compiled
def project(
    R: Array,
    s: Array,
    norms: Array,
    z: Array,
    tight: Index,
    L: Array,
    count: int,
    known: bool,
    enough: float,
    v: Array,
    mu: Array,
) -> int:
    """Project z (r,) on the cone of the rows R (n, r) with signs s (n,): v (r,) and its multipliers mu (n,).

    norms: of the rows, (n,). The first `count` of `tight` (r,) are the guess, L (r, r) the factor of their Gram matrix
    if it is `known`; afterwards `tight` and L begin with the tight rows, as many as is returned. It ends early where
    multipliers prove that the projection is no longer than `enough`: then v = z + sum_i mu_i s_i R_i is so short.
    """
    n, r = R.shape
    a = np.dot(R, z)
    for i in range(n):
        a[i] *= s[i]
    size = np.sqrt(_dot(z, z, r))
    x, held, turns, m = np.zeros(r), np.zeros(r), np.empty((2, r)), 0
    if known:
        m = count
    else:
        for k in range(count):
            if _append(L, m, R, s, tight, tight[k]):
                m += 1
    best_tight, best_x, best_slack, best_m, least = tight.copy(), np.zeros(r), np.zeros(n), 0, np.inf
    single, limit = False, -ROUNDING * size * norms
    excess, worst = np.empty(n), np.empty(n, dtype=np.intp)
    for _ in range(STEPS * n):
        _multipliers(L, m, a, tight, x)
        first, length = -1, 1.0
        for k in range(m - 1, -1, -1):
            # from the last place down, so that a removal moves only rows that were looked at
            if x[k] < -ROUNDING * size / norms[tight[k]]:
                if not single:
                    _remove(L, m, k, tight, held, turns)
                    m -= 1
                    first = k
                # the row whose multiplier is zero first on the way from the last feasible ones to x
                elif first < 0 or held[k] < length * (held[k] - x[k]):
                    first, length = k, held[k] / (held[k] - x[k])
        if first >= 0:
            if single:
                for k in range(m):
                    held[k] = max(0.0, held[k] + length * (x[k] - held[k]))
                _remove(L, m, first, tight, held, turns)
                m -= 1
            continue
        _point(R, s, z, tight, x, m, v)
        # r independent tight rows leave the vertex of the cone alone
        if m == r:
            v[:] = 0.0
            break
        square = _dot(v, v, r)
        # ||P z|| is the least ||z + sum mu_i s_i R_i|| over mu >= 0 (Moreau), so that any of these bounds it
        if square <= enough * enough:
            break
        slack = np.dot(R, v)
        for i in range(n):
            slack[i] *= s[i]
        for k in range(m):
            slack[tight[k]] = 0.0
        many = 0
        for i in range(n):
            many += slack[i] < limit[i]
        if many == 0:
            break
        # as long as points get shorter, no set of tight rows comes again; else back to the shortest, and row by row
        if not single and square >= least:
            single, m = True, 0
            _copy(best_x, x)
            _copy(best_slack, slack)
            for k in range(best_m):
                if _append(L, m, R, s, tight, best_tight[k]):
                    x[m] = best_x[k]
                    m += 1
        _copy(tight, best_tight)
        _copy(x, best_x)
        _copy(slack, best_slack)
        best_m, least = m, square
        for k in range(r):
            held[k] = max(x[k], 0.0)
        many = 0
        for i in range(n):
            if slack[i] < limit[i]:
                worst[many], excess[many] = i, slack[i] / norms[i]
                many += 1
        room = 1 if single else max(1, int(ENTERING * (r - 1 - m)))
        last = _smallest(excess[:many].copy(), room) if room < many else 0.0
        before = m
        for k in range(many):
            if excess[k] <= last and m < r and _append(L, m, R, s, tight, worst[k]):
                held[m] = 0.0
                m += 1
                if m == before + room:
                    break
        if m == before:
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
    base: Array,
    frames: Array,
    rows: Array,
    sizes: Array,
    filled: Mask,
    own: Index,
    signs: Array,
    free: Mask,
    chosen: Index,
    Z: Array,
    s: float,
    bound: float,
    enough: float,
    tight: Index,
    counts: Index,
    factors: Array,
    known: Mask,
    keep: bool,
    points: Array,
    norms: Array,
    directions: Array,
    shifts: Array,
    mu: Array,
) -> None:
    """Project row i of Z (k, r) on the cone of group chosen[i], where its norm may be above `bound`.

    norms (k,) are those of the projections, or bounds of what is at most `bound`: group g's last projection, less its
    point, over the last s is shifts[g], and bounds the next one. points (k, r) are right where norms are above `bound`,
    and directions[g] are theirs; mu (p, n) are the multipliers over s.
    Group g has the rows base @ frames[own[g]], kept as rows[own[g]] (n, r), of norms sizes[own[g]] (n,), once they are
    filled, with the signs signs[g] (n,), and none where free[g]; its tight rows are the first counts[g] of tight[g],
    and factors[g] is theirs where known[g]. keep: whether to keep new factors.
    """
    r = Z.shape[1]
    scratch = np.empty((r, r))
    for i in range(len(chosen)):
        g, z, v = chosen[i], Z[i], points[i]
        square = moved = 0.0
        for j in range(r):
            square += z[j] * z[j]
            moved += (z[j] + s * shifts[g, j]) ** 2
        norms[i] = np.sqrt(min(square, moved))
        if not norms[i] > bound:
            continue
        at = own[g]
        if not filled[at]:
            np.dot(base, frames[at], rows[at])
            for k in range(len(base)):
                sizes[at, k] = np.sqrt(_dot(rows[at, k], rows[at, k], r))
            filled[at] = True
        if free[g]:
            _copy(z, v)
        else:
            L = factors[g] if keep or known[g] else scratch
            guess = tight[g], L, counts[g], known[g]
            counts[g] = project(rows[at], signs[g], sizes[at], z, *guess, enough, v, mu[g])
            known[g] |= keep
            for j in range(r):
                shifts[g, j] = (v[j] - z[j]) / s
            for k in range(len(base)):
                mu[g, k] /= s
        norms[i] = np.sqrt(_dot(v, v, r))
        if norms[i] > bound:
            for j in range(r):
                directions[g, j] = v[j] / norms[i]
