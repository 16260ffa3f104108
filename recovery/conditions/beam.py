"""Looking for the cell of the largest ||c + sum_{i in D} t_i x_i|| with a beam: beyond the reach of proofs.

The planes are decided one after another, the heaviest first, as in the branch and bound (`recovery.conditions.cells`).
Of all partial cells of a depth only the `width` with the largest upper bounds are kept. What is open has little to add
late in the search, so that the bounds rank partial cells nearly as the best cells in them would. With a width of all
partial cells it lists every cell. The value that it ends with bounds the largest from below.
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.conditions.cells import THIN, bound_over_sides, cell_point
from recovery.conditions.planes import planes_of
from recovery.conditions.search import BestPattern
from recovery.types import Array, Mask

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


def beam_search(
    rows: Array, weights: Array, linear: Array | None = None, *, width: int, known: Mask | None = None
) -> BestPattern | None:
    """The best pattern met of rows (n, d), weights t (n,), linear c (d,), known patterns (n, k) left out; or None.

    None where all sums are zero, or where no cell was met that is not known.
    """
    planes = planes_of(rows, weights, linear, known)
    if planes is None:
        return None
    point = _beam(planes.normals, planes.halves, planes.start, planes.vectors, planes.values, planes.left_out, width)
    if not point.any():
        return None
    pattern: Mask = rows @ point > 0
    total = (np.zeros(rows.shape[1]) if linear is None else linear) + rows.T @ (weights * pattern)
    return BestPattern(pattern, float(np.linalg.norm(total)), point)


@_compiled
def _beam(
    normals: Array, halves: Array, start: Array, vectors: Array, values: Array, known: Array, width: int
) -> Array:
    """A point of the best cell met, or 0."""
    m, d = normals.shape
    sides, sums, points = np.zeros((1, m), np.int8), start.reshape(1, d).copy(), normals[:1].copy()
    turned, point = np.empty(d), np.empty(d)
    for depth in range(m):
        count = len(sides)
        bounds = np.empty(2 * count)
        for child in range(2 * count):
            moved = sums[child // 2] + (2 * (child % 2) - 1) * halves[depth]
            bounds[child] = bound_over_sides(moved, vectors[depth + 1], values[depth + 1], turned, 0.0)
        most = min(2 * count, width)
        next_sides, next_sums, next_points = np.empty((most, m), np.int8), np.empty((most, d)), np.empty((most, d))
        kept = 0
        for child in np.argsort(-bounds):
            parent, side = child // 2, 2 * (child % 2) - 1
            next_sides[kept] = sides[parent]
            next_sides[kept, depth] = side
            s = 0.0
            for k in range(d):
                s += normals[depth, k] * points[parent, k]
            if s * side > THIN:
                next_points[kept] = points[parent]
            elif cell_point(normals, next_sides[kept], depth + 1, point) == 1:
                next_points[kept] = point / np.sqrt(np.sum(point * point))
            else:
                continue
            next_sums[kept] = sums[parent] + side * halves[depth]
            kept += 1
            if kept == most:
                break
        sides, sums, points = next_sides[:kept], next_sums[:kept], next_points[:kept]
    value, best = -1.0, np.zeros(d)
    for cell in range(len(sides)):
        seen = False
        for t in range(len(known)):
            seen |= bool(np.all(known[t] == sides[cell]))
        length = np.sum(sums[cell] * sums[cell])
        if not seen and length > value:
            value = length
            best[:] = points[cell]
    return best
