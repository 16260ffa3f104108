import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import dblquad

from recovery.errors import ParameterError
from recovery.theory import CURVES
from recovery.theory.moments import (
    half_space_moment,
    opposite_limit,
    orthogonal_limit,
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


@pytest.mark.parametrize(("limit", "expected"), [("relu", 0.5), ("opposite", -0.3), ("orthogonal", 0.6)])
def test_limits_by_simulation(limit: str, expected: float) -> None:
    """The conditions themselves at n = 200 000, d = 3; the error is O(n^{-1/2})."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200_000, 3))
    w1, w2 = np.eye(3)[:2]
    h = np.array([expected, 0.0, np.sqrt(1 - expected**2)])
    D = X @ h >= 0
    if limit == "relu":
        A = X * (X @ w1 >= 0)[:, None]
        value = np.linalg.norm((X * D[:, None]).T @ (A @ np.linalg.solve(A.T @ A, w1)))
        assert value == pytest.approx(relu_limit(expected), abs=0.01)
        return
    if limit == "opposite":
        w2 = -w1
    blocks = [np.linalg.qr(X * (X @ w >= 0)[:, None])[0] for w in (w1, w2)]
    labels = [np.maximum(X @ w, 0) / np.linalg.norm(np.maximum(X @ w, 0)) for w in (w1, w2)]
    A = np.hstack(blocks)
    u = np.concatenate([block.T @ y for block, y in zip(blocks, labels, strict=True)])
    lam = np.linalg.lstsq(A.T, u, rcond=None)[0]
    value = np.linalg.norm(np.linalg.qr(X * D[:, None])[0].T @ lam)
    theory = opposite_limit(expected) if limit == "opposite" else orthogonal_limit(expected, 0.0)
    assert value == pytest.approx(theory, abs=0.01)


def test_a_cosine_beyond_one_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"\[-1, 1\], found 1.5"):
        relu_limit([0.0, 1.5])
