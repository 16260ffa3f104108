import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Gaussian
from recovery.instances.planted import Linear, NormalizedRelu, Relu


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


def test_noise_scales_one_draw_and_leaves_everything_else_as_it_was():
    low, high = (draw(Setting(30, 4, noise=s), np.random.default_rng(5)) for s in (0.1, 0.2))
    assert np.array_equal(low.X, high.X)
    assert np.array_equal(low.patterns, high.patterns)
    assert np.allclose(2 * (low.y - low.signal), high.y - high.signal)


def test_planted_patterns_come_first_and_no_pattern_is_empty_or_repeated():
    instance = draw(Setting(6, 2, planted=Relu(k=2)), np.random.default_rng(6))
    own = instance.X @ instance.planted.directions >= 0
    assert np.array_equal(instance.patterns[:, :2], own)
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
