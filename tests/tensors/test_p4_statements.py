"""Statements of P4 whose constants are not given: the powers that they name, by exact laws and draws of these tests."""

from math import comb, prod

import numpy as np
import pytest
from scipy.stats import norm

from recovery.programs.relu_network import ReluNetwork, function_error, parameter_error
from recovery.tensors.hermite import estimate, exact, powers
from recovery.tensors.learner import Identification, learn
from recovery.tensors.printed_steps import truncated_regression
from tests.tensors.networks import draw_network


@pytest.mark.parametrize(("d", "m"), [(2, 4), (3, 10)])
def test_theorem_d1_at_order_3_finds_as_many_units_as_there_are_cubes(d: int, m: int) -> None:
    """Cubes of vectors span C(d + 2, 3) dimensions: one unit more makes them dependent."""
    assert m == comb(d + 2, 3)
    for seed in range(4):
        network = draw_network(seed, d, m)
        found = learn(exact(network, 3, np.eye(d)), m, np.random.default_rng(0))
        assert found.status is Identification.IDENTIFIED
        assert parameter_error(found.units, network) < 1e-4
        larger = draw_network(seed, d, m + 1)
        found = learn(exact(larger, 3, np.eye(d)), m + 1, np.random.default_rng(0))
        assert found.status is not Identification.IDENTIFIED


@pytest.mark.parametrize(("d", "order"), [(10, 1), (6, 2), (4, 3)])
def test_corollary_3_3_the_least_singular_value_falls_as_a_power_of_the_perturbation(d: int, order: int) -> None:
    """The corollary bounds s_m(W^l) from below by (tau / d)^l / sqrt(m) at m = .99 C(d + l - 1, l), for every W.

    From m equal weights the median over draws falls as tau^l, with a constant above 1: no smaller power is true.
    """
    m, rng = int(0.99 * comb(d + order - 1, order)), np.random.default_rng(d)
    same, moved = np.eye(1, d), rng.standard_normal((40, m, d)) / np.sqrt(d)
    taus = np.array([0.2, 0.05, 0.0125])
    medians = np.array(
        [np.median([np.linalg.svd(powers(same + tau * one, order))[1][m - 1] for one in moved]) for tau in taus]
    )
    assert np.all(medians > (taus / d) ** order / np.sqrt(m))
    assert np.polyfit(np.log(taus), np.log(medians), 1)[0] == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize(("d", "k"), [(3, 1), (3, 3), (3, 4), (6, 2), (12, 2)])
def test_lemma_d3_the_samples_of_a_moment_grow_as_d_to_the_k(d: int, k: int) -> None:
    """N E||T_k - f_k||^2 is d (d + 1) ... (d + k - 1) for labels of 1, an upper bound of the lemma's form d^k k!."""
    rng, rows, draws = np.random.default_rng(k), 50, 400
    expected = prod(range(d, d + k))
    assert d**k <= expected <= d**k * prod(range(1, k + 1))
    squares = []
    for _ in range(draws):
        X = rng.standard_normal((rows, d))
        found = estimate([(X, np.ones(rows))], (k + 1) // 2, np.eye(1, d)).moments.whole[k]
        squares.append(rows * np.sum(found**2))
    error = np.std(squares) / np.sqrt(draws)
    assert abs(np.mean(squares) - expected) < norm.isf(5e-6) * error


@pytest.mark.parametrize("d", [4, 16])
def test_lemma_d3_for_one_unit(d: int) -> None:
    """y = (w.x)_+: N E||T_2 - f_2||^2 = (d^2 + 5 d + 4) / 2 - 1 / (2 pi), about half of the law for labels of 1."""
    rng, rows, draws = np.random.default_rng(d), 50, 400
    unit = ReluNetwork(np.eye(1, d), np.zeros(1), np.ones(1))
    target = exact(unit, 1, np.eye(1, d)).moments.whole[2]
    squares = []
    for _ in range(draws):
        X = rng.standard_normal((rows, d))
        found = estimate([(X, unit(X))], 1, np.eye(1, d)).moments.whole[2]
        squares.append(rows * np.sum((found - target) ** 2))
    error = np.std(squares) / np.sqrt(draws)
    assert abs(np.mean(squares) - ((d**2 + 5 * d + 4) / 2 - 1 / (2 * np.pi))) < norm.isf(5e-6) * error


def test_theorem_3_2_m_plus_2_units_are_enough() -> None:
    """Algorithm 5 gives each unit with both signs of its bias. The right one and the linear part are the network."""
    planted = draw_network(1, 5, 3)
    X = np.random.default_rng(1).standard_normal((2000, 5))
    found = truncated_regression(X, planted(X), planted, 3)
    right, linear = ([*range(3)], [*range(6, 8)])
    few = ReluNetwork(*(part[right + linear] for part in (found.W, found.b, found.a)))
    assert (len(found.a), len(few.a)) == (2 * 3 + 2, 3 + 2)
    assert function_error(few, planted) < 1e-3
