"""Branch and bound over signs of planes: the largest projection of a dual point on the range of the rows of a cell.

This is the dual norm of the gated program whose neurons are normalised after the ReLU. Over cells D, with B_D the rows
of D and lam_D their part of lam,
    ||P_D lam||^2 = ||lam_D||^2 - min over v of ||lam_D - B_D v||^2.
The minimum does not decrease when rows are added. So, with `on` the active rows of a partial cell,
    ||P_D lam||^2 <= ||P_on lam||^2 + sum of lam_i^2 over open rows.
Cells of one depth are split together, the planes whose rows have the largest lam first. The search nearly enumerates
all cells: only inactive rows, and active rows beyond the number of columns, lower the bound.
"""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled, dot
from recovery.conditions.cell_search import THIN, cell_point
from recovery.conditions.planes import distinct_planes
from recovery.programs.orthonormal import projection_norms
from recovery.types import Array, Codes, Mask

ROUNDING = 1e-10
"""Error of norms from a Cholesky factor, relative to the norm of lam (`recovery.programs.orthonormal`)."""

_compiled = compiled(fastmath=SUMS_IN_ANY_ORDER)


def largest_projection(
    base: Array, lam: Array, known: Mask, limit: float, nodes: int, stop: bool
) -> tuple[float, Array, float, int]:
    """Return (value, a point of its cell, bound, nodes): bounds on max ||P_D lam|| over cells of `base` (n, r).

    base: with orthonormal columns. lam (n,). Options as for `recovery.conditions.branching.branch`; known (n, k):
    excluded cells.
    """
    lam = np.where(base.any(axis=1), lam, 0.0)
    scale = float(np.linalg.norm(lam))
    if scale == 0.0:
        return 0.0, np.zeros(base.shape[1]), 0.0, 0
    # lower the limit by the margins for rounding that are added to the bound, so that the returned bound can be below
    # the caller's limit
    limit = max(limit - 3 * ROUNDING * scale, 0.0)
    normals, plane, side = distinct_planes(base)
    order = np.argsort(-np.bincount(plane, np.where(side != 0, lam**2, 0.0), len(normals)), kind="stable")
    normals, plane = normals[order], np.argsort(order)[plane]
    sides, points = np.zeros((1, len(normals)), np.int8), normals[:1]
    value, best, unsure, looked = 0.0, np.zeros(base.shape[1]), 0.0, 1
    for depth in range(len(normals)):
        sides, points, sure = _split(normals, sides, points, depth)
        looked += len(sides)
        signs = sides[:, plane] * side
        bounds = _bounds(base, lam, signs.T > 0, signs.T == 0)
        unsure = max(unsure, float(bounds[~sure].max(initial=0.0)))
        sides, points, bounds = sides[sure], points[sure], bounds[sure]
        # a point on the plane of an undecided row is on the boundary of cells, in none of them: its value stays 0
        products = points @ normals.T
        inside = np.flatnonzero((np.abs(products) > THIN).all(axis=1))
        values = np.zeros(len(points))
        values[inside] = _values(base, lam, (products[inside][:, plane] * side).T > 0, known)
        if values.size and values.max() > value:
            value, best = float(values.max()), points[int(values.argmax())]
        if stop and value > limit:
            return value, best, np.inf, looked
        if looked > nodes:
            return value, best, max(value, unsure, float(bounds.max(initial=0.0))) + ROUNDING * scale, looked
        kept = bounds > max(value, limit) + ROUNDING * scale
        sides, points = np.ascontiguousarray(sides[kept]), np.ascontiguousarray(points[kept])
    left = _values(base, lam, (sides[:, plane] * side).T > 0, known)
    upper = max(value, limit, unsure, float(left.max(initial=0.0)))
    return value, best, upper + 2 * ROUNDING * scale, looked


def _bounds(base: Array, lam: Array, on: Mask, open_: Mask) -> Array:
    """Return upper bounds (k,) on ||P_D lam|| over the patterns D within partial cells.

    on, open_ (n, k): the active and the open rows of each partial cell.
    """
    squares: Array = np.where(on | open_, (lam**2)[:, None], 0.0).sum(axis=0)
    # only patterns with more than r active rows are projected: r or fewer independent rows reach every lam_D, so the
    # norm of lam on the active and undecided rows bounds the others
    many = np.flatnonzero(on.sum(axis=0) > base.shape[1])
    if many.size:
        rest = np.where(open_[:, many], (lam**2)[:, None], 0.0).sum(axis=0)
        squares[many] = projection_norms(base, np.ascontiguousarray(on[:, many]), lam) ** 2 + rest
    return np.sqrt(squares)


def _values(base: Array, lam: Array, patterns: Mask, known: Mask) -> Array:
    """Return ||P_D lam|| of patterns (n, k), zero for known patterns."""
    if not patterns.shape[1]:
        return np.zeros(0)
    values = projection_norms(base, patterns, lam)
    live = base.any(axis=1)
    for column in known.T:
        values[(patterns == column[:, None])[live].all(axis=0)] = 0.0
    return values


@_compiled
def _split(normals: Array, sides: Codes, points: Array, depth: int):  # type: ignore[no-untyped-def]
    """Split each cell by the plane `depth`.

    Return signs (k, m) and points (k, d) of the non-empty halves, and whether each is certain to exist.
    """
    m, d = normals.shape
    count = 0
    next_sides, next_points = np.empty((2 * len(sides), m), np.int8), np.empty((2 * len(sides), d))
    sure, point = np.ones(2 * len(sides), np.bool_), np.empty(d)
    for cell in range(len(sides)):
        s = dot(normals[depth], points[cell])
        for half in (1, -1):
            next_sides[count] = sides[cell]
            next_sides[count, depth] = half
            next_points[count] = points[cell]
            if s * half <= THIN:
                state = cell_point(normals, next_sides[count], depth + 1, point)
                if state == 0:
                    continue
                sure[count] = state > 0
                next_points[count] = point / np.sqrt(np.sum(point * point))
            count += 1
    return next_sides[:count], next_points[:count], sure[:count]
