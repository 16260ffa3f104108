"""Blocks of rising fractions are those of scipy, which takes an eighth of a report to import."""

import numpy as np
from scipy.optimize import isotonic_regression

from recovery.report.statistics.transition import rising_blocks


def test_blocks_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for size in rng.integers(1, 30, 2_000):
        total = np.maximum(rng.integers(0, 8, size).astype(float), 1e-9)
        values = np.minimum(np.floor(total * rng.random(size) * 1.2), total) / total
        assert rising_blocks(values, total) == isotonic_regression(values, weights=total).blocks.tolist()
    assert rising_blocks(np.array([]), np.array([])) == [0]
    assert rising_blocks(np.ones(4), np.ones(4)) == [0, 4]
