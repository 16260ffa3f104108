"""Rank-one terms of exact and noisy matrices."""

import numpy as np
import pytest

from recovery.tensors.jennrich import decompose, fit, jennrich, rank_above, refine
from recovery.tensors.scalars import signs


def matrices(seed: int, D: int, r: int, K: int, noise: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((D, r))
    V /= np.linalg.norm(V, axis=0)
    M = np.einsum("am,km,bm->kab", V, rng.standard_normal((K, r)), V)
    E = noise * rng.standard_normal(M.shape)
    return M + E + np.swapaxes(E, 1, 2), V


def distance(found: np.ndarray, V: np.ndarray) -> float:
    """The largest distance of a column of V from the nearest found one, up to sign."""
    gaps = [np.linalg.norm(found[:, :, None] - sign * V[:, None, :], axis=0) for sign in (1, -1)]
    return float(np.minimum(*gaps).min(axis=0).max())


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize(("D", "r", "K"), [(1, 1, 1), (6, 3, 2), (6, 6, 2), (12, 8, 20)])
def test_exact_terms_are_found(D, r, K, joint):
    M, V = matrices(0, D, r, K)
    terms = decompose(M, r, np.random.default_rng(1), joint)
    assert distance(terms.V, V) < 1e-9
    assert terms.residual < 1e-9
    rebuilt = np.einsum("am,km,bm->kab", terms.V, terms.coefficients, terms.V)
    np.testing.assert_allclose(rebuilt, M, atol=1e-9)


def test_rank_is_that_of_all_matrices_together():
    M, _ = matrices(2, 7, 4, 3)
    M[0] *= 0.0
    assert rank_above(M, 1e-10, 7) == 4
    assert rank_above(M, 1e-10, 3) == 3
    assert rank_above(M, 1e10, 7) == 0
    assert decompose(M, 0, np.random.default_rng(0)).V.shape == (7, 0)


def test_complex_pairs_give_real_columns_of_their_plane():
    rotation = np.array([[1.0, -1.0], [1.0, 1.0]])
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    M = np.array([rotation @ swap, swap])  # A B^{-1} = rotation: eigenvalues 1 +- i
    assert np.array_equal(M[0], M[0].T)
    V = jennrich(M, np.random.default_rng(0))
    assert V.dtype == np.float64
    assert np.linalg.matrix_rank(V) == 2


def test_joint_diagonalisation_is_nearer_than_one_pair_under_noise():
    """Paired over 40 draws; a fair coin gives 30 or more with probability 0.0011."""
    wins = 0
    for seed in range(40):
        M, V = matrices(seed, 5, 5, 20, noise=1e-3)
        rng = np.random.default_rng(seed)
        wins += distance(decompose(M, 5, rng).V, V) < distance(decompose(M, 5, rng, joint=False).V, V)
    assert wins >= 30


def test_refinement_leaves_exact_columns_and_repairs_rough_ones():
    M, V = matrices(3, 6, 6, 10)
    assert distance(refine(M, V), V) < 1e-12
    rough = V + 0.02 * np.random.default_rng(0).standard_normal(V.shape)
    assert distance(refine(M, rough), V) < 1e-9


def test_fit_of_a_zero_matrix_and_of_zero_columns():
    zero = fit(np.zeros((2, 3, 3)), np.zeros((3, 2)))
    assert zero.residual == 0.0
    assert np.all(zero.coefficients == 0.0)


# Signs by enumeration and by bounded least squares, each where it is taken.


def posed(m: int, d: int, off: float = 0.0, seed: int = 0):
    """Units, a linear part that some wrong signs leave, moved by `off`, and which are wrong."""
    rng = np.random.default_rng([m, seed])
    W, b, a = rng.standard_normal((m, d)), rng.standard_normal(m), rng.standard_normal(m)
    wrong = rng.integers(0, 2, m) == 1
    v, c = -(a * wrong) @ W, -float((a * wrong) @ b)
    return W, b, a, v + off * rng.standard_normal(d), c, wrong


@pytest.mark.parametrize(("m", "d"), [(3, 40), (8, 40), (30, 40), (20, 10)])
def test_signs_are_the_nearest_of_all_choices(m, d):
    *given, wrong = posed(m, d)
    assert np.array_equal(signs(*given), wrong)
