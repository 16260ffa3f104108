import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from recovery.runner.placement import covariance, estimate

N = np.arange(10.0, 401.0, 10.0)


def drawn(half: float, slope: float, trials: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    yes = np.random.default_rng(seed).binomial(trials, ndtr(slope * (N - half) / np.sqrt(N)))
    return yes, trials - yes


@pytest.mark.parametrize(("half", "slope"), [(200.0, 1.0), (57.0, 0.4), (120.0, -1.5)])
def test_with_many_trials_the_estimate_is_the_likeliest_probit_curve(half: float, slope: float) -> None:
    import statsmodels.api as sm  # here, because it takes long to import

    yes, no = drawn(half, slope, 1000)
    found = estimate(N, yes, no)
    probit = sm.families.Binomial(link=sm.families.links.Probit())
    other = sm.GLM(np.column_stack([yes, no]), np.column_stack([np.sqrt(N), -1 / np.sqrt(N)]), probit).fit(tol=1e-12)
    (a, b), ratio = other.params, np.array([-other.params[1] / other.params[0], 1.0]) / other.params[0]
    assert found is not None
    assert found.half == pytest.approx(b / a, rel=1e-3)
    assert found.slope == pytest.approx(a, rel=1e-2)
    assert found.error == pytest.approx(np.sqrt(ratio @ other.cov_params() @ ratio), rel=0.02)


def test_separated_counts_have_an_estimate_between_their_sides() -> None:
    found = estimate(N, np.where(N > 200, 4, 0), np.where(N > 200, 0, 4))
    assert found is not None
    assert 200 < found.half < 210
    assert 0 < found.slope < np.inf
    assert 0.5 < found.error < 10


@pytest.mark.parametrize("side", [0, 1])
def test_trials_that_end_alike_show_no_transition(side: int) -> None:
    yes = np.full(len(N), 5 * side)
    assert estimate(N, yes, 5 - yes) is None


def test_a_transition_beyond_the_grid_is_none() -> None:
    yes, no = drawn(430.0, 1.0, 100)
    assert yes.sum() > 0
    assert estimate(N, yes, no) is None


def test_the_covariance_is_that_of_repeated_estimates() -> None:
    """The variances of n50 over 400 repetitions against the information, by a chi-squared law at level 1e-3."""
    found = [estimate(N, *drawn(200.0, 1.0, 40, seed)) for seed in range(400)]
    halves = np.array([one.half for one in found if one is not None])
    assert len(halves) == 400
    expected = covariance(N, np.full(len(N), 40), 200.0, 1.0)[0, 0]
    low, high = chi2.ppf([5e-4, 1 - 5e-4], 399) / 399
    assert low * 0.95 < halves.var(ddof=1) / expected < high * 1.05
