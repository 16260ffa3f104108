"""Branch and bound over the signs of rows: the largest lam.(B v)_+ / ||(B v)_+|| over all neurons v, compiled.

This is the dual norm of the exact program whose neurons are normalised after the ReLU: with a = (B v)_+, the length of
the projection of lam on the cone of all such a. Each row of a node is on (z_i >= 0, z = B v), off (z_i <= 0) or open.
For an open row a_i may be any number of at least max(z_i, 0). This relaxes nothing where lam_i <= 0, and those rows are
never split. On the resulting convex cone, any y with
    B^T y = 0,   y_i >= 0 except for rows that are on,
bounds the value by the length of (lam + y)_+ over the rows that are not off: add y.(a - z) >= 0 to lam.a.

The best y minimises over v a sum of convex functions of z_i, one per row. The method of multipliers computes it: each
function is replaced by its envelope, whose slope is a y_i of the right sign at every point, and Newton's method makes
B^T y zero. So the bound is valid after every step, up to rounding. Source of the envelopes: Rockafellar, SIAM J.
Control Optim. 14 (1976).

With `record` the search also returns how each node ended, in the order of the search, and y of every leaf with a bound,
for an independent proof (`recovery.extras.proofs.normalised`).
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled, dot
from recovery.conditions.branching import BOUND, KNOWN
from recovery.types import Array, Mask

FIRST, SHARPER, SHARPEST = 100.0, 2.0, 1e3
"""Sharpness m of the envelopes: its start, its factor per step, and its end. The error of y is about 1e-16 m."""
OUTER, NEWTON = 60, 40
"""Largest numbers of steps of the method of multipliers, and of Newton's method in each."""
STATIONARY, SMALL = 1e-13, 1e-11
"""||B^T y|| at which Newton's method ends, and below which it is rounding, for rows of B and lam of norm <= 1."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


@_compiled
def _slope(lam: float, side: int, u: float, m: float) -> tuple[float, float]:
    """Return y, half the slope of the envelope at u, and its derivative. side: 1 for a row that is on, -1 off, 0 open.

    The function of a row is (t - lam)^2 - lam^2 for t >= 0 if it is on, and 0 for t <= 0 if it is off. If it is open,
    it is (max(t, lam) - lam)^2 - lam^2 for lam > 0 and (max(t, 0) - lam)^2 - lam^2 otherwise.
    """
    inner = (lam + m * u) / (1.0 + m)
    if side < 0:
        return (m * u, m) if u > 0.0 else (0.0, 0.0)
    if side > 0:
        return (m * (u - inner), m / (1.0 + m)) if inner > 0.0 else (m * u, m)
    if lam > 0.0:
        return (m * (u - inner), m / (1.0 + m)) if u > lam else (0.0, 0.0)
    if u <= 0.0:
        return 0.0, 0.0
    return (m * (u - inner), m / (1.0 + m)) if inner > 0.0 else (m * u, m)


@_compiled
def _solved(H: Array, g: Array, step: Array) -> None:
    """Compute step = -H^{-1} g; H (r, r), positive definite, is overwritten by its Cholesky factor."""
    r = len(g)
    for i in range(r):
        for j in range(i + 1):
            s = H[i, j]
            for k in range(j):
                s -= H[i, k] * H[j, k]
            H[i, j] = np.sqrt(s) if i == j else s / H[j, j]
    for i in range(r):
        s = -g[i]
        for k in range(i):
            s -= H[i, k] * step[k]
        step[i] = s / H[i, i]
    for i in range(r - 1, -1, -1):
        s = step[i]
        for k in range(i + 1, r):
            s -= H[k, i] * step[k]
        step[i] = s / H[i, i]


@_compiled
def _gradient(
    base: Array, lam: Array, side: Array, shift: Array, m: float, v: Array, y: Array, bend: Array, g: Array
) -> float:
    """Compute y, its derivatives `bend` and g = B^T y at v, all written in place; return ||g||."""
    n, r = base.shape
    g[:] = 0.0
    for i in range(n):
        z = dot(base[i], v)
        y[i], bend[i] = _slope(lam[i], side[i], z + shift[i] / m, m)
        for k in range(r):
            g[k] += y[i] * base[i, k]
    return np.sqrt(np.sum(g * g))


@_compiled
def _stationary(base: Array, lam: Array, side: Array, shift: Array, m: float, v: Array, y: Array) -> float:
    """Minimise the sum of the rows' envelopes of sharpness m over v by Newton's method; return ||B^T y||.

    At the minimum B^T y = 0 for their half slopes y. v, the starting point, and y are written in place.
    """
    n, r = base.shape
    g, step, trial, bend, H = np.empty(r), np.empty(r), np.empty(r), np.empty(n), np.empty((r, r))
    size = _gradient(base, lam, side, shift, m, v, y, bend, g)
    for _ in range(NEWTON):
        if size <= STATIONARY:
            break
        H[:] = 0.0
        for i in range(n):
            if bend[i] > 0.0:
                for j in range(r):
                    for k in range(j + 1):
                        H[j, k] += bend[i] * base[i, j] * base[i, k]
        for j in range(r):
            # a small ridge: H is singular in directions orthogonal to all rows with bend > 0, where the gradient is
            # zero too
            H[j, j] += 1e-9
        _solved(H, g, step)
        # halve the step until the norm of the gradient has halved, or the slope of the convex sum along the step is at
        # most zero; the sum has then decreased
        last, length = size, 1.0
        for _halving in range(30):
            for k in range(r):
                trial[k] = v[k] + length * step[k]
            size = _gradient(base, lam, side, shift, m, trial, y, bend, g)
            if size <= 0.5 * last or np.sum(g * step) <= 0.0:
                break
            length *= 0.5
        v[:] = trial
    return size


@_compiled
def _ratio(base: Array, lam: Array, v: Array) -> float:
    value, square = 0.0, 0.0
    for i in range(len(base)):
        z = dot(base[i], v)
        if z > 0.0:
            value += lam[i] * z
            square += z * z
    return value / np.sqrt(square) if square > 0.0 else 0.0


@_compiled
def branch_normalised(  # type: ignore[no-untyped-def]
    base: Array, lam: Array, known: Mask, limit: float, tolerance: float, nodes: int, stop: bool, record: bool
):
    """Return (value, its point, bound, nodes, ends, leaves): bounds on the largest ratio from below and above.

    base (n, r): with orthonormal columns. lam (n,). known (k, n): excluded patterns; all patterns that agree with one
    where lam > 0 are excluded too. limit: smaller values are not resolved. The search ends after `nodes` nodes, and
    with `stop` at the first value above limit + tolerance; the bound is then infinite. ends (nodes,), leaves (k, n):
    the record, as of `recovery.conditions.branching.branch`; empty without `record`.
    """
    n, r = base.shape
    sides, points, shifts = np.zeros((n + 2, n), np.int8), np.zeros((n + 2, r)), np.zeros((n + 2, n))
    y, best = np.empty(n), np.zeros(r)
    pending, count, value, bound = 1, 0, 0.0, 0.0
    ends, leaves, written = np.empty(0, np.int32), np.empty((0, n)), 0
    while pending > 0:
        if count >= nodes:
            return value, best, np.inf, count, ends[:count], leaves[:written]
        top, count = pending - 1, count + 1
        pending = top
        if record and count > len(ends):
            ends = np.concatenate((ends, np.empty(count, np.int32)))
        if record and written == len(leaves):
            leaves = np.concatenate((leaves, np.empty((written + 1, n))))
        side, v, shift = sides[top], points[top], shifts[top]
        above, row, settled, m = np.inf, -1, False, FIRST
        for _ in range(OUTER):
            goal = max(value, limit) + tolerance
            size, square = _stationary(base, lam, side, shift, m, v, y), 0.0
            for i in range(n):
                if side[i] >= 0:
                    square += max(lam[i] + y[i], 0.0) ** 2
            if size <= SMALL:
                above = min(above, np.sqrt(square))
            if above <= goal:
                settled = True
                break
            reached = _ratio(base, lam, v)
            if reached > value and not _among(known, base, lam, v):
                value = reached
                best[:] = v
                if stop and value > limit + tolerance:
                    return value, best, np.inf, count, ends[: count - 1], leaves[:written]
            worst, row = 1e-12, -1
            for i in range(n):
                if side[i] == 0 and lam[i] > 0.0:
                    z = dot(base[i], v)
                    over = (lam[i] - max(z, 0.0)) ** 2 if z < lam[i] else 0.0
                    if over > worst:
                        worst, row = over, i
            if row >= 0:
                break
            shift[:] = y
            m = min(SHARPER * m, SHARPEST)
        if record:
            ends[count - 1] = BOUND
            leaves[written] = y
        if settled:
            written += 1
            continue
        if row < 0:
            # the relaxation is exact at this node. Undecided rows matter only to tell whether the cell is a known one,
            # so split one
            for i in range(n):
                if side[i] == 0 and lam[i] > 0.0:
                    row = i
        if row >= 0:
            z = dot(base[row], v)
            shift[:] = y
            sides[top + 1], points[top + 1], shifts[top + 1] = side, v, shift
            # push the node for the side of `row` that contains v last, so that it is searched first
            ahead = 1 if z > 0.0 else 0
            if record:
                ends[count - 1] = row + 1 if ahead == 1 else -(row + 1)
            sides[top + ahead, row], sides[top + 1 - ahead, row] = 1, -1
            pending = top + 2
            continue
        seen = False
        for t in range(len(known)):
            same = True
            for i in range(n):
                if lam[i] > 0.0 and (side[i] > 0) != known[t, i]:
                    same = False
            seen |= same
        if not seen:
            bound = max(bound, above)
            written += 1
        elif record:
            ends[count - 1] = n + KNOWN
    return value, best, max(bound, max(value, limit) + tolerance), count, ends[:count], leaves[:written]


@_compiled
def _among(known: Mask, base: Array, lam: Array, v: Array) -> bool:
    """Return whether v agrees with a known pattern where lam > 0."""
    for t in range(len(known)):
        same = True
        for i in range(len(base)):
            if lam[i] > 0.0:
                z = dot(base[i], v)
                same &= (z > 0.0) == known[t, i]
        if same:
            return True
    return False
