import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2

from recovery.theory import CURVES
from recovery.theory.noisy import GAMMA, theorem10_interval
from recovery.theory.strong import PAPER_RATIO, theta_star


def width_by_chi2(theta):
    """g(theta) by the chi-squared tails of its definition: r dF_1(r) = dF_3(r), so the integral is 1 - F_3(q)."""
    return 0.5 + theta + 0.5 * chi2.sf(chi2.isf(2 * theta, 1), 3)


def test_two_methods_agree_to_ten_digits() -> None:
    assert theta_star() == pytest.approx(brentq(lambda t: width_by_chi2(t) - 1.0, 1e-6, 0.5, xtol=1e-16), rel=1e-11)
    assert f"{theta_star():.10f}" == "0.1307583538"
    assert 1 / theta_star() == pytest.approx(7.6476949354, abs=1e-9)


def test_the_papers_rounding_is_no_root() -> None:
    assert width_by_chi2(0.1314) == pytest.approx(1.0014, abs=1e-4)
    assert width_by_chi2(1 / PAPER_RATIO) == pytest.approx(1.0013, abs=1e-4)


def test_width_is_the_limit_of_the_sum_that_it_bounds() -> None:
    """(1/n) E max over |S| <= theta n of sum_S sgn(g) g^2, plus 1/2 and theta: P1, (111) to (113)."""
    rng = np.random.default_rng(3)
    n, theta = 200_000, 0.13
    g = rng.standard_normal(n)
    largest = np.sort(np.sign(g) * g**2)[-int(theta * n) :]
    assert 0.5 + theta + largest.sum() / n == pytest.approx(float(width_by_chi2(theta)), abs=0.01)


def test_contour_lies_at_the_ratio() -> None:
    assert CURVES["theta_star"].ratio == pytest.approx(1 / theta_star(), abs=1e-10)
    assert CURVES["theta_star_paper"].function(7613, 1000) == pytest.approx(CURVES["theta_star_paper"].level)


def test_ends_as_the_paper_prints_them() -> None:
    eta, noise = 1.3, 0.05
    lower, upper = theorem10_interval(eta, noise)
    assert lower == pytest.approx(7 * noise * (eta - noise) / (eta - 7 * noise))
    assert upper == pytest.approx(eta - noise)
    assert np.allclose(theorem10_interval(eta, noise, scaling=1.0), (2 * lower, 2 * upper))


def test_is_empty_beyond_an_eta_over_fourteen_and_a_point_there() -> None:
    lower, upper = theorem10_interval(1.0, np.array([0.0, 1 / 14 - 1e-12, 0.08, 0.2]))
    assert lower[0] == 0
    assert lower[1] == pytest.approx(upper[1])
    assert np.isnan([lower[2:], upper[2:]]).all()


@pytest.mark.parametrize("scaling", [0.5, 1.0])
def test_only_the_linear_group_is_active_inside_it(scaling: float) -> None:
    """The stationarity conditions of the group lasso, checked at the closed form of its linear solution."""
    rng = np.random.default_rng(11)
    n, d = 400, 4
    U = np.linalg.qr(rng.standard_normal((n, d)))[0]
    H = rng.standard_normal((d, 300))
    D = U @ H >= 0
    w = rng.standard_normal(d)
    eta = np.linalg.norm(w)
    gamma = 1 - np.linalg.norm(U.T @ (D * (U @ w)[:, None]), axis=0).max() / eta
    assert gamma > GAMMA
    z = rng.standard_normal(n)
    z *= 0.4 * gamma * eta / 2 / np.linalg.norm(z)
    noise = float(np.linalg.norm(z))
    y = U @ w + z
    lower, upper = theorem10_interval(eta, noise, gamma, scaling)
    for beta in np.linspace(lower, upper, 7)[1:-1]:
        v = U.T @ y
        w0 = (1 - beta / (2 * scaling) / np.linalg.norm(v)) * v
        r = 2 * scaling * (y - U @ w0)
        np.testing.assert_allclose(U.T @ r, beta * w0 / np.linalg.norm(w0))
        assert np.linalg.norm(U.T @ (D * r[:, None]), axis=0).max() < beta
        distance = np.linalg.norm(w0 - w)
        # the paper bounds it by this times eta / (eta - noise) in the first term
        assert distance <= beta / (2 * scaling) + noise


def test_inside_is_the_interval_at_unit_signal() -> None:
    lower, upper = theorem10_interval(1.0, 0.05)
    beta = [0.0, lower - 1e-9, lower + 1e-9, upper - 1e-9, upper + 1e-9]
    np.testing.assert_array_equal(CURVES["theorem10"].function(beta, 0.05), [0, 0, 1, 1, 0])
    np.testing.assert_array_equal(CURVES["theorem10"].function([0.5, 1.5], [[0.0], [0.125]]), [[1, 0], [0, 0]])
