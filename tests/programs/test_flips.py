"""Is a planted network unique up to signs of its units? P3's Theorem 1 and Corollary 2 have a counterexample."""

from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Standard
from recovery.instances.patterns import Patterns
from recovery.instances.planted_functions import BiasedNetwork, SparseNetwork
from recovery.methods.tensor import Tensor
from recovery.methods.variable_selection import Select
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.relu_network import ReluNetwork

WHOLE = [(1, 0), (0, 1), (-1, -1)]
"""Weights that add up to zero: with a = (1, 1, 1) and b = 0, -W is the same function and has the same norms."""


def value(weights: list[tuple[Fraction, ...]], x: tuple[Fraction, ...]) -> Fraction:
    """The network with outer weights 1 and without biases, in fractions."""
    return sum(max(sum((w * t for w, t in zip(row, x, strict=True)), Fraction(0)), Fraction(0)) for row in weights)


def test_corollary_2_of_p3_is_false_for_these_whole_numbers() -> None:
    planted = [tuple(map(Fraction, row)) for row in WHOLE]
    turned = [tuple(-w for w in row) for row in planted]
    for x in product([Fraction(k, 3) for k in range(-7, 8)], repeat=2):
        assert value(planted, x) == value(turned, x)
    assert sorted(planted) != sorted(turned)  # no permutation of the units turns one into the other
    norms = [sum(abs(w) for w in row) for row in planted]
    assert sum(norms) == sum(sum(abs(w) for w in row) for row in turned)
    # Assumption 3: 1 <= ||w_j||, and the largest cosine of two units, here with its sign, is below r^-0.1
    assert all(sum(w * w for w in row) >= 1 for row in planted)
    cosines = [
        abs(float(sum(a * b for a, b in zip(u, v, strict=True)))) / np.hypot(*map(float, u)) / np.hypot(*map(float, v))
        for u, v in combinations(planted, 2)
    ]
    assert max(cosines) <= 3**-0.1


@pytest.mark.parametrize("e", [Fraction(1, 10), Fraction(1, 1000)])
def test_theorem_2_of_p3_needs_a_c1_that_depends_on_the_margin(e: Fraction) -> None:
    """Weights that add up to (0, e): W and -W differ by e x_2, so labels half way are within noise e of both.

    One optimum would be within c_1 e of both, up to permutations, but they are 2 apart for every e.
    """
    planted = [(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)), (Fraction(-1), e - 1)]
    turned = [tuple(-w for w in row) for row in planted]
    for x in product([Fraction(k, 3) for k in range(-7, 8)], repeat=2):
        assert value(planted, x) - value(turned, x) == e * x[1]
    nearest = min(
        sum((u - v) ** 2 for row, other in zip(planted, order, strict=True) for u, v in zip(row, other, strict=True))
        for order in permutations(turned)
    )
    assert nearest > Fraction(39, 10) * (1 - e)
    cosines = [sum(a * b for a, b in zip(u, v, strict=True)) for u, v in combinations(planted, 2)]
    assert max(map(abs, cosines)) <= 1  # below 3^-0.1 of the product of the norms, 1, 1 and nearly sqrt(2)
    assert ReluNetwork(np.array(planted, float), np.zeros(3), np.ones(3)).flip_margin() == pytest.approx(float(e))


def test_the_check_finds_it_and_equal_angles_too() -> None:
    assert ReluNetwork(np.array(WHOLE, float), np.zeros(3), np.ones(3)).flip_margin() == pytest.approx(0.0, abs=1e-15)
    angles = 2 * np.pi / 3 * np.arange(3)
    even = ReluNetwork(np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(3), np.ones(3))
    assert even.flip_margin() == pytest.approx(0.0, abs=1e-15)
    turned, rng = ReluNetwork(-even.W, even.b, even.a), np.random.default_rng(1)
    X = rng.standard_normal((50, 2))
    assert np.allclose(even(X), turned(X), atol=1e-14)
    assert np.linalg.norm(even.W - turned.W[[2, 0, 1]]) == pytest.approx(np.sqrt(3))


@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_the_margin_is_that_of_a_search_over_all_sets(m: int) -> None:
    rng = np.random.default_rng(m)
    network = ReluNetwork(rng.standard_normal((m, 4)), rng.standard_normal(m), rng.choice([-1.0, 1.0], m))
    units = network.a[:, None] * np.column_stack([network.W, network.b])
    sets = [units[list(chosen)].sum(axis=0) for k in range(1, m + 1) for chosen in combinations(range(m), k)]
    assert network.flip_margin() == pytest.approx(min(map(np.linalg.norm, sets)))


def test_a_bias_and_opposite_outer_weights_count() -> None:
    W = np.array(WHOLE, float)
    assert ReluNetwork(W, np.array([0.0, 0.0, 0.5]), np.ones(3)).flip_margin() == pytest.approx(0.5)
    assert ReluNetwork(np.eye(2)[[0, 0]], np.zeros(2), np.array([1.0, -1.0])).flip_margin() == 0.0  # the units cancel
    assert ReluNetwork(np.ones((17, 2)), np.zeros(17), np.ones(17)).flip_margin() is None
    assert ReluNetwork(np.empty((0, 2)), np.empty(0), np.empty(0)).flip_margin() is None


@pytest.mark.parametrize(
    ("method", "law"),
    [(Select(selector="lasso"), SparseNetwork(active=3, width=4)), (Tensor(samples="infinite"), BiasedNetwork(3))],
    ids=["select", "tensor"],
)
def test_rows_of_planted_networks_have_the_column(method: Select | Tensor, law: SparseNetwork | BiasedNetwork) -> None:
    architecture = ARCHITECTURES["relu_bias"]
    few = Patterns(count=1, all_ones="ignore")
    instance = draw(Setting(30, 6, Standard(), law, 0.0, few), np.random.default_rng(0), architecture)
    margin = method(instance, architecture)["flip_margin"]
    assert margin == pytest.approx(instance.planted.network.flip_margin())
