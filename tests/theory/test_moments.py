from math import factorial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import dblquad, quad
from scipy.stats import norm

from recovery.errors import ParameterError
from recovery.theory import CURVES
from recovery.theory.mixture import split_bound, split_probability
from recovery.theory.moments import (
    half_space_moment,
    lemma8_printed,
    opposite_limit,
    opposite_limit_printed,
    orthogonal_limit,
    orthogonal_limit_printed,
    relu_limit,
)

COSINES = np.linspace(-1, 1, 401)


def at(t: float) -> np.ndarray:
    return np.array([np.cos(t), np.sin(t), 0.0])


@pytest.mark.parametrize("t", [0.3, 1.2, 2.6])
def test_moment_by_quadrature_in_polar_coordinates(t: float) -> None:
    """In the plane of u and v the radial part integrates to 2/(2 pi) E over the wedge; across it, to its share."""
    M = half_space_moment(at(0.0), at(t))
    low, high = t - np.pi / 2, np.pi / 2
    for i, j in [(0, 0), (0, 1), (1, 1)]:
        value, _ = dblquad(
            lambda r, a, i=i, j=j: r**3 * np.exp(-(r**2) / 2) / (2 * np.pi) * at(a)[i] * at(a)[j], low, high, 0, 12
        )
        assert M[i, j] == pytest.approx(value, abs=1e-8)
    assert M[2, 2] == pytest.approx((np.pi - t) / (2 * np.pi))


def test_moment_at_and_near_its_ends() -> None:
    u = at(0.0)
    np.testing.assert_allclose(half_space_moment(u, u), np.eye(3) / 2)
    np.testing.assert_allclose(half_space_moment(u, -u), np.zeros((3, 3)), atol=1e-15)
    np.testing.assert_allclose(half_space_moment(u, at(1e-7)), np.eye(3) / 2, atol=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_moments_of_a_half_space_and_its_complement_add_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, v = (w / np.linalg.norm(w) for w in rng.standard_normal((2, 4)))
    np.testing.assert_allclose(half_space_moment(u, v) + half_space_moment(u, -v), np.eye(4) / 2, atol=1e-10)
    np.testing.assert_allclose(half_space_moment(u, v), half_space_moment(v, u), atol=1e-14)


def test_relu_limit_is_the_moment_applied_twice_and_grows_to_one() -> None:
    t = np.arccos(COSINES[1:-1])
    h = np.stack([np.cos(t), np.sin(t), 0 * t], axis=-1)
    np.testing.assert_allclose(
        relu_limit(COSINES[1:-1]), np.linalg.norm(2 * half_space_moment(h, at(0.0)) @ at(0.0), axis=-1), atol=1e-12
    )
    assert (np.diff(relu_limit(COSINES)) > 0).all()
    np.testing.assert_allclose(relu_limit([-1, 1]), [0, 1], atol=1e-14)


def test_opposite_limit_is_one_only_at_the_neurons() -> None:
    t = np.arccos(COSINES[1:-1])
    h = np.stack([np.cos(t), np.sin(t), 0 * t], axis=-1)
    w = at(0.0)
    direct = 2 * (half_space_moment(h, w) @ w - half_space_moment(h, -w) @ w)
    np.testing.assert_allclose(opposite_limit(COSINES[1:-1]), np.linalg.norm(direct, axis=-1), atol=1e-12)
    assert (opposite_limit(COSINES[1:-1]) < 1).all()
    np.testing.assert_allclose(opposite_limit([-1, 1]), 1)


def test_orthogonal_limit_is_one_only_at_the_neurons() -> None:
    c1, c2 = np.meshgrid(COSINES, COSINES)
    value = orthogonal_limit(c1, c2)
    assert np.isnan(value[c1**2 + c2**2 > 1 + 1e-9]).all()
    np.testing.assert_allclose([orthogonal_limit(1, 0), orthogonal_limit(0, 1)], 1)
    away = ((c1 - 1) ** 2 + c2**2 > 1e-3) & (c1**2 + (c2 - 1) ** 2 > 1e-3) & (c1**2 + c2**2 <= 1)
    assert value[away].max() < 1
    degrees = np.arange(-45, 136)
    on_circle = CURVES["g2"].function(degrees, 0.0)
    assert set(degrees[np.isclose(on_circle, 1, atol=1e-12)]) == {0, 90}


def test_a_cosine_beyond_one_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"\[-1, 1\], found 1.5"):
        relu_limit([0.0, 1.5])


# Formulas as P1 and P4 print them, compared with simulation and quadrature.

LEVEL = norm.isf(5e-7)
"""A two-sided test at 1e-6."""
ROWS = 1_000_000


def _at(cosine1: float, cosine2: float = 0.0) -> np.ndarray:
    return np.array([cosine1, cosine2, np.sqrt(1 - cosine1**2 - cosine2**2)])


@pytest.mark.parametrize("cosine", [0.0, 0.4, -0.8])
def test_146_drops_the_part_across_the_neuron(cosine: float) -> None:
    """g1 = ||2 E[x x^T (1(h.x > 0) 1(w.x > 0) w - 1(h.x > 0) 1(-w.x > 0) w)]||: the printed one is its first entry."""
    x = np.random.default_rng(146).standard_normal((ROWS, 2))
    h = np.array([cosine, np.sqrt(1 - cosine**2)])
    samples = 2 * (x @ h > 0)[:, None] * x * np.abs(x[:, :1])
    mean, error = samples.mean(axis=0), samples.std(axis=0) / np.sqrt(ROWS)
    along, whole = float(opposite_limit_printed(cosine)), float(opposite_limit(cosine))
    assert abs(abs(mean[0]) - along) < LEVEL * error[0]
    assert abs(mean[1] - np.sqrt(whole**2 - along**2)) < LEVEL * error[1]
    assert whole - along > 0.02


def test_146_at_a_right_angle() -> None:
    assert float(opposite_limit_printed(0.0)) ** 2 == pytest.approx(0.0, abs=1e-15)
    assert float(opposite_limit(0.0)) ** 2 == pytest.approx(4 / np.pi**2)


@pytest.mark.parametrize("cosine", [-0.7, 0.1, 0.6])
def test_the_printed_integral_of_146_is_the_printed_form(cosine: float) -> None:
    slope = cosine / np.sqrt(1 - cosine**2)
    value, _ = quad(lambda x: (norm.cdf(slope * x) - norm.cdf(-slope * x)) * norm.pdf(x) * x**2, 0, 12)
    assert 2 * abs(value) == pytest.approx(float(opposite_limit_printed(cosine)), rel=1e-9)


@pytest.mark.parametrize(("cosine1", "cosine2"), [(0.5, 0.6), (0.5, -0.6), (-0.3, 0.4)])
def test_lemma_8_by_draws(cosine1: float, cosine2: float) -> None:
    x = np.random.default_rng(8).standard_normal((ROWS, 3))
    on = (x[:, :1] > 0) & (x @ _at(cosine1, cosine2) > 0)[:, None]
    samples = on * np.stack([x[:, 0] * x[:, 1], x[:, 1] ** 2, x[:, 1] * x[:, 2]], axis=1)
    mean, error = samples.mean(axis=0), samples.std(axis=0) / np.sqrt(ROWS)
    moments = half_space_moment(np.eye(3)[0], _at(cosine1, cosine2))[[0, 1, 1], [1, 1, 2]]
    assert (np.abs(mean - moments) < LEVEL * error).all()
    wrong = np.abs(mean - lemma8_printed(cosine1, cosine2)) > LEVEL * error
    assert list(wrong) == [cosine2 < 0, False, True]


def test_157_by_its_own_equations() -> None:
    """(156) is solved by an off-diagonal of -1/2 over the determinant; P1 prints +1/2."""
    system = np.array([[1 + 1 / np.pi, 0.5], [0.5, 1 + 1 / np.pi]])
    diagonal, off = np.linalg.inv(system)[0]
    printed = np.array([1 + 1 / np.pi, 0.5]) / ((1 + 1 / np.pi) ** 2 - 0.25)
    assert [diagonal, off] == pytest.approx([printed[0], -printed[1]])
    assert np.abs(system @ printed - [1, 0]).max() > 0.5


def test_162_as_printed_is_not_at_most_one() -> None:
    """P1 says that g2 is largest, and 1, at the two neurons: so it is with the signs of the derivation."""
    turn = np.linspace(-np.pi / 4, 3 * np.pi / 4, 181)
    held, printed = (f(np.cos(turn), np.sin(turn)) for f in (orthogonal_limit, orthogonal_limit_printed))
    assert held.max() == pytest.approx(1.0)
    assert turn[np.flatnonzero(held > 1 - 1e-9)] == pytest.approx([0.0, np.pi / 2])
    assert printed.max() > 1.6
    assert float(orthogonal_limit_printed(1.0, 0.0)) == pytest.approx(1.5728, abs=1e-4)


@pytest.mark.parametrize(("cosine1", "cosine2"), [(1.0, 0.0), (0.6, -0.3), (0.2, 0.7)])
def test_g2_by_draws(cosine1: float, cosine2: float) -> None:
    x = np.random.default_rng(162).standard_normal((ROWS, 3))
    inverse = np.linalg.inv([[1 + 1 / np.pi, 0.5], [0.5, 1 + 1 / np.pi]])
    active = 2 * (x @ _at(cosine1, cosine2) > 0)
    weights = sum((x[:, i] > 0) * (x[:, :2] @ inverse[i]) for i in range(2))
    mean = (active * weights) @ x / ROWS
    error = (x * (active * weights)[:, None]).std(axis=0).max() / np.sqrt(ROWS)
    assert abs(np.linalg.norm(mean) - orthogonal_limit(cosine1, cosine2)) < 3 * LEVEL * error
    assert abs(np.linalg.norm(mean) - orthogonal_limit_printed(cosine1, cosine2)) > 0.2


@pytest.mark.parametrize("k", range(1, 9))
def test_lemma_4_3_of_p4(k: int) -> None:
    """min over x of max(|He_k(x)|, |He_{k+1}(x)|) is below sqrt(k!/2), and for k >= 2 not below sqrt((k-1)!/2).

    Both have real roots only, so neither |He| has a positive local minimum: the maximum has one only where they cross.
    The lemma's proof gives the second bound by Turan's inequality; at k = 1 it counts He_0^2 twice.
    """
    low, high = (np.polynomial.hermite_e.HermiteE.basis(j) for j in (k, k + 1))
    crossings = np.concatenate([(high - low).roots(), (high + low).roots()])
    separation = np.abs(low(np.real(crossings[np.abs(np.imag(crossings)) < 1e-9]))).min()
    x = np.linspace(-12, 12, 400_001)
    assert np.maximum(np.abs(low(x)), np.abs(high(x))).min() == pytest.approx(separation, rel=1e-3)
    assert separation < np.sqrt(factorial(k) / 2)
    assert (separation >= np.sqrt(factorial(k - 1) / 2)) == (k > 1)
    assert k > 1 or separation == pytest.approx((np.sqrt(5) - 1) / 2)


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_proposition_23_read_without_the_square(sigma: float) -> None:
    """Read as sigma in the first exponent it is no bound for sigma > 1, and a weaker one below; with sigma^2 it is."""
    means = {"length1": 3 * sigma, "length2": 60.0, "cosine": -1.0, "sigma": sigma, "n1": 1, "n2": 1}
    one = 1 - np.exp(-2 * (3 * sigma) ** 2 / (4 * sigma)) - np.exp(-2 * 60.0**2 / (4 * sigma**2))
    x = np.random.default_rng(23).standard_normal(ROWS)
    drawn = float((3 * sigma + sigma * x > 0).mean())
    exact = float(split_probability(**means))
    assert abs(drawn - exact) < LEVEL * np.sqrt(exact * (1 - exact) / ROWS)
    assert split_bound(**means) < exact
    assert (one > exact) == (sigma > 1)


@pytest.mark.parametrize("theta", [0.05, 0.1307583538, 0.3])
def test_the_curve_of_figure_11(theta: float) -> None:
    """g(theta) = 1/2 + theta + 1/2 int_q^inf r dF(r), q the chi^2_1 quantile at 1 - 2 theta: (113)."""
    s = norm.isf(theta)
    tail, _ = quad(lambda z: z**2 * norm.pdf(z), s, 40)
    assert 0.5 + theta + tail == pytest.approx(0.5 + 2 * theta + s * norm.pdf(s), rel=1e-9)
