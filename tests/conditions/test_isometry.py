"""The conditions against plain loops written from the definitions, over every pattern of small data."""

import numpy as np
import pytest

from recovery.conditions.neural_isometry import orthogonal_uniform_isometry, uniform_isometry
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES, Architecture
from tests.conditions.isometry import neural_isometry

RELU = ARCHITECTURES["relu"]
SKIP = ARCHITECTURES["relu_skip"]
NORM = ARCHITECTURES["relu_norm"]
NORM_SKIP = ARCHITECTURES["relu_norm_skip"]

N, DIM = 14, 3


def draw(seed: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, unit directions, signs, and all patterns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, DIM)) / np.sqrt(N)
    W = rng.standard_normal((DIM, k))
    return X, W / np.linalg.norm(W, axis=0), 1.0 - 2.0 * rng.integers(0, 2, k), enumerate_cells(X)[0]


def diagonals(patterns: np.ndarray) -> list[np.ndarray]:
    return [np.diag(column.astype(float)) for column in patterns.T]


def compact(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    r = int((s > 1e-10).sum())
    return U[:, :r], np.diag(s[:r]), Vt[:r]


@pytest.mark.parametrize("seed", range(4))
def test_nic_l(seed: int) -> None:
    X, W, _, patterns = draw(seed, 1)
    values = [np.linalg.norm(X.T @ D @ X @ np.linalg.inv(X.T @ X) @ W[:, 0]) for D in diagonals(patterns)]
    found = neural_isometry(SKIP, X, W, np.ones(1), patterns, linear=True)
    assert found.value == pytest.approx(max(values))
    assert found.attained_by == int(np.argmax(values))
    assert found.holds == (max(values) < 1)
    assert found.margin == pytest.approx(1 - max(values))


@pytest.mark.parametrize("seed", range(4))
def test_orth_nic_l(seed: int) -> None:
    X, W, _, patterns = draw(seed, 1)
    U, S, Vt = compact(X)
    w = S @ Vt @ W[:, 0]
    values = [np.linalg.norm(U.T @ D @ U @ w) / np.linalg.norm(w) for D in diagonals(patterns)]
    found = neural_isometry(NORM_SKIP, X, W, np.ones(1), patterns, linear=True)
    assert found.value == pytest.approx(max(values))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("architecture", [RELU, NORM], ids=str)
def test_nic_k_and_nnic_k(architecture: Architecture, k: int, seed: int) -> None:
    X, W, signs, patterns = draw(seed, k)
    planted = [np.diag((X @ w >= 0).astype(float)) for w in W.T]
    bases, units = [], []
    for D, w, r in zip(planted, W.T, signs, strict=True):
        U, S, Vt = compact(D @ X)
        bases.append(U if architecture is NORM else D @ X)
        units.append(r * S @ Vt @ w / np.linalg.norm(S @ Vt @ w) if architecture is NORM else r * w)
    stack, u = np.hstack(bases).T, np.concatenate(units)
    lam = np.linalg.pinv(stack) @ u
    others = [D for D in diagonals(patterns) if D.any() and not any(np.array_equal(D, P) for P in planted)]
    values = [np.linalg.norm((compact(D @ X)[0] if architecture is NORM else D @ X).T @ lam) for D in others]
    found = neural_isometry(architecture, X, W, signs, patterns, linear=False)
    assert np.isfinite(found.value) == np.allclose(stack @ lam, u)
    if np.isfinite(found.value):
        assert found.value == pytest.approx(max(values))
        assert found.holds == (max(values) < 1 - 1e-9)


def test_a_relu_neuron_next_to_a_skip_connection_competes_with_it() -> None:
    X, W, _, patterns = draw(1, 1)
    with_skip = neural_isometry(SKIP, X, W, np.ones(1), patterns, linear=False)
    plain = neural_isometry(RELU, X, W, np.ones(1), patterns, linear=False)
    assert with_skip.value >= 1  # X contains D X, so the condition is never met
    assert not with_skip.holds
    assert plain.value <= with_skip.value


def test_the_all_ones_pattern_has_value_one_and_never_holds() -> None:
    X, W, _, patterns = draw(0, 1)
    patterns = np.hstack([patterns, np.ones((N, 1), dtype=bool)])
    found = neural_isometry(SKIP, X, W, np.ones(1), patterns, linear=True)
    assert found.value >= 1 - 1e-12
    assert not found.holds


def test_fewer_rows_than_columns_are_not_identified() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 6))
    patterns = X @ rng.standard_normal((6, 5)) >= 0
    found = neural_isometry(SKIP, X, np.eye(6)[:, :1], np.ones(1), patterns, linear=True)
    assert found.value == np.inf
    assert not found.holds


def test_two_planted_neurons_of_one_pattern_are_not_identified() -> None:
    X, W, _, patterns = draw(0, 1)
    twin = np.hstack([W, W + 1e-6])
    assert np.array_equal(X @ twin[:, 0] >= 0, X @ twin[:, 1] >= 0)
    assert neural_isometry(RELU, X, twin, np.ones(2), patterns, linear=False).value == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_uniform_form_is_the_largest_over_all_linear_neurons(seed: int) -> None:
    X, _, _, patterns = draw(seed, 1)
    inverse = np.linalg.inv(X.T @ X)
    values = [np.linalg.norm(X.T @ D @ X @ inverse, 2) for D in diagonals(patterns)]
    found = uniform_isometry(X, patterns)
    assert found.value == pytest.approx(max(values))
    assert found.attained_by == int(np.argmax(values))
    each = neural_isometry(SKIP, X, np.eye(3)[:, :1], np.ones(1), patterns, linear=True)
    assert each.value <= found.value + 1e-12


@pytest.mark.parametrize(("n", "d"), [(14, 2), (20, 2), (14, 3), (40, 3)])
def test_orthogonal_uniform_form_is_a_count_of_rows(n: int, d: int) -> None:
    for seed in range(3):
        U = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, d)))[0]
        patterns = enumerate_cells(U)[0]
        count = orthogonal_uniform_isometry(patterns, d)
        assert count.margin == n - d - count.value
        assert count.value == patterns.sum(axis=0).max()
        assert count.holds == uniform_isometry(U, patterns).holds


def test_uniform_forms_without_patterns_or_rank() -> None:
    assert uniform_isometry(np.ones((5, 2)), np.ones((5, 1), dtype=bool)).value == np.inf
    assert orthogonal_uniform_isometry(np.empty((5, 0), dtype=bool), 2).holds


@pytest.mark.parametrize("architecture", [NORM, NORM_SKIP, RELU, SKIP], ids=str)
def test_a_neuron_that_no_row_sees_is_not_identified(architecture, capfd: pytest.CaptureFixture[str]) -> None:
    """Beside one that is seen: its group has no dimension, and LAPACK is not called for it."""
    X, W, patterns = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0, -1.0]]), np.ones((3, 1), dtype=bool)
    assert neural_isometry(architecture, X, W, np.ones(2), patterns, linear=False).value == np.inf
    assert (
        neural_isometry(architecture, 0 * X, W[:, :1], np.ones(1), patterns, linear=architecture.skip).value == np.inf
    )
    assert capfd.readouterr() == ("", "")
