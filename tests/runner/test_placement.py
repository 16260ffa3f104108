from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr
from scipy.stats import chi2, norm

from recovery.runner.placement import ENOUGH, Slice, Transition, _Design, covariance, estimate, sharpen

N = np.arange(10.0, 401.0, 10.0)


def drawn(half: float, trials: int = 4, seed: int = 0, slope: float = 1.0) -> Slice:
    yes = np.random.default_rng(seed).binomial(trials, ndtr(slope * (N - half) / np.sqrt(N)))
    return Slice(N, yes, trials - yes)


def told(part: Slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return part.n, part.yes, part.no


@pytest.mark.parametrize("half", [60.0, 64.0, 67.0])
def test_trials_go_where_the_c_optimal_design_puts_them(half: float) -> None:
    """Against the convex program min (I^-1)_11 over the weights of six cells, solved by another method."""
    n = np.arange(40.0, 91.0, 10.0)
    start, more, truth = np.ones(6), 3000, (half, 0.9)
    sure = Transition(*truth, 1e-12 * np.eye(2))
    design = _Design(Slice(n, start / 2, start / 2), sure)
    added = np.zeros(6)
    for _ in range(more):
        added[design.add(1)] += 1

    def variance(weights: np.ndarray) -> float:
        return float(covariance(n, start + more * weights, *truth)[0, 0])

    best = minimize(
        lambda weights: 1e3 * variance(weights),
        np.full(6, 1 / 6),
        bounds=[(0, 1)] * 6,
        constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert variance(added / more) <= best.fun / 1e3 * 1.001
    assert variance(added / more) < 0.8 * variance(np.full(6, 1 / 6))


def place(slices: Sequence[Slice], trials: int) -> list[tuple[Transition | None, list[int]]]:
    """Allocate all of these trials: no number of them sharpens the thresholds by this factor."""
    return sharpen(slices, 1e12, trials)


def test_slices_without_a_transition_get_nothing() -> None:
    four, none = np.full(len(N), 4), np.zeros(len(N))
    placed = place([Slice(N, four, none), drawn(100.0), Slice(N, none, four), drawn(900.0)], 500)
    assert [sum(added) for _, added in placed] == [0, 500, 0, 0]
    assert [found is None for found, _ in placed] == [True, False, True, True]
    assert [sum(added) for _, added in place([Slice(N, four, none)], 500)] == [0]


def test_a_transition_sharper_than_the_grid_gets_no_more_once_that_is_known() -> None:
    def sharp(trials: int) -> Slice:
        counts = np.where((N == 200) | (N == 210), trials, 4)
        return Slice(N, np.where(N > 200, counts, 0), np.where(N > 200, 0, counts))

    assert sharp(ENOUGH - 1).transition is not None
    assert sharp(ENOUGH).transition is None


def test_the_order_of_slices_changes_nothing() -> None:
    slices = [drawn(half, seed=i) for i, half in enumerate((30.0, 80.0, 150.0, 220.0))]
    forward, backward = place(slices, 3000), place(slices[::-1], 3000)[::-1]
    assert [added for _, added in forward] == [added for _, added in backward]


def test_an_early_guess_does_not_starve_the_cells_beside_it() -> None:
    """Four trials a cell leave n50 uncertain by more than a step: no placement may stake all on one cell."""
    for seed in range(50):
        part = drawn(200.0, seed=seed)
        _, added = place([part], 300)[0]
        found = estimate(part.n, part.yes, part.no)
        assert found is not None
        assert np.count_nonzero(added) >= 2
        assert sum(np.array(added)[np.abs(N - found.half) <= 40]) == 300


def test_random_counts_never_break_a_placement() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        cells = int(rng.integers(1, 8))
        n = np.sort(rng.choice(np.arange(1, 60), cells, replace=False)).astype(float)
        slices = []
        for _ in range(3):
            total = rng.integers(0, 4, cells)
            yes = rng.binomial(total, rng.random(cells))
            slices.append(Slice(n, yes, total - yes))
        placed = place(slices, 50)
        known = any(found is not None for found, _ in placed)
        assert sum(sum(added) for _, added in placed) == 50 * known
        assert all(np.isfinite(found.error) for found, _ in placed if found is not None)


def test_a_transition_that_may_lie_on_the_grid_is_not_given_up() -> None:
    """Two of four at the least n put n50 just below it, and it may still be above."""
    yes = np.minimum(np.array([2, 4, 4, *[4] * (len(N) - 3)]), 4)
    part = Slice(N, yes, 4 - yes)
    found = part.transition
    assert found is not None
    assert found.half <= N[0] + found.error
    assert sum(place([part], 100)[0][1][:3]) == 100


@pytest.mark.parametrize(("half", "slope"), [(200.0, 1.0), (57.0, 0.4), (120.0, -1.5)])
def test_with_many_trials_the_estimate_is_the_likeliest_probit_curve(half: float, slope: float) -> None:
    _, yes, no = told(drawn(half, 1000, slope=slope))
    found = estimate(N, yes, no)
    at = np.column_stack([np.sqrt(N), -1 / np.sqrt(N)])

    def cost(by: np.ndarray) -> float:
        return -float(yes @ log_ndtr(at @ by) + no @ log_ndtr(-at @ by))

    a, b = by = minimize(cost, [slope, slope * half], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9}).x
    weights = 1000 * np.exp(2 * norm.logpdf(at @ by) - log_ndtr(at @ by) - log_ndtr(-at @ by))
    ratio = np.array([-b / a, 1.0]) / a
    assert found is not None
    assert found.half == pytest.approx(b / a, rel=1e-3)
    assert found.slope == pytest.approx(a, rel=1e-2)
    assert found.error == pytest.approx(np.sqrt(ratio @ np.linalg.solve(at.T * weights @ at, ratio)), rel=0.02)


def test_separated_counts_have_an_estimate_between_their_sides() -> None:
    found = estimate(N, np.where(N > 200, 4, 0), np.where(N > 200, 0, 4))
    assert found is not None
    assert 200 < found.half < 210
    assert 0 < found.slope < np.inf
    assert 0.5 < found.error < 10


def test_a_transition_beyond_the_grid_is_none() -> None:
    _, yes, no = told(drawn(430.0, 100))
    assert yes.sum() > 0
    assert estimate(N, yes, no) is None


def test_the_covariance_is_that_of_repeated_estimates() -> None:
    """The variances of n50 over 400 repetitions against the information, by a chi-squared law at level 1e-3."""
    found = [estimate(*told(drawn(200.0, 40, seed))) for seed in range(400)]
    halves = np.array([one.half for one in found if one is not None])
    assert len(halves) == 400
    expected = covariance(N, np.full(len(N), 40), 200.0, 1.0)[0, 0]
    low, high = chi2.ppf([5e-4, 1 - 5e-4], 399) / 399
    assert low * 0.95 < halves.var(ddof=1) / expected < high * 1.05
