"""The largest dual norm over all cells, against every cell of small arrangements, and its limits."""

import numpy as np
import pytest

from recovery.conditions.cell_search import bound_over_sides
from recovery.conditions.oracle import largest_cell
from recovery.instances.arrangements import enumerate_cells
from recovery.types import Array, Mask
from tests.conditions.isometry import row_sum
from tests.conditions.test_oracle import KINDS, arrangements


def norms(X: Array, lam: Array, linear: Array | None, cells: Mask) -> Array:
    values: Array = np.linalg.norm((X.T * lam) @ cells + (0.0 if linear is None else linear[:, None]), axis=0)
    return values


@pytest.mark.parametrize("kind", KINDS)
def test_the_bounds_meet_at_the_largest_norm_over_all_cells(kind: str) -> None:
    looked_at = 0
    for seed, rng, X, lam, cells in arrangements(kind, 25, 2):
        linear = rng.standard_normal(X.shape[1]) if seed % 4 == 1 else None
        looked_at += 1
        values, known = norms(X, lam, linear, cells), None
        if seed % 5 == 0 and len(values) > 1:
            worst = int(values.argmax())
            known, values = cells[:, [worst]], np.delete(values, worst)
        found = largest_cell(row_sum(X, lam, linear), known=known)
        size = float(np.abs(lam) @ np.linalg.norm(X, axis=1)) + (0.0 if linear is None else np.linalg.norm(linear))
        assert found.lower <= values.max() + 1e-11 * size
        assert values.max() <= found.upper + 1e-11 * size
        assert found.upper - found.lower <= 1e-6 * size
    assert looked_at >= 10


@pytest.mark.parametrize("apart", [1e-4, 1e-7, 1e-9])
def test_cells_as_thin_as_rows_are_apart_are_settled(apart: float) -> None:
    """The gap of the two rows has opposite weights: only the cells between them have the largest sum."""
    for seed in range(20):
        rng = np.random.default_rng([5, seed])
        X = rng.standard_normal((8, 3))
        X[4:] = X[:4] + apart * rng.standard_normal((4, 3))
        weights = rng.standard_normal(4)
        lam = np.concatenate([weights, -weights])
        cells, _ = enumerate_cells(X)
        largest, found = norms(X, lam, None, cells).max(), largest_cell(row_sum(X, lam))
        size = float(np.abs(lam) @ np.linalg.norm(X, axis=1))
        assert largest > 0.1 * np.abs(weights).max()
        assert found.lower <= largest + 1e-11 * size
        assert largest <= found.upper + 1e-11 * size
        assert found.upper - found.lower <= 1e-11 * size
        assert found.cones < 100_000


def test_the_point_lies_in_the_worst_cell() -> None:
    for seed in range(10):
        rng = np.random.default_rng([4, seed])
        X, lam = rng.standard_normal((30, 6)), rng.standard_normal(30)
        found = largest_cell(row_sum(X, lam))
        attained = norms(X, lam, None, (X @ found.point > 0)[:, None])[0]
        assert attained == pytest.approx(found.lower, rel=1e-10)
        assert norms(X, lam, None, X @ rng.standard_normal((6, 20_000)) > 0).max() <= found.upper


def test_a_limit_of_cells_leaves_valid_bounds() -> None:
    rng = np.random.default_rng(6)
    X, lam = rng.standard_normal((30, 6)), rng.standard_normal(30)
    settled = largest_cell(row_sum(X, lam))
    for nodes in (0, 1, 10, 100, settled.cones):
        found = largest_cell(row_sum(X, lam), nodes=nodes)
        assert found.cones <= nodes
        assert found.lower <= settled.lower
        assert settled.upper <= found.upper + 1e-12
    assert found.upper - found.lower < 1e-9


def test_a_bound_of_a_vector_that_is_zero_up_to_rounding_is_finite() -> None:
    """Entries below the rounding of mu leave no gap between mu and the eigenvalues."""
    for size in (1e-16, 1e-17, 1e-25, 1e-300):
        for q in ([0.25, 0.25], [0.25, 0.1], [1e-13, 0.25]):
            v, eigenvalues = np.array([size, 0.3 * size]), np.array(q)
            bound, mu, tau = bound_over_sides(v, np.eye(2), eigenvalues, np.empty(2), 0.0)
            assert np.sqrt(max(q)) <= bound <= np.sqrt(max(q)) * (1 + 1e-9) + 2 * size
            assert mu > 0
            assert tau > 0
