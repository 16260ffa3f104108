"""The largest value of a difference of convex functions over the ball, by branch and bound over cones, compiled.

    f(u) = c.u + sum_i (x_i.u)_+ - sum_j (z_j.u)_+,        ||u|| <= 1,      rows x_i of `up`, z_j of `down`.

The x_i have r coordinates, the first of all; the roots of the tree are the 2^r orthants {s_k u_k >= 0, k < r}. On one
the first sum is at most the linear interpolation of its values at the axes s_k e_k, the smallest concave function above
it; -(z.u)_+ is at most -a z.u for any a in [0, 1]. So any m_k >= 0 and a_j in [0, 1] bound f there by the norm of
    z = c + sum_k (m_k + sum_i (x_i.s_k e_k)_+) s_k e_k - sum_j a_j z_j.
Coordinate descent makes it small; wherever that stops is a bound. A node splits at a row x_i, into where it is active
and where it is not: there it is linear, and y_i x_i with y_i >= 1, or y_i <= 0, takes its place in z. The z_j are never
split: once no x_i is open the answer is exact, that of one cell of the x_i alone.

With `record` it tells how each node ended, in the order in which they are looked at, and the y, a, m of every leaf:
what a proof needs that believes nothing of this module (`recovery.extras.proofs.tree`).
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array, Mask

SWEEPS = 20
"""Of coordinate descent over a cone."""
CELL_SWEEPS = 500
"""Over a cell; one that they leave open is handed back for an exact solver."""
ENOUGH = 1e-3
"""A sweep that shortens z by less, relative, is the last one over a cone."""

BOUND = 0
"""How a recorded node ended: its numbers y, a, m bound f there."""
CELL, KNOWN = 1, 2
"""Beyond the count of the x_i: no x_i is open, and y, a bound f over the cell; or the cell is among `known`.

1 to that count: split at this x_i, into where it is not active and, looked at first, where it is; minus that: the other
side first."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


@_compiled
def _value(up: Array, down: Array, c: Array, u: Array) -> float:
    total = 0.0
    for j in range(len(u)):
        total += c[j] * u[j]
    for i in range(len(up)):
        s = 0.0
        for j in range(len(u)):
            s += up[i, j] * u[j]
        total += max(s, 0.0)
    for i in range(len(down)):
        s = 0.0
        for j in range(len(u)):
            s += down[i, j] * u[j]
        total -= max(s, 0.0)
    return total


@_compiled
def _is_known(known: Mask, up: Array, u: Array) -> bool:
    """Whether u lies in one of these cells of the x_i."""
    for t in range(len(known)):
        same = True
        for i in range(len(up)):
            s = 0.0
            for j in range(len(u)):
                s += up[i, j] * u[j]
            if (s > 0.0) != known[t, i]:
                same = False
                break
        if same:
            return True
    return False


@_compiled
def _relax(down: Array, squares: Array, a: Array, z: Array) -> None:
    """One sweep over the a_j in [0, 1] for the shortest z, which has - sum_j a_j z_j."""
    for i in range(len(down)):
        if squares[i] == 0.0:
            continue
        s = 0.0
        for j in range(len(z)):
            s += down[i, j] * z[j]
        # ||z - t z_j||^2 is least at t = z.z_j / ||z_j||^2, cut off where a_j would leave [0, 1]
        step = min(max(a[i] + s / squares[i], 0.0), 1.0) - a[i]
        if step != 0.0:
            a[i] += step
            for j in range(len(z)):
                z[j] -= step * down[i, j]


@_compiled
def _cell(up: Array, down: Array, c: Array, on: Mask, known: Mask, squares: Array, goal: float, tolerance: float):  # type: ignore[no-untyped-def]
    """A bound on f over a cell of the x_i, the largest value met, where, and y, a; it ends at `goal`, or near it."""
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
            s = 0.0
            for j in range(d):
                s += up[i, j] * z[j]
            # the same step for y_i, which is at least 1 where x_i is active on the cell and at most 0 where it is not:
            # then y_i x_i.u >= (x_i.u)_+ on all of the cell, and ||z|| bounds f there wherever the descent stops
            target = y[i] - s / ups[i]
            step = (max(target, 1.0) if on[i] else min(target, 0.0)) - y[i]
            if step != 0.0:
                y[i] += step
                for j in range(d):
                    z[j] += step * up[i, j]
        _relax(down, squares, a, z)
        # z points where the bound is attained; f there costs about half a sweep, so not after each
        if sweep % 5 == 4:
            length = np.sqrt(np.sum(z * z))
            reached = _value(up, down, c, z) / length if length > 0.0 else 0.0
            if reached > value and not _is_known(known, up, z):
                value, best = reached, z / length
            goal = max(goal, value + tolerance)
    # z again from its parts: the steps have added rounding to it. A sum of k vectors is off by at most k 1.1e-16 times
    # the sum of their lengths
    z, weight = c.copy(), np.sqrt(np.sum(c * c))
    for i in range(m):
        z += y[i] * up[i]
        weight += abs(y[i]) * np.sqrt(ups[i])
    for i in range(len(down)):
        z -= a[i] * down[i]
        weight += a[i] * np.sqrt(squares[i])
    return np.sqrt(np.sum(z * z)) + 1e-15 * (m + len(down)) * weight, value, best, y, a


@_compiled
def branch(  # type: ignore[no-untyped-def]
    up: Array,
    down: Array,
    c: Array,
    r: int,
    known: Mask,
    limit: float,
    tolerance: float,
    nodes: int,
    stop: bool,
    first: int,
    last: int,
    record: bool,
):
    """(value, its unit point, bound, nodes, open cells, ends, leaves): bounds on max f from below and above.

    r: how many coordinates, the first, the x_i have. known (k, m): cells that are left out. limit: values up to it are
    of no interest: the bound need not be below limit + tolerance. It ends after so many nodes, and with `stop` at the
    first value above limit + tolerance; the bound then is infinite. open cells (k, m): left with a bound above the
    others', for an exact solver. first, last: roots to look at, last left out; bits of their numbers are the signs of
    the u_k. ends (nodes,), leaves (k, m + q + r): how each node ended; y, a, m of each leaf; empty without `record`.
    """
    (m, d), q = up.shape, len(down)
    squares, lengths = np.empty(q), np.empty(m)
    for i in range(q):
        squares[i] = np.sum(down[i] ** 2)
    for i in range(m):
        lengths[i] = np.sum(up[i] ** 2)
    sides, ys = np.empty((m + 2, m), np.int8), np.empty((m + 2, m))
    alphas, mus = np.empty((m + 2, q)), np.empty((m + 2, r))
    z, u, g, s, best = np.empty(d), np.empty(d), np.empty(r), np.empty(r), np.zeros(d)
    on, left = np.empty(m, dtype=np.bool_), np.empty((0, m), dtype=np.bool_)
    value, bound, count = 0.0, 0.0, 0
    ends, leaves, written = np.empty(0, np.int32), np.empty((0, m + q + r)), 0
    # alpha starts as the slope of (z_j.u)_+ at the orthant's centre
    for root in range(first, last):
        for k in range(r):
            s[k] = 1.0 if (root >> k) & 1 else -1.0
            mus[0, k] = 0.0
        for i in range(q):
            t = 0.0
            for k in range(r):
                t += down[i, k] * s[k]
            alphas[0, i] = 1.0 if t > 0.0 else 0.0
        # depth first: the stack holds at most one pending side of each row. A node inherits its parent's multipliers
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
            # z afresh from the multipliers, so that rounding does not grow down the tree. An open row counts by its
            # values at the axes, a decided one by y_i x_i
            g[:] = 0.0
            z[:] = c
            for i in range(m):
                if side[i] == 0:
                    for k in range(r):
                        g[k] += max(s[k] * up[i, k], 0.0)
                elif y[i] != 0.0:
                    for k in range(r):
                        z[k] += y[i] * up[i, k]
            for k in range(r):
                z[k] += s[k] * (g[k] + mu[k])
            for i in range(q):
                for j in range(d):
                    z[j] -= alpha[i] * down[i, j]
            size = np.sum(z * z)
            for _ in range(SWEEPS):
                if size <= goal * goal:
                    break
                for i in range(m):
                    if side[i] != 0:
                        t = 0.0
                        for k in range(r):
                            t += up[i, k] * z[k]
                        t = y[i] - t / lengths[i]
                        step = (max(t, 1.0) if side[i] > 0 else min(t, 0.0)) - y[i]
                        if step != 0.0:
                            y[i] += step
                            for k in range(r):
                                z[k] += step * up[i, k]
                _relax(down, squares, alpha, z)
                for k in range(r):
                    # m_k, the multiplier of s_k u_k >= 0, brings s_k z_k to zero, or as near as m_k >= 0 lets it
                    step = max(-s[k] * z[k], -mu[k])
                    mu[k] += step
                    z[k] += step * s[k]
                before, size = size, np.sum(z * z)
                if size > before * (1.0 - ENOUGH):
                    break
            if size <= goal * goal:
                if record:
                    ends[count - 1] = BOUND
                    leaves[written, :m], leaves[written, m : m + q], leaves[written, m + q :] = y, alpha, mu
                    written += 1
                continue
            # the point that attains the relaxed maximum, and the row that is over-estimated most there
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
            worst, row = -1.0, -1
            for i in range(m):
                on[i] = side[i] > 0
                if side[i] == 0:
                    t, over = 0.0, 0.0
                    # a row whose products with all axes have one sign is linear on the orthant
                    positive, negative = False, False
                    for k in range(r):
                        t += up[i, k] * u[k]
                        over += max(s[k] * up[i, k], 0.0) * s[k] * u[k]
                        positive |= s[k] * up[i, k] > 0.0
                        negative |= s[k] * up[i, k] < 0.0
                    on[i] = positive
                    if positive and negative and over - max(t, 0.0) > worst:
                        worst, row = over - max(t, 0.0), i
            if row >= 0:
                sides[top + 1], ys[top + 1], alphas[top + 1], mus[top + 1] = side, y, alpha, mu
                t = 0.0
                for k in range(r):
                    t += up[row, k] * u[k]
                # the side of the maximiser is looked at first
                ahead = 1 if t > 0.0 else 0
                if record:
                    ends[count - 1] = row + 1 if ahead == 1 else -(row + 1)
                sides[top + ahead, row], ys[top + ahead, row] = 1, 1.0
                sides[top + 1 - ahead, row], ys[top + 1 - ahead, row] = -1, 0.0
                pending = top + 2
            else:
                seen = False
                for t in range(len(known)):
                    seen |= bool(np.all(known[t] == on))
                if seen:
                    if record:
                        ends[count - 1] = m + KNOWN
                else:
                    least, reached, point, y, alpha = _cell(up, down, c, on, known, squares, goal, tolerance)
                    if record:
                        ends[count - 1] = m + CELL
                        leaves[written, :m], leaves[written, m : m + q], leaves[written, m + q :] = y, alpha, 0.0
                        written += 1
                    if reached > value:
                        value = reached
                        best[:] = point
                    if least > max(value, limit) + tolerance and not (stop and value > limit + tolerance):
                        left = np.vstack((left, on.reshape(1, m)))
                        bound = max(bound, least)
            if stop and value > limit + tolerance:
                return value, best, np.inf, count, left, ends[:count], leaves[:written]
    return value, best, max(bound, max(value, limit) + tolerance), count, left, ends[:count], leaves[:written]
