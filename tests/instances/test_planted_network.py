"""Planted networks: the distributions of weights, biases and perturbations."""

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Standard
from recovery.instances.patterns import Patterns
from recovery.instances.planted_functions import BiasedNetwork

X = np.zeros((2, 8))


def drawn(law: BiasedNetwork, seed: int = 0):
    return law.draw(np.random.default_rng(seed), X).network


def test_unit_weights_are_uniform_on_the_sphere():
    W = drawn(BiasedNetwork(neurons=2000)).W
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-14)
    # entries have mean 0 and variance 1/8, their squares variance 3/80 - 1/64, products of two 1/80: 5 standard errors
    assert np.abs(W.mean()) < 5 / np.sqrt(W.size * 8)
    moments = W.T @ W / len(W)
    assert np.abs(np.diag(moments) - 1 / 8).max() < 5 * np.sqrt((3 / 80 - 1 / 64) / len(W))
    assert np.abs(moments - np.diag(np.diag(moments))).max() < 5 / np.sqrt(80 * len(W))


@pytest.mark.parametrize("condition", [1.0, 3.0, 100.0])
def test_condition_number_is_the_given_one(condition):
    W = drawn(BiasedNetwork(neurons=5, weights="condition", condition=condition)).W
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-13)
    assert np.linalg.cond(W) == pytest.approx(condition, rel=1e-10)


def test_dependent_weights_span_half_as_many_dimensions_and_tau_frees_them():
    W = drawn(BiasedNetwork(neurons=6, weights="dependent")).W
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1.0, atol=1e-13)
    assert np.linalg.matrix_rank(W) == 3
    assert np.linalg.matrix_rank(drawn(BiasedNetwork(neurons=6, weights="dependent", tau=0.1)).W) == 6
    assert np.linalg.matrix_rank(drawn(BiasedNetwork(neurons=20, weights="dependent")).W) == 8


def test_tau_has_its_variance_and_the_rest_is_drawn_alike():
    law = {"neurons": 2000, "outer": "spread"}
    still, moved = drawn(BiasedNetwork(**law)), drawn(BiasedNetwork(tau=0.3, **law))
    assert np.array_equal(still.b, moved.b)
    assert np.array_equal(still.a, moved.a)
    # a sum of 16 000 squares of normals is off by 4 % (5 standard deviations) with probability 6e-7
    assert np.sum((moved.W - still.W) ** 2) == pytest.approx(2000 * 0.3**2, rel=0.05)


def test_biases_and_outer_weights():
    assert np.all(np.abs(drawn(BiasedNetwork(neurons=50, bias=0.5)).b) <= 0.5)
    assert np.all(drawn(BiasedNetwork(biases="equal", bias=-0.5)).b == -0.5)
    assert np.all(drawn(BiasedNetwork(biases="zero")).b == 0)
    assert set(drawn(BiasedNetwork(neurons=50)).a) == {-1.0, 1.0}
    assert np.all(drawn(BiasedNetwork(outer="positive")).a == 1)
    sizes = np.abs(drawn(BiasedNetwork(neurons=50, outer="spread")).a)
    assert np.all((sizes >= 0.5) & (sizes <= 2))


@pytest.mark.parametrize(
    "wrong", [{"weights": "condition"}, {"condition": 2.0}, {"biases": "range", "bias": -1.0}], ids=str
)
def test_contradictions_are_refused(wrong):
    with pytest.raises(ParameterError):
        BiasedNetwork(**wrong)


def test_a_condition_number_needs_as_many_dimensions_as_neurons():
    with pytest.raises(ParameterError, match="needs neurons <= d, found 9 neurons, d = 8"):
        drawn(BiasedNetwork(neurons=9, weights="condition", condition=2.0))


def test_an_instance_has_the_labels_of_the_network_and_no_pattern_of_it():
    patterns = Patterns(count=3, all_ones="ignore")
    setting = Setting(20, 4, Standard(), BiasedNetwork(neurons=3), patterns=patterns)
    instance = draw(setting, np.random.default_rng(0))
    network = instance.planted.network
    expected = sum(a * max(0.0, w @ instance.X[7] + b) for w, b, a in zip(network.W, network.b, network.a, strict=True))
    assert instance.y[7] == pytest.approx(expected)
    assert instance.patterns.shape[1] <= 3
