"""Closed forms for Gaussian inputs against quadrature and samples; errors up to permutations and signs."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from recovery.programs.relu_network import ReluNetwork, affine, function_error, parameter_error, relu_products
from tests.tensors.networks import draw_network


def by_quadrature(b: float, c: float, angle: float) -> float:
    """E[(x + b)_+ (r x + s z + c)_+]: the inner expectation in closed form, the outer one numerically."""
    r, s = np.cos(angle), np.sin(angle)

    def integrand(x):
        u = (r * x + c) / s
        inner = (r * x + c) * ndtr(u) + s * np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)
        return (x + b) * inner * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)

    # for nearly parallel rows the inner expectation has a kink: integrate piecewise around it
    ends = np.unique(np.concatenate([np.linspace(-9, 9, 40), -c / r + s * np.linspace(-9, 9, 40)]))
    ends = np.concatenate([[-b], ends[ends > -b]])
    return sum(quad(integrand, low, high, epsabs=1e-15)[0] for low, high in pairwise(ends))


@pytest.mark.parametrize("angle", [1e-5, 1e-2, 0.3, 1.0, 2.0, 3.1, np.pi - 1e-4])
@pytest.mark.parametrize(("b", "c"), [(0.0, 0.0), (0.0, -1.0), (1.0, 0.0), (0.3, -1.2), (0.7, -0.7), (2.0, 2.0)])
def test_products_of_units_agree_with_quadrature(b, c, angle):
    W = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    found = relu_products(W, np.array([b, c]))
    assert found[0, 1] == pytest.approx(by_quadrature(b, c, angle), abs=1e-12)
    assert found[0, 1] == pytest.approx(found[1, 0], abs=1e-15)


def test_equal_and_opposite_units():
    W, b = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]), np.array([0.5, 0.5, -0.5])
    P = relu_products(W, b)
    square = (1 + 0.25) * ndtr(0.5) + 0.5 * np.exp(-0.125) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(P[:2, :2], square, rtol=1e-14)
    assert np.abs(P[0, 2]) < 1e-15  # (x + 1/2)_+ and (-x - 1/2)_+ are never both positive


@pytest.mark.parametrize("step", [1e-1, 1e-3, 1e-6])
def test_function_error_agrees_with_samples(step):
    network = draw_network(0, 5, 7)
    rng = np.random.default_rng(1)
    near = ReluNetwork(network.W + step * rng.standard_normal(network.W.shape), network.b + step, network.a)
    X = rng.standard_normal((200_000, 5))
    sampled = np.linalg.norm(near(X) - network(X)) / np.linalg.norm(network(X))
    assert function_error(near, network) == pytest.approx(sampled, rel=0.03)


def test_function_error_depends_on_functions_not_parameters():
    network = draw_network(2, 4, 3)
    split = ReluNetwork(
        np.vstack([2.0 * network.W, network.W[:1]]),
        np.append(2.0 * network.b, network.b[0]),
        np.append(network.a / 2.0, 0.0),
    )
    assert function_error(split, network) < 3e-8


def test_affine_is_two_units():
    X = np.random.default_rng(0).standard_normal((9, 3))
    v = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(affine(v, 0.7)(X), X @ v + 0.7, atol=1e-14)
    assert affine(v, 0.7).square_norm() == pytest.approx(v @ v + 0.49, rel=1e-12)


def test_parameter_error_is_after_the_best_permutation_and_scaling():
    network = draw_network(3, 4, 5)
    order = np.random.default_rng(0).permutation(5)
    shuffled = ReluNetwork(3.0 * network.W[order], 3.0 * network.b[order], network.a[order] / 3.0)
    assert parameter_error(shuffled, network) < 1e-14
    turned = ReluNetwork(-network.W, -network.b, network.a)
    assert parameter_error(turned, network) > 0.5
    assert parameter_error(turned, network, up_to_sign=True) < 1e-14
    assert parameter_error(ReluNetwork(network.W[1:], network.b[1:], network.a[1:]), network) is None


def test_a_weight_of_zero_is_a_constant():
    """f = 2 (1.5)_+ has E[f^2] = 9, and E[3 z_+] = 3 / sqrt(2 pi) with a unit z = w.x."""
    constant = ReluNetwork(np.zeros((1, 3)), np.array([1.5]), np.array([2.0]))
    assert constant.square_norm() == pytest.approx(9.0, rel=1e-12)
    assert ReluNetwork(np.zeros((1, 3)), np.array([-1.5]), np.array([2.0])).square_norm() == 0.0
    unit = ReluNetwork(np.eye(1, 3), np.zeros(1), np.ones(1))
    both = (constant + unit).square_norm()
    assert both == pytest.approx(9.0 + 0.5 + 2 * 3.0 / np.sqrt(2 * np.pi), rel=1e-12)
    X = np.ones((2, 3))
    np.testing.assert_allclose(constant.unit()(X), constant(X))
