import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from recovery.instances.all_ones import _non_negative_least_squares, decide_all_ones
from recovery.instances.ensembles import ENSEMBLES
from recovery.theory.wendel import wendel

DRAWS = 150
LEVEL = 1e-3


def proves(X, decision):
    """Check the certificate without the solver: w with X w > 0, or u >= 0 with X^T u = 0 up to rounding."""
    if decision.exists:
        return (X @ decision.direction).min() > 0 < decision.bound
    u = decision.weights
    return u.min() >= 0 and u.sum() == pytest.approx(1.0) and np.linalg.norm(X.T @ u) <= 1e-10 * np.abs(X).max()


@pytest.mark.parametrize("name", ["gaussian", "haar", "cubic_gaussian", "whitened_cubic"])
@pytest.mark.parametrize(("n", "d"), [(20, 8), (24, 12), (40, 22)])
def test_the_frequency_follows_wendels_law(name, n, d):
    rng = np.random.default_rng([n, d])
    count = sum(decide_all_ones(ENSEMBLES[name]().draw(rng, n, d)).exists for _ in range(DRAWS))
    p = float(wendel(n, d))
    low, high = binom.ppf(LEVEL / 2, DRAWS, p), binom.isf(LEVEL / 2, DRAWS, p)
    assert low <= count <= high


@pytest.mark.parametrize("seed", range(40))
def test_it_agrees_with_a_linear_program_and_proves_its_answer(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 20))
    X = rng.standard_normal((n, d)) ** rng.choice([1, 3])
    decision = decide_all_ones(X)
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    program = linprog(np.zeros(d), A_ub=-Z, b_ub=-np.ones(n), bounds=(None, None), method="highs")
    assert decision.exists == (program.status == 0)
    assert proves(X, decision)
    fallback = _non_negative_least_squares(X / np.linalg.norm(X, axis=0))
    assert fallback is not None
    assert fallback.exists == decision.exists


def test_degenerate_data():
    assert decide_all_ones(np.ones((3, 1))).exists
    assert not decide_all_ones(np.array([[1.0], [-1.0]])).exists
    assert not decide_all_ones(np.zeros((2, 2))).exists
    assert decide_all_ones(np.repeat([[1.0, 2.0]], 5, axis=0)).exists
    boundary = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])  # X w >= 0 has solutions, X w > 0 has none
    assert not decide_all_ones(boundary).exists


def test_scaling_columns_changes_no_answer():
    rng = np.random.default_rng(9)
    for _ in range(20):
        X = rng.standard_normal((16, 8))
        assert decide_all_ones(X * np.logspace(0, -8, 8)).exists == decide_all_ones(X).exists
