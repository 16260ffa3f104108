"""P2's Hessian (9), Appendix C, Theorem 2 and Lemmas 8, 9 and 11, by finite differences and draws of these tests."""

import numpy as np
import pytest
from scipy.stats import norm

from recovery.theory.moments import half_space_moment
from recovery.training.models import initialize
from recovery.training.population import Population
from tests.training.architectures import TRAINED


def gradient(W: np.ndarray, V: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return the gradient in W of the population loss for the target A x."""
    parameters = initialize(np.random.default_rng(0), TRAINED["relu"], len(W), W.shape[1], V.shape[1], "xavier", 1.0)
    parameters["W"][...], parameters["V"][...] = W, V
    found = parameters.like()
    Population(A)(parameters, found)
    return found["W"].copy()


def differences(W: np.ndarray, V: np.ndarray, A: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Return the Hessian in W by central differences of the gradient, shape (k d, k d)."""
    moves = step * np.eye(W.size).reshape(-1, *W.shape)
    return np.array([(gradient(W + move, V, A) - gradient(W - move, V, A)).ravel() / (2 * step) for move in moves])


def printed_hessian(W: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return P2's (9), block by block."""
    k, d = W.shape
    norms = np.linalg.norm(W, axis=1)
    units, blocks = W / norms[:, None], np.empty((k, d, k, d))
    angle = np.arccos(np.clip(units @ units.T, -1, 1))

    def beside(i: int, m: int) -> np.ndarray:
        rest = units[i] - (units[i] @ units[m]) * units[m]
        return rest / np.linalg.norm(rest)

    for i in range(k):
        across = np.eye(d) - np.outer(units[i], units[i])
        blocks[i, :, i] = v[i] ** 2 / 2 * np.eye(d)
        for m in set(range(k)) - {i}:
            turned = across + np.outer(beside(m, i), beside(m, i))
            blocks[i, :, i] += v[i] * v[m] * norms[m] * np.sin(angle[i, m]) / (2 * np.pi * norms[i]) * turned
            pair = np.outer(units[i], beside(m, i)) + np.outer(units[m], beside(i, m))
            blocks[i, :, m] = v[i] * v[m] / (2 * np.pi) * (pair + (np.pi - angle[i, m]) * np.eye(d))
    return blocks.reshape(k * d, k * d)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_hessian_9_of_p2_is_the_derivative_of_the_gradient(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(5):
        W, v, a = rng.standard_normal((k, 4)), rng.standard_normal(k), rng.standard_normal((1, 4))
        expected = differences(W, v[:, None], a)
        np.testing.assert_allclose(printed_hessian(W, v), expected, rtol=0, atol=1e-7)


def test_appendix_c_the_stationary_points_have_a_flat_direction_and_no_negative_curvature() -> None:
    """At w_1 = (c + 1) a / v_1, w_2 = c a / v_2 the limit of (9) has d eigenvalues 0 and d of (v_1^2 + v_2^2) / 2."""
    rng = np.random.default_rng(0)
    for c in (0.5, 3.0, -1.5, -4.0):
        a, v = rng.standard_normal(3), rng.uniform(0.5, 2.0, 2)
        W, outer = np.outer([(c + 1) / v[0], c / v[1]], a), v * [1, -1]
        assert np.abs(gradient(W, outer[:, None], a[None])).max() < 1e-12
        block = np.outer(outer, outer) / 2
        limit = np.sort(np.linalg.eigvalsh(np.kron(block, np.eye(3))))
        np.testing.assert_allclose(limit, [0] * 3 + [(v @ v) / 2] * 3, rtol=0, atol=1e-12)
        # turned by an angle of about 1e-4 the formula is near its limit, and so is the measured Hessian
        near = W + 1e-4 * rng.standard_normal(W.shape)
        np.testing.assert_allclose(np.linalg.eigvalsh(printed_hessian(near, outer)), limit, rtol=0, atol=1e-2)


@pytest.mark.parametrize("spread", [(1.0, 1.0), (1.0, 0.2)])
def test_theorem_6_for_a_general_target_and_outer_layer(spread: tuple[float, float]) -> None:
    """V = [I, -I]^T Sigma R for an orthonormal R, A any matrix: with scaled steps every pair contracts as it says."""
    rng, rate = np.random.default_rng(6), 0.12
    for _ in range(5):
        sigma, A = np.linspace(*spread, 3), rng.standard_normal((3, 5)) * 10 ** rng.uniform(-1, 1)
        R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        tilde = R @ A / sigma[:, None]
        V, best = np.vstack([np.diag(sigma) @ R, -np.diag(sigma) @ R]), np.vstack([tilde, -tilde])
        apart, total = rng.standard_normal((2, 3, 5))
        total *= 0.5 * np.linalg.norm(tilde, axis=1, keepdims=True) / np.linalg.norm(total, axis=1, keepdims=True)
        W = np.vstack([total / 2 + apart, total / 2 - apart])
        first = np.linalg.norm(W - best)
        for step in range(1, 101):
            W = W - rate * gradient(W, V, A) / np.tile(sigma**2, 2)[:, None]
            assert np.linalg.norm(W - best) <= (1 - 0.3 * rate) ** (step / 2) * first * (1 + 1e-9)


@pytest.mark.parametrize("radius", [1e-3, 0.1, 1.0])
def test_theorem_2_from_every_start_of_a_radius_at_a_linear_rate(radius: float) -> None:
    """Its constants are not given. With n = 20 d, c_6 up to 1, mu = .3 and c_8 = .5 the bound holds at every step."""
    rng, d, rate, v = np.random.default_rng(2), 20, 0.3, np.array([2.0, -1.0])
    for _ in range(10):
        X, a = rng.standard_normal((20 * d, d)), rng.standard_normal(d)
        W = radius * np.linalg.norm(a) * rng.standard_normal((2, d)) / np.sqrt(2 * d) / np.abs(v)[:, None]
        best = np.outer(1 / v, a)
        first = np.linalg.norm(W - best)
        for step in range(1, 121):
            active = X @ W.T >= 0
            residual = (X @ W.T * active) @ v - X @ a
            slope = (v[:, None] * (active * residual[:, None]).T @ X) / len(X)
            W = W - (2.0 if step == 1 else rate) * slope / v[:, None] ** 2
            assert np.linalg.norm(W - best) <= 2 * (1 - 0.5 * rate) ** (step / 2) * first


@pytest.mark.parametrize(("d", "n"), [(5, 100), (40, 400)])
def test_lemma_8_of_p2_the_error_is_of_the_order_of_the_root_of_d_over_n(d: int, n: int) -> None:
    """At p = q, n E||error||^2 = ((d + 2) / 2 - 1 / 4) ||q||^2; at another p it is smaller, never above 9 d ||q||^2."""
    rng, draws = np.random.default_rng(d), 400
    q = rng.standard_normal(d)
    q /= np.linalg.norm(q)
    squares = []
    for p in (q, rng.standard_normal(d)):
        mean = half_space_moment(p / np.linalg.norm(p), q) @ q
        for _ in range(draws):
            X = rng.standard_normal((n, d))
            error = (X.T @ ((X @ p >= 0) * np.maximum(X @ q, 0)) / n) - mean
            assert np.linalg.norm(error) < 3 * np.sqrt(d / n)
            squares.append(n * error @ error)
    own, other = np.array(squares[:draws]), np.array(squares[draws:])
    assert abs(own.mean() - ((d + 2) / 2 - 0.25)) < norm.isf(5e-6) * own.std() / np.sqrt(draws)
    assert other.mean() < own.mean()


def test_lemma_9_of_p2_needs_the_root_of_epsilon() -> None:
    """E (a.x)^2 (1 - sgn(a.x) sgn(w.x)) = 2 (t - sin t cos t) / pi at angle t, of the order t^3 and not t^4.

    The printed bound 3/2 eps / (1 - eps) ||w - a|| fails on the boundary of the ball for eps up to .1, on rows too.
    With the root of eps in place of eps it holds in the whole ball, and (13) needs only that it tends to zero.
    """
    rng, a = np.random.default_rng(9), np.eye(10)[0]

    def expected(w: np.ndarray) -> float:
        moment = half_space_moment(a, w / np.linalg.norm(w))
        return float(np.sqrt(2 * (1 - 2 * a @ moment @ a)))

    for epsilon in (0.01, 0.05, 0.1):
        w = a + epsilon * np.eye(10)[1]
        t = np.arctan(epsilon)
        assert expected(w) ** 2 == pytest.approx(2 * (t - np.sin(t) * np.cos(t)) / np.pi, rel=1e-6)
        assert expected(w) > 1.1 * 1.5 * epsilon / (1 - epsilon) * epsilon
    w, missed = a + 0.05 * np.eye(10)[1], 0
    for _ in range(20):
        X = rng.standard_normal((10_000, 10))
        value = np.sqrt(np.mean((X @ a) ** 2 * (1 - np.sign(X @ a) * np.sign(X @ w))))
        missed += value > 1.5 * 0.05 / 0.95 * 0.05
    assert missed == 20
    for epsilon in (0.01, 0.1, 0.5):
        for _ in range(300):
            h = rng.standard_normal(10)
            h *= epsilon * rng.uniform() ** 0.1 / np.linalg.norm(h)
            assert expected(a + h) <= 1.5 * np.sqrt(epsilon) / (1 - epsilon) * np.linalg.norm(h)


def lemma_11(cosine: float, epsilon: float) -> float:
    """Return P2's f = E 1(a.x >= 0) S(x.u, x.a / eps) at a.u = cosine: E||x|| times an average over angles."""
    angle = (np.arange(40_000) + 0.5) / 40_000 * np.pi - np.pi / 2
    value, limit = np.cos(angle - np.arccos(cosine)), np.cos(angle) / epsilon
    tent = np.maximum(np.minimum(value, limit - value), 0.0)
    return float(np.sqrt(np.pi / 2) * tent.mean() / 2)


def test_lemma_11_of_p2_case_ii_is_monotone_for_small_epsilon_only() -> None:
    """The proof says that f rises with the cosine, and is at least 1/(8 sqrt(pi)). At eps = .9 it falls below."""
    bound, cosines = 1 / (8 * np.sqrt(np.pi)), np.linspace(np.sqrt(0.5), 1, 30)
    for epsilon in (0.05, 0.25, 0.5):
        values = [lemma_11(cosine, epsilon) for cosine in cosines]
        assert np.all(np.diff(values) > 0)
        assert values[0] > bound
    assert lemma_11(0.9, 0.9) == pytest.approx(0.0745, abs=5e-4)
    assert lemma_11(0.99, 0.9) == pytest.approx(0.054, abs=5e-4)
    assert lemma_11(0.99, 0.9) < bound < lemma_11(0.9, 0.9)
