"""P2's constants and lemmas, on losses and draws of these tests' own."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, norm

from recovery.theory.gradient_descent import (
    CORRELATION,
    LARGEST_RATE,
    SMOOTHNESS,
    theorem1,
    theorem1_error,
)
from recovery.theory.moments import half_space_moment

SIGNS = np.array([1.0, -1.0])
EMPIRICAL_SMOOTHNESS = 4 * np.sqrt(2)
"""beta of Lemma 10, for the empirical loss on n >= d rows."""
CURVATURE = 1 / (100 * np.pi)
"""Lower bound on the curvature in Lemma 11."""


def population_gradient(W: np.ndarray, a: np.ndarray, v: np.ndarray = SIGNS) -> np.ndarray:
    """Return the gradient of 1/2 E (sum_i v_i (w_i.x)_+ - a.x)^2, by
    E[1(u.x > 0) x (w.x)_+] = ((pi - t) w + sin t ||w|| u) / 2 pi."""
    norms = np.linalg.norm(W, axis=1)
    units = W / norms[:, None]
    rows = []
    for i in range(len(W)):
        t = np.arccos(np.clip(units @ units[i], -1, 1))
        mixed = (np.pi - t)[:, None] * W + (np.sin(t) * norms)[:, None] * units[i]
        rows.append(v[i] * (v @ mixed / (2 * np.pi) - a / 2))
    return np.array(rows)


def empirical_gradient(W: np.ndarray, X: np.ndarray, a: np.ndarray) -> np.ndarray:
    active = X @ W.T >= 0
    r = (X @ W.T * active) @ SIGNS - X @ a
    return (SIGNS[:, None] * (active * r[:, None]).T @ X) / len(X)


def starts(rng: np.random.Generator, a: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Neurons with || |v_1| w_1 + |v_2| w_2 || <= ||a||/2, as far apart as wanted: the difference has no bound."""
    d = len(a)
    total, apart = rng.standard_normal((2, d))
    total *= np.linalg.norm(a) / 2 * rng.uniform() ** (1 / d) / np.linalg.norm(total)
    apart *= 10 ** rng.uniform(-3, 2) * np.linalg.norm(a) / np.linalg.norm(apart)
    return np.stack([(total + apart) / 2, (total - apart) / 2]) / np.abs(v)[:, None]


@pytest.mark.parametrize("v", [(1.0, -1.0), (100.0, -1.0), (0.5, -2.0)])
@pytest.mark.parametrize("rate", [LARGEST_RATE, 0.01])
def test_theorem_1_at_every_step(v: tuple[float, float], rate: float) -> None:
    rng, outer = np.random.default_rng(1), np.array(v)
    for d in (2, 7):
        for _ in range(10):
            a = rng.standard_normal(d) * 10 ** rng.uniform(-2, 2)
            W, best = starts(rng, a, outer), np.outer(1 / outer, a)
            first, sums = np.linalg.norm(W - best), [np.inf]
            for step in range(150):
                bound = float(theorem1(step, rate, *v)) * first
                assert np.linalg.norm(W - best) <= bound * (1 + 1e-9)
                sums.append(float(np.linalg.norm(np.abs(outer) @ W)))
                assert sums[-1] <= sums[-2] + 1e-12 * first * np.abs(outer).max()  # Lemma 3
                W = W - rate * population_gradient(W, a, outer) / outer[:, None] ** 2


def test_lemmas_4_and_5_of_p2() -> None:
    """<W - W*, grad> >= 0.3 ||W - W*||^2 for ||w_1 + w_2|| <= ||a||/2; ||grad||^2 <= 5/2 ||W - W*||^2 anywhere."""
    rng = np.random.default_rng(4)
    a, best = np.eye(4)[0], np.outer(SIGNS, np.eye(4)[0])
    for _ in range(4000):
        W = starts(rng, a, SIGNS)
        assert np.vdot(W - best, population_gradient(W, a)) >= CORRELATION * np.square(W - best).sum() - 1e-12
        W = best + rng.standard_normal((2, 4)) * 10 ** rng.uniform(-4, 3)
        assert np.linalg.norm(population_gradient(W, a)) <= SMOOTHNESS * np.linalg.norm(W - best)


def test_a_start_beyond_the_radius_of_theorem_1_need_not_converge() -> None:
    """(2a, a) is a stationary point: the condition on the start is needed."""
    a = np.array([3.0, 4.0])
    assert np.linalg.norm(population_gradient(np.stack([2 * a, a]), a)) < 1e-12


def test_theorem_1_says_nothing_of_longer_steps_and_farther_starts() -> None:
    assert np.isnan(theorem1(5, [0.13, 2.0, 0.0, -1.0])).all()
    assert np.isnan(theorem1_error([0.3, 0.1, 1.5], [1, 3, 1], 5, 0.1)).all()
    assert theorem1_error(0.0, 3, 0, 0.1) == pytest.approx(np.sqrt(6))
    assert theorem1(1, LARGEST_RATE) ** 2 == pytest.approx(1 - CORRELATION**2 / SMOOTHNESS**2)


def curvature(w: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return E[1(a.x >= 0) 1(w.x >= 0) (x.(w - a))^2] / ||w - a||^2, vectors (..., d): the limit of Lemma 11."""
    w, a = np.broadcast_arrays(w, a)
    h = w - a
    moment = half_space_moment(*(x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (a, w)))
    return np.einsum("...i,...ij,...j->...", h, moment, h) / np.square(h).sum(axis=-1)


def largest_ratio(X: np.ndarray, a: np.ndarray, rng: np.random.Generator) -> float:
    """||grad L^(W)|| / ||W - W*|| at the worst W that power steps of the local linear map find."""
    worst, best = 0.0, np.outer(SIGNS, a)
    for _ in range(12):
        H = rng.standard_normal((2, len(a)))
        H *= 10 ** rng.uniform(-2, 4) / np.linalg.norm(H)
        for _ in range(25):
            step = empirical_gradient(best + H, X, a)
            worst = max(worst, float(np.linalg.norm(step) / np.linalg.norm(H)))
            H = step * np.linalg.norm(H) / np.linalg.norm(step)
    return worst


@pytest.mark.parametrize("d", [6, 20])
def test_lemma_10_of_p2(d: int) -> None:
    """For every W by what one X proves, from n = 3d on; at n = d only by search, where nothing comes near 4 sqrt(2).

    2 ||X||^2 / n is a bound: each neuron's gradient is at most (||X||^2/n)^{1/2} (sum r^2 / n)^{1/2}, and sum r^2 / n
    is at most 2 ||X||^2/n ||W - W*||^2. The paper's 4 sqrt(2) counts one neuron, and takes it for certain that ||X||^2
    is at most 2 (n + d).
    """
    rng = np.random.default_rng(d)
    a = rng.standard_normal(d)
    for n in (d, 3 * d):
        X = rng.standard_normal((n, d))
        proved, seen = 2 * np.linalg.norm(X, 2) ** 2 / n, largest_ratio(X, a, rng)
        assert 0.5 < seen <= proved
        assert seen < EMPIRICAL_SMOOTHNESS
        assert proved < EMPIRICAL_SMOOTHNESS or n == d


def test_the_norm_that_lemma_10_takes_for_granted_is_exceeded_at_n_equal_to_d() -> None:
    """P(||X||^2 <= 2 (n + d)) at n = d does not tend to one: at 1e-6 it is below 0.97, for few dimensions and many."""
    rng = np.random.default_rng(10)
    kept = [sum(np.linalg.norm(rng.standard_normal((d, d)), 2) ** 2 <= 4 * d for _ in range(400)) for d in (5, 60)]
    assert binom.cdf(max(kept), 400, 0.97) < 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9])
def test_lemma_11_of_p2(epsilon: float) -> None:
    """The expectation is some hundred times the lemma's bound; of 40 d rows the least that a search finds is too."""
    rng = np.random.default_rng(11)
    turn = np.linspace(0, np.pi, 181)
    for r in np.linspace(0.1, 1, 7) * epsilon:
        w = np.stack([1 + r * np.cos(turn), r * np.sin(turn)], axis=-1)
        assert curvature(w, np.array([1.0, 0.0])).min() > 50 * CURVATURE
    d = 5
    a, X = np.eye(d)[0], rng.standard_normal((40 * d, d))

    def empirical(h: np.ndarray) -> float:
        h = h * min(1.0, epsilon / np.linalg.norm(h))
        both = (X @ a >= 0) & (X @ (a + h) >= 0)
        return float((both * (X @ h) ** 2).mean() / (h @ h))

    least = min(
        minimize(empirical, epsilon * h / np.linalg.norm(h), method="Nelder-Mead", options={"maxfev": 300}).fun
        for h in [-a, *rng.standard_normal((6, d))]
    )
    assert least > 20 * CURVATURE


def test_17_of_p2_lacks_a_square() -> None:
    """E 1(a.x > 0) (x.u)_+^2 at a.u = -1/sqrt 2 is below the printed 1/(10 sqrt pi), whose square is meant."""
    a, u = np.array([1.0, 0.0]), np.array([-1.0, 1.0]) / np.sqrt(2)
    value = float(u @ half_space_moment(a, u) @ u)
    assert value == pytest.approx((np.pi / 4 - 0.5) / (2 * np.pi))
    assert pytest.approx((1 / (10 * np.sqrt(np.pi))) ** 2) == CURVATURE
    assert CURVATURE < value < 1 / (10 * np.sqrt(np.pi))


def test_curvature_is_an_expectation() -> None:
    x = np.random.default_rng(3).standard_normal((400_000, 3))
    a, w = np.array([1.0, 0, 0]), np.array([0.6, 0.5, -0.2])
    samples = (x @ a >= 0) * (x @ w >= 0) * (x @ (w - a)) ** 2 / np.square(w - a).sum()
    assert abs(samples.mean() - curvature(w, a)) < norm.isf(5e-7) * samples.std() / np.sqrt(len(x))


def test_lemma_7_of_p2_one_long_step_from_near_zero() -> None:
    """Its C is not given: the error after a step of 2 is below 4 sqrt(d/n) ||a|| in all draws."""
    rng = np.random.default_rng(7)
    for d, n in ((5, 200), (5, 3200), (40, 400), (40, 6400)):
        a = rng.standard_normal(d)
        best = np.outer(SIGNS, a)
        for _ in range(20):
            X, W = rng.standard_normal((n, d)), 1e-6 * rng.standard_normal((2, d))
            W = W - 2 * empirical_gradient(W, X, a)
            assert np.linalg.norm(W - best) <= 4 * np.sqrt(d / n) * np.linalg.norm(a)
