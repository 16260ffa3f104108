import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from recovery.errors import ParameterError
from recovery.theory.l1 import l1_dimension, l1_transition


@pytest.mark.parametrize("rho", [0.02, 0.1928448, 0.6])
def test_is_the_minimum_of_its_integral(rho: float) -> None:
    def value(tau: float) -> float:
        tail, _ = quad(lambda z: (z - tau) ** 2 * 2 * norm.pdf(z), tau, np.inf, epsabs=1e-12)
        return rho * (1 + tau**2) + (1 - rho) * tail

    best = minimize_scalar(value, bounds=(0, 5), method="bounded", options={"xatol": 1e-9}).fun
    assert l1_dimension(rho) == pytest.approx(best, abs=1e-9)


def test_known_point_ends_and_inverse() -> None:
    assert l1_dimension(0.1928448) == pytest.approx(0.5, abs=1e-6)
    np.testing.assert_allclose(l1_dimension([0.0, 1.0]), [0, 1])
    ratio = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(l1_dimension(l1_transition(100 * ratio, 100)), ratio, atol=1e-10)
    assert l1_transition(120, 100) == 1


def test_a_sparsity_beyond_one_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"found 1\.2"):
        l1_dimension(1.2)
