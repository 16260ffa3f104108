"""Branch and bound over the signs of planes: the largest sum over a cell of an arrangement, compiled.

    max over cells of || c + sum_k s_k z_k ||,        s_k = sign(a_k.h) for some h,  planes' unit normals a_k.

A node stores the signs of the first planes, the heaviest first, and a point h of its cell, which lies in one of its two
halves. A point of the other half is computed only if its bound does not exclude that half. The point of least norm of
the convex hull of the signed unit normals is such a point, or 0 if the half is empty (Wolfe, Mathematical Programming
11, 1976). With v the sum of c and of the decided planes,
    max over ||u|| <= 1 of v.u + sum_k |z_k.u| <= max over u of v.u + sqrt(u.Q u),  Q = (sum w_k) sum z_k z_k^T / w_k,
over the undecided planes, where w_k = ||z_k||. Q depends only on the depth. In the basis of its eigenvectors, with
eigenvalues q, any tau > 0 and mu > max q / tau give the bound
    1/2 (sum_j v_j^2 / (mu - q_j / tau) + mu + tau).
A leaf is exact.
"""

import numpy as np

from recovery.compiled import dot, in_any_order
from recovery.types import Array, Codes

THIN = 1e-12
"""A cell without a unit point at this distance from all of its planes is an artefact of rounding."""
STEPS = 4
"""Updates of tau; each one solves for mu."""
ABOVE = 1.0 + 1e-15
"""Smallest ratio of mu to max q / tau: a few units in the last place."""


@in_any_order
def bound_over_sides(v: Array, vectors: Array, q: Array, turned: Array, goal: float) -> tuple[float, float, float]:
    """Return an upper bound on max {v.u + sqrt(u.Q u): ||u|| <= 1}, and the mu and tau that give it (see the module).

    Stops as soon as the bound is at most `goal`, or certainly cannot be. vectors, q: eigenvectors of Q as rows, and its
    eigenvalues. turned (d,): work space.
    """
    d = len(v)
    size, largest = 0.0, 0.0
    for j in range(d):
        size += v[j] * v[j]
        largest = max(largest, q[j])
    size = np.sqrt(size)
    # a first bound, from the largest eigenvalue. The maximum is at least ||v||, which u = v / ||v|| gives: if ||v||
    # exceeds the goal, return, because no bound can be below the goal
    best = size + np.sqrt(largest)
    if best <= goal or size > goal or largest == 0.0 or size == 0.0:
        return best, best, np.sqrt(largest)
    of_best = best, np.sqrt(largest)
    for j in range(d):
        s = dot(vectors[j], v)
        turned[j] = s
    spread = 0.0
    for j in range(d):
        spread += q[j] * (turned[j] / size) ** 2
    # with s = u.Q u, (s / tau + tau) / 2 bounds sqrt(s) and is exact at tau = sqrt(s). The first tau is sqrt(u.Q u) for
    # u = v / ||v||, with a lower limit
    tau = np.sqrt(max(spread, 0.1 * largest))
    for _ in range(STEPS):
        # the factor ABOVE keeps every gap mu - q_j / tau positive, even if v_j is smaller than the rounding error of mu
        mu = 0.0
        for j in range(d):
            mu = max(mu, q[j] / tau * ABOVE + abs(turned[j]))
        # find mu with ||u|| = 1, where u_j = v_j / (mu - q_j / tau), by Newton's method on 1 / ||u||, which is nearly
        # linear in mu. A rough mu will do, because every larger mu gives a bound
        for _newton in range(6):
            square, slope = 0.0, 0.0
            for j in range(d):
                if turned[j] != 0.0:
                    gap = mu - q[j] / tau
                    square += (turned[j] / gap) ** 2
                    slope += (turned[j] / gap) ** 2 / gap
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
        if total / 2.0 < best:
            best, of_best = total / 2.0, (mu, tau)
        if best <= goal:
            break
        # move tau half of the way, in logarithms, to sqrt(u.Q u) of the present u. On random v and Q of d = 4 to 16,
        # four such steps end within 1 % of the limit, four full steps up to 5 % above it
        tau = np.sqrt(tau * np.sqrt(max(spread, 1e-4 * largest)))
    return best, of_best[0], of_best[1]


@in_any_order
def _nearest_of_hull(normals: Array, sides: Codes, chosen: Array, y: Array, z: Array, Q: Array) -> bool:
    """Compute the point z of the affine hull of the chosen signed normals nearest to 0, and its weights y.

    Return False if the normals are dependent. With B = [1; P] of these points P, y is the least-squares solution of
    B y = e_1 up to a factor, and its residual r gives z = -r[1:] with p.z = r_0 for all p. B is factored as Q R: for
    normals 1e-9 apart, rounding in B^T B is as large as their difference. Gram-Schmidt is applied twice, because one
    pass leaves 1e-16 of the part that it removes.
    """
    d, c = normals.shape[1], len(chosen)
    R, r = np.zeros((c, c)), np.empty(d + 1)
    for a in range(c + 1):
        r[:] = 0.0
        r[0] = 1.0
        if a < c:
            for k in range(d):
                r[k + 1] = sides[chosen[a]] * normals[chosen[a], k]
        for _ in range(2):
            for b in range(a):
                s = dot(Q[b], r)
                for k in range(d + 1):
                    r[k] -= s * Q[b, k]
                if a < c:
                    R[b, a] += s
        if a < c:
            length = np.sqrt(np.sum(r * r))
            if length < 1e-15:
                return False
            R[a, a] = length
            Q[a] = r / length
    total = 0.0
    for a in range(c - 1, -1, -1):
        s = Q[a, 0]
        for b in range(a + 1, c):
            s -= R[a, b] * y[b]
        y[a] = s / R[a, a]
        total += y[a]
    for a in range(c):
        y[a] /= total
    for k in range(d):
        z[k] = -r[k + 1] / total
    return True


@in_any_order
def cell_point(normals: Array, sides: Codes, m: int, z: Array) -> int:
    """Find z with sides_i normals_i.z > 0 for i < m. Return 1 if found, 0 if none exists, -1 if rounding decides."""
    d = normals.shape[1]
    chosen, weight = np.empty(d + 2, np.int64), np.empty(d + 2)
    Q, y = np.empty((d + 2, d + 1)), np.empty(d + 2)
    # start from the normal of the last plane, m - 1: the parent's point may be on the wrong side of that plane only
    chosen[0], weight[0], count = m - 1, 1.0, 1
    z[:] = sides[m - 1] * normals[m - 1]
    for _ in range(20 * (d + 2)):
        square = np.sum(z * z)
        if square <= THIN * THIN:
            return 0
        # any z inside the cell is enough, so stop before Wolfe's method does: it ends only when no product of a signed
        # normal with z is below z.z
        least, j = np.inf, -1
        for i in range(m):
            s = dot(normals[i], z)
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
            if not _nearest_of_hull(normals, sides, chosen[:count], y, z, Q):
                return -1
            # if the new z is outside the convex hull of the chosen normals, move towards it only until the first weight
            # is 0, and drop the normal of that weight (Wolfe's minor step)
            share = 1.0
            for a in range(count):
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
        if share == 1.0:
            continue
        z[:] = 0.0
        for a in range(count):
            for k in range(d):
                z[k] += weight[a] * sides[chosen[a]] * normals[chosen[a], k]
    return -1


@in_any_order
def search_cells(  # type: ignore[no-untyped-def]
    normals: Array,
    halves: Array,
    start: Array,
    vectors: Array,
    values: Array,
    known: Codes,
    tolerance: float,
    nodes: int,
):
    """Return (value, a point of its cell, bound, nodes): bounds on the largest ||c + sum_k s_k z_k|| over cells.

    normals a_k and halves z_k (m, d), start c (d,). vectors, values: eigenvectors and eigenvalues of Q for the planes
    from each depth on. known (k, m): signs of cells that are excluded. nodes: largest number of nodes examined.
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
        goal = value + tolerance
        above = bound_over_sides(sums[top], vectors[depth], values[depth], turned, goal)[0]
        pending = top
        if above <= goal:
            continue
        if count >= nodes:
            bound = max(bound, above)
            continue
        count += 1
        if asked[top]:
            state = cell_point(normals, sides[top], depth, point)
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
        s = dot(normals[depth], points[top])
        # the side of the plane on which the parent's point lies; within THIN of the plane the side is uncertain
        side = 1 if s > 0.0 else -1
        sides[top + 1], points[top + 1] = sides[top], points[top]
        sums[top + 1] = sums[top] + side * halves[depth]
        sums[top] -= side * halves[depth]
        sides[top, depth], sides[top + 1, depth] = -side, side
        # the half without the parent's point needs a new point, unless its bound excludes it first. The half with the
        # point needs a new one only if the point is within THIN of the plane
        asked[top], asked[top + 1] = True, abs(s) <= THIN
        depths[top] = depths[top + 1] = depth + 1
        pending = top + 2
    return value, best, max(bound, value + tolerance), count
