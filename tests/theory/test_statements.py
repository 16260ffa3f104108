"""Statements of P1 that are about draws or matrices, on draws of these tests' own."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.theory.moments import half_space_moment
from recovery.theory.wendel import theorem7_failure, wendel


@pytest.mark.parametrize("seed", range(10))
def test_theorem_6_where_the_planted_neuron_is_positive_on_every_row(seed: int) -> None:
    """n < 2d and X w* >= 0: the planted neuron is never the unique optimum, of the exact program either."""
    setting = Setting(10, 9, planted=Linear(direction="nonnegative"))
    instance = draw(setting, np.random.default_rng(seed))
    row = MinNorm("exact")(instance, ARCHITECTURES["relu_skip"])
    assert row["all_ones"]
    assert row["recovered"] is False


def test_lemma_5() -> None:
    """U_i^T U_j = I for column-orthonormal matrices only where they are equal: else a column's product is below 1."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        U, V = (np.linalg.qr(rng.standard_normal((7, 3)))[0] for _ in range(2))
        assert np.diagonal(U.T @ V).max() < 1.0
        off = np.linalg.norm(U - V, axis=0) ** 2
        np.testing.assert_allclose(np.diagonal(U.T @ V), 1.0 - off / 2)


@pytest.mark.parametrize("cosine", [-0.6, 0.0, 0.8])
def test_lemma_7(cosine: float) -> None:
    """(160) by quadrature: both of its formulas hold."""
    M = half_space_moment([1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)])
    slope = cosine / np.sqrt(1 - cosine**2)
    value, _ = quad(lambda x: (1 - norm.cdf(-slope * x)) * norm.pdf(x) * x**2, 0, 12)
    assert M[0, 0] == pytest.approx(value, abs=1e-9)
    assert M[0, 1] == pytest.approx((1 - cosine**2) / (2 * np.pi))


def test_the_bound_of_theorem_7_is_a_bound_for_the_gated_program() -> None:
    """The all-ones pattern alone makes it fail: P(recovered) <= 1 - P(all-ones) <= the bound."""
    n, d = np.meshgrid(np.arange(10, 200, 7), np.arange(6, 110, 9))
    below = n < 2 * d
    assert (1 - wendel(n, d)[below] <= theorem7_failure(n, d)[below]).all()
    assert (theorem7_failure(n, d)[~below] == 1).all()
    assert float(theorem7_failure(110, 100)) == pytest.approx(0.75, abs=0.01)
