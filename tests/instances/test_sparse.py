"""Planted models with a known support: formulas, distributions, and refused parameters."""

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Standard, StandardCorrelated, UnitUniform
from recovery.instances.planted import PLANTED
from recovery.instances.planted_functions import Friedman, PlantedNetwork, SparseLinear, SparseNetwork
from recovery.methods.isometry import Isometry
from recovery.programs.architecture import RELU


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("law", [SparseNetwork(), SparseLinear(), Friedman()])
def test_labels_depend_on_the_support_and_on_nothing_else(law):
    X = rng().standard_normal((50, 12))
    planted, support = law.draw(rng(1), X), law.support(12)
    moved = X.copy()
    moved[:, ~support] += 1.0
    np.testing.assert_array_equal(planted.labels(moved), planted.labels(X))
    for i in np.flatnonzero(support):
        moved = X.copy()
        moved[:, i] += 0.5
        assert np.abs(planted.labels(moved) - planted.labels(X)).max() > 0.1


def test_the_formulas_are_those_of_the_paper():
    X = rng().uniform(size=(7, 10))
    x = X.T
    expected = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    np.testing.assert_allclose(Friedman().draw(rng(), X).labels(X), expected)
    np.testing.assert_allclose(SparseLinear().draw(rng(), X).labels(X), 3 * x[0] + 1.5 * x[1] + 2 * x[4])
    planted = SparseNetwork(active=3, width=4).draw(rng(), X)
    assert isinstance(planted, PlantedNetwork)
    f = planted.network
    literal = [sum(f.a[j] * max(0.0, f.W[j] @ row + f.b[j]) for j in range(4)) for row in X]
    np.testing.assert_allclose(planted.labels(X), literal)
    assert (f.W[:, :3] > 0).all()
    assert (f.W[:, 3:] == 0).all()
    assert set(f.a) <= {-1.0, 1.0}


def test_weights_and_biases_are_uniform_and_signs_even():
    """Means of 4 000 uniforms and 1 000 signs, within 4.5 standard errors (level 1e-5)."""
    f = SparseNetwork(active=4, width=1000).draw(rng(), np.zeros((1, 4))).network
    assert abs(f.W.mean() - 0.5) < 4.5 / np.sqrt(12 * f.W.size)
    assert abs(f.b.mean() - 0.5) < 4.5 / np.sqrt(12 * f.b.size)
    assert abs(f.a.mean()) < 4.5 / np.sqrt(1000)


@pytest.mark.parametrize("law", [SparseNetwork(), SparseLinear(), Friedman()])
def test_too_few_variables_are_said(law):
    with pytest.raises(ParameterError, match="d = 3 is too small"):
        law.support(3)


@pytest.mark.parametrize("name", ["sparse_network", "sparse_linear", "friedman"])
def test_methods_of_convex_programs_refuse_them(name):
    setting = Setting(20, 10, Standard(), PLANTED[name](), noise=0.0)
    with pytest.raises(ParameterError):
        Isometry().check(setting, RELU)
    assert draw(setting, rng()).y.shape == (20,)


@pytest.mark.parametrize(("scale", "variance"), [("sample", 9.0 / 4000), ("unit", 9.0)])
def test_noise_has_the_declared_variance(scale, variance):
    """A chi-square of 4 000 degrees: within 4.5 standard errors, sqrt(2/4000) each."""
    instance = draw(Setting(4000, 2, Standard(), noise=3.0, noise_scale=scale), rng())
    assert np.var(instance.y - instance.signal) == pytest.approx(variance, rel=4.5 * np.sqrt(2 / 4000))


def test_the_two_scales_of_noise_meet_the_same_draws():
    draws = [draw(Setting(16, 2, Standard(), noise=3.0, noise_scale=scale), rng()) for scale in ("sample", "unit")]
    np.testing.assert_allclose(4.0 * (draws[0].y - draws[0].signal), draws[1].y - draws[1].signal)


def test_the_laws_of_the_data_have_the_papers_moments():
    """Means and covariances of 40 000 rows, within 5 standard errors."""
    n = 40_000
    X = StandardCorrelated(0.5).draw(rng(), n, 4)
    expected = 0.5 ** np.abs(np.subtract.outer(range(4), range(4)))
    assert np.abs(X.T @ X / n - expected).max() < 5 * np.sqrt(2 / n)
    U = UnitUniform().draw(rng(), n, 3)
    assert U.min() >= 0
    assert U.max() <= 1
    assert np.abs(U.mean(axis=0) - 0.5).max() < 5 / np.sqrt(12 * n)
