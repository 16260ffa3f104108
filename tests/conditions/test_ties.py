"""Other groups that can be a planted neuron at the same cost."""

import numpy as np

from recovery.conditions.ties import exact_signs, reaches, twins


def test_signs_are_exact():
    F = np.array([[0.1, 0.2, -0.3], [1.0, -1.0, 0.0], [0.1, 0.2, -0.30000000000000004]])
    signs = exact_signs(F, np.ones(3))
    assert signs.tolist() == [1.0, 0.0, -1.0]  # 0.1 + 0.2 is more than 0.3 and less than the float after it


def test_twins_differ_on_rows_at_zero_only():
    F = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 1.0]])
    patterns = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]], dtype=bool)
    e1 = np.array([1.0, 0.0])
    assert twins(F, patterns, e1, 0, alone=True, free=True).tolist() == [1, 2]
    assert twins(F, patterns, e1, 0, alone=False, free=True).tolist() == [2]
    assert twins(F, patterns, np.array([1.0, 1.0]), 0, alone=True, free=True).tolist() == [2]
    assert twins(F, patterns, np.array([1.0, -1.0]), 0, alone=True, free=False).tolist() == []


def test_a_normalised_neuron_is_reached_by_independent_rows():
    """v = (1, 0, a) has the image of w on the first two rows; the cone asks a < 0, and the last row more."""
    patterns = np.array([[1, 1], [0, 1], [0, 0], [0, 0]], dtype=bool)
    w = np.array([1.0, -1.0, -1.0])
    for last, inside in (([-1.0, -1.0, -1.0], True), ([1.0, 3.0, -1.0], False)):  # a > -1, and a > 1
        F = np.vstack([np.eye(3), last])
        assert reaches(F, patterns, w, 0, cones=False)
        assert reaches(F, patterns, w, 0, cones=True) == inside
        assert not reaches(F, patterns[:, :1], w, 0, cones=False)
