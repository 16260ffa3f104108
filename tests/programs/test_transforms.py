"""Batched transforms and inverse factors, against NumPy for one matrix at a time."""

import numpy as np
import pytest

from recovery.instances.ensembles import ENSEMBLES
from recovery.programs.orthonormal import orthonormal_base, orthonormal_transforms, projection_norms
from recovery.programs.transforms import Transforms


def transforms(rng: np.random.Generator, r: int) -> np.ndarray:
    """Triangular and full matrices, with zero columns, rows and entries, and one that is zero."""
    T = rng.standard_normal((8, r, r))
    T[0], T[1] = np.triu(T[0]), np.tril(T[1])
    T[2, :, r // 2 :], T[3, r // 2 :], T[4, :, 0] = 0.0, 0.0, 0.0
    T[5], T[6, r // 2, r // 2] = 0.0, 0.0
    return T


@pytest.mark.parametrize("r", [1, 2, 5, 17, 40])
def test_products_are_those_of_numpy(r: int) -> None:
    rng = np.random.default_rng(r)
    T = transforms(rng, r)
    products = Transforms(T)
    for chosen in (None, np.arange(8), np.array([5, 2, 2, 0, 7]), np.zeros(0, dtype=np.intp)):
        some = T if chosen is None else T[chosen]
        for rows in (rng.standard_normal((len(some), r)), rng.integers(-3, 4, (len(some), r))):
            strided = np.asfortranarray(rows)
            assert np.allclose(products.apply(strided, chosen), np.einsum("gij,gj->gi", some, rows), atol=1e-13)
            assert np.allclose(
                products.apply_transposed(strided, chosen), np.einsum("gji,gj->gi", some, rows), atol=1e-13
            )


def test_products_propagate_nan() -> None:
    products = Transforms(transforms(np.random.default_rng(0), 4))
    rows = np.full((8, 4), np.nan)
    assert np.isnan(products.apply(rows, None)[0]).all()
    assert np.isnan(products.apply_transposed(rows, None)[1]).all()


@pytest.mark.parametrize("kind", ["gaussian", "repeated", "zero", "integers", "uneven", "dependent"])
def test_transforms_make_columns_orthonormal_for_all_kinds_of_rows(kind: str) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((45, 6))
    if kind == "repeated":
        X[20:] = X[:25]
    elif kind == "zero":
        X[::3] = 0.0
    elif kind == "integers":
        X = rng.integers(-2, 3, X.shape).astype(float)
    elif kind == "uneven":
        X *= np.logspace(0, -9, 45)[:, None]
    elif kind == "dependent":
        X[:, 1:3] *= 1e-8, 1e8
        X[:, 5] = X[:, 4]
    U, _ = orthonormal_base(X)
    assert U.shape[1] == 6 - (kind == "dependent")
    patterns = np.column_stack([X @ rng.standard_normal((6, 40)) >= 0, np.zeros(45, dtype=bool), np.arange(45) < 3])
    T = orthonormal_transforms(U, patterns)[0]
    for g in range(patterns.shape[1]):
        A = patterns[:, g, None] * (U @ T[g])
        seen = A[:, T[g].any(axis=0)]
        assert seen.shape[1] == np.linalg.matrix_rank(patterns[:, g, None] * U, tol=1e-10)
        assert np.allclose(seen.T @ seen, np.eye(seen.shape[1]), atol=1e-9)
        assert not A[:, ~T[g].any(axis=0)].any()


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-7])
def test_the_basis_does_not_depend_on_how_it_was_found(gap: float) -> None:
    """Cholesky factors of rows nearly in one plane are rejected, but the basis is the same: QR's, or unit vectors."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((24, 5))
    X[:12, 4] = gap * X[:12, 4] + X[:12, 0]
    U, _ = orthonormal_base(X)
    few, many = np.zeros(24, dtype=bool), np.zeros(24, dtype=bool)
    few[[0, 5, 7]], many[:12] = True, True
    T = orthonormal_transforms(U, np.column_stack([few, many]))[0]
    assert np.allclose((U @ T[0])[few][:, :3], np.eye(3), atol=1e-12 / gap)
    assert not T[0][:, 3:].any()
    Q, R = np.linalg.qr(U[many])
    assert np.allclose(U[many] @ T[1], Q * np.sign(np.diagonal(R)), atol=1e-13 / gap)
    assert np.allclose(np.tril(T[1], -1), 0.0)


def test_the_base_of_rows_with_equal_singular_values_is_that_of_qr() -> None:
    """A singular value decomposition may return any rotation there, which differs between processors."""
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((20, 4)))[0]
    for X in (Q, 3.0 * Q, Q * np.array([1e-3, 1.0, 50.0, 1.0]), np.eye(20)[:, :4]):
        U, coordinates = orthonormal_base(X)
        assert np.allclose(U, X / np.linalg.norm(X, axis=0), atol=1e-12)
        assert np.allclose(U @ coordinates, X, atol=1e-12)
    X = np.column_stack([Q, Q[:, 0] + Q[:, 1], 0 * Q[:, 0]])
    U, coordinates = orthonormal_base(X)
    assert U.shape == (20, 4)
    assert np.allclose(U @ coordinates, X, atol=1e-12)
    assert np.allclose(U.T @ U, np.eye(4), atol=1e-12)


def by_definition(U: np.ndarray, patterns: np.ndarray, v: np.ndarray) -> list[float]:
    result = []
    for column in patterns.T:
        left, s, _ = np.linalg.svd(U * column[:, None], full_matrices=False)
        result.append(float(np.linalg.norm(left[:, s > 1e-10].T @ v)))
    return result


@pytest.mark.parametrize(("n", "d"), [(30, 4), (30, 14), (30, 16), (20, 20), (12, 20)])
@pytest.mark.parametrize("ensemble", ["gaussian", "cubic_gaussian", "rademacher"])
def test_norms_are_those_of_the_compact_decompositions(n: int, d: int, ensemble: str) -> None:
    rng = np.random.default_rng(n * d)
    X = ENSEMBLES[ensemble]().draw(rng, n, d)
    U, _ = orthonormal_base(X)
    patterns = X @ rng.standard_normal((d, 60)) >= 0
    v = rng.standard_normal(n)
    np.testing.assert_allclose(projection_norms(U, patterns, v), by_definition(U, patterns, v), atol=1e-9)


def test_dependent_rows_are_decided_by_decomposition() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((6, 3))
    X = np.vstack([X, X, X[:2] + X[2:4]])
    U, _ = orthonormal_base(X)
    patterns = np.vstack([np.eye(6, dtype=bool)] * 2 + [np.zeros((2, 6), dtype=bool)])
    patterns = np.hstack([patterns, np.zeros((14, 1), dtype=bool), np.ones((14, 1), dtype=bool)])
    v = rng.standard_normal(14)
    np.testing.assert_allclose(projection_norms(U, patterns, v), by_definition(U, patterns, v), atol=1e-9)


def test_one_vector_a_pattern() -> None:
    rng = np.random.default_rng(3)
    U, _ = orthonormal_base(rng.standard_normal((20, 3)))
    patterns = U @ rng.standard_normal((3, 9)) >= 0
    V = rng.standard_normal((20, 9))
    each = [projection_norms(U, patterns[:, [j]], V[:, j])[0] for j in range(9)]
    np.testing.assert_allclose(projection_norms(U, patterns, V), each, rtol=1e-12)
