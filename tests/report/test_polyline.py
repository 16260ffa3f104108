"""Lines of theory on the page: fewer points, nowhere far from all of them, on linear and on logarithmic axes."""

import numpy as np
import pytest

from recovery.report.charts.polyline import TOLERANCE, simplified


def far(points: np.ndarray, kept: np.ndarray) -> float:
    """The largest distance of any point from the kept line, in parts of the extent each way, on straight axes and on
    logarithmic ones."""
    most = 0.0
    for way in (np.asarray, np.log):
        all_, few = way(points), way(kept)
        extent = np.ptp(all_, axis=0)
        all_, few = all_ / extent, few / extent
        first, along = few[:-1], np.diff(few, axis=0)
        share = np.clip(((all_[:, None] - first) * along).sum(2) / (along**2).sum(1), 0, 1)
        nearest = np.linalg.norm(all_[:, None] - first - share[..., None] * along, axis=2).min(axis=1)
        most = max(most, float(nearest.max()))
    return most


@pytest.mark.parametrize("bend", [lambda x: x**2, np.sqrt, lambda x: 1 + np.sin(x / 20), lambda x: 1 / x])
def test_a_line_keeps_its_ends_and_its_shape_in_few_points(bend: object) -> None:
    x = np.linspace(1, 200, 800)
    points = np.stack([x, bend(x)], 1)  # type: ignore[operator]
    kept = simplified(points)
    assert len(kept) < 120
    assert kept[[0, -1]].tolist() == points[[0, -1]].tolist()
    assert far(points, kept) <= TOLERANCE * (1 + 1e-9)


def test_straight_lines_closed_lines_and_single_points_are_kept() -> None:
    x = np.linspace(-1, 1, 100)
    assert simplified(np.stack([x, 3 * x + 1], 1)).tolist() == [[-1.0, -2.0], [1.0, 4.0]]
    turn = np.linspace(0, 2 * np.pi, 200)
    ring = np.stack([np.cos(turn), np.sin(turn)], 1)
    ring[-1] = ring[0]
    assert 20 < len(simplified(ring)) < 100
    assert simplified(np.array([[3.0, 7.0]])).tolist() == [[3.0, 7.0]]
    assert simplified(np.array([[3.0, 7.0], [3.0, 9.0]])).tolist() == [[3.0, 7.0], [3.0, 9.0]]
