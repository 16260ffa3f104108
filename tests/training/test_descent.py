"""The loop: where it stops, what it records, and that it never goes on after the numbers are lost."""

import math

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.training.descent import DIVERGED, Budget, descend
from recovery.training.models import Empirical, Parameters, initialize, paired_outer, sign_halves
from recovery.training.optimizers import SCHEDULES, Adam, AdamW, GradientDescent, Optimizer

from .architectures import TRAINED

N, D, K = 20, 4, 6


def problem(name: str = "relu", seed: int = 0) -> tuple[Empirical, Parameters]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D))
    return Empirical(X, X[:, :1], K, 0.5 / N), initialize(rng, TRAINED[name], K, D)


def steady(rate: float):
    return lambda step: rate


def test_zero_epochs_measure_the_start_and_move_nothing():
    loss, parameters = problem()
    before = parameters.flat.copy()
    descent = descend(loss, parameters, GradientDescent(), steady(0.1), Budget(0), record_every=1)
    assert (descent.stop, descent.epochs) == ("epochs", 0)
    np.testing.assert_array_equal(parameters.flat, before)
    assert descent.record["epoch"].tolist() == [0.0]
    assert descent.loss == loss(parameters, parameters.like())


def test_epochs_are_steps_of_the_rule_and_the_loss_is_that_of_the_end():
    loss, parameters = problem()
    by_hand, gradient = parameters.copy(), parameters.like()
    for _ in range(7):
        loss(by_hand, gradient)
        by_hand.flat[...] -= 0.1 * gradient.flat
    descent = descend(loss, parameters, GradientDescent(), steady(0.1), Budget(7))
    np.testing.assert_allclose(descent.parameters.flat, by_hand.flat, rtol=1e-13)
    assert descent.loss == pytest.approx(loss(by_hand, gradient), rel=1e-13)
    assert descent.gradient_norm == pytest.approx(np.linalg.norm(gradient.flat), rel=1e-12)
    assert descent.record == {}


def test_the_target_loss_and_the_tolerance_stop_early():
    loss, parameters = problem()
    descent = descend(loss, parameters, GradientDescent(), steady(0.3), Budget(10_000, target_loss=1e-3))
    assert descent.stop == "target"
    assert 0 < descent.epochs < 10_000
    assert descent.loss <= 1e-3
    descent = descend(loss, parameters, GradientDescent(), steady(0.3), Budget(100_000, tolerance=1e-4))
    assert descent.stop == "stationary"
    assert descent.gradient_norm <= 1e-4


@pytest.mark.parametrize("name", TRAINED)
def test_a_rate_that_is_too_large_ends_as_divergence(name):
    loss, parameters = problem(name)
    descent = descend(loss, parameters, GradientDescent(), steady(1e6), Budget(5_000))
    assert descent.stop == "diverged"
    assert descent.epochs < 100
    assert not descent.loss <= DIVERGED * loss(problem(name)[1], parameters.like())


def test_a_number_that_is_lost_stops_the_loop_at_once():
    loss, parameters = problem()
    parameters["W"][0, 0] = np.nan
    descent = descend(loss, parameters, AdamW(), steady(0.1), Budget(50))
    assert (descent.stop, descent.epochs) == ("diverged", 0)


def test_the_record_holds_every_chosen_epoch_powers_of_two_before_and_the_last():
    loss, parameters = problem()
    descent = descend(
        loss,
        parameters,
        GradientDescent(),
        steady(0.1),
        Budget(10),
        record_every=4,
        observe=lambda p: {"first": p["W"][0].copy()},
    )
    assert descent.record["epoch"].tolist() == [0.0, 1.0, 2.0, 4.0, 8.0, 10.0]
    assert descent.record["loss"][-1] == descent.loss
    assert descent.record["first"].shape == (6, D)
    np.testing.assert_array_equal(descent.record["first"][-1], parameters["W"][0])
    assert np.all(np.diff(descent.record["loss"]) < 0)


def test_a_fixed_outer_layer_stays_and_its_gradient_is_not_counted():
    loss, parameters = problem()
    parameters["V"][...] = sign_halves(K)
    descent = descend(loss, parameters, GradientDescent(), steady(0.1), Budget(30), train_outer=False)
    np.testing.assert_array_equal(parameters["V"], sign_halves(K))
    gradient = parameters.like()
    loss(parameters, gradient)
    assert descent.gradient_norm == pytest.approx(np.linalg.norm(gradient["W"]))


def test_mini_batches_take_one_step_each():
    loss, parameters = problem()
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, D))
    halves = [Empirical(X[rows], X[rows, :1], K, 0.5 / len(rows)) for rows in (range(10), range(10, 20))]
    by_hand, gradient = parameters.copy(), parameters.like()
    for _ in range(3):
        for half in halves:
            half(by_hand, gradient)
            by_hand.flat[...] -= 0.05 * gradient.flat
    descend(loss, parameters, GradientDescent(), steady(0.05), Budget(3), batches=lambda: halves)
    np.testing.assert_allclose(parameters.flat, by_hand.flat, rtol=1e-13)


def test_initial_laws_have_their_stated_variances():
    """60 000 draws each: the sample variance within 4 standard errors."""
    k, d, r = 200, 300, 1
    network = TRAINED["relu_skip"]
    for law, variance, kurtosis in (("uniform", 1.0 / (3 * d), 1.8), ("xavier", 2.0 / (k + d), 3.0)):
        W = initialize(np.random.default_rng(2), network, k, d, r, law, scale=10.0)["W"]  # type: ignore[arg-type]
        error = 4.0 * np.sqrt((kurtosis - 1.0) / W.size)
        assert np.var(W) == pytest.approx(100.0 * variance, rel=error)
    assert np.abs(initialize(np.random.default_rng(2), network, k, d, r)["W"]).max() <= d**-0.5
    gamma = initialize(np.random.default_rng(2), TRAINED["relu_norm"], k, d, r, scale=10.0)["gamma"]
    assert set(gamma.tolist()) == {1.0}


def test_given_outer_layers():
    V = paired_outer(np.random.default_rng(3), 3)
    np.testing.assert_array_equal(V[:3], -V[3:])
    np.testing.assert_allclose(V[:3] @ V[:3].T, np.eye(3), atol=1e-14)
    assert sign_halves(4).ravel().tolist() == [1.0, 1.0, -1.0, -1.0]


# Update rules against a literal, entry by entry transcription of the published algorithms, over 50 steps.

STEPS, SIZE = 50, 6


def gradients() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((STEPS, SIZE)) * np.geomspace(1e-6, 1e3, SIZE)


def rates() -> list[float]:
    return [0.01 / (1 + t) for t in range(STEPS)]


def run(optimizer: Optimizer, dtype=np.float64) -> np.ndarray:
    theta = np.linspace(-2.0, 2.0, SIZE, dtype=dtype)
    for gradient, rate in zip(gradients(), rates(), strict=True):
        optimizer.step(theta, gradient.astype(dtype), rate)
    return theta


def literal_adam(weight_decay: float, decoupled: bool, b1=0.9, b2=0.999, eps=1e-8) -> list[float]:
    """Kingma and Ba, Algorithm 1; Loshchilov and Hutter, Algorithm 2 (lines 6 and 12, with eta_t alpha as the rate)."""
    theta = np.linspace(-2.0, 2.0, SIZE).tolist()
    m, v = [0.0] * SIZE, [0.0] * SIZE
    for t, (gradient, rate) in enumerate(zip(gradients(), rates(), strict=True), start=1):
        for i in range(SIZE):
            g = gradient[i] if decoupled else gradient[i] + weight_decay * theta[i]
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g**2
            m_hat = m[i] / (1 - b1**t)
            v_hat = v[i] / (1 - b2**t)
            move = m_hat / (math.sqrt(v_hat) + eps)
            theta[i] -= rate * (move + weight_decay * theta[i]) if decoupled else rate * move
    return theta


@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
@pytest.mark.parametrize(("rule", "decoupled"), [(Adam, False), (AdamW, True)])
def test_adam_and_adamw_are_the_published_algorithms(rule, decoupled, weight_decay):
    np.testing.assert_allclose(run(rule(weight_decay)), literal_adam(weight_decay, decoupled), rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_momentum_is_that_of_a_heavy_ball(momentum, weight_decay):
    theta, velocity = np.linspace(-2.0, 2.0, SIZE), np.zeros(SIZE)
    for gradient, rate in zip(gradients(), rates(), strict=True):
        for i in range(SIZE):
            velocity[i] = momentum * velocity[i] + gradient[i] + weight_decay * theta[i]
            theta[i] = theta[i] - rate * velocity[i]
    np.testing.assert_allclose(run(GradientDescent(weight_decay, momentum)), theta, rtol=1e-12)


def test_scaled_gradient_descent_scales_entry_by_entry():
    scaling = np.linspace(0.1, 3.0, SIZE)
    plain = np.linspace(-2.0, 2.0, SIZE)
    expected = plain - (scaling * np.array(rates())[:, None] * gradients()).sum(axis=0)
    np.testing.assert_allclose(run(GradientDescent(scaling=scaling)), expected, rtol=1e-12)


@pytest.mark.parametrize("make", [lambda: GradientDescent(momentum=0.9), Adam, AdamW])
def test_reset_makes_the_next_step_that_of_a_new_optimizer(make):
    used = make()
    run(used)
    used.reset()
    np.testing.assert_array_equal(run(used), run(make()))


def test_a_reset_adamw_step_is_a_signed_gradient_step():
    """The reason why the published figures of P1 are not AdamW's: m/sqrt(v) = sign(g) at the first step."""
    theta, gradient = np.zeros(SIZE), np.array([-2.0, 0.5, 1e-3, 4.0, -1e-2, 0.0])
    AdamW().step(theta, gradient, 0.002)
    np.testing.assert_allclose(theta, -0.002 * np.sign(gradient), rtol=2e-5)


def test_weights_that_do_not_lie_in_one_piece_are_refused_and_stay():
    whole = np.arange(12.0).reshape(3, 4)
    for theta in (whole.T, whole[:, ::2]):
        with pytest.raises(ParameterError, match="contiguous"):
            Adam().step(theta, np.ones(theta.shape), 0.1)
    assert np.array_equal(whole, np.arange(12.0).reshape(3, 4))
    Adam().step(whole, np.asfortranarray(np.ones((3, 4))), 0.1)
    assert np.allclose(whole, np.arange(12.0).reshape(3, 4) - 0.1)


def test_reset_state_changes_what_adamw_finds():
    ends = []
    for reset in (False, True):
        loss, parameters = problem()
        ends.append(descend(loss, parameters, AdamW(), steady(0.01), Budget(50), reset_state=reset).loss)
    assert ends[0] != ends[1]


def test_schedules_at_their_stated_points():
    steps = 10
    assert {SCHEDULES["constant"](0.1, steps)(t) for t in range(steps)} == {0.1}
    assert [SCHEDULES["theorem2"](0.1, steps)(t) for t in range(3)] == [2.0, 0.1, 0.1]
    cosine = SCHEDULES["cosine"](0.1, steps)
    assert [cosine(0), cosine(5), cosine(10)] == pytest.approx([0.1, 0.05, 0.0], abs=1e-17)
