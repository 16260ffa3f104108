"""Beam search for the arrangement cell of the largest ||c + sum_{i in D} t_i x_i||, for sizes that no proof reaches.

The planes are decided one after another, the heaviest first, as in branch and bound
(`recovery.conditions.cell_search`). At each depth only the `width` partial cells with the largest upper bounds are
kept. Open planes contribute little late in the search, so the bounds rank partial cells almost as the best cells in
them do. A `width` of at least the number of partial cells visits every cell. The value found is a lower bound.
"""

import numpy as np

from recovery.conditions.cell_search import THIN, bound_over_sides, cell_point
from recovery.conditions.planes import RowSum, planes_of
from recovery.conditions.search import BestPattern
from recovery.types import Mask


def beam_patterns(total: RowSum, *, width: int, known: Mask | None = None) -> list[BestPattern]:
    """Return the patterns at the end of the beam search, the best first, without the known patterns (n, k)."""
    planes = planes_of(total, known)
    normals, (m, d) = planes.normals, planes.normals.shape
    sides, sums, points = np.zeros((1, m), np.int8), planes.start[None], normals[:1]
    turned, point = np.empty(d), np.empty(d)
    for depth in range(m):
        moved = np.concatenate([sums - planes.halves[depth], sums + planes.halves[depth]])
        left = planes.vectors[depth + 1], planes.values[depth + 1]
        bounds = np.array([bound_over_sides(v, *left, turned, 0.0)[0] for v in moved])
        kept = []
        for child in np.argsort(-bounds).tolist():
            ahead, parent = divmod(child, len(sums))
            own, at = sides[parent].copy(), points[parent]
            own[depth] = side = 2 * ahead - 1
            if side * float(normals[depth] @ at) <= THIN:
                if cell_point(normals, own, depth + 1, point) != 1:
                    continue
                at = point / np.linalg.norm(point)
            kept.append((own, moved[child], at))
            if len(kept) == width:
                break
        if not kept:
            return []
        sides, sums, points = (np.array(each) for each in zip(*kept, strict=True))
    order = np.argsort(-np.linalg.norm(sums, axis=1), kind="stable")
    points = points[order[~(sides[order, None] == planes.excluded).all(axis=2).any(axis=1)]]
    patterns: Mask = total.rows @ points.T > 0
    return [BestPattern(*each) for each in zip(patterns.T, total.norms(patterns).tolist(), points, strict=True)]
