import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Gaussian, Standard, UnitUniform
from recovery.instances.planted import PLANTED, Linear, NormalizedRelu, Relu
from recovery.instances.planted_functions import Friedman, PlantedNetwork, SparseLinear, SparseNetwork
from recovery.methods.isometry import Isometry
from recovery.programs.architecture import RELU


@pytest.fixture
def X():
    return Gaussian().draw(np.random.default_rng(0), 20, 6)


@pytest.mark.parametrize("direction", ["random", "smallest_singular", "basis"])
def test_linear_directions_are_unit_and_label_by_a_product(X, direction):
    neurons = Linear(direction).draw(np.random.default_rng(1), X)
    w = neurons.directions[:, 0]
    assert np.linalg.norm(w) == pytest.approx(1.0)
    assert np.allclose(neurons.labels(X), X @ w)


def test_smallest_singular_attains_the_smallest_singular_value(X):
    w = Linear("smallest_singular").draw(np.random.default_rng(1), X).directions[:, 0]
    assert np.linalg.norm(X @ w) == pytest.approx(np.linalg.svd(X, compute_uv=False)[-1])
    wide = X[:4]
    w = Linear("smallest_singular").draw(np.random.default_rng(1), wide).directions[:, 0]
    assert np.linalg.norm(wide @ w) < 1e-12


def test_nonnegative_exists_exactly_when_the_all_ones_pattern_does():
    found = []
    for seed in range(30):
        X = Gaussian().draw(np.random.default_rng(seed), 10, 5)
        found.append(decide_all_ones(X).exists)
        if found[-1]:
            assert Linear("nonnegative").draw(np.random.default_rng(0), X).labels(X).min() > 0
        else:
            with pytest.raises(ParameterError, match="nonnegative"):
                Linear("nonnegative").draw(np.random.default_rng(0), X)
    assert 0 < sum(found) < 30


def test_geometries(X):
    rng = np.random.default_rng(2)
    opposite = Relu(k=2, geometry="opposite").draw(rng, X).directions
    assert np.array_equal(opposite[:, 0], -opposite[:, 1])
    assert np.array_equal(Relu(k=3, geometry="basis").draw(rng, X).directions, np.eye(6, 3))
    angled = Relu(k=2, geometry="angle", angle=60).draw(rng, X).directions
    assert angled[:, 0] @ angled[:, 1] == pytest.approx(0.5)
    assert np.allclose(np.linalg.norm(Relu(k=4).draw(rng, X).directions, axis=0), 1.0)
    sparse = Relu(k=4, active=2).draw(np.random.default_rng(5), X).directions
    assert np.array_equal(sparse != 0, np.arange(6)[:, None] < np.full(4, 2))
    assert np.allclose(np.linalg.norm(sparse, axis=0), 1.0)


def test_labels_are_signed_sums_of_normalised_activations(X):
    neurons = NormalizedRelu(k=2, signs="alternating").draw(np.random.default_rng(3), X)
    first, second = (np.maximum(X @ w, 0) for w in neurons.directions.T)
    assert np.allclose(neurons.labels(X), first / np.linalg.norm(first) - second / np.linalg.norm(second))


def test_a_draw_that_is_not_active_is_drawn_again_and_counted():
    X = np.ones((1, 1))
    redraws = [Relu().draw(np.random.default_rng(seed), X).redraws for seed in range(20)]
    assert all(Relu().draw(np.random.default_rng(seed), X).directions[0, 0] > 0 for seed in range(20))
    assert max(redraws) > 0


def test_impossible_models_say_why(X):
    with pytest.raises(ParameterError, match="k = 2"):
        Relu(k=3, geometry="opposite")
    with pytest.raises(ParameterError, match="angle"):
        Relu(k=2, geometry="angle")
    with pytest.raises(ParameterError, match="needs k <= d"):
        Relu(k=7, geometry="basis").draw(np.random.default_rng(0), X)
    with pytest.raises(ParameterError, match="`active` goes with geometry 'random'"):
        Relu(k=2, geometry="opposite", active=1)
    with pytest.raises(ParameterError, match="at most d = 6; found 7"):
        Relu(active=7).draw(np.random.default_rng(0), X)
    with pytest.raises(ParameterError, match="too few"):
        Relu(geometry="basis").draw(np.random.default_rng(0), -np.ones((2, 2)))


def test_planted_patterns_come_first_and_no_pattern_is_empty_or_repeated():
    instance = draw(Setting(6, 2, planted=Relu(k=2)), np.random.default_rng(6))
    assert np.array_equal(instance.patterns[:, :2], instance.X @ instance.planted.directions >= 0)
    assert instance.patterns.any(axis=0).all()
    assert len(np.unique(instance.patterns, axis=1).T) == instance.patterns.shape[1]


def test_the_unit_of_the_data_does_not_decide_which_neurons_are_active() -> None:
    X = np.random.default_rng(0).standard_normal((6, 2))
    drawn = [Relu().draw(np.random.default_rng(1), scale * X).directions for scale in (1.0, 1e-12, 1e12)]
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] == drawn[2]).all()


def test_no_neuron_is_active_on_rows_that_are_all_zero() -> None:
    with pytest.raises(ParameterError, match="all rows of X are zero"):
        Relu().draw(np.random.default_rng(0), np.zeros((6, 2)))


# Planted models with a known support: formulas, distributions, and refused parameters.


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


def test_the_uniform_law_has_its_mean():
    """Of 40 000 rows, within 5 standard errors."""
    n = 40_000
    U = UnitUniform().draw(rng(), n, 3)
    assert U.min() >= 0
    assert U.max() <= 1
    assert np.abs(U.mean(axis=0) - 0.5).max() < 5 / np.sqrt(12 * n)
