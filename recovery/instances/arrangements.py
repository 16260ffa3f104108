"""All cells of a central arrangement of n hyperplanes {h: x_i.h = 0}: the exhaustive set of patterns, for small d.

Deletion and restriction, without linear programs: adding a hyperplane splits exactly those cells that it meets, and
these are the cells of the arrangement restricted to it, which lives in one dimension less. Every cell comes with a
point inside it, so every pattern is certified by a product. In general position there are
    2 sum_{k<r} C(n-1, k)
cells, r = rank X (Cover 1965); at two dimensions they lie between sorted angles.
"""

from math import comb

import numpy as np

from recovery.errors import ParameterError
from recovery.types import Array, Mask

MOST_CELLS = 200_000
PARALLEL = 1e-10
"""Unit rows whose projections off each other are shorter than this are one hyperplane."""


def cell_count(n: int, rank: int) -> int:
    """2 sum_{k<rank} C(n-1, k): the number of cells in general position, and a bound on it otherwise."""
    return 2 * sum(comb(n - 1, k) for k in range(rank))


def enumerate_cells(X: Array) -> tuple[Mask, Array]:
    """Patterns (n, c) of all cells, and a point inside each as columns (d, c). Zero rows are active in every pattern.

    Raises `ParameterError` when there could be more than MOST_CELLS. A pattern that only hyperplanes through the
    origin attain (rows of opposite sign both at zero) is not a cell, and not listed.
    """
    norms = np.linalg.norm(X, axis=1)
    rows = X[norms > 0] / norms[norms > 0, None]
    if rows.shape[0] == 0:
        raise ParameterError("an arrangement needs a row that is not zero")
    most = cell_count(rows.shape[0], int(np.linalg.matrix_rank(rows)))
    if most > MOST_CELLS:
        raise ParameterError(
            f"{X.shape[0]} rows in {X.shape[1]} dimensions have up to {most} patterns, more than {MOST_CELLS}: "
            "use patterns.kind sampled or searched"
        )
    points = _points(rows)
    patterns: Mask = X @ points >= 0
    patterns[norms == 0] = True
    return patterns, points


def _points(rows: Array) -> Array:
    """A point in each cell of unit rows (n, d), as columns."""
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    basis = Vt[s > PARALLEL * s[0]].T
    rows = rows @ basis
    rank = basis.shape[1]
    if rank == 1:
        return basis @ np.array([[1.0, -1.0]])
    return basis @ (_points_in_plane(rows) if rank == 2 else _points_by_restriction(rows))


def _points_in_plane(rows: Array) -> Array:
    """Midpoints between consecutive boundary rays."""
    rays = np.sort(np.mod(np.arctan2(rows[:, 0], -rows[:, 1]), np.pi))
    gaps = np.diff(rays, append=rays[0] + np.pi)
    distinct = gaps > PARALLEL
    middle = (rays + gaps / 2)[distinct]
    angles = np.concatenate([middle, middle + np.pi])
    return np.stack([np.cos(angles), np.sin(angles)])


def _points_by_restriction(rows: Array) -> Array:
    points = np.stack([rows[0], -rows[0]], axis=1)
    for i in range(1, rows.shape[0]):
        earlier, x = rows[:i], rows[i]
        across = earlier - np.outer(earlier @ x, x)
        lengths = np.linalg.norm(across, axis=1)
        if lengths.min() > PARALLEL:
            points = _split(points, earlier, x, _points(across / lengths[:, None]))
    return points


def _split(points: Array, earlier: Array, x: Array, crossings: Array) -> Array:
    """Add, for each cell that x's hyperplane meets at a column of `crossings`, a point on its other side."""
    values = earlier @ crossings
    with np.errstate(divide="ignore"):
        room = (np.abs(values) / np.abs(earlier @ x)[:, None]).min(axis=0)
    step = 0.5 * np.minimum(room, np.linalg.norm(crossings, axis=0))
    index = {key: j for j, key in enumerate(_keys(earlier @ points))}
    try:
        owner = np.array([index[key] for key in _keys(values)])
    except KeyError as error:
        raise ParameterError("rows too close to dependent: rounding decides which patterns exist") from error
    side = np.where(x @ points[:, owner] >= 0, 1.0, -1.0)
    beyond = crossings - side * step * x[:, None]
    return np.hstack([points, beyond / np.linalg.norm(beyond, axis=0)])


def _keys(values: Array) -> list[bytes]:
    return [column.tobytes() for column in np.packbits(values >= 0, axis=0).T]
