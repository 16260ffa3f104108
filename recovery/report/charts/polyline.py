"""Lines of theory in few points: Vega reads each point several times, and a straight piece needs only its ends."""

import numpy as np

from recovery.types import Array

TOLERANCE = 1 / 1000
"""Of the line's extent each way: a third of a pixel of a usual panel."""


def simplified(points: Array) -> Array:
    """The points, shape (k, 2), without those that are as good as on the line between kept neighbours (Douglas and
    Peucker 1973). Near is measured on linear and, of positive coordinates, on logarithmic axes at once."""
    unit = _unit(points)
    kept = np.zeros(len(points), dtype=bool)
    kept[[0, -1]] = True
    pieces = [(0, len(points) - 1)]
    while pieces:
        first, last = pieces.pop()
        if last - first < 2:
            continue
        far = _distances(unit[first + 1 : last], unit[first], unit[last])
        most = int(np.argmax(far))
        if far[most] > TOLERANCE:
            middle = first + 1 + most
            kept[middle] = True
            pieces += [(first, middle), (middle, last)]
    return points[kept]


def _unit(points: Array) -> Array:
    """The coordinates, and the logarithms of those that have one, each from 0 to 1."""
    columns = [points, np.log(points[:, (points > 0).all(axis=0)])]
    found = np.concatenate(columns, axis=1)
    extent = np.ptp(found, axis=0)
    return (found - found.min(axis=0)) / np.where(extent > 0, extent, 1.0)


def _distances(points: Array, first: Array, last: Array) -> Array:
    """How far points are from the piece between two ends."""
    along = last - first
    length = float(along @ along)
    share = np.clip((points - first) @ along / length, 0.0, 1.0) if length else np.zeros(len(points))
    return np.linalg.norm(points - first - share[:, None] * along, axis=1)
