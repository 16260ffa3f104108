import numpy as np
import pytest

from recovery.theory import CURVES
from recovery.theory.noisy import GAMMA, theorem10_distance, theorem10_interval


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
        assert distance <= beta / (2 * scaling) + noise <= theorem10_distance(eta, noise, beta, scaling)


def test_inside_is_the_interval_at_unit_signal() -> None:
    lower, upper = theorem10_interval(1.0, 0.05)
    beta = [0.0, lower - 1e-9, lower + 1e-9, upper - 1e-9, upper + 1e-9]
    np.testing.assert_array_equal(CURVES["theorem10"].function(beta, 0.05), [0, 0, 1, 1, 0])
    np.testing.assert_array_equal(CURVES["theorem10"].function([0.5, 1.5], [[0.0], [0.125]]), [[1, 0], [0, 0]])
