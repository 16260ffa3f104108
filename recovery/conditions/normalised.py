"""The bound of a node for neurons normalised after the ReLU: c.a / ||a||, a = (B v)_+, over all neurons v, compiled.

This is the dual norm of the exact program: the length of the projection of c on the cone of all such a. Each row of a
node is on (z_i >= 0, z = B v), off (z_i <= 0) or open. For an open row a_i may be any number of at least max(z_i, 0).
This relaxes nothing where c_i <= 0, and those rows are never split. On the resulting convex cone, any y with
    B^T y = 0,   y_i >= 0 except for rows that are on,
bounds the value by the length of (c + y)_+ over the rows that are not off: add y.(a - z) >= 0 to c.a.

The best y minimises over v a sum of convex functions of z_i, one per row. The method of multipliers computes it, one
step per attempt: each function is replaced by its envelope, whose slope is a y_i of the right sign at every point, and
Newton's method makes B^T y zero. So the bound is valid after every step, up to rounding. Source of the envelopes:
Rockafellar, SIAM J. Control Optim. 14 (1976). The numbers of a node are y and v.
"""

import numpy as np

from recovery.compiled import dot, in_any_order
from recovery.types import Array, Codes

FIRST, SHARPER, SHARPEST = 100.0, 2.0, 1e3
"""Sharpness m of the envelopes: its start, its factor per step, and its end. The error of y is about 1e-16 m."""
NEWTON = 40
"""Largest number of steps of Newton's method in one step of the method of multipliers."""
STATIONARY, SMALL = 1e-13, 1e-11
"""||B^T y|| at which Newton's method ends, and below which it is rounding, for rows of B and c of norm <= 1."""
OVER = 1e-12
"""Squared over-estimates of a row up to this are rounding."""


@in_any_order
def _slope(c: float, side: int, u: float, m: float) -> tuple[float, float]:
    """Return y, half the slope of the envelope at u, and its derivative. side: 1 for a row that is on, -1 off, 0 open.

    The function of a row is (t - c)^2 - c^2 for t >= 0 if it is on, and 0 for t <= 0 if it is off. If it is open,
    it is (max(t, c) - c)^2 - c^2 for c > 0 and (max(t, 0) - c)^2 - c^2 otherwise.
    """
    inner = (c + m * u) / (1.0 + m)
    if side < 0:
        return (m * u, m) if u > 0.0 else (0.0, 0.0)
    if side > 0:
        return (m * (u - inner), m / (1.0 + m)) if inner > 0.0 else (m * u, m)
    if c > 0.0:
        return (m * (u - inner), m / (1.0 + m)) if u > c else (0.0, 0.0)
    if u <= 0.0:
        return 0.0, 0.0
    return (m * (u - inner), m / (1.0 + m)) if inner > 0.0 else (m * u, m)


@in_any_order
def _gradient(
    base: Array, c: Array, side: Codes, shift: Array, m: float, v: Array, y: Array, bend: Array, g: Array
) -> float:
    """Compute y, its derivatives `bend` and g = B^T y at v, all written in place; return ||g||."""
    g[:] = 0.0
    for i in range(len(base)):
        z = dot(base[i], v)
        y[i], bend[i] = _slope(c[i], side[i] if i < len(side) else 0, z + shift[i] / m, m)
        for k in range(len(g)):
            g[k] += y[i] * base[i, k]
    return np.sqrt(np.sum(g * g))


@in_any_order
def _stationary(base: Array, c: Array, side: Codes, shift: Array, m: float, v: Array, y: Array) -> float:
    """Minimise the sum of the rows' envelopes of sharpness m over v by Newton's method; return ||B^T y||.

    At the minimum B^T y = 0 for their half slopes y. v, the starting point, and y are written in place.
    """
    n, r = base.shape
    g, bend, H = np.empty(r), np.empty(n), np.empty((r, r))
    size = _gradient(base, c, side, shift, m, v, y, bend, g)
    for _ in range(NEWTON):
        if size <= STATIONARY:
            break
        H[:] = 0.0
        for i in range(n):
            if bend[i] > 0.0:
                for j in range(r):
                    for k in range(r):
                        H[j, k] += bend[i] * base[i, j] * base[i, k]
        for j in range(r):
            # a small ridge: H is singular in directions orthogonal to all rows with bend > 0, where the gradient is
            # zero too
            H[j, j] += 1e-9
        step = np.linalg.solve(H, -g)
        # halve the step until the norm of the gradient has halved, or the convex sum has surely decreased: its slope
        # along the step is at most zero
        last, length, start = size, 1.0, v.copy()
        for _halving in range(30):
            v[:] = start + length * step
            size = _gradient(base, c, side, shift, m, v, y, bend, g)
            if size <= 0.5 * last or np.sum(g * step) <= 0.0:
                break
            length *= 0.5
    return size


@in_any_order
def bound_over_images(
    base: Array, c: Array, side: Codes, numbers: Array, attempt: int, goal: float, u: Array
) -> tuple[float, int]:
    """Return a bound on the ratio over a node after one step, infinite without one; and the row to split, or -1.

    base (n, r): with orthonormal columns. c (n,), above zero for the rows of `side` (m,) only: 1 on, -1 off, 0 open.
    numbers: y and v, changed in place. u (r,): set to v.
    """
    n, shift = len(base), numbers[: len(base)].copy()
    y, v = numbers[:n], numbers[n:]
    size = _stationary(base, c, side, shift, min(FIRST * SHARPER**attempt, SHARPEST), v, y)
    u[:] = v
    square, worst, row = 0.0, OVER, -1
    for i in range(n):
        if i >= len(side) or side[i] >= 0:
            square += max(c[i] + y[i], 0.0) ** 2
        if i < len(side) and side[i] == 0:
            z = dot(base[i], v)
            over = (c[i] - max(z, 0.0)) ** 2 if z < c[i] else 0.0
            if over > worst:
                worst, row = over, i
    above = np.sqrt(square) if size <= SMALL else np.inf
    return above, -1 if above <= goal else row
