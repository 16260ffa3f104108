"""Gradients against finite differences, forward passes against the formulas, for every architecture and loss."""

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.programs.architecture import Architecture
from recovery.training.models import Empirical, Parameters, initialize, predict
from recovery.training.population import Population

from .architectures import TRAINED

N, D, K = 13, 5, 7
STEP = 1e-6


def start(name: str, r: int, seed: int = 0, inputs: int = D) -> Parameters:
    parameters = initialize(np.random.default_rng(seed), TRAINED[name], K, inputs, r, "xavier")
    if "gamma" in parameters.shapes:
        parameters["gamma"][...] = np.linspace(0.5, 1.5, K)
    return parameters


def differences(loss, parameters: Parameters) -> np.ndarray:
    """Central differences of the loss in every coordinate."""
    scratch, slopes = parameters.like(), []
    for i in range(parameters.flat.size):
        ends = []
        for sign in (1.0, -1.0):
            moved = parameters.copy()
            moved.flat[i] += sign * STEP
            ends.append(loss(moved, scratch))
        slopes.append((ends[0] - ends[1]) / (2.0 * STEP))
    return np.array(slopes)


def assert_gradient(loss, name: str, r: int) -> None:
    parameters = start(name, r)
    gradient = parameters.like()
    loss(parameters, gradient)
    expected = differences(loss, parameters)
    assert np.abs(expected).min() > 0  # no parameter is out of play
    np.testing.assert_allclose(gradient.flat, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("r", [1, 3])
@pytest.mark.parametrize(
    ("name", "factor", "penalty"),
    [
        *((name, factor, 0.0) for name in TRAINED for factor in (1.0, 0.5 / N)),
        ("relu", 0.5, 0.3),
        ("relu_skip", 0.5, 0.3),
    ],
)
def test_gradient_of_every_parameter_matches_finite_differences(name, factor, penalty, r):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((N, D)), rng.standard_normal((N, r))
    assert_gradient(Empirical(X, y, K, factor, penalty=penalty), name, r)


def formula(parameters: Parameters, X: np.ndarray) -> np.ndarray:
    """f(x), neuron by neuron, as the papers write it."""
    total = np.zeros((len(X), parameters["V"].shape[1]))
    for i, (w, v) in enumerate(zip(parameters["W"], parameters["V"], strict=True)):
        z = X @ w
        z = np.maximum(z, 0.0)
        if parameters.architecture.normalizes_after:
            z = parameters["gamma"][i] * z / max(np.linalg.norm(z), 1e-12)
        total += np.outer(z, v)
    if parameters.architecture.skip:
        linear = X @ parameters["w0"][0]
        total += np.outer(linear, parameters["a0"][:, 0])
    return total


@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize("name", TRAINED)
def test_loss_and_prediction_are_the_formulas(name, r):
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((N, D)), rng.standard_normal((N, r))
    F = TRAINED[name].features(X)
    parameters = start(name, r, inputs=F.shape[1])
    np.testing.assert_allclose(predict(parameters, X), formula(parameters, F), rtol=1e-12)
    loss = Empirical(F, Y, K, 0.5)(parameters, parameters.like())
    assert loss == pytest.approx(0.5 * np.sum((formula(parameters, F) - Y) ** 2), rel=1e-12)


@pytest.mark.parametrize("name", TRAINED)
def test_single_precision_agrees_with_double_to_its_accuracy(name):
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((N, D)), rng.standard_normal((N, 1))
    results = []
    for dtype in (np.float32, np.float64):
        parameters = initialize(np.random.default_rng(6), TRAINED[name], K, D, 1, dtype=dtype)
        gradient = parameters.like()
        results.append((Empirical(X, Y, K, 1.0, dtype)(parameters, gradient), gradient.flat))
    assert results[0][1].dtype == np.float32
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-5)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-3, atol=1e-5)


def test_an_architecture_without_a_trained_form_names_those_that_have_one():
    with pytest.raises(ParameterError, match="relu, relu_skip, relu_norm"):
        Architecture("leaky", slope=0.1).require("trained")


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_nan_is_not_taken_for_a_dead_neuron(name, wrong):
    """A neuron with NaN or infinity is positive on no row; its loss must be NaN, otherwise training would continue."""
    rng = np.random.default_rng(7)
    X = np.abs(rng.standard_normal((N, D)))
    parameters = start(name, 1)
    parameters["W"][0] = wrong
    parameters["V"][0] = 1.0
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(Empirical(X, X[:, :1], K, 1.0)(parameters, parameters.like()))


@pytest.mark.parametrize("name", TRAINED)
def test_zero_rows_integers_and_a_neuron_without_a_direction(name):
    """No row of zeros is active, and a neuron of zeros has no derivative: 0 is not positive."""
    X = np.array([[0, 0], [3, -4], [0, 0], [2, 2], [2, 2]])
    parameters = initialize(np.random.default_rng(8), TRAINED[name], 3, 2, 1)
    parameters["W"][...] = [[1.0, 1.0], [0.0, 0.0], [-1.0, 2.0]]
    gradient = parameters.like()
    loss = Empirical(X, X[:, :1], 3, 1.0)(parameters, gradient)
    assert loss == pytest.approx(np.sum((formula(parameters, X) - X[:, :1]) ** 2), rel=1e-14)
    assert not gradient["W"][1].any()
    assert gradient["V"][1] == 0.0


@pytest.mark.parametrize("r", [1, 3])
def test_population_gradient_matches_finite_differences(r):
    assert_gradient(Population(np.random.default_rng(2).standard_normal((r, D))), "relu", r)
