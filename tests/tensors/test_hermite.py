"""Streaming moments against tensors formed entry by entry, exact ones against samples."""

from itertools import product

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval

from recovery.errors import ParameterError
from recovery.tensors.hermite import BLOCK, Quadratic, estimate, exact, explaining, from_samples
from recovery.tensors.learner import weighted
from tests.tensors.networks import draw_network


def formed(X: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """(1/N) sum y He_k(x), each entry as a product of one-dimensional Hermite polynomials."""
    d = X.shape[1]
    tensor = np.empty((d,) * k)
    for index in product(range(d), repeat=k):
        values = y.copy()
        for t in range(d):
            values *= hermeval(X[:, t], [0.0] * index.count(t) + [1.0])
        tensor[index] = values.mean()
    return tensor


def sample(n: int, d: int, directions: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal((directions, d))


@pytest.mark.parametrize(("d", "order", "directions"), [(1, 1, 1), (4, 1, 3), (3, 2, 2)])
def test_moments_agree_with_formed_tensors(d, order, directions):
    X, y, G = sample(40, d, directions)
    moments = estimate(X, y, order, G).moments
    for k, T in enumerate(moments.whole):
        np.testing.assert_allclose(T, formed(X, y, k), atol=1e-13)
    odd, even = formed(X, y, 2 * order + 1), formed(X, y, 2 * order + 2)
    side = d**order
    for g, matrix in zip(G, moments.odd, strict=True):
        np.testing.assert_allclose(matrix, np.einsum("...a,a", odd, g).reshape(side, side), atol=1e-11)
    for i, j, matrix in zip(*moments.pairs, moments.even, strict=True):
        contracted = np.einsum("...ab,a,b", even, G[i], G[j]).reshape(side, side)
        np.testing.assert_allclose(matrix, contracted, atol=1e-11)


def test_contraction_of_order_four_is_the_formula_of_the_paper():
    """He_4(x)[., ., G] = (x.Gx - tr G)(x x^T - I) - 2 (G x x^T + x x^T G) + 2 G for symmetric G."""
    X, y, G = sample(1 + BLOCK, 5, 1)
    (g,) = G
    moments = estimate(X, y, 1, G).moments
    M = np.outer(g, g)
    weight = y * ((X @ g) ** 2 - g @ g)
    T2, mean = (X.T * y) @ X / len(X), y.mean()
    expected = (X.T * weight) @ X / len(X) - weight.mean() * np.eye(5) - 2 * (M @ T2 + T2 @ M) + 2 * M * mean
    np.testing.assert_allclose(moments.even[0], expected, atol=1e-12)


def test_the_error_is_half_the_difference_of_two_halves():
    X, y, G = sample(100, 3, 2)
    first, second = estimate(X[:50], y[:50], 1, G), estimate(X[50:], y[50:], 1, G)
    error = estimate(X, y, 1, G).error
    np.testing.assert_allclose(error.odd, 0.5 * (first.moments.odd - second.moments.odd), atol=1e-13)


@pytest.mark.parametrize("order", [1, 2])
def test_samples_approach_the_exact_moments(order):
    """Each entry within 5 standard errors: about 200 entries, false alarm below 2e-4. Fixed seed."""
    network, rng = draw_network(0, 3, 2), np.random.default_rng(1)
    G = rng.standard_normal((2, 3))
    known = exact(network, order, G).moments
    parts = []
    for _ in range(40):
        X = rng.standard_normal((5000, 3))
        moments = from_samples(X, network(X), order, G).moments
        parts.append(np.concatenate([*map(np.ravel, moments.whole), moments.odd.ravel(), moments.even.ravel()]))
    expected = np.concatenate([*map(np.ravel, known.whole), known.odd.ravel(), known.even.ravel()])
    error = np.std(parts, axis=0, ddof=1) / np.sqrt(len(parts))
    assert np.all(np.abs(np.mean(parts, axis=0) - expected) < 5 * error)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.ones((1, 3)), np.ones(1)),
        (np.ones((4, 2)), np.ones(4)),
        (np.ones((4, 3)), np.ones(5)),
        (np.ones((4, 3)), np.array([1.0, np.nan, 1.0, 1.0])),
    ],
)
def test_too_few_samples_wrong_shapes_and_nan_are_refused(X, y):
    with pytest.raises(ParameterError):
        estimate(X, y, 1, np.eye(3))


# The control variate of degree 2: it is fitted exactly, changes no moment, and lowers the variance.

Q = np.array([[1.0, 0.5, 0.0], [0.5, -2.0, 0.25], [0.0, 0.25, 0.0]])
KNOWN = Quadratic(3.0, np.array([1.0, -2.0, 0.5]), Q)


def test_a_polynomial_is_found_and_its_moments_are_exact():
    X = np.random.default_rng(0).standard_normal((100, 3))
    found = explaining(X, KNOWN(X))
    assert found.c == pytest.approx(3.0)
    np.testing.assert_allclose(found.v, KNOWN.v, atol=1e-12)
    np.testing.assert_allclose(found.Q, Q, atol=1e-12)
    moments = from_samples(X, KNOWN(X), 1, np.eye(3)).moments
    for T, expected in zip(moments.whole, (2.0, KNOWN.v, 2.0 * Q), strict=True):
        np.testing.assert_allclose(T, expected, atol=1e-11)
    assert np.abs(moments.odd).max() < 1e-9
    assert np.abs(moments.even).max() < 1e-9


def test_any_rows_are_taken():
    """Least squares on a full design is the second opinion; rows that say less are fitted as far as they say."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((300, 4)), rng.standard_normal(300)
    i, j = np.triu_indices(4)
    design = np.column_stack([np.ones(300), X, X[:, i] * X[:, j]])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(explaining(X, y)(X), expected, atol=1e-12)
    for rows in (0 * X, 0 * X + 1.0, np.round(X).astype(int)):
        assert np.isfinite(from_samples(rows, np.round(y).astype(int), 1, np.eye(4)).moments.odd).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(wrong):
    X, y = np.ones((50, 3)), np.ones(50)
    for bad in (0, 1):
        parts = [X.copy(), y.copy()]
        parts[bad][3] = wrong
        with pytest.raises(ParameterError, match="finite"):
            from_samples(*parts, 1, np.eye(3))


@pytest.mark.parametrize(("n", "degree"), [(9, None), (39, 0), (99, 1), (100, 2)])
def test_few_rows_are_fitted_by_a_lower_degree(n, degree):
    X = np.random.default_rng(2).standard_normal((n, 3))
    found = explaining(X, KNOWN(X))
    used = [found.c != 0, bool(found.v.any()), bool(found.Q.any())]
    assert used == [degree is not None and q <= degree for q in range(3)]


@pytest.mark.parametrize("order", [1, 2])
def test_less_noise_is_left_in_the_moments(order):
    """On each of 10 networks; by a fair coin that has probability 0.001. What is left is 2 to 4 times smaller."""
    G, ratios = np.eye(3), []
    for seed in range(10):
        network, rng = draw_network(seed, 3, 2), np.random.default_rng(seed)
        X = rng.standard_normal((2000, 3))
        truth = weighted(exact(network, order, G).moments)
        plain = weighted(estimate(X, network(X), order, G).moments)
        less = weighted(from_samples(X, network(X), order, G).moments)
        ratios.append(np.linalg.norm(less - truth) / np.linalg.norm(plain - truth))
    assert max(ratios) < 1.0
    assert np.median(ratios) < 0.5
