"""Branch and bound over cones: the largest value of a difference of convex functions over the ball, compiled.

    f(u) = c.u + sum_i (x_i.u)_+ - sum_j (z_j.u)_+,        ||u|| <= 1,      rows x_i of `up`, z_j of `down`.

The x_i are non-zero in the first r coordinates only. The roots of the tree are the 2^r orthants {s_k u_k >= 0, k < r}.
On an orthant the first sum is at most the linear interpolation of its values at the axes s_k e_k, the smallest concave
function above it. -(z.u)_+ is at most -a z.u for any a in [0, 1]. So any m_k >= 0 and a_j in [0, 1] bound f there by
the norm of
    z = c + sum_k (m_k + sum_i (x_i.s_k e_k)_+) s_k e_k - sum_j a_j z_j.
Coordinate descent makes the norm small, and its value is a bound at every step. A node splits at a row x_i into the
side where the row is active and the side where it is not. The row is linear on each side: y_i x_i with y_i >= 1, or
y_i <= 0, replaces it in z. The z_j are never split: when no x_i is open, the bound converges to the maximum over one
cell of the x_i.

With `record` the search also returns how each node ended, in the order of the search, and y, a, m of every leaf. An
independent proof uses these multipliers and nothing else of this module (`recovery.extras.proofs.bound_tree`).
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled, dot
from recovery.types import Array, Codes, Mask

SWEEPS = 20
"""Sweeps of coordinate descent over a cone."""
CELL_SWEEPS = 500
"""Sweeps over a cell. A cell that they do not settle is returned, for an exact solver."""
ENOUGH = 1e-3
"""A relative decrease of ||z||^2 below this in one sweep ends the descent over a cone."""

BOUND = 0
"""Recorded for a node on whose cone its multipliers y, a, m bound f."""
CELL, KNOWN = 1, 2
"""Recorded, plus the number of the x_i, for a node without open x_i: y and a bound f over its cell; its cell is known.

A node that splits at x_i is recorded as i + 1 if its active side is searched first, as -(i + 1) otherwise."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


@_compiled
def _value(up: Array, down: Array, c: Array, u: Array) -> float:
    total = 0.0
    for j in range(len(u)):
        total += c[j] * u[j]
    for i in range(len(up)):
        s = dot(up[i], u)
        total += max(s, 0.0)
    for i in range(len(down)):
        s = dot(down[i], u)
        total -= max(s, 0.0)
    return total


@_compiled
def _is_known(known: Mask, up: Array, u: Array) -> bool:
    """Return whether u lies in one of the `known` cells (k, m) of the x_i."""
    for t in range(len(known)):
        same = True
        for i in range(len(up)):
            s = dot(up[i], u)
            if (s > 0.0) != known[t, i]:
                same = False
                break
        if same:
            return True
    return False


@_compiled
def _relax(down: Array, squares: Array, a: Array, z: Array) -> None:
    """Sweep once over the a_j in [0, 1] to shorten z, which contains - sum_j a_j z_j."""
    for i in range(len(down)):
        if squares[i] == 0.0:
            continue
        s = dot(down[i], z)
        # a_j moves by the t that makes ||z - t z_j||^2 least, t = z.z_j / ||z_j||^2, clipped so that a_j stays in [0,
        # 1]
        step = min(max(a[i] + s / squares[i], 0.0), 1.0) - a[i]
        if step != 0.0:
            a[i] += step
            for j in range(len(z)):
                z[j] -= step * down[i, j]


@_compiled
def _cell(up: Array, down: Array, c: Array, on: Mask, known: Mask, squares: Array, goal: float, tolerance: float):  # type: ignore[no-untyped-def]
    """Bound f over the cell `on` of the x_i; stop at a bound of `goal`.

    Return the bound, the largest value found outside `known`, its point, and the multipliers y, a.
    """
    m, d = up.shape
    z, y, a, best = c.copy(), np.zeros(m), np.zeros(len(down)), np.zeros(d)
    ups = np.empty(m)
    for i in range(m):
        ups[i] = np.sum(up[i] ** 2)
        if on[i]:
            y[i] = 1.0
            z += up[i]
    value = 0.0
    for sweep in range(CELL_SWEEPS):
        if np.sum(z * z) <= goal * goal:
            break
        for i in range(m):
            s = dot(up[i], z)
            # y_i must be at least 1 where x_i is active on the cell, and at most 0 where it is not. Then y_i x_i.u >=
            # (x_i.u)_+ on the whole cell, and ||z|| bounds f there at every step
            target = y[i] - s / ups[i]
            step = (max(target, 1.0) if on[i] else min(target, 0.0)) - y[i]
            if step != 0.0:
                y[i] += step
                for j in range(d):
                    z[j] += step * up[i, j]
        _relax(down, squares, a, z)
        # when the sweeps have converged, f attains the bound ||z|| in the direction of z. One evaluation of f costs
        # about half a sweep, so f is evaluated only after every fifth sweep
        if sweep % 5 == 4:
            length = np.sqrt(np.sum(z * z))
            reached = _value(up, down, c, z) / length if length > 0.0 else 0.0
            if reached > value and not _is_known(known, up, z):
                value, best = reached, z / length
            goal = max(goal, value + tolerance)
    # compute z again from its multipliers, because the steps have accumulated rounding. The error of a sum of k vectors
    # is at most k 1.1e-16 times the sum of their lengths
    z, weight = c.copy(), np.sqrt(np.sum(c * c))
    for i in range(m):
        z += y[i] * up[i]
        weight += abs(y[i]) * np.sqrt(ups[i])
    for i in range(len(down)):
        z -= a[i] * down[i]
        weight += a[i] * np.sqrt(squares[i])
    return np.sqrt(np.sum(z * z)) + 1e-15 * (m + len(down)) * weight, value, best, y, a


@_compiled
def _bound_over_cone(  # type: ignore[no-untyped-def]
    up: Array,
    down: Array,
    c: Array,
    squares: Array,
    s: Array,
    side: Codes,
    multipliers: tuple[Array, Array, Array],
    goal: float,
):
    """Shorten the z of a node by updating its multipliers y, a, m in place; return z and ||z||^2.

    squares: ||x_i||^2, then ||z_j||^2. s (r,): signs of the orthant. side (m,): 1 active, -1 inactive, 0 open rows x_i.
    """
    y, alpha, mu = multipliers
    (m, d), r = up.shape, len(s)
    # z is computed from the multipliers, not taken from the parent, so that rounding errors do not grow with depth. An
    # undecided row x_i contributes max(s_k x_ik, 0) at each axis k, a decided row y_i x_i
    g, z = np.zeros(r), c.copy()
    for i in range(m):
        if side[i] == 0:
            for k in range(r):
                g[k] += max(s[k] * up[i, k], 0.0)
        elif y[i] != 0.0:
            for k in range(r):
                z[k] += y[i] * up[i, k]
    for k in range(r):
        z[k] += s[k] * (g[k] + mu[k])
    for i in range(len(down)):
        for j in range(d):
            z[j] -= alpha[i] * down[i, j]
    size = np.sum(z * z)
    for _ in range(SWEEPS):
        if size <= goal * goal:
            break
        for i in range(m):
            if side[i] != 0:
                t = dot(up[i, :r], z)
                t = y[i] - t / squares[i]
                step = (max(t, 1.0) if side[i] > 0 else min(t, 0.0)) - y[i]
                if step != 0.0:
                    y[i] += step
                    for k in range(r):
                        z[k] += step * up[i, k]
        _relax(down, squares[m:], alpha, z)
        for k in range(r):
            # choose the multiplier m_k >= 0 of the constraint s_k u_k >= 0 so that s_k z_k is zero, or as near zero as
            # m_k >= 0 allows
            step = max(-s[k] * z[k], -mu[k])
            mu[k] += step
            z[k] += step * s[k]
        before, size = size, np.sum(z * z)
        if size > before * (1.0 - ENOUGH):
            break
    return z, size


@_compiled
def _row_to_split(up: Array, s: Array, side: Codes, u: Array, on: Mask) -> int:
    """Return the open row that the relaxation over-estimates most at u, or -1; `on` (m,): which rows are active there.

    A row whose products with all axes have one sign is linear on the orthant, and no split changes it.
    """
    worst, row = -1.0, -1
    for i in range(len(up)):
        on[i] = side[i] > 0
        if side[i] == 0:
            t, over = 0.0, 0.0
            positive, negative = False, False
            for k in range(len(s)):
                t += up[i, k] * u[k]
                over += max(s[k] * up[i, k], 0.0) * s[k] * u[k]
                positive |= s[k] * up[i, k] > 0.0
                negative |= s[k] * up[i, k] < 0.0
            on[i] = positive
            if positive and negative and over - max(t, 0.0) > worst:
                worst, row = over - max(t, 0.0), i
    return row


@_compiled
def branch(  # type: ignore[no-untyped-def]
    up: Array,
    down: Array,
    c: Array,
    roots: tuple[int, int, int],
    known: Mask,
    limit: float,
    tolerance: float,
    nodes: int,
    stop: bool,
    record: bool,
):
    """Return (value, its unit point, bound, nodes, open cells, ends, leaves): bounds on max f from below and above.

    roots: r, the number of leading coordinates of the x_i, then the first root and the one after the last. The bits of
    a root's number are the signs of the u_k. known (k, m): cells that are excluded. limit: smaller values are not
    resolved, and the bound need not be below limit + tolerance. The search ends after `nodes` nodes, and with `stop` at
    the first value above limit + tolerance; the bound is then infinite. open cells (k, m): cells with a bound above all
    others, for an exact solver. ends (nodes,), leaves (k, m + q + r): how each node ended, and y, a, m of each leaf;
    empty without `record`.
    """
    (m, d), q, r = up.shape, len(down), roots[0]
    squares = np.empty(m + q)
    for i in range(m):
        squares[i] = np.sum(up[i] ** 2)
    for i in range(q):
        squares[m + i] = np.sum(down[i] ** 2)
    sides, ys = np.empty((m + 2, m), np.int8), np.empty((m + 2, m))
    alphas, mus = np.empty((m + 2, q)), np.empty((m + 2, r))
    u, s, best = np.empty(d), np.empty(r), np.zeros(d)
    on, left = np.empty(m, dtype=np.bool_), np.empty((0, m), dtype=np.bool_)
    value, bound, count = 0.0, 0.0, 0
    ends, leaves, written = np.empty(0, np.int32), np.empty((0, m + q + r)), 0
    for root in range(roots[1], roots[2]):
        for k in range(r):
            s[k] = 1.0 if (root >> k) & 1 else -1.0
            mus[0, k] = 0.0
        for i in range(q):
            # a_j starts as the slope of (t)_+ at t = z_j.u in the centre of the orthant: 1 if z_j.u is positive there,
            # otherwise 0
            t = dot(down[i, :r], s)
            alphas[0, i] = 1.0 if t > 0.0 else 0.0
        # depth-first search: the stack holds at most one pending node per row, for the row's other side. Each node
        # starts from the multipliers of its parent
        sides[0], ys[0] = 0, 0.0
        pending = 1
        while pending > 0:
            if count >= nodes:
                return value, best, np.inf, count, left, ends[:count], leaves[:written]
            top = pending - 1
            pending, count = top, count + 1
            if record and count > len(ends):
                ends = np.concatenate((ends, np.empty(count, np.int32)))
            if record and written == len(leaves):
                leaves = np.concatenate((leaves, np.empty((written + 1, m + q + r))))
            side, y, alpha, mu = sides[top], ys[top], alphas[top], mus[top]
            goal = max(value, limit) + tolerance
            z, size = _bound_over_cone(up, down, c, squares, s, side, (y, alpha, mu), goal)
            end = BOUND
            if size > goal * goal:
                # u is z without the coordinates whose sign is wrong for the orthant. If ||z|| is least, u maximises the
                # relaxation of f; f(u) itself is only a lower bound on the maximum of f
                u[:] = z
                for k in range(r):
                    if s[k] * z[k] < 0.0:
                        u[k] = 0.0
                length = np.sqrt(np.sum(u * u))
                if length > 0.0:
                    reached = _value(up, down, c, u) / length
                    if reached > value and not _is_known(known, up, u):
                        value = reached
                        best[:] = u / length
                row = _row_to_split(up, s, side, u, on)
                if row >= 0:
                    sides[top + 1], ys[top + 1], alphas[top + 1], mus[top + 1] = side, y, alpha, mu
                    t = dot(up[row, :r], u)
                    # push the node for the side of `row` that contains u last, so that it is searched first
                    ahead = 1 if t > 0.0 else 0
                    end = row + 1 if ahead == 1 else -(row + 1)
                    sides[top + ahead, row], ys[top + ahead, row] = 1, 1.0
                    sides[top + 1 - ahead, row], ys[top + 1 - ahead, row] = -1, 0.0
                    pending = top + 2
                else:
                    end = m + CELL
                    for t in range(len(known)):
                        if np.all(known[t] == on):
                            end = m + KNOWN
                if end == m + CELL:
                    least, reached, point, y, alpha = _cell(up, down, c, on, known, squares[m:], goal, tolerance)
                    mu[:] = 0.0
                    if reached > value:
                        value = reached
                        best[:] = point
                    if least > max(value, limit) + tolerance and not (stop and value > limit + tolerance):
                        left = np.vstack((left, on.reshape(1, m)))
                        bound = max(bound, least)
            if record:
                ends[count - 1] = end
                if end == BOUND or end == m + CELL:
                    leaves[written, :m], leaves[written, m : m + q], leaves[written, m + q :] = y, alpha, mu
                    written += 1
            if stop and value > limit + tolerance:
                return value, best, np.inf, count, left, ends[:count], leaves[:written]
    return value, best, max(bound, max(value, limit) + tolerance), count, left, ends[:count], leaves[:written]
