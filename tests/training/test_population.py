"""The closed-form loss of P2 against simulation, against the empirical loss, and the paper's landscape."""

import numpy as np
import pytest

from recovery.training.models import Empirical, Parameters, initialize, paired_outer, sign_halves
from recovery.training.population import Population, angles, correlation

from .architectures import TRAINED

RELU = TRAINED["relu"]


def network(W: np.ndarray, V: np.ndarray) -> Parameters:
    parameters = Parameters.empty(RELU, *W.shape, V.shape[1], np.float64)
    parameters["W"][...], parameters["V"][...] = W, V
    return parameters


@pytest.mark.parametrize(("k", "r"), [(2, 1), (5, 1), (6, 3)])
def test_loss_and_gradient_lie_within_five_standard_errors_of_a_simulation(k, r):
    """Monte Carlo: blocks of 5 000 samples, 40 of them; Student t with 39 degrees of freedom at level 1e-5 each."""
    rng = np.random.default_rng(20 + k)
    d, blocks = 4, 40
    A = rng.standard_normal((r, d))
    parameters = initialize(rng, RELU, k, d, r, "xavier")
    exact = parameters.like()
    loss = Population(A)(parameters, exact)
    estimates = []
    for _ in range(blocks):
        X = rng.standard_normal((5000, d))
        gradient = parameters.like()
        value = Empirical(X, X @ A.T, k, 0.5 / len(X))(parameters, gradient)
        estimates.append(np.append(gradient.flat, value))
    values = np.array(estimates)
    error = values.std(axis=0, ddof=1) / np.sqrt(blocks)
    assert np.all(np.abs(values.mean(axis=0) - np.append(exact.flat, loss)) < 5.1 * error)


@pytest.mark.parametrize("c", [0.5, 1.0, -2.0])
@pytest.mark.parametrize("v", [(1.0, 1.0), (2.0, 0.5)])
def test_the_whole_line_of_saddles_is_stationary_with_positive_loss(c, v):
    """w_1 = (c + 1) a / v_1, w_2 = c a / v_2 for c > 0 or c < -1 (P2, Appendix C)."""
    a = np.array([[0.6, -0.8, 0.0]])
    W = np.vstack([(c + 1.0) * a / v[0], c * a / v[1]])
    gradient = network(W, np.array([[v[0]], [-v[1]]]))
    parameters = gradient.copy()
    loss = Population(a)(parameters, gradient)
    assert np.abs(gradient["W"]).max() < 1e-14
    assert loss > 0.1


def test_the_planted_weights_are_a_zero_of_the_loss_for_any_paired_outer_layer():
    rng = np.random.default_rng(8)
    A, V = rng.standard_normal((3, 7)), paired_outer(rng, 3)
    parameters = network(V @ A, V)
    gradient = parameters.like()
    assert abs(Population(A)(parameters, gradient)) < 1e-14
    assert np.abs(gradient.flat).max() < 1e-14


def test_splitting_the_planted_neurons_keeps_the_loss_at_zero():
    """k = 4 with halves of signs: only the sums over a sign are determined (P2, Figure 2)."""
    a = np.eye(1, 5)
    W = np.array([0.3, 0.7, -0.9, -0.1])[:, None] * a
    assert abs(Population(a)(network(W, sign_halves(4)), network(W, sign_halves(4)))) < 1e-15


def contraction(W: np.ndarray, a: np.ndarray, c: float) -> float:
    """<W - W*, grad L> - c ||W - W*||_F^2 with v = (1, -1)."""
    parameters = network(W, sign_halves(2))
    gradient = parameters.like()
    Population(a[None])(parameters, gradient)
    gap = W - np.vstack([a, -a])
    return float(np.vdot(gap, gradient["W"]) - c * np.vdot(gap, gap))


@pytest.mark.parametrize(("angle", "ratio"), [(2.9, 1.1), (1.0, 0.3), (3.1, 0.99), (2.0, 4.0)])
def test_the_correlation_function_is_the_minimum_over_targets(angle, ratio):
    """Against direct search over targets a in the plane of w_1 and w_2, where the minimum is attained."""
    W = np.array([[1.0, 0.0], [ratio * np.cos(angle), ratio * np.sin(angle)]])
    smallest = 2.0 * np.linalg.norm(W.sum(axis=0))
    sizes = np.append(smallest, smallest + np.geomspace(1e-4, 30.0, 60))
    turns = np.linspace(-np.pi, np.pi, 61)
    values = [contraction(W, s * np.array([np.cos(t), np.sin(t)]), 0.3) for s in sizes for t in turns]
    expected = correlation(np.array(angle), np.array(ratio))
    assert min(values) >= expected - 1e-9
    assert min(values) == pytest.approx(expected, abs=2e-2 * max(1.0, abs(expected)))


def test_the_correlation_function_is_non_negative_at_constant_0_3():
    """P2, Figure 6: angles in [0, pi], norm ratios in [1e-5, 1e5]."""
    angle, ratio = np.meshgrid(np.linspace(0.0, np.pi, 400), np.geomspace(1e-5, 1e5, 401))
    values = correlation(angle, ratio)
    assert values.min() >= -1e-9
    assert correlation(angle, ratio, 0.49).min() < -1e-3  # it would show a constant that is too large


def test_angles_keep_their_digits_next_to_pi():
    tiny = 1e-10
    W = np.array([[1.0, 0.0], [-np.cos(tiny), np.sin(tiny)], [0.0, 3.0], [0.0, 0.0]])
    norms, units, t = angles(W)
    assert np.pi - t[0, 1] == pytest.approx(tiny, rel=1e-5)
    assert t[0, 2] == pytest.approx(np.pi / 2)
    assert norms.tolist() == [1.0, 1.0, 3.0, 0.0]
    assert not units[3].any()
