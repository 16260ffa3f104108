"""The bound of a node for neurons of norm 1: a difference of convex functions over a cone of the ball, compiled.

    f(u) = c.u + sum_i (x_i.u)_+ - sum_j (z_j.u)_+,        ||u|| <= 1,      rows x_i of `up`, z_j of `down`.

On a cone where x_i has a side, (x_i.u)_+ is at most y_i x_i.u for any y_i >= 1 where it is active and y_i <= 0 where it
is not. -(z_j.u)_+ is at most -a_j z_j.u for any a_j in [0, 1]. For an open row (x_i.u)_+ = x_i.u / 2 + |x_i.u| / 2. So
with z = c + sum over open rows of x_i / 2 + sum over the others of y_i x_i - sum_j a_j z_j,
    f(u) <= z.u + sum over open rows of |x_i.u| / 2,
which `recovery.conditions.cell_search.bound_over_sides` bounds. Coordinate descent makes ||z|| small. The z_j are never
split: when no x_i is open, the bound converges to the maximum over one cell of the x_i. The numbers of a node are y and
a. Rows get sides in their order, so that all nodes of one depth have the same open rows.

In few dimensions most nodes are cones without interior points, or thinner than `cell_search.THIN`. They need no bound:
f is continuous, and the cones beside them contain their points, up to this width.
"""

import numpy as np

from recovery.compiled import dot, in_any_order
from recovery.conditions.cell_search import bound_over_sides, cell_point
from recovery.types import Array, Codes

SWEEPS = 20
"""Sweeps of coordinate descent in one attempt."""
ENOUGH = 1e-3
"""A relative decrease of ||z||^2 below this in one sweep ends the descent over a cone, but not over one cell."""


@in_any_order
def _assembled(up: Array, down: Array, c: Array, squares: Array, depth: int, numbers: Array, z: Array) -> float:
    """Compute z from its numbers, in place, so that rounding errors do not grow with depth; return a bound on them.

    The error of a sum of k vectors is at most k 1.1e-16 times the sum of their lengths.
    """
    m, q = len(up), len(down)
    z[:] = c
    weight = np.sqrt(np.sum(c * c))
    for i in range(m):
        y = numbers[i] if i < depth else 0.5
        if y != 0.0:
            weight += abs(y) * np.sqrt(squares[i])
            for k in range(len(z)):
                z[k] += y * up[i, k]
    for j in range(q):
        weight += numbers[m + j] * np.sqrt(squares[m + j])
        for k in range(len(z)):
            z[k] -= numbers[m + j] * down[j, k]
    return 1e-15 * (m + q + 1) * weight


@in_any_order
def _sweep(up: Array, down: Array, squares: Array, side: Codes, depth: int, numbers: Array, z: Array) -> None:
    """Shorten z by one sweep over its numbers; both are changed in place."""
    m = len(up)
    for i in range(depth):
        s = dot(up[i], z)
        s = numbers[i] - s / squares[i]
        step = (max(s, 1.0) if side[i] > 0 else min(s, 0.0)) - numbers[i]
        if step != 0.0:
            numbers[i] += step
            for k in range(len(z)):
                z[k] += step * up[i, k]
    for j in range(len(down)):
        s = dot(down[j], z)
        step = min(max(numbers[m + j] + s / squares[m + j], 0.0), 1.0) - numbers[m + j]
        if step != 0.0:
            numbers[m + j] += step
            for k in range(len(z)):
                z[k] -= step * down[j, k]


@in_any_order
def bound_over_cone(
    up: Array,
    down: Array,
    c: Array,
    squares: Array,
    units: Array,
    spread: tuple[Array, Array],
    side: Codes,
    numbers: Array,
    attempt: int,
    goal: float,
    u: Array,
) -> tuple[float, int]:
    """Return a bound on f over a node, after one attempt to lower it to `goal`; and the row to split, or -1.

    squares: ||x_i||^2, then ||z_j||^2, all above zero. units: x_i / ||x_i||, or none, so that no cone counts as empty.
    spread: of the x_i / 2 (`recovery.conditions.planes.spreads`). side (m,): 1 active, -1 inactive, 0 open rows x_i,
    which are the last ones. numbers: y and a, changed in place. u (d,): set to z; if ||z|| is least and no row is open,
    it maximises f over the cell.
    """
    depth, turned = 0, np.empty(len(u))
    while depth < len(up) and side[depth] != 0:
        depth += 1
    if len(units) and depth > len(u) and cell_point(units, side, depth, turned) == 0:
        return 0.0, -1
    vectors, values = spread[0][depth], spread[1][depth]
    error = _assembled(up, down, c, squares, depth, numbers, u)
    above, size = bound_over_sides(u, vectors, values, turned, goal - error)[0] + error, np.sum(u * u)
    for _ in range(SWEEPS):
        if above <= goal:
            break
        _sweep(up, down, squares, side, depth, numbers, u)
        before, size = size, np.sum(u * u)
        above = bound_over_sides(u, vectors, values, turned, goal - error)[0] + error
        if depth < len(up) and size > before * (1.0 - ENOUGH):
            break
    # the numbers may have grown
    error = _assembled(up, down, c, squares, depth, numbers, u)
    above = bound_over_sides(u, vectors, values, turned, goal - error)[0] + error
    return above, depth if depth < len(up) and above > goal else -1
