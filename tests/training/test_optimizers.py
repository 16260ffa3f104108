"""Update rules against a literal, entry by entry transcription of the published algorithms, over 50 steps."""

import math

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.training.optimizers import SCHEDULES, Adam, AdamW, GradientDescent, Optimizer

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


def test_adam_and_adamw_differ_once_weights_decay():
    assert np.abs(run(Adam(0.3)) - run(AdamW(0.3))).max() > 1e-3


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_momentum_is_that_of_a_heavy_ball(momentum, weight_decay):
    theta, velocity = np.linspace(-2.0, 2.0, SIZE), np.zeros(SIZE)
    for gradient, rate in zip(gradients(), rates(), strict=True):
        for i in range(SIZE):
            velocity[i] = momentum * velocity[i] + gradient[i] + weight_decay * theta[i]
            theta[i] = theta[i] - rate * velocity[i]
    np.testing.assert_allclose(run(GradientDescent(momentum, weight_decay)), theta, rtol=1e-12)


def test_scaled_gradient_descent_scales_entry_by_entry():
    scaling = np.linspace(0.1, 3.0, SIZE)
    plain = np.linspace(-2.0, 2.0, SIZE)
    expected = plain - (scaling * np.array(rates())[:, None] * gradients()).sum(axis=0)
    np.testing.assert_allclose(run(GradientDescent(scaling=scaling)), expected, rtol=1e-12)


@pytest.mark.parametrize("make", [lambda: GradientDescent(0.9), Adam, AdamW])
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


def test_single_precision_stays_single():
    theta = run(AdamW(0.1), np.float32)
    assert theta.dtype == np.float32
    np.testing.assert_allclose(theta, run(AdamW(0.1)), rtol=1e-5)


def test_weights_that_do_not_lie_in_one_piece_are_refused_and_stay():
    whole = np.arange(12.0).reshape(3, 4)
    for theta in (whole.T, whole[:, ::2]):
        with pytest.raises(ParameterError, match="contiguous"):
            Adam().step(theta, np.ones(theta.shape), 0.1)
    assert np.array_equal(whole, np.arange(12.0).reshape(3, 4))
    Adam().step(whole, np.asfortranarray(np.ones((3, 4))), 0.1)
    assert np.allclose(whole, np.arange(12.0).reshape(3, 4) - 0.1)


def test_schedules_at_their_stated_points():
    steps = 10
    assert {SCHEDULES["constant"](0.1, steps)(t) for t in range(steps)} == {0.1}
    assert [SCHEDULES["theorem2"](0.1, steps)(t) for t in range(3)] == [2.0, 0.1, 0.1]
    cosine = SCHEDULES["cosine"](0.1, steps)
    assert [cosine(0), cosine(5), cosine(10)] == pytest.approx([0.1, 0.05, 0.0], abs=1e-17)
    assert SCHEDULES["inverse_root"](0.1, steps)(3) == pytest.approx(0.05)
