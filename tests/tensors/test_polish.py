"""The Jacobian against finite differences, and exact fits from near and random starts."""

from math import comb, prod

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.stats import norm

from recovery.errors import ParameterError
from recovery.programs.relu_network import ReluNetwork, function_error, parameter_error
from recovery.tensors.hermite import estimate, exact, powers
from recovery.tensors.learner import LearnOptions, learn
from recovery.tensors.polish import EXACT, LAST, flatten, jacobian, polish, random_starts, search, unflatten
from recovery.tensors.printed_steps import truncated_regression
from tests.tensors.networks import draw_network


def test_jacobian_matches_finite_differences():
    network, X = draw_network(0, 3, 4), np.random.default_rng(1).standard_normal((11, 3))
    theta, step = flatten(network), 1e-6
    columns = []
    for i in range(len(theta)):
        ends = [unflatten(theta + s * step * np.eye(len(theta))[i], 3)(X) for s in (1, -1)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    expected = np.column_stack(columns)
    assert np.all(np.abs(expected).max(axis=0) > 0)  # no parameter is out of play
    np.testing.assert_allclose(jacobian(X, network), expected, atol=1e-8)


def test_a_near_start_is_polished_to_the_exact_parameters():
    network, rng = draw_network(2, 5, 3), np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    start = ReluNetwork(network.W + 0.05 * rng.standard_normal((3, 5)), network.b + 0.05, 1.1 * network.a)
    polished = polish(X, network(X), start)
    assert polished.residual < EXACT
    assert parameter_error(polished.network, network) < 1e-6


def test_noisy_labels_are_fitted_as_minpack_fits_them():
    network, rng = draw_network(6, 4, 2), np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    y = network(X) + 0.3 * rng.standard_normal(500)
    ours = polish(X, y, network, 200)
    theirs = least_squares(
        lambda theta: unflatten(theta, 4)(X) - y,
        flatten(network),
        lambda theta: jacobian(X, unflatten(theta, 4)),
        method="lm",
    )
    size = float(np.linalg.norm(y))
    assert ours.residual == pytest.approx(np.linalg.norm(theirs.fun) / size, rel=1e-3)
    assert ours.residual == pytest.approx(np.linalg.norm(ours.network(X) - y) / size, rel=1e-12)


def test_dead_units_and_zero_labels_end_the_polish():
    X = np.random.default_rng(0).standard_normal((50, 3))
    dead = ReluNetwork(np.zeros((2, 3)), np.full(2, -1.0), np.zeros(2))
    assert polish(X, np.ones(50), dead, 20).residual == 1.0
    network = draw_network(0, 3, 2)
    assert polish(X, np.zeros(50), network, 200).residual == 0.0
    assert polish(X, np.zeros(50), dead, 20).evaluations == 1


def test_random_starts_end_at_an_exact_fit_and_keep_to_their_budget():
    network, rng = draw_network(3, 3, 1), np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = network(X)
    found = search(X, y, random_starts(X, y, 1, rng), 300)
    assert found.residual < EXACT
    assert parameter_error(found.network, network) < 1e-6
    noisy = y + rng.standard_normal(400)
    spent = search(X, noisy, random_starts(X, noisy, 1, rng), 250)
    assert spent.evaluations <= 250 + LAST
    assert spent.starts > 1


def test_all_rows_are_fitted_in_the_end():
    """With noise on the labels, the optimum on all rows is stationary there and not on the rows of the search."""
    network, rng = draw_network(5, 2, 1), np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y = network(X) + 0.1 * rng.standard_normal(3000)
    found = search(X, y, [network], 50).network

    def slope(at: ReluNetwork) -> float:
        return float(np.linalg.norm(jacobian(X, at).T @ (at(X) - y)))

    assert slope(found) < 0.01 * slope(network)  # the loss has kinks: its gradient jumps at the optimum


def test_too_few_rows_no_evaluations_and_no_start_are_refused():
    network, X = draw_network(4, 3, 2), np.ones((9, 3))
    with pytest.raises(ParameterError, match="at least 10 rows, found 9"):
        polish(X, network(X), network)
    with pytest.raises(ParameterError, match="at least 1 evaluation"):
        polish(X, network(X), network, 0)
    with pytest.raises(ParameterError, match="at least one start"):
        search(X, network(X), [], 10)


# Statements of P4 whose constants are not given: the powers that they name, by exact laws and draws of these tests.


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize(("d", "m"), [(2, 4), (3, 10)])
def test_theorem_d1_at_order_3_finds_as_many_units_as_there_are_cubes(d: int, m: int, joint: bool) -> None:
    """Cubes of vectors span C(d + 2, 3) dimensions: one unit more makes them dependent. joint: all orders at once;
    otherwise the two orders of Algorithm 4, decomposed one after the other."""
    assert m == comb(d + 2, 3)
    options = LearnOptions(joint=joint)
    for seed in range(4):
        network = draw_network(seed, d, m)
        found = learn(exact(network, 3, np.eye(d)), m, np.random.default_rng(0), options=options)
        assert parameter_error(found.units, network) < 1e-4
        larger = draw_network(seed, d, m + 1)
        found = learn(exact(larger, 3, np.eye(d)), m + 1, np.random.default_rng(0), options=options)
        assert found.rank == m


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
        found = estimate(X, np.ones(rows), (k + 1) // 2, np.eye(1, d)).moments.whole[k]
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
        found = estimate(X, unit(X), 1, np.eye(1, d)).moments.whole[2]
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
