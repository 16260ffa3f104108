"""Signs by enumeration, by bounded least squares and by a lattice, each where it is taken."""

import numpy as np
import pytest

from recovery.programs.relu_network import parameter_error
from recovery.tensors.hermite import exact
from recovery.tensors.learner import Identification, learn
from recovery.tensors.scalars import signs
from tests.tensors.networks import draw_network


def posed(m: int, d: int, off: float = 0.0, seed: int = 0):
    """Units, a linear part that some wrong signs leave, moved by `off`, and which are wrong."""
    rng = np.random.default_rng([m, seed])
    W, b, a = rng.standard_normal((m, d)), rng.standard_normal(m), rng.standard_normal(m)
    wrong = rng.integers(0, 2, m) == 1
    v, c = -(a * wrong) @ W, -float((a * wrong) @ b)
    return W, b, a, v + off * rng.standard_normal(d), c, wrong


@pytest.mark.parametrize("m", [3, 8, 30])
def test_signs_of_independent_weights_are_the_nearest_of_all_choices(m):
    *given, wrong = posed(m, 40)
    found, sure = signs(*given)
    assert sure
    assert np.array_equal(found, wrong)


@pytest.mark.parametrize(("d", "m"), [(6, 28), (8, 36), (10, 40), (10, 55)])
def test_signs_of_more_units_than_dimensions_are_proved_by_a_lattice(d, m):
    for seed in range(3):
        *given, wrong = posed(m, d, 1e-12, seed)
        found, sure = signs(*given)
        assert sure
        assert np.array_equal(found, wrong)


def test_signs_that_noise_hides_or_that_are_ambiguous_are_not_sure():
    W, b, a, v, c, _ = posed(40, 10, 1e-2)
    assert not signs(W, b, a, v, c)[1]
    W, b, a, v, c, wrong = posed(40, 10)
    # two units are each other's: only their sum is known, and one of them is wrong
    W[1], b[1], a[1], wrong[:2] = W[0], b[0], a[0], (True, False)
    assert not signs(W, b, a, -(a * wrong) @ W, -float((a * wrong) @ b))[1]


def test_the_lattice_agrees_with_enumeration(monkeypatch):
    sure_of_both = 0
    for seed in range(20):
        *given, wrong = posed(16, 3, 1e-6, seed)
        with monkeypatch.context() as patch:
            patch.setattr("recovery.tensors.scalars.MOST_ENUMERATED", 0)
            by_lattice, sure = signs(*given)
        enumerated, known = signs(*given)
        assert not sure or known
        if sure:
            assert np.array_equal(by_lattice, enumerated)
            assert np.array_equal(by_lattice, wrong)
        sure_of_both += sure
    assert sure_of_both >= 15


def test_exact_moments_of_forty_units_in_ten_dimensions_give_every_sign():
    network = draw_network(0, 10, 40)
    learned = learn(exact(network, 2, np.eye(10)), 40, np.random.default_rng(0))
    assert learned.status is Identification.IDENTIFIED
    assert parameter_error(learned.units, network) < 1e-9
