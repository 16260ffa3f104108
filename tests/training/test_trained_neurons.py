"""Quantities of a trained network: planted weights up to a permutation, pairs, distinct neurons, batches."""

import numpy as np
import pytest

from recovery.instances.draw import Setting, Streams, draw
from recovery.methods.train import Contraction
from recovery.programs.architecture import ARCHITECTURES
from recovery.training.models import Empirical, Minibatches, Parameters, initialize, paired_outer, predict
from recovery.training.trained_neurons import count_merged, group_error, pairing, weight_error

from .architectures import TRAINED

RELU = ARCHITECTURES["relu"]

A = np.array([[0.6, -0.8, 0.0]])


def parameters_of(name: str, W: np.ndarray, V: np.ndarray) -> Parameters:
    parameters = Parameters.empty(TRAINED[name], *W.shape, V.shape[1], np.float64)
    parameters["W"][...], parameters["V"][...] = W, V
    if "gamma" in parameters.shapes:
        parameters["gamma"][...] = 1.0
    return parameters


def test_weight_error_is_zero_at_the_optimum_in_either_order_and_for_any_outer_weights():
    for v in ([1.0, -1.0], [-1.0, 1.0], [100.0, -0.1]):
        V = np.array(v)[:, None]
        W = np.sign(V) / np.abs(V) * A
        assert weight_error(W, V, A) == pytest.approx(0.0, abs=1e-14)
        assert group_error(W, V, A) == pytest.approx(0.0, abs=1e-14)


def test_weight_error_is_the_frobenius_distance_at_unit_outer_weights():
    rng = np.random.default_rng(0)
    V = np.array([[1.0], [-1.0]])
    noise = 0.1 * rng.standard_normal((2, 3))
    assert weight_error(np.vstack([A, -A]) + noise, V, A) == pytest.approx(np.linalg.norm(noise))


def test_equal_signs_are_far_from_the_optimum_wherever_the_neurons_are():
    assert weight_error(np.vstack([A, -A]), np.array([[1.0], [1.0]]), A) >= 2.0


def test_weight_error_of_a_paired_layer_and_where_no_optimum_is_known():
    rng = np.random.default_rng(1)
    V, B = paired_outer(rng, 3), rng.standard_normal((3, 5))
    assert weight_error(V @ B, V, B, V) == pytest.approx(0.0, abs=1e-14)
    order = rng.permutation(6)
    assert weight_error((V @ B)[order], V[order], B, V) == pytest.approx(0.0, abs=1e-14)
    assert weight_error(V @ B, V, B) is None
    assert weight_error(rng.standard_normal((4, 3)), rng.standard_normal((4, 1)), A) is None


def test_pairs_are_found_after_shuffling_and_their_error_is_relative():
    rng = np.random.default_rng(2)
    half, outer = rng.standard_normal((4, 6)), rng.standard_normal((4, 2))
    W, V = np.vstack([half, -half]), np.vstack([outer, -outer])
    order = rng.permutation(8)
    partner, error = pairing(W[order], V[order])
    assert error == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_array_equal(order[partner], (order + 4) % 8)
    assert pairing(10.0 * W * (1.0 + 1e-3 * (np.arange(8) < 4))[:, None], 10.0 * V)[1] == pytest.approx(1e-3, rel=0.2)
    assert pairing(rng.standard_normal((8, 6)), rng.standard_normal((8, 2)))[1] > 0.5


@pytest.mark.parametrize("name", ["relu", "relu_norm"])
def test_splitting_a_neuron_changes_neither_the_function_nor_the_count(name):
    rng = np.random.default_rng(3)
    X, W, V = rng.standard_normal((30, 4)), rng.standard_normal((3, 4)), np.array([[1.0], [-2.0], [0.5]])
    whole = parameters_of(name, W, V)
    W_split, V_split = np.vstack([W, 0.3 * W[:1]]), np.vstack([V, 0.7 * V[:1]])
    scale = 0.3 if name == "relu" else 1.0
    V_split[0] -= scale * V_split[3]
    split = parameters_of(name, W_split, V_split)
    np.testing.assert_allclose(predict(split, X), predict(whole, X), rtol=1e-12)
    assert count_merged(whole, X) == count_merged(split, X) == 3


def test_neurons_that_do_nothing_are_not_counted_and_signs_are_not_merged():
    X = np.abs(np.random.default_rng(4).standard_normal((20, 3)))
    W = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [-1.0, -1.0, -1.0], [1.0, 2.0, 3.0]])
    V = np.array([[1.0], [-1.0], [1.0], [0.0]])
    assert count_merged(parameters_of("relu", W, V), X) == 2
    assert count_merged(parameters_of("relu", W, 0.0 * V), X) == 0


def test_the_batches_of_an_epoch_are_disjoint_and_their_gradients_average_to_the_whole():
    """With batches of equal size the mean over an epoch is the full gradient exactly."""
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((24, 4)), rng.standard_normal((24, 2))
    given = X.copy(), Y.copy()
    parameters = initialize(rng, TRAINED["relu"], 5, 4, 2)
    whole, part = parameters.like(), parameters.like()
    loss = Empirical(X, Y, 5, 0.5)(parameters, whole)
    batches = Minibatches(rng, X, Y, 8, lambda X, Y: Empirical(X, Y, 5, 0.5 * 24 / len(X)))
    rows, losses, total = [], [], np.zeros_like(whole.flat)
    for batch in batches():
        rows.append(batch.X.copy())
        losses.append(batch(parameters, part))
        total += part.flat / 3
    assert np.mean(losses) == pytest.approx(loss)
    np.testing.assert_allclose(total, whole.flat, rtol=1e-12)
    np.testing.assert_array_equal(np.sort(np.vstack(rows), axis=0), np.sort(X, axis=0))
    np.testing.assert_array_equal(X, given[0])
    np.testing.assert_array_equal(Y, given[1])
    assert [len(batch.X) for batch in Minibatches(rng, X, Y, 10, lambda X, Y: Empirical(X, Y, 5, 0.5))()] == [10, 10, 4]


def test_the_method_contraction_says_whether_the_constant_is_small_enough():
    instance = draw(Setting(3, 2), Streams.spawn(np.random.default_rng(0)))
    assert Contraction(degrees=180.0, ratio=1.0)(instance, RELU).holds is True
    assert Contraction(degrees=180.0, ratio=1.0, constant=0.3)(instance, RELU).objective == pytest.approx(
        0.0, abs=1e-12
    )
    assert Contraction(degrees=120.0, ratio=0.5, constant=0.45)(instance, RELU).holds is False
