"""The Jacobian against finite differences, and exact fits from near and random starts."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from recovery.errors import ParameterError
from recovery.programs.relu_network import ReluNetwork, parameter_error
from recovery.tensors.polish import (
    EXACT,
    LAST,
    flatten,
    jacobian,
    polish,
    random_starts,
    search,
    unflatten,
)
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


def test_flatten_and_back():
    network = draw_network(1, 3, 4)
    back = unflatten(flatten(network), 3)
    assert all(
        np.array_equal(u, v) for u, v in zip((back.W, back.b, back.a), (network.W, network.b, network.a), strict=True)
    )


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
