import numpy as np
import pytest
from scipy.stats import binomtest, norm

from recovery.theory.mixture import opposite_split, opposite_split_bound, split_bound, split_probability


@pytest.mark.parametrize(("n1", "n2", "sigma"), [(5, 3, 0.8), (2, 9, 0.5)])
def test_exact_law_by_simulation(n1: int, n2: int, sigma: float) -> None:
    rng = np.random.default_rng(7)
    mu1, mu2 = np.array([1.0, 0.3, 0.0]), np.array([-0.5, 1.0, 0.7])
    w = mu1 / np.linalg.norm(mu1) - mu2 / np.linalg.norm(mu2)
    draws = 20_000
    first = (mu1 + sigma * rng.standard_normal((draws, n1, 3))) @ w > 0
    second = (mu2 + sigma * rng.standard_normal((draws, n2, 3))) @ w < 0
    count = int((first.all(axis=1) & second.all(axis=1)).sum())
    cosine = mu1 @ mu2 / np.linalg.norm(mu1) / np.linalg.norm(mu2)
    law = float(split_probability(np.linalg.norm(mu1), np.linalg.norm(mu2), cosine, sigma, n1, n2))
    assert 0.05 < law < 0.95
    assert binomtest(count, draws, law).pvalue > 1e-3


def test_bound_lies_below_the_law() -> None:
    sigma, cosine = np.meshgrid(np.linspace(0.05, 5, 60), np.linspace(-1, 0.95, 40))
    law = split_probability(2.0, 3.0, cosine, sigma, 50, 40)
    bound = split_bound(2.0, 3.0, cosine, sigma, 50, 40)
    assert (bound <= law + 1e-12).all()
    assert (bound > 0.1).any()


def test_opposite_means_at_figure_17_sizes() -> None:
    assert opposite_split(100, 20, 2.0) == pytest.approx(norm.cdf(np.sqrt(20) / 2) ** 100)
    assert opposite_split_bound(100, 80, 2.0) == pytest.approx(1 - 100 * np.exp(-80 / 8))
    assert opposite_split(100, np.array([20, 80]), np.array([[1.0], [3.0]])).shape == (2, 2)


def test_without_noise_the_split_is_certain_unless_the_means_agree() -> None:
    np.testing.assert_array_equal(split_probability(1.0, 1.0, [-1.0, 0.5, 1.0], 0.0, 3, 3), [1, 1, 0])
    np.testing.assert_array_equal(split_bound(1.0, 1.0, [-1.0, 0.5], 0.0, 3, 3), [1, 1])
