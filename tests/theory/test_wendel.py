from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from recovery.theory import CURVES
from recovery.theory.l1 import l1_transition
from recovery.theory.wendel import theorem5, theorem11, wendel


def exact(n: int, d: int) -> Fraction:
    return Fraction(sum(comb(n - 1, k) for k in range(d)), 2 ** (n - 1))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 2), (40, 7), (400, 190), (3000, 1400), (5000, 2500)])
def test_is_the_exact_rational(n: int, d: int) -> None:
    assert float(wendel(n, d)) == pytest.approx(float(exact(n, d)), rel=1e-11)


def test_is_one_up_to_n_equal_d_and_half_at_twice_d() -> None:
    d = np.arange(1, 60)
    assert (wendel(d, d) == 1).all()
    assert (wendel(1, d) == 1).all()
    np.testing.assert_allclose(wendel(2 * d, d), 0.5, rtol=1e-13)


def test_the_other_tail_keeps_its_digits_and_a_missing_size_has_no_value() -> None:
    small = CURVES["no_all_ones"].function
    assert float(small(60, 58)) == pytest.approx(float(1 - exact(60, 58)), rel=1e-12)
    assert float(small(60, 58)) < 1e-15
    assert float(small(7, 3)) == pytest.approx(float(1 - exact(7, 3)), rel=1e-14)
    assert small(3, 3) == 0
    assert np.isnan(wendel(np.nan, 3))
    assert np.isnan(small(7, np.nan))


def test_every_curve_of_n_and_d_is_vectorised() -> None:
    n, d = np.meshgrid(np.arange(10, 101, 10), np.arange(5, 50, 5))
    for curve in CURVES.values():
        if curve.axes != ("n", "d"):
            continue
        values = curve.function(n, d)
        assert values.shape == n.shape
        assert np.isfinite(values).all()


def test_theorem_5_as_printed() -> None:
    assert theorem5(100, 10) == pytest.approx(1 - np.exp(-(40**2) / 6400))


def test_success_bounds_start_at_the_threshold_and_grow_with_n() -> None:
    for bound in (theorem5, theorem11):
        value = bound(np.arange(50, 2000), 50)
        assert (value[: 2 * 50 - 50 + 1] == 0).all()
        assert (np.diff(value[51:]) >= 0).all()
        assert value[-1] > 0.6


def test_theorem_11_as_printed() -> None:
    assert np.isclose(theorem11(300, 100), 1 - np.exp(-(100**2) / 1800))
    assert theorem11(100, 50) == 0


@pytest.mark.parametrize("rho", [0.02, 0.1928448, 0.6])
def test_the_l1_transition_inverts_the_minimum_of_an_integral(rho: float) -> None:
    def value(tau: float) -> float:
        tail, _ = quad(lambda z: (z - tau) ** 2 * 2 * norm.pdf(z), tau, np.inf, epsabs=1e-12)
        return rho * (1 + tau**2) + (1 - rho) * tail

    best = minimize_scalar(value, bounds=(0, 5), method="bounded", options={"xatol": 1e-9}).fun
    assert l1_transition(best, 1.0) == pytest.approx(rho, abs=1e-8)


def test_known_point_and_ends_of_the_l1_transition() -> None:
    assert l1_transition(0.5, 1.0) == pytest.approx(0.1928448, abs=1e-6)
    assert 0 < l1_transition(1e-12, 1.0) < 1e-12
    assert l1_transition(120, 100) == 1


def test_the_bounds_of_proposition_6_hold_without_their_factor() -> None:
    """P1 states P <= 4 exp(-n alpha) for n > 2d and P >= 1 - 4 exp(-n alpha) for n < 2d: so it is without the 4."""
    n, d = np.meshgrid(np.unique(np.geomspace(10, 2000, 60).round()), np.unique(np.geomspace(2, 1500, 60).round()))
    law, bound = wendel(n, d), np.exp(-((n / 2 - d) ** 2) / (64 * n))
    assert (law <= bound)[n > 2 * d].all()
    assert (1 - law <= bound)[n < 2 * d].all()
