"""Enumerate the cells of a central arrangement of n hyperplanes {h: x_i.h = 0}: all patterns, for small d.

Deletion and restriction, without linear programs: a new hyperplane splits exactly the cells that it meets. These are
the cells of the arrangement restricted to it, in one dimension less; in two dimensions they are intervals between
sorted angles. Floats are rationals: rows and points are integers here, every sign is exact, and the set is complete for
any matrix, with coinciding, opposite or dependent rows. In general position there are
    2 sum_{k<r} C(n-1, k)
cells, r = rank X (Cover 1965).

The exact cells of rounded data can be artefacts: if columns add up to a third one only up to eps, the rows have cells
of width eps around an axis. If X is not integer, a cell without a point at a clear distance from the hyperplanes is
kept only if `decide_all_ones` finds one; otherwise some data within 1e-12 of X have no such cell.

Inequalities are strict, as in P1's (31): a pattern that only rows at zero attain (x and -x both active, which P1's (5)
admits) is no cell. A zero row is in no operator; it is active in every pattern and has no effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from math import comb, frexp, gcd

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.all_ones import ROUNDING, decide_all_ones
from recovery.programs.integers import Whole, independent_columns_of, integer_rows
from recovery.types import Array, Mask

MOST_CELLS = 200_000
"""Limit of the number of cells; as booleans these take 20 MB for 100 rows."""
CLEAR = ROUNDING
"""A point farther than this from each hyperplane, relative to its length, proves that its cell is no artefact of
rounding: `decide_all_ones` accepts such a direction as a proof."""


def cell_count(n: int, rank: int) -> int:
    """Return 2 sum_{k<rank} C(n-1, k): the number of cells in general position, and otherwise an upper bound."""
    return 2 * sum(comb(n - 1, k) for k in range(rank))


def enumerate_cells(X: Array, *, artefacts: bool = False) -> tuple[Mask, Array]:
    """Return the patterns (n, c) of all cells of X (n, d), and a point of each as columns (d, c), rounded.

    artefacts: whether to keep cells that may exist only because the floats in X are rounded.
    Raises `ParameterError` if X is zero or could have more than MOST_CELLS.
    """
    if not X.any():
        raise ParameterError("an arrangement needs a row that is not zero")
    live = np.flatnonzero(X.any(axis=1))
    rows, shifts = _balanced(integer_rows(X[live]))
    planes, coordinates = _essential(rows)
    points_of_cells = _points(planes)
    points = np.zeros((X.shape[1], len(points_of_cells.whole)))
    points[coordinates] = points_of_cells.rounded.T * np.exp2([shifts[k] - max(shifts) for k in coordinates])[:, None]
    normals = _Vectors.of([tuple(row[k] for k in coordinates) for row in rows])
    products = _products(normals, points_of_cells)
    patterns = np.ones((X.shape[0], len(points_of_cells.whole)), dtype=np.bool_)
    patterns[live] = products > 0
    if artefacts or (np.rint(X) == X).all():
        return patterns, points
    width = (np.abs(products) / np.linalg.norm(normals.rounded, axis=1)[:, None]).min(axis=0)
    kept = width > CLEAR * np.linalg.norm(points_of_cells.rounded, axis=1)
    for j in np.flatnonzero(~kept):
        decision = decide_all_ones(np.where(patterns[live, j, None], X[live], -X[live]))
        if decision.direction is not None and decision.bound > CLEAR:
            kept[j], points[:, j] = True, decision.direction
    return patterns[:, kept], points[:, kept]


def _balanced(rows: list[Whole]) -> tuple[list[Whole], list[int]]:
    """Return the rows with columns multiplied by powers of two to similar sizes, and the exponents of these powers."""
    reach = [
        max((abs(row[k]).bit_length() - max(map(abs, row)).bit_length() for row in rows if row[k]), default=0)
        for k in range(len(rows[0]))
    ]
    shifts = [max(reach) - r for r in reach]
    return [tuple(a << s for a, s in zip(row, shifts, strict=True)) for row in rows], shifts


def _essential(rows: list[Whole]) -> tuple[list[Whole], list[int]]:
    """Return the distinct hyperplanes in as many coordinates as the rows have rank, and indices of the coordinates.

    Raises `ParameterError` if they could have more than MOST_CELLS cells.
    """
    coordinates = independent_columns_of(rows).tolist()
    planes = _distinct([tuple(row[k] for k in coordinates) for row in rows])
    most = cell_count(len(planes), len(coordinates))
    if most > MOST_CELLS:
        raise ParameterError(
            f"{len(rows)} rows in {len(rows[0])} dimensions have up to {most} patterns, more than {MOST_CELLS}: "
            "use patterns.kind sampled or searched"
        )
    return planes, coordinates


def _pivot(x: Whole) -> int:
    return next(k for k, entry in enumerate(x) if entry)


def _eliminated(x: Whole, y: Whole, k: int) -> Whole:
    """Return y as a functional on {h: x.h = 0}, times |x_k|: its coordinate k is zero."""
    sign = 1 if x[k] > 0 else -1
    return tuple(sign * (x[k] * b - y[k] * a) for a, b in zip(x, y, strict=True))


def _primitive(x: Whole) -> Whole:
    divisor = gcd(*x)
    return tuple(entry // divisor for entry in x) if divisor > 1 else x


def _distinct(rows: Sequence[Whole]) -> list[Whole]:
    """Return the distinct hyperplanes of the non-zero rows, with positive first entries."""
    planes: dict[Whole, None] = {}
    for row in rows:
        if any(row):
            x = _primitive(row)
            planes[x if x[_pivot(x)] > 0 else tuple(-entry for entry in x)] = None
    return list(planes)


def _restricted(planes: Sequence[Whole], x: Whole) -> list[Whole]:
    """Return the intersections of `planes` with {h: x.h = 0}, in one coordinate less."""
    k = _pivot(x)
    return _distinct([_without(_eliminated(x, y, k), k) for y in planes])


def _without(x: Whole, k: int) -> Whole:
    return x[:k] + x[k + 1 :]


@dataclass(frozen=True)
class _Vectors:
    """Integer vectors, their largest entries, and their quotients as floats (m, d), rounded to within eps/2."""

    whole: list[Whole]
    sizes: list[int]
    rounded: Array

    @classmethod
    def of(cls, whole: list[Whole]) -> "_Vectors":
        sizes = [max(map(abs, x), default=0) or 1 for x in whole]
        return cls(whole, sizes, np.array([[a / size for a in x] for x, size in zip(whole, sizes, strict=True)]))

    def first(self, count: int) -> "_Vectors":
        return _Vectors(self.whole[:count], self.sizes[:count], self.rounded[:count])


def _products(planes: _Vectors, points: _Vectors) -> Array:
    """Return planes.rounded @ points.rounded.T, recomputed with integers where rounding could change the sign."""
    X, P = planes.rounded, points.rounded.T
    products = X @ P
    # the rounding error of a product is at most (d + 1) eps |X| |P|, including the errors of the rounded entries;
    # `bound` is twice that
    bound = 2 * (X.shape[1] + 1) * np.finfo(float).eps * (np.abs(X) @ np.abs(P))
    doubtful = np.abs(products) <= bound + np.finfo(float).tiny
    for i, j in zip(*np.nonzero(doubtful), strict=True):
        products[i, j] = _dot(planes.whole[i], points.whole[j]) / (planes.sizes[i] * points.sizes[j])
    return products


def _points(planes: list[Whole]) -> _Vectors:
    """Return a point in each cell of distinct hyperplanes."""
    if not planes or len(planes[0]) == 2:
        return _Vectors.of(_points_in_plane(planes) if planes else [()])
    known = _Vectors.of(planes)
    x = planes[0]
    points, keys = _Vectors.of([x, tuple(-a for a in x)]), [1, 0]
    for i in range(1, len(planes)):
        x, earlier = planes[i], known.first(i)
        crossings = _Vectors.of([_lifted(c, x) for c in _points(_restricted(planes[:i], x)).whole])
        values = _products(earlier, crossings)
        row = _Vectors([x], known.sizes[i : i + 1], known.rounded[i : i + 1])
        with np.errstate(divide="ignore"):  # a row orthogonal to x does not limit the step: its room is infinite
            room = np.abs(values) / np.abs(_products(earlier, row))
        owner = {key: j for j, key in enumerate(keys)}
        met = [owner[key] for key in _keys(values > 0)]
        keys = [2 * key + int(side) for key, side in zip(keys, _products(row, points)[0] > 0, strict=True)]
        pairs = [
            # a quarter of the room, by bit lengths, whose quotient may be twice too large: at most half of the room
            _either_side(c, x, frexp(min(1.0, least))[1] + c_size.bit_length() - known.sizes[i].bit_length() - 3)
            for c, c_size, least in zip(crossings.whole, crossings.sizes, room.min(axis=0).tolist(), strict=True)
        ]
        ahead, behind = _Vectors.of([pair[0] for pair in pairs]), _Vectors.of([pair[1] for pair in pairs])
        for new, j in enumerate(met):
            points.whole[j], points.sizes[j], keys[j] = ahead.whole[new], ahead.sizes[new], keys[j] | 1
        points.rounded[met] = ahead.rounded
        points = _Vectors(
            points.whole + behind.whole, points.sizes + behind.sizes, np.vstack([points.rounded, behind.rounded])
        )
        keys += [keys[j] - 1 for j in met]
    return points


def _either_side(crossing: Whole, x: Whole, power: int) -> tuple[Whole, Whole]:
    """Return c + 2^power x and c - 2^power x, each times a positive number."""
    c = crossing if power >= 0 else tuple(a << -power for a in crossing)
    step = tuple(a << power for a in x) if power >= 0 else x
    ahead = tuple(a + b for a, b in zip(c, step, strict=True))
    behind = tuple(a - b for a, b in zip(c, step, strict=True))
    return _primitive(ahead), _primitive(behind)


def _dot(x: Whole, y: Whole) -> int:
    return sum(a * b for a, b in zip(x, y, strict=True))


def _lifted(c: Whole, x: Whole) -> Whole:
    """Return the point of {h: x.h = 0} with coordinates c except at the pivot of x, times a positive number."""
    k = _pivot(x)
    size = abs(x[k])
    moved = [size * entry for entry in c]
    moved.insert(k, -_dot(_without(x, k), c) * (1 if x[k] > 0 else -1))
    return _primitive(tuple(moved))


def _points_in_plane(planes: list[Whole]) -> list[Whole]:
    """Return a point in each cell of lines in the plane: sums of consecutive boundary rays, and their negatives."""
    rays = [(-b, a) if a > 0 or (a == 0 and b < 0) else (b, -a) for a, b in planes]
    rays.sort(key=cmp_to_key(_by_angle))
    if len(rays) == 1:
        half = list(planes)
    else:
        following = [*rays[1:], (-rays[0][0], -rays[0][1])]
        half = [(u[0] + v[0], u[1] + v[1]) for u, v in zip(rays, following, strict=True)]
    return half + [(-a, -b) for a, b in half]


def _by_angle(u: Whole, v: Whole) -> int:
    return -1 if u[0] * v[1] > u[1] * v[0] else 1


def _keys(positive: Mask) -> list[int]:
    """Return the columns as integers, with the first row as the highest bit."""
    size = positive.shape[0]
    return [int.from_bytes(column.tobytes(), "big") >> (-size % 8) for column in np.packbits(positive, axis=0).T]
