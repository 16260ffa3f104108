from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from recovery.instances.all_ones import decide_all_ones
from recovery.instances.ensembles import ENSEMBLES
from recovery.theory.wendel import wendel

DRAWS = 150
LEVEL = 1e-3


def proves(X, decision):
    """Check the certificate independently: w with X w > 0, or u >= 0 with X^T u = 0 up to rounding."""
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


@pytest.mark.parametrize("kind", ["blocks", "one-hot", "integers", "sparse"])
def test_columns_that_the_proof_does_not_need_leave_no_doubt(kind):
    """Rows that are decided against do not enter some columns, whose sums are then of rounding errors alone."""
    X = np.array([[0, 1], [-1, 0], [-1, 0], [-1, 0], [0, 1], [1, 0], [1, 0], [0, 1]], dtype=float)
    assert not decide_all_ones(X).exists
    for seed in range(60):
        rng = np.random.default_rng(seed)
        if kind == "blocks":
            X = np.zeros((12, 4))
            X[:8, :2], X[8:, 2:] = rng.standard_normal((8, 2)), np.abs(rng.standard_normal((4, 2)))
        elif kind == "one-hot":
            X = np.zeros((20, 8))
            X[np.arange(20), rng.integers(0, 8, 20)] = rng.choice([-1.0, 1.0], 20)
        else:
            X = rng.integers(-2, 3, (14, 6)) if kind == "integers" else rng.standard_normal((14, 6))
            X = X * (rng.random((14, 6)) < 0.3) * 1.0
        live = X[X.any(axis=1)]
        program = linprog(np.zeros(X.shape[1]), A_ub=-live, b_ub=-np.ones(len(live)), bounds=(None, None))
        assert decide_all_ones(X).exists == (program.status == 0)


def test_degenerate_data():
    assert decide_all_ones(np.ones((3, 1))).exists
    assert not decide_all_ones(np.array([[1.0], [-1.0]])).exists
    assert not decide_all_ones(np.zeros((2, 2))).exists
    assert decide_all_ones(np.repeat([[1.0, 2.0]], 5, axis=0)).exists
    boundary = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])  # X w >= 0 has solutions, X w > 0 has none
    assert not decide_all_ones(boundary).exists


def test_zero_rows_have_no_effect():
    assert decide_all_ones(np.array([[1.0, 0.0], [0.0, 0.0]])).exists
    rng = np.random.default_rng(3)
    for _ in range(30):
        X = rng.standard_normal((9, 5))
        with_zeros = np.insert(X, [0, 4, 9], 0.0, axis=0)
        decision, other = decide_all_ones(X), decide_all_ones(with_zeros)
        assert decision.exists == other.exists
        assert decision.bound == other.bound
        if other.weights is not None:
            assert not other.weights[~with_zeros.any(axis=1)].any()


def test_scaling_rows_and_columns_by_powers_of_two_changes_no_answer():
    rng = np.random.default_rng(8)
    for _ in range(150):
        X = rng.integers(-1, 2, (int(rng.integers(2, 12)), int(rng.integers(1, 5)))).astype(float)
        scaled = X * 2.0 ** rng.integers(-33, 34, (len(X), 1)) * 2.0 ** rng.integers(-27, 28, X.shape[1])
        assert decide_all_ones(scaled).exists == decide_all_ones(X).exists


@pytest.mark.parametrize("e", [1e-9, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16])
def test_cells_of_any_width_are_found(e):
    """Rows (1, 1) and (-1, -1 + e): only a direction near (-1 + e/2, 1) has positive products with both."""
    X = np.array([[1.0, 1.0], [-1.0, -1.0 + e]])
    assert decide_all_ones(X).exists
    assert not decide_all_ones(np.vstack([X, [0.0, -1.0]])).exists
    assert not decide_all_ones(np.vstack([X, [1.0, 0.0]])).exists


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_thin_cell_is_found_in_either_memory_order(order, sign):
    """In column order all weights rounded to zero, and their sum was a divisor."""
    X = np.array([[1.0, 5e-13], [-1.0, 5e-13], [1.0, 1.0]], order=order)
    decision = decide_all_ones(sign * X)
    assert proves(sign * X, decision)
    assert decision.exists


def test_rows_as_small_as_floats_can_be():
    tiny = 5e-324
    assert decide_all_ones(np.array([[1.0, tiny], [-1.0, tiny], [1.0, 1.0]])).exists
    assert decide_all_ones(np.eye(3) * tiny).exists
    assert not decide_all_ones(np.array([[tiny, 0.0], [-tiny, 0.0]])).exists
    assert not decide_all_ones(np.array([[1e308, 1e308], [-tiny, -tiny]])).exists
    rng = np.random.default_rng(4)
    for _ in range(40):
        X = rng.integers(-2, 3, (7, 3)).astype(float)
        assert decide_all_ones(np.ldexp(X, rng.integers(-1070, 1000, (7, 1)))).exists == decide_all_ones(X).exists


def exact(X):
    """Fourier-Motzkin elimination in fractions: whether some w has X w > 0."""
    rows = [[Fraction(a) for a in row] for row in X[X.any(axis=1)].tolist()]
    if not rows:
        return False
    for _ in range(X.shape[1]):
        up, down = [r for r in rows if r[-1] > 0], [r for r in rows if r[-1] < 0]
        rows = [r[:-1] for r in rows if r[-1] == 0]
        rows += [[a / u[-1] - b / v[-1] for a, b in zip(u[:-1], v[:-1], strict=True)] for u in up for v in down]
        rows = [list(r) for r in {tuple(r) for r in rows}]
    return not rows


@pytest.mark.parametrize("kind", ["thin", "dependent", "integers", "decimals"])
def test_answers_are_those_of_exact_elimination(kind):
    rng = np.random.default_rng(len(kind))
    answers = set()
    for _ in range(60):
        n, d = int(rng.integers(3, 8)), int(rng.integers(2, 4))
        X = rng.integers(-2, 3, (n, d)).astype(float)
        if kind == "thin":
            X = X + 10.0 ** rng.integers(-16, -8) * rng.integers(-1, 2, X.shape)
        elif kind == "dependent":
            X = np.column_stack([X, X[:, 0] + 10.0 ** rng.integers(-16, -8) * rng.standard_normal(n)])
        elif kind == "decimals":
            X = np.round(0.1 * rng.integers(-9, 10, X.shape), 1)
        answers.add(decide_all_ones(X).exists)
        assert decide_all_ones(X).exists == exact(X)
    assert answers == {True, False}


@pytest.mark.parametrize(
    "kind", ["half space", "one against", "integers", "repeated", "opposite", "dependent", "heavy"]
)
def test_many_rows_are_decided_with_a_proof_whatever_they_are(kind):
    rng = np.random.default_rng(5)
    for n, d in ((30, 10), (60, 10), (200, 40)):
        X = rng.standard_normal((n, d))
        w = rng.standard_normal(d)
        if kind in ("half space", "one against"):
            X *= np.sign(X @ w)[:, None]
            X[0] *= -1 if kind == "one against" else 1
        elif kind == "integers":
            X = rng.integers(-1, 2, (n, d)).astype(float)
        elif kind == "repeated":
            X = np.repeat(X[: n // 5], 5, axis=0)
        elif kind == "opposite":
            X[1] = -X[0]
        elif kind == "dependent":
            X[:, -1] = X[:, 0] * (1 + 1e-9 * rng.standard_normal(n))
        else:
            X = X**9
        decision = decide_all_ones(X)
        assert proves(X, decision)
        if kind == "repeated":
            assert decision.exists == decide_all_ones(X[::5]).exists
        elif kind != "one against":
            assert decision.exists == (kind == "half space")
