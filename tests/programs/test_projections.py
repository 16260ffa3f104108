import numpy as np
import pytest

from recovery.instances.ensembles import ENSEMBLES
from recovery.programs.orthonormal import orthonormal_base, projection_norms


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
