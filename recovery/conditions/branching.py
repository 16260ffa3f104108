"""Branch and bound over the signs of rows: the largest dual value of a neuron u, over all neurons, compiled.

Nodes split at rows x_i of `up`, not at rows z_j of `down`. The largest value is that of
    f(u) = c.u + sum_i (x_i.u)_+ - sum_j (z_j.u)_+,   ||u|| <= 1,   bounded by `recovery.conditions.cones`, or of
    c.a / ||a||,  a = (x_1.u, ..., z_1.u, ...)_+, c_i > 0 for x_i only,   by `recovery.conditions.normalised`.
A node has a side of each x_i: 1 (x_i.u >= 0), -1 (x_i.u <= 0) or 0 (open). It keeps the numbers that give its bound,
and its children start from them.

With `record` the search also returns how each node ended, in the order of the search, and the numbers of every leaf. An
independent proof uses these numbers and nothing else (`recovery.extras.proofs.everywhere`, `normalised`).
"""

import numpy as np

from recovery.compiled import dot, in_any_order
from recovery.conditions.cones import bound_over_cone
from recovery.conditions.normalised import bound_over_images
from recovery.types import Array, Mask

ATTEMPTS = 40
"""Bounds of a node without a row to split that are tried. A cell that they do not settle is returned."""

BOUND, KNOWN = -1, -2
"""Recorded for a leaf that its numbers bound, and for one that is a known cell. For a node that splits at x_i, i + m is
recorded if its active side is searched first, otherwise i."""


@in_any_order
def _value(rows: Array, m: int, c: Array, normalised: bool, u: Array) -> float:
    """Return f(u) / ||u||, or c.a / ||a||; rows: the x_i and the z_j, m: the number of the x_i."""
    total, square = 0.0, 0.0
    for i in range(len(rows)):
        t = dot(rows[i], u)
        t = max(t, 0.0)
        if normalised:
            total += c[i] * t
            square += t * t
        else:
            total += t if i < m else -t
    if not normalised:
        total += dot(c, u)
        square = np.sum(u * u)
    return total / np.sqrt(square) if square > 0.0 else 0.0


@in_any_order
def _is_known(known: Mask, cell: Mask) -> bool:
    """Return whether a cell (m,) of the x_i is one of the `known` cells (k, m)."""
    found = False
    for t in range(len(known)):
        found |= bool(np.all(known[t] == cell))
    return found


@in_any_order
def branch(  # type: ignore[no-untyped-def]
    up: Array,
    down: Array,
    c: Array,
    spread: tuple[Array, Array],
    normalised: bool,
    known: Mask,
    limit: float,
    tolerance: float,
    nodes: int,
    stop: bool,
    record: bool,
):
    """Return (value, its unit point, bound, nodes, open cells, ends, leaves): bounds on the maximum from both sides.

    up (m, d), down (q, d), all rows of f non-zero; c (d,), or (m + q,) if `normalised`. spread: as for
    `bound_over_cone`. known (k, m): cells that are excluded. limit: smaller values are not resolved, and the bound need
    not be below limit + tolerance. The search ends after `nodes` nodes, and with `stop` at the first value above
    limit + tolerance; the bound is then infinite. open cells (k, m): cells with a bound above all others, for an exact
    solver. ends (nodes,), leaves (k, numbers): how each node ended, and the numbers of each leaf that they bound; empty
    without `record`.
    """
    (m, d), q = up.shape, len(down)
    rows, width = np.vstack((up, down)), m + q + (d if normalised else 0)
    squares = np.sum(rows * rows, axis=1)
    units = up[:0] if record else up / np.sqrt(squares[:m]).reshape(m, 1)
    # depth-first search: the stack holds at most one pending node per row, for the row's other side
    sides, numbers = np.zeros((m + 2, m), np.int8), np.zeros((m + 2, width))
    numbers[0, m : m + q] = 0.0 if normalised else 0.5
    u, best, left = np.empty(d), np.zeros(d), np.empty((0, m), dtype=np.bool_)
    pending, count, value, bound = 1, 0, 0.0, 0.0
    ends, leaves, written = np.empty(0, np.int32), np.empty((0, width)), 0
    while pending > 0:
        if count >= nodes:
            return value, best, np.inf, count, left, ends[:count], leaves[:written]
        top = pending - 1
        pending, count = top, count + 1
        if record and count > len(ends):
            ends = np.concatenate((ends, np.empty(count, np.int32)))
        if record and written == len(leaves):
            leaves = np.concatenate((leaves, np.empty((written + 1, width))))
        side, given, end = sides[top], numbers[top], BOUND
        goal, above, row = max(value, limit) + tolerance, np.inf, -1
        for attempt in range(ATTEMPTS):
            if normalised:
                reached, row = bound_over_images(rows, c, side, given, attempt, goal, u)
            else:
                reached, row = bound_over_cone(up, down, c, squares, units, spread, side, given, attempt, goal, u)
            above = min(above, reached)
            if above <= goal:
                break
            reached = _value(rows, m, c, normalised, u)
            if reached > value and not _is_known(known, np.dot(up, u) > 0.0):
                value, goal = reached, max(reached, limit) + tolerance
                best[:] = u / np.sqrt(np.sum(u * u))
            if row >= 0:
                break
            if np.all(side != 0) and _is_known(known, side > 0):
                end = KNOWN
                break
        if above > goal and row < 0:
            # the relaxation is exact at u. Open rows matter only to tell whether the cell is a known one
            for i in range(m):
                if side[i] == 0:
                    row = i
        if above > goal and row >= 0:
            sides[top + 1], numbers[top + 1] = side, given
            along = dot(up[row], u)
            # push the node for the side of `row` that contains u last, so that it is searched first
            ahead = 1 if along > 0.0 else 0
            end = row + ahead * m
            sides[top + ahead, row], sides[top + 1 - ahead, row] = 1, -1
            if not normalised:
                numbers[top + ahead, row], numbers[top + 1 - ahead, row] = 1.0, 0.0
            pending = top + 2
        elif above > goal and end == BOUND:
            left = np.vstack((left, (side > 0).reshape(1, m)))
            bound = max(bound, above)
        if record:
            ends[count - 1] = end
            if end == BOUND:
                leaves[written] = given
                written += 1
        if stop and value > limit + tolerance:
            return value, best, np.inf, count, left, ends[:count], leaves[:written]
    return value, best, max(bound, max(value, limit) + tolerance), count, left, ends[:count], leaves[:written]
