"""Networks side by side: gradients against finite differences, batches against single fits, Adam literally."""

import math

import numpy as np
import pytest

from recovery.instances.planted_functions import SparseNetwork
from recovery.programs.architecture import RELU
from recovery.programs.relu_network import ReluNetwork
from recovery.selection.hyperparameters import HyperparameterGrid, PenalizedDescent, Training, choose, run_grid
from recovery.selection.sparse_networks import Networks, distance, initialize, network
from recovery.training.models import Empirical, Minibatches, Parameters

B, R, N, P = 3, 5, 17, 4


def problem(dtype=np.float64):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((N, P)), rng.standard_normal(N)
    return X, y, initialize(rng, B, R, P, dtype)


def test_errors_are_those_of_each_network():
    X, y, theta = problem()
    found = Networks(X, y, B, R, np.float64).errors(theta)
    expected = [np.mean((network(theta, i, R)(X) - y) ** 2) for i in range(B)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_gradients_are_finite_differences():
    X, y, theta = problem()
    networks, gradient = Networks(X, y, B, R, np.float64), np.empty_like(theta)
    networks.gradient(theta, gradient)
    step = 1e-6
    for row in range(B * R):
        for column in range(P + 2):
            moved = theta.copy()
            moved[row, column] += step
            up = networks.errors(moved)[row // R]
            moved[row, column] -= 2 * step
            slope = (up - networks.errors(moved)[row // R]) / (2 * step)
            assert gradient[row, column] == pytest.approx(slope, abs=1e-8)


def test_gradients_are_those_of_the_training_room():
    """`Empirical` has no bias: a column of ones in X carries it."""
    X, y, theta = problem()
    networks, gradient = Networks(X, y, 1, R, np.float64), np.empty((R, P + 2))
    networks.gradient(theta[:R], gradient)
    parameters = Parameters.empty(RELU, R, P + 1, 1, np.float64)
    parameters["W"][...], parameters["V"][...] = theta[:R, :-1], theta[:R, -1:]
    slope = parameters.like()
    Empirical(np.column_stack([X, np.ones(N)]), y[:, None], R, 1.0 / N)(parameters, slope)
    np.testing.assert_allclose(gradient, np.hstack([slope["W"], slope["V"]]), rtol=1e-12, atol=1e-14)


def literal_adam(X, y, theta, penalty, rate, steps):
    """Algorithm 1 of Kingma and Ba on (1/n) ||f - y||^2 + penalty ||W||_1, entry by entry."""
    theta, first, second = theta.copy(), np.zeros_like(theta), np.zeros_like(theta)
    for t in range(1, steps + 1):
        Z = X @ theta[:, :-2].T + theta[:, -2]
        residual = np.maximum(Z, 0) @ theta[:, -1] - y
        gradient = np.zeros_like(theta)
        for j in range(len(theta)):
            for i in range(len(X)):
                on = 2 * residual[i] / len(X) * (Z[i, j] > 0)
                gradient[j, :-2] += on * theta[j, -1] * X[i]
                gradient[j, -2] += on * theta[j, -1]
                gradient[j, -1] += on * Z[i, j]
            gradient[j, :-2] += penalty * np.sign(theta[j, :-2])
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        theta -= rate * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return theta


def test_a_batch_is_single_fits_by_the_letter():
    X, y, theta = problem()
    start, pairs = theta.copy(), [(0.1, 0.05), (0.01, 0.02), (0.3, 0.005)]
    PenalizedDescent(theta, Networks(X, y, B, R, np.float64), *np.array(pairs).T).run(30)
    for i, (penalty, rate) in enumerate(pairs):
        rows = slice(i * R, (i + 1) * R)
        np.testing.assert_allclose(theta[rows], literal_adam(X, y, start[rows], penalty, rate, 30), rtol=1e-9)


def test_an_epoch_of_batches_is_a_step_on_each_and_sees_every_row_once():
    X, y, theta = problem()
    batches, penalties, rates = (
        Minibatches(np.random.default_rng(1), X, y, 5, lambda X, y: Networks(X, y, B, R)),
        np.full(B, 0.1),
        np.full(B, 0.01),
    )
    rows = [(batch.rows[:, :-1].copy(), batch.y.copy()) for batch in batches()]
    assert [len(labels) for _, labels in rows] == [5, 5, 5, 2]
    np.testing.assert_allclose(np.sort(np.concatenate([labels for _, labels in rows])), np.sort(y), rtol=1e-6)
    start = theta.astype(np.float32)
    trained = start.copy()
    batches.rng = np.random.default_rng(1)
    PenalizedDescent(trained, batches, penalties, rates).run(1)
    expected = PenalizedDescent(start.copy(), Networks(X, y, B, R), penalties, rates)
    for inputs, labels in rows:
        expected.batches = lambda inputs=inputs, labels=labels: (Networks(inputs, labels, B, R),)
        expected.run(1)
    np.testing.assert_allclose(trained, expected.theta, rtol=1e-5)
    assert np.abs(trained - start).max() > 0.01


def test_the_scale_multiplies_the_start():
    grid, (X, y, _) = HyperparameterGrid((0.1,), (1e-9,), (R,), (1,)), problem()
    starts = [next(run_grid(np.random.default_rng(1), X, y, grid, Training(scale=scale)))[2] for scale in (1.0, 0.25)]
    np.testing.assert_allclose(starts[1], 0.25 * starts[0], atol=1e-7)


def test_checkpoints_are_runs_of_their_own():
    X, y, _ = problem()
    grid = HyperparameterGrid((0.1, 0.01), (0.05,), (R,), (7, 3))
    seen = {epochs: theta.copy() for _, epochs, theta in run_grid(np.random.default_rng(1), X, y, grid)}
    for epochs in (3, 7):
        alone = HyperparameterGrid((0.1, 0.01), (0.05,), (R,), (epochs,))
        ((_, _, theta),) = run_grid(np.random.default_rng(1), X, y, alone)
        np.testing.assert_array_equal(theta, seen[epochs])


def test_proximal_steps_end_at_zeros_and_at_the_optimality_conditions():
    """|dE/dw| <= penalty where w = 0, and dE/dw = -penalty sign(w) where it is not."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 8))
    y = np.maximum(X[:, 0] + 0.5, 0) - np.maximum(X[:, 1], 0)
    theta = initialize(rng, 1, 6, 8, np.float64)
    networks, penalty = Networks(X, y, 1, 6, np.float64), 0.1
    # free outer weights have no penalty and would grow without limit, as W shrinks
    theta[:, -1] = np.sign(theta[:, -1])
    for rate in (1e-2, 1e-3, 1e-4, 1e-5):
        descent = PenalizedDescent(
            theta, networks, np.array([penalty]), np.array([rate]), Training("proximal", "signs")
        )
        descent.run(1500)
    networks.gradient(theta, descent.gradient)
    W, slope = theta[:, :-2], descent.gradient[:, :-2]
    assert (W == 0).mean() > 0.5
    assert np.abs(slope[W == 0]).max() <= penalty * (1 + 1e-3)
    np.testing.assert_allclose(slope[W != 0], -penalty * np.sign(W[W != 0]), atol=1e-3 * penalty)


def test_outer_signs_stay_where_they_start_and_the_rest_steps_as_by_the_letter():
    X, y, _ = problem()
    theta = initialize(np.random.default_rng(3), 2, R, X.shape[1], np.float64, signs=True)
    outer = theta[:, -1].copy()
    assert set(outer) == {-1.0, 1.0}
    networks = Networks(X, y, 2, R, np.float64)
    PenalizedDescent(theta, networks, np.array([0.1, 0.01]), np.array([0.05, 0.02]), Training(outer="signs")).run(30)
    np.testing.assert_array_equal(theta[:, -1], outer)
    grid = HyperparameterGrid((0.1,), (0.01,), (5,), (50,))
    fit = choose(np.random.default_rng(0), X, y, grid, folds=2, training=Training(outer="signs"))
    assert set(np.abs(fit.network.a)) == {1.0}


def test_free_outer_weights_let_the_penalty_vanish():
    """W -> W / c, b -> b / c, a -> c a: the same network, and a smaller sum of |W|, which P3 does not speak of."""
    X, y, theta = problem()
    networks = Networks(X, y, B, R, np.float64)
    errors = networks.errors(theta).copy()
    scaled = np.hstack([theta[:, :-1] / 100, 100 * theta[:, -1:]])
    np.testing.assert_allclose(networks.errors(scaled), errors, rtol=1e-9)
    assert np.abs(scaled[:, :-2]).sum() < 0.02 * np.abs(theta[:, :-2]).sum()


def test_the_subgradient_leaves_no_zeros():
    X, y, _ = problem()
    grid = HyperparameterGrid((1.0,), (0.01,), (5,), (100,))
    assert np.all(choose(np.random.default_rng(0), X, y, grid, folds=2).network.W != 0)
    proximal = choose(np.random.default_rng(0), X, y, grid, folds=2, training=Training("proximal"))
    assert np.any(proximal.network.W == 0)


def planted(rng, r, p):
    return ReluNetwork(rng.standard_normal((r, p)), rng.standard_normal(r), rng.choice([-1.0, 1.0], r))


def test_the_distance_ignores_order_scaling_and_nothing_else():
    rng = np.random.default_rng(3)
    f = planted(rng, 4, 3)
    order, scale = [2, 0, 3, 1], np.array([1.0, 2.0, 0.5, 3.0])[:, None]
    same = ReluNetwork((f.W / scale)[order], (f.b / scale[:, 0])[order], (f.a * scale[:, 0])[order])
    assert distance(f, same) == pytest.approx(0.0, abs=1e-7)
    moved = ReluNetwork(f.W + 0.01, f.b, f.a)
    assert distance(f, moved) == pytest.approx(0.01 * math.sqrt(12))
    flipped = ReluNetwork(f.W, f.b, -np.abs(f.a))
    positive = ReluNetwork(f.W, f.b, np.abs(f.a))
    norms = np.sum(f.W**2) + np.sum(f.b**2)
    assert distance(positive, flipped) == pytest.approx(math.sqrt(2 * norms))


def test_the_distance_of_networks_of_different_sizes_counts_the_neurons_left_over():
    rng = np.random.default_rng(4)
    f = planted(rng, 5, 3)
    less = ReluNetwork(f.W[:3], f.b[:3], f.a[:3])
    left = math.sqrt(np.sum(f.W[3:] ** 2) + np.sum(f.b[3:] ** 2))
    assert distance(f, less) == pytest.approx(left)
    assert distance(less, f) == pytest.approx(left)


def test_the_weights_of_the_first_experiment_are_closer_than_assumption_3_allows():
    """P3, (19): the cosine of two planted weights is at most r^-0.1, here .758. Section 4.1.1 draws them positive."""
    for seed in range(200):
        W = SparseNetwork().draw(np.random.default_rng(seed), np.ones((1, 100))).network.W
        unit = W / np.linalg.norm(W, axis=1, keepdims=True)
        assert np.sort((unit @ unit.T).ravel())[-len(W) - 1] > 0.87 > len(W) ** -0.1
