"""The control variate of degree 2: it is fitted exactly, changes no moment, and lowers the variance."""

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.tensors.hermite import Quadratic, estimate, exact, explaining, from_samples
from recovery.tensors.learner import weighted
from tests.tensors.networks import draw_network

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


def test_its_moments_are_those_of_samples():
    """Each of 13 entries within 5 standard errors: false alarm below 1e-5. Fixed seed."""
    rng = np.random.default_rng(1)
    parts = []
    for _ in range(40):
        X = rng.standard_normal((5000, 3))
        moments = estimate([(X, KNOWN(X))], 1, np.eye(3)).moments
        parts.append(np.concatenate([*map(np.ravel, moments.whole)]))
    error = np.std(parts, axis=0, ddof=1) / np.sqrt(len(parts))
    expected = np.concatenate([*map(np.ravel, KNOWN.moments())])
    assert np.all(np.abs(np.mean(parts, axis=0) - expected) < 5 * error)


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
        plain = weighted(estimate([(X, network(X))], order, G).moments)
        less = weighted(from_samples(X, network(X), order, G).moments)
        ratios.append(np.linalg.norm(less - truth) / np.linalg.norm(plain - truth))
    assert max(ratios) < 1.0
    assert np.median(ratios) < 0.5
