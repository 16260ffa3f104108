"""Beam search for the arrangement cell of the largest ||c + sum_{i in D} t_i x_i||, for sizes that no proof reaches.

The planes are decided one after another, the heaviest first, as in branch and bound
(`recovery.conditions.cell_search`). At each depth only the `width` partial cells with the largest upper bounds are
kept. Open planes contribute little late in the search, so the bounds rank partial cells almost as the best cells in
them do. A `width` of at least the number of partial cells visits every cell. The value found is a lower bound.
"""

import numpy as np

from recovery.compiled import dot, in_any_order
from recovery.conditions.cell_search import THIN, bound_over_sides, cell_point
from recovery.conditions.planes import RowSum, planes_of
from recovery.conditions.search import BestPattern
from recovery.types import Array, Mask


def beam_patterns(total: RowSum, *, width: int, known: Mask | None = None) -> list[BestPattern]:
    """Return the patterns at the end of the beam search, the best first, without the known patterns (n, k).

    None are found where all sums are zero.
    """
    planes = planes_of(total, known)
    if planes is None:
        return []
    points = _beam(planes.normals, planes.halves, planes.start, planes.vectors, planes.values, planes.excluded, width)
    patterns: Mask = total.rows @ points.T > 0
    return [BestPattern(*each) for each in zip(patterns.T, total.norms(patterns).tolist(), points, strict=True)]


@in_any_order
def _beam(
    normals: Array, halves: Array, start: Array, vectors: Array, values: Array, known: Array, width: int
) -> Array:
    """Return one point of each cell found, (c, d), the best first."""
    m, d = normals.shape
    sides, sums, points = np.zeros((1, m), np.int8), start.reshape(1, d).copy(), normals[:1].copy()
    turned, point = np.empty(d), np.empty(d)
    for depth in range(m):
        count = len(sides)
        bounds = np.empty(2 * count)
        for child in range(2 * count):
            moved = sums[child // 2] + (2 * (child % 2) - 1) * halves[depth]
            bounds[child] = bound_over_sides(moved, vectors[depth + 1], values[depth + 1], turned, 0.0)[0]
        most = min(2 * count, width)
        next_sides, next_sums, next_points = np.empty((most, m), np.int8), np.empty((most, d)), np.empty((most, d))
        kept = 0
        for child in np.argsort(-bounds):
            parent, side = child // 2, 2 * (child % 2) - 1
            next_sides[kept] = sides[parent]
            next_sides[kept, depth] = side
            s = dot(normals[depth], points[parent])
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
    lengths = np.empty(len(sides))
    for cell in range(len(sides)):
        lengths[cell] = -np.sum(sums[cell] * sums[cell])
    met, kept = np.empty((len(sides), d)), 0
    # order the cells by the length of their sum, the longest first. Merge sort is stable: cells of equal length keep
    # the order in which the search reached them
    for cell in np.argsort(lengths, kind="mergesort"):
        seen = False
        for t in range(len(known)):
            seen |= bool(np.all(known[t] == sides[cell]))
        if not seen:
            met[kept] = points[cell]
            kept += 1
    return met[:kept]
