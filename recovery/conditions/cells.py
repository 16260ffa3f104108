"""The largest ||A_D^T lam|| over all cells D of an arrangement, by branch and bound over rows' signs, compiled.

    max over cells D of || c + sum_{i in D} t_i x_i ||,        D = {i: x_i.h > 0} for some h.

Rows on one line are one plane, and decide together. A node is the signs of the first planes, the heaviest first, and a
point h of its cell, which lies in one of its two halves. Whether the other half has a point is asked only where the
bound leaves it: the point of least norm of the convex hull of the signed unit normals (Wolfe 1976) is one, or 0. With
the sum v of what the signs decide and z_k half of what an open plane turns, centres included in v,
    max over ||u|| <= 1 of v.u + sum_k |z_k.u| <= max over u of v.u + sqrt(u.Q u),  Q = (sum w_k) sum z_k z_k^T / w_k,
where w_k = ||z_k||. Q depends on the depth alone, and in its eigenvectors any tau > 0, mu > max q / tau bound that by
    1/2 (sum_j v_j^2 / (mu - q_j / tau) + mu + tau).
A leaf is exact.
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.conditions.oracle import Bounds
from recovery.errors import ParameterError
from recovery.programs.groups import Groups
from recovery.types import Array, Mask

THIN = 1e-12
"""A cell with no point farther than this from all of its planes, relative to its length, is one that rounding made."""
ROUNDING = 1e-12
"""Of the sum of all sizes: what the bounds and the sums of a leaf are off by."""
STEPS = 4
"""Of tau; each solves for mu."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


def gated_dual(groups: Groups, lam: Array, *, known: Mask | None = None, nodes: int) -> Bounds:
    """Bounds on max ||A_D^T lam|| over all patterns D; options as `largest_cell`. Raises `ParameterError`.

    Not for normalised neurons, whose operators are no sums over rows.
    """
    if groups.orthonormal:
        raise ParameterError("the dual of normalised neurons is not bounded over all patterns")
    linear = groups.slope * (groups.base.T @ lam) if groups.slope else None
    return largest_cell(groups.base, (1.0 - groups.slope) * lam, linear, known=known, nodes=nodes)


def largest_cell(
    rows: Array,
    weights: Array,
    linear: Array | None = None,
    *,
    limit: float = 0.0,
    known: Mask | None = None,
    nodes: int = 2_000_000,
) -> Bounds:
    """Bounds on max ||c + sum_{i in D} t_i x_i|| over cells D of rows (n, d), weights t (n,), linear c (d,); a point.

    limit: up to where the value is of no interest: the upper bound stays above it by rounding. nodes: the most cells,
    of all depths; those left open enter the upper bound by theirs. known (n, k): cells that are left out. Cells thinner
    than `THIN` are none; where rounding leaves that open, the upper bound has them.
    """
    d = rows.shape[1]
    c = np.zeros(d) if linear is None else linear
    sizes = np.abs(weights) * np.linalg.norm(rows, axis=1)
    scale = float(sizes.sum()) + float(np.linalg.norm(c))
    if scale == 0.0:
        return Bounds(0.0, 0.0, np.zeros(d), 0)
    normals, first, ahead, behind = _planes(rows, weights[:, None] * rows / scale)
    if known is None:
        known = np.empty((len(rows), 0), dtype=np.bool_)
    centres, halves = (ahead + behind) / 2, (ahead - behind) / 2
    order = np.argsort(-np.linalg.norm(halves, axis=1), kind="stable")
    centres, halves, normals = centres[order], halves[order], normals[order]
    vectors, values = _spreads(halves)
    left_out = _signs(known, rows, normals, first[order])
    value, point, bound, count = _search(
        normals, halves, c / scale + centres.sum(axis=0), vectors, values, left_out, limit / scale, ROUNDING, nodes
    )
    return Bounds(float(value) * scale, float(bound) * scale, point, int(count))


def _planes(rows: Array, worth: Array) -> tuple[Array, Array, Array, Array]:
    """Unit normals (m, d) of distinct planes, the first row of each, and the sums of worth of rows ahead and behind."""
    lengths = np.linalg.norm(rows, axis=1)
    left = [int(i) for i in np.flatnonzero(lengths)]
    normals, first, ahead, behind = [], [], [], []
    while left:
        i = left[0]
        units = rows[left] / lengths[left, None]
        same = np.linalg.norm(units - units[0], axis=1) <= THIN
        opposite = np.linalg.norm(units + units[0], axis=1) <= THIN
        members = np.array(left)
        normals.append(units[0])
        first.append(i)
        ahead.append(worth[members[same]].sum(axis=0))
        behind.append(worth[members[opposite]].sum(axis=0))
        left = [int(j) for j in members[~(same | opposite)]]
    return np.array(normals), np.array(first), np.array(ahead), np.array(behind)


def _signs(known: Mask, rows: Array, normals: Array, first: Array) -> Array:
    """The planes' signs (k, m) of known patterns (n, k); one that no open cell has is left out."""
    signs = np.where(known[first].T, 1, -1).astype(np.int8)
    lengths = np.linalg.norm(rows, axis=1)
    cosines = (rows @ normals.T) / np.where(lengths > 0, lengths, 1.0)[:, None]
    plane = np.abs(cosines).argmax(axis=1)
    side = np.sign(cosines[np.arange(len(rows)), plane])
    meant = (signs[:, plane] * side > 0) | (lengths == 0)
    return np.ascontiguousarray(signs[(meant == known.T).all(axis=1)])


def _spreads(halves: Array) -> tuple[Array, Array]:
    """Eigenvectors (m + 1, d, d), as rows, and values of Q for the planes from each depth on; values rounded up."""
    m, d = halves.shape
    vectors, values = np.zeros((m + 1, d, d)), np.zeros((m + 1, d))
    vectors[m] = np.eye(d)
    Q, total = np.zeros((d, d)), 0.0
    for k in reversed(range(m)):
        size = float(np.linalg.norm(halves[k]))
        if size > 0.0:
            Q += np.outer(halves[k], halves[k]) / size
            total += size
        q, V = np.linalg.eigh(total * Q)
        vectors[k], values[k] = V.T, np.maximum(q, 0.0) + 1e-13 * max(float(q[-1]), 0.0)
    return vectors, values


@_compiled
def _bound(v: Array, vectors: Array, q: Array, turned: Array, goal: float) -> float:
    """An upper bound on max v.u + sqrt(u.Q u); it stops below the goal. turned (d,) is written to."""
    d = len(v)
    size, largest = 0.0, 0.0
    for j in range(d):
        size += v[j] * v[j]
        largest = max(largest, q[j])
    size = np.sqrt(size)
    best = size + np.sqrt(largest)
    if best <= goal or size > goal or largest == 0.0 or size == 0.0:
        return best
    for j in range(d):
        s = 0.0
        for k in range(d):
            s += vectors[j, k] * v[k]
        turned[j] = s
    spread = 0.0
    for j in range(d):
        spread += q[j] * (turned[j] / size) ** 2
    tau = np.sqrt(max(spread, 0.1 * largest))
    for _ in range(STEPS):
        mu = 0.0
        for j in range(d):
            mu = max(mu, q[j] / tau + abs(turned[j]))
        # Newton's method for ||u|| = 1 with u_j = v_j / (mu - q_j / tau), on 1 / ||u||, which is nearly linear in mu
        for _newton in range(6):
            square, slope = 0.0, 0.0
            for j in range(d):
                if turned[j] != 0.0:
                    gap = mu - q[j] / tau
                    square += (turned[j] / gap) ** 2
                    slope += turned[j] ** 2 / gap**3
            length = np.sqrt(square)
            if length <= 1.0 + 1e-3:
                break
            mu += (length - 1.0) * square / slope
        total, spread = mu + tau, 0.0
        for j in range(d):
            if turned[j] != 0.0:
                u = turned[j] / (mu - q[j] / tau)
                total += turned[j] * u
                spread += q[j] * u * u
        best = min(best, total / 2.0)
        if best <= goal:
            break
        tau = np.sqrt(tau * np.sqrt(max(spread, 1e-4 * largest)))
    return best


@_compiled
def _solve(M: Array, y: Array, c: int) -> bool:
    """y = M^-1 y for the leading c by c block, which is overwritten; False where it is singular."""
    for k in range(c):
        p = k
        for i in range(k + 1, c):
            if abs(M[i, k]) > abs(M[p, k]):
                p = i
        if abs(M[p, k]) < 1e-300:
            return False
        if p != k:
            for j in range(c):
                M[k, j], M[p, j] = M[p, j], M[k, j]
            y[k], y[p] = y[p], y[k]
        for i in range(k + 1, c):
            f = M[i, k] / M[k, k]
            if f != 0.0:
                for j in range(k + 1, c):
                    M[i, j] -= f * M[k, j]
                y[i] -= f * y[k]
    for k in range(c - 1, -1, -1):
        for j in range(k + 1, c):
            y[k] -= M[k, j] * y[j]
        y[k] /= M[k, k]
    return True


@_compiled
def _cell_point(normals: Array, sides: Array, m: int, z: Array) -> int:
    """Whether a point z has sides_i normals_i.z > 0 for i < m, written to z: 1 yes, 0 no, -1 rounding decides."""
    d = normals.shape[1]
    chosen, weight = np.empty(d + 2, np.int64), np.empty(d + 2)
    M, y = np.empty((d + 2, d + 2)), np.empty(d + 2)
    chosen[0], weight[0], count = m - 1, 1.0, 1
    z[:] = sides[m - 1] * normals[m - 1]
    for _ in range(20 * (d + 2)):
        square = np.sum(z * z)
        if square <= THIN * THIN:
            return 0
        least, j = np.inf, -1
        for i in range(m):
            s = 0.0
            for k in range(d):
                s += normals[i, k] * z[k]
            s *= sides[i]
            if s < least:
                least, j = s, i
        if least > THIN * np.sqrt(square):
            return 1
        for i in range(count):
            if chosen[i] == j:
                return -1
        if count == d + 2:
            return -1
        chosen[count], weight[count] = j, 0.0
        count += 1
        while True:
            for a in range(count):
                for b in range(a + 1):
                    s = 0.0
                    for k in range(d):
                        s += normals[chosen[a], k] * normals[chosen[b], k]
                    M[a, b] = 1.0 + s * sides[chosen[a]] * sides[chosen[b]]
                    M[b, a] = M[a, b]
                y[a] = 1.0
            if not _solve(M, y, count):
                return -1
            total = 0.0
            for a in range(count):
                total += y[a]
            share = 1.0
            for a in range(count):
                y[a] /= total
                if y[a] <= 0.0:
                    share = min(share, weight[a] / (weight[a] - y[a])) if weight[a] > 0.0 else 0.0
            kept = 0
            for a in range(count):
                moved = y[a] if share == 1.0 else weight[a] + share * (y[a] - weight[a])
                if moved > 1e-15:
                    chosen[kept], weight[kept] = chosen[a], moved
                    kept += 1
            whole = kept == count
            count = kept
            if whole or count == 0:
                break
        if count == 0:
            return -1
        z[:] = 0.0
        for a in range(count):
            for k in range(d):
                z[k] += weight[a] * sides[chosen[a]] * normals[chosen[a], k]
    return -1


@_compiled
def _search(  # type: ignore[no-untyped-def]
    normals: Array,
    halves: Array,
    start: Array,
    vectors: Array,
    values: Array,
    known: Array,
    limit: float,
    tolerance: float,
    nodes: int,
):
    """(value, a point of its cell, bound, nodes): the search from above and below, depth first.

    v is the start, the sum of all centres, and the signed halves of the planes that are decided.
    """
    m, d = normals.shape
    sides, depths = np.zeros((m + 2, m), np.int8), np.zeros(m + 2, np.int64)
    sums, points, asked = np.zeros((m + 2, d)), np.zeros((m + 2, d)), np.zeros(m + 2, np.bool_)
    turned, best, point = np.empty(d), np.zeros(d), np.empty(d)
    sums[0] = start
    points[0] = normals[0]
    pending, count, value, bound = 1, 0, 0.0, 0.0
    while pending > 0:
        top = pending - 1
        depth = depths[top]
        goal = max(value, limit) + tolerance
        above = _bound(sums[top], vectors[depth], values[depth], turned, goal)
        pending = top
        if above <= goal:
            continue
        if count >= nodes:
            bound = max(bound, above)
            continue
        count += 1
        if asked[top]:
            state = _cell_point(normals, sides[top], depth, point)
            if state < 0:
                bound = max(bound, above)
            if state < 1:
                continue
            points[top] = point / np.sqrt(np.sum(point * point))
        if depth == m:
            seen = False
            for t in range(len(known)):
                seen |= bool(np.all(known[t] == sides[top]))
            if not seen:
                value = np.sqrt(np.sum(sums[top] * sums[top]))
                best[:] = points[top]
            continue
        s = 0.0
        for k in range(d):
            s += normals[depth, k] * points[top, k]
        # a point on the plane, nearly, is in neither half for sure
        side = 1 if s > 0.0 else -1
        sides[top + 1], points[top + 1] = sides[top], points[top]
        sums[top + 1] = sums[top] + side * halves[depth]
        sums[top] -= side * halves[depth]
        sides[top, depth], sides[top + 1, depth] = -side, side
        asked[top], asked[top + 1] = True, abs(s) <= THIN
        depths[top] = depths[top + 1] = depth + 1
        pending = top + 2
    return value, best, max(bound, max(value, limit) + tolerance), count
