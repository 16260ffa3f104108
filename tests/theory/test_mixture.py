import numpy as np
import pytest
from scipy.stats import binom, norm

from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Mixture
from recovery.methods.arrangement import Arrangement
from recovery.programs.architecture import RELU
from recovery.theory.mixture import direction_constant, split_bound, split_probability, theorem13_sigma


def test_the_law_averages_to_the_frequency_in_one_dimension() -> None:
    """Means of one sign have w = 0, whose pattern is all ones: it is never the labels of a second class."""
    setting = Setting(1, 1, Mixture(means="normal"))
    row = Arrangement(event="split", draws=400)(draw(setting, np.random.default_rng(3)), RELU)
    assert abs(row["z_score"]) < 4
    assert split_probability(2.0, 1.0, 1.0, 0.5, 3, 0) == 1.0
    assert split_probability(2.0, 1.0, 1.0, 0.5, 3, [1, 2]).tolist() == [0.0, 0.0]


def test_bound_lies_below_the_law() -> None:
    sigma, cosine = np.meshgrid(np.linspace(0.05, 5, 60), np.linspace(-1, 0.95, 40))
    law = split_probability(2.0, 3.0, cosine, sigma, 50, 40)
    bound = split_bound(2.0, 3.0, cosine, sigma, 50, 40)
    assert (bound <= law + 1e-12).all()
    assert (bound > 0.1).any()


def test_opposite_means_at_figure_17_sizes() -> None:
    length = np.sqrt(20)
    assert split_probability(length, length, -1.0, 2.0, 100, 0) == pytest.approx(norm.cdf(length / 2) ** 100)
    assert split_bound(2 * length, 2 * length, -1.0, 2.0, 100, 0) == pytest.approx(1 - 100 * np.exp(-80 / 8))
    assert split_probability(length, [1.0, 2.0], -1.0, [[1.0], [3.0]], 100, 0).shape == (2, 2)


def test_without_noise_the_split_is_certain_unless_the_means_agree() -> None:
    np.testing.assert_array_equal(split_probability(1.0, 1.0, [-1.0, 0.5, 1.0], 0.0, 3, 3), [1, 1, 0])
    np.testing.assert_array_equal(split_bound(1.0, 1.0, [-1.0, 0.5], 0.0, 3, 3), [1, 1])


def direction_bound(n: int, d: int, length: float, sigma: float, delta: float) -> float:
    """A bound on ||w -+ mu/||mu|| ||^2, w the top eigenvector of X^T X with n rows mu + sigma z.

    With probability 1 - delta no entry of Z exceeds sqrt(2 L), L = log(n d/delta). Then X^T X = n mu mu^T + E with
        ||E|| <= e = 2 sigma n sqrt(2 d L) ||mu|| + 2 sigma^2 n d L,
    and P1's steps (199) to (204) give |w.mu| / ||mu|| >= (n ||mu||^2 - d e) / (n ||mu||^2 + e), so that
        ||w -+ mu/||mu|| ||^2 <= 2 (d + 1) e / (n ||mu||^2), which depends on n only through L.
    """
    L, ratio = np.log(n * d / delta), sigma / length
    return float(2 * (d + 1) * (2 * ratio * np.sqrt(2 * d * L) + 2 * ratio**2 * d * L))


def _distance(rng: np.random.Generator, n: int, mu: np.ndarray, sigma: float) -> float:
    """||w -+ mu/||mu|| ||^2 of one draw, w the top eigenvector of X^T X."""
    X = mu + sigma * rng.standard_normal((n, len(mu)))
    w = np.linalg.svd(X, full_matrices=False)[2][0]
    return float(2 * (1 - abs(w @ mu) / np.linalg.norm(mu)))


@pytest.mark.parametrize(("n", "length", "sigma"), [(10_000, 1.0, 20.0), (1_000, 0.05, 0.5), (2_000, 0.02, 0.2)])
def test_proposition_25_is_false_where_the_noise_is_larger_than_the_mean(n: int, length: float, sigma: float) -> None:
    """It says 0.9; of 60 draws so few hold that a chance of 0.9 would give as few with probability below 1e-6."""
    rng, mu = np.random.default_rng(25), np.array([0.6, 0.8]) * length
    printed = float(direction_constant(n, 2, length, 0.1)) * sigma
    distances = np.array([_distance(rng, n, mu, sigma) for _ in range(60)])
    assert binom.cdf((distances <= printed).sum(), 60, 0.9) < 1e-6
    assert (distances <= direction_bound(n, 2, length, sigma, 0.1)).all()


@pytest.mark.parametrize(("n", "d", "sigma"), [(50, 3, 0.001), (50, 3, 0.05), (2000, 8, 0.2)])
def test_the_mended_proposition_25(n: int, d: int, sigma: float) -> None:
    """With n for n^2 the bound holds in every one of 100 draws (it says 0.9), and tends to zero with sigma."""
    rng, mu = np.random.default_rng(n + d), np.ones(d)
    bound = direction_bound(n, d, np.sqrt(d), sigma, 0.1)
    assert all(_distance(rng, n, mu, sigma) <= bound for _ in range(100))
    assert direction_bound(n, d, np.sqrt(d), sigma / 100, 0.1) < bound / 50


@pytest.mark.parametrize(("n1", "n2"), [(40, 1), (60, 2)])
def test_theorem_13(n1: int, n2: int) -> None:
    """At its largest sigma the eigenvector of the first class splits the classes, and where the cone condition of
    Proposition 24 holds, (NIC-1) holds over every pattern: in every draw, where the theorem promises 0.9."""
    rng, n, mu = np.random.default_rng(13), n1 + n2, np.array([1.0, 1.0])
    sigma, met = float(theorem13_sigma(n, n1, 2, np.sqrt(2), 0.1)), 0
    labels = np.repeat([1.0, -1.0], [n1, n2])
    for _ in range(30):
        X = labels[:, None] * mu + sigma * rng.standard_normal((n, 2))
        first = X[:n1]
        w = np.linalg.svd(first, full_matrices=False)[2][0]
        w *= np.sign(w @ mu)
        assert (labels * (X @ w) > 0).all()
        angles, others = (np.arctan2(*(rows @ [[1, 1], [-1, 1]]).T) for rows in (first, -X[n1:]))
        if angles.min() < others.min() and others.max() < angles.max():
            met += 1
            inverse = np.linalg.solve(first.T @ first, w)
            edges = np.sort(np.arctan2(X[:, 0], -X[:, 1]) % np.pi)
            middles = np.concatenate([(edges + np.roll(edges, -1) + np.pi * (np.arange(n) == n - 1)) / 2] * 2)
            middles[n:] += np.pi
            values = [
                np.linalg.norm(first.T @ ((first @ h >= 0) * (first @ inverse)))
                for h in np.stack([np.cos(middles), np.sin(middles)], axis=1)
                if not ((X @ h >= 0) == (labels > 0)).all()
            ]
            assert max(values) < 1
    assert met >= 10


def test_theorem_13_asks_for_a_small_delta() -> None:
    assert np.isnan(theorem13_sigma(50, 25, 40, 1.0, 0.1))
    assert theorem13_sigma(50, 25, 4, 1.0, 0.1) > 0
