import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from recovery.theory import CURVES
from recovery.theory.strong import PAPER_RATIO, strong_width, theta_star


def width_by_chi2(theta):
    """g(theta) by the chi-squared tails of its definition: r dF_1(r) = dF_3(r), so the integral is 1 - F_3(q)."""
    return 0.5 + theta + 0.5 * chi2.sf(chi2.isf(2 * theta, 1), 3)


def test_two_methods_agree_to_ten_digits() -> None:
    assert theta_star() == pytest.approx(brentq(lambda t: width_by_chi2(t) - 1.0, 1e-6, 0.5, xtol=1e-16), rel=1e-11)
    assert f"{theta_star():.10f}" == "0.1307583538"
    assert 1 / theta_star() == pytest.approx(7.6476949354, abs=1e-9)


def test_root_of_the_equation_as_the_paper_writes_it_by_quadrature() -> None:
    theta = theta_star()
    s = norm.isf(theta)  # q = s^2 is the chi^2_1 quantile at 1 - 2 theta
    tail, _ = quad(lambda z: z**2 * 2 * norm.pdf(z), s, np.inf, epsabs=1e-13)
    assert theta + 0.5 * tail == pytest.approx(0.5, abs=1e-11)


def test_the_papers_rounding_is_no_root() -> None:
    assert strong_width(theta_star()) == pytest.approx(1, abs=1e-14)
    assert strong_width(0.1314) == pytest.approx(1.0014, abs=1e-4)
    assert strong_width(1 / PAPER_RATIO) == pytest.approx(1.0013, abs=1e-4)


def test_width_by_two_formulas_and_at_its_ends() -> None:
    theta = np.linspace(1e-6, 0.5, 200)
    np.testing.assert_allclose(strong_width(theta), width_by_chi2(theta), rtol=1e-9)
    assert (np.diff(strong_width(theta)) > 0).all()
    np.testing.assert_allclose(strong_width([0.0, 0.5]), [0.5, 1.5])


def test_width_is_the_limit_of_the_sum_that_it_bounds() -> None:
    """(1/n) E max over |S| <= theta n of sum_S sgn(g) g^2, plus 1/2 and theta: P1, (111) to (113)."""
    rng = np.random.default_rng(3)
    n, theta = 200_000, 0.13
    g = rng.standard_normal(n)
    largest = np.sort(np.sign(g) * g**2)[-int(theta * n) :]
    assert 0.5 + theta + largest.sum() / n == pytest.approx(float(strong_width(theta)), abs=0.01)


def test_contour_lies_at_the_ratio() -> None:
    curve = CURVES["theta_star"]
    assert curve.function(1000 / theta_star(), 1000) == pytest.approx(curve.level)
    assert CURVES["theta_star_paper"].function(7613, 1000) == pytest.approx(CURVES["theta_star_paper"].level)
