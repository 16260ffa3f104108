"""Parameters back from exact moments, and the number of units that moments show."""

import numpy as np
import pytest

from recovery.programs.relu_network import ReluNetwork, function_error, parameter_error
from recovery.tensors.hermite import exact, from_samples
from recovery.tensors.learner import Learned, LearnOptions, learn
from recovery.tensors.scalars import scalars
from tests.tensors.networks import draw_network


def from_exact(network: ReluNetwork, order: int, neurons: int | None = None, joint: bool = True) -> Learned:
    d = network.W.shape[1]
    estimate = exact(network, order, np.eye(d))
    return learn(estimate, neurons or len(network.a), np.random.default_rng(0), options=LearnOptions(joint=joint))


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize(
    ("d", "m", "order", "bias"),
    [(10, 5, 1, 1), (10, 10, 1, 1), (10, 5, 1, 0), (5, 3, 2, 1), (5, 9, 2, 1), (5, 15, 2, 1), (5, 9, 2, 0)],
)
def test_exact_moments_give_every_parameter(d, m, order, bias, joint):
    for seed in range(4):
        network = draw_network(seed, d, m, bias)
        learned = from_exact(network, order, joint=joint)
        assert learned.rank == m
        assert parameter_error(learned.units, network) < 1e-8
        assert function_error(learned.network, network) < 1e-7


def test_few_directions_are_enough():
    network = draw_network(0, 8, 8)
    estimate = exact(network, 1, np.random.default_rng(0).standard_normal((2, 8)))
    assert parameter_error(learn(estimate, 8, np.random.default_rng(0)).units, network) < 1e-7


def test_one_more_neuron_than_there_are_is_hidden():
    learned = from_exact(draw_network(1, 6, 3), 1, neurons=5)
    assert learned.rank == 3
    assert parameter_error(learned.units, draw_network(1, 6, 3)) < 1e-10


@pytest.mark.parametrize("order", [1, 2])
def test_a_unit_that_repeats_another_is_one_unit(order):
    network = draw_network(3, 5, 3)
    repeated = ReluNetwork(np.vstack([network.W[0], network.W[:2]]), network.b[[0, 0, 1]], network.a[[0, 0, 1]])
    learned = from_exact(repeated, order)
    assert learned.rank == 2
    assert function_error(learned.network, repeated) < 1e-7


def test_units_found_are_units_there_are():
    """Algorithm 4 may find fewer than all orders together show."""
    for seed in range(6):
        network, rng = draw_network(seed, 4, 3), np.random.default_rng(seed)
        X = rng.standard_normal((3000, 4))
        found = learn(from_samples(X, network(X), 1, np.eye(4)), 3, rng, (X, network(X)), LearnOptions(joint=False))
        assert found.rank <= len(found.units.a)


@pytest.mark.parametrize("label", [0.0, 3.0, 1e9])
def test_labels_that_are_constant_or_linear_give_no_unit(label):
    X = np.random.default_rng(0).standard_normal((2000, 3))
    for y in (np.full(2000, label), label * (X @ np.array([1.0, -2.0, 0.5]) + 1.0)):
        learned = learn(from_samples(X, y, 1, np.eye(3)), 2, np.random.default_rng(0), data=(X, y))
        assert learned.rank == 0
        np.testing.assert_allclose(learned.network(X), y, rtol=1e-9, atol=1e-9 * label)


@pytest.mark.parametrize("seed", range(4))
def test_signs_of_claim_48_are_ambiguous(seed):
    """Dependent weights, zero biases and outer weights that are their null vector."""
    W = draw_network(seed, 4, 6).W
    network = ReluNetwork(W, np.zeros(6), np.linalg.svd(W.T)[2][-1])
    X = np.random.default_rng(seed).standard_normal((50, 4))
    turned = ReluNetwork(-network.W, network.b, network.a)
    np.testing.assert_allclose(turned(X), network(X), atol=1e-13)  # the claim itself
    learned = from_exact(network, 2)
    assert parameter_error(learned.units, network, up_to_sign=True) < 1e-8
    assert function_error(learned.network, network) < 1e-7


def test_dependent_weights_need_a_larger_order():
    network = draw_network(5, 6, 4)
    W = network.W.copy()
    W[0] = (W[1] - W[2]) / np.linalg.norm(W[1] - W[2])
    dependent = ReluNetwork(W, network.b, network.a)
    assert from_exact(dependent, 1).rank == 3
    learned = from_exact(dependent, 2)
    assert parameter_error(learned.units, dependent) < 1e-8


@pytest.mark.parametrize("bias", [12.0, -12.0])
def test_a_huge_bias_hides_the_unit_and_the_function_is_still_learned(bias):
    network = draw_network(7, 6, 4)
    b = network.b.copy()
    b[0] = bias
    huge = ReluNetwork(network.W, b, network.a)
    learned = from_exact(huge, 1)
    assert learned.rank == 3
    assert len(learned.network.a) <= 4 + 2
    assert function_error(learned.network, huge) < 1e-7


def test_scalars_are_those_of_lemma_45_at_the_roots_of_hermite_polynomials():
    network = draw_network(9, 5, 3)
    for order, biases in [(1, [0.0, 1.0, -1.0]), (2, [0.0, 1.0, -np.sqrt(3.0)])]:
        rooted = ReluNetwork(network.W, np.array(biases), network.a)
        moments = exact(rooted, order, np.eye(5)).moments
        for turn in (1.0, -1.0):
            b, a = scalars(moments, turn * rooted.W)
            np.testing.assert_allclose(b, turn * rooted.b, atol=1e-10)
            np.testing.assert_allclose(a, rooted.a, rtol=1e-10)


def test_noise_alone_gives_no_unit():
    """60 draws of pure noise: at most 6 show a unit above it (a false one in 2 % would pass with 0.9995)."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((400, 5)), rng.standard_normal(400)
        found.append(learn(from_samples(X, y, 1, np.eye(5)), 3, rng).rank)
    assert np.count_nonzero(found) <= 6


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("size", [1.0, 0.3])
def test_units_that_cancel_are_hidden_and_not_more_than_asked_for(order, size):
    """a relu(w.x + b) - a relu(w.x + b), the second unit written at another length: its moments are rounding."""
    rng = np.random.default_rng(0)
    w, other = rng.standard_normal((2, 4))
    a, b = np.array([1.0, -1.0 / size]), np.array([0.3, 0.3 * size])
    pair = ReluNetwork(np.array([w, size * w]), b, a)
    three = ReluNetwork(np.array([w, size * w, other]), np.append(b, 0.1), np.append(a, 1.0))
    for network, rank in ((pair, 0), (three, 1)):
        found = learn(exact(network, order, np.eye(4)), len(network.a), np.random.default_rng(1))
        assert (found.rank, len(found.units.a)) == (rank, rank)


def test_a_unit_of_outer_weight_zero_is_active_on_most_rows():
    hidden = []
    for seed in range(30):
        X, rng = np.random.default_rng(seed).standard_normal((40, 4)), np.random.default_rng(seed)
        y = draw_network(seed, 4, 4)(X)
        units = learn(from_samples(X, y, 1, np.eye(4)), 4, rng, (X, y), LearnOptions(trust=True)).units
        hidden += units.b[units.a == 0].tolist()
    assert min(hidden, default=-1) >= 0
