"""A small version of benchmarks/coverage.py."""

import pytest
from scipy.stats import binomtest

from benchmarks.coverage import Design, measure


@pytest.mark.parametrize("replicates", [5, 100])
def test_pooled_intervals_cover_with_their_probability_and_little_bias(replicates: int) -> None:
    found = measure(Design("small", (20, 40, 60), 10, 10, 200), replicates, 100, 1)
    assert binomtest(found.covered, 100, 0.95).pvalue > 1e-3
    assert abs(found.bias) < 0.002 + 4 * found.spread / 10


def test_separated_slices_are_covered_at_least_as_often() -> None:
    found = measure(Design("coarse", (20,), 25, 25, 200), 5, 100, 1)
    assert found.separated > 0.5
    assert binomtest(found.covered, 100, 0.95, alternative="less").pvalue > 1e-3
