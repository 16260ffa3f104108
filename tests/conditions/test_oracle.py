"""The oracle against every cell of small arrangements, each with its exact value, and its limits."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from benchmarks.verdicts import KINDS
from recovery.conditions.oracle import Bounds, exact_dual, largest_neuron, neuron_values
from recovery.conditions.planes import RowSum
from recovery.errors import ParameterError
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.programs.groups import leaky_relu
from recovery.types import Array, Mask, Rng
from tests.conditions.isometry import row_sum


def largest(total: RowSum, **options: Any) -> Bounds:
    return largest_neuron(neuron_values(total), **options)


def by_enumeration(X: Array, lam: Array, linear: Array | None = None) -> float:
    """max over closed cells of ||P_K(c + sum of the active t_i x_i)||, each by non-negative least squares."""
    c, best = np.zeros(X.shape[1]) if linear is None else linear, 0.0
    cells, _ = enumerate_cells(X)
    for on in cells.T:
        best = max(best, nnls((np.where(on, 1.0, -1.0)[:, None] * X).T, -(c + X.T @ (lam * on)))[1])
    return best


def drawn(kind: str, rng: Rng) -> Array:
    d, n = int(rng.integers(2, 5)), int(rng.integers(1, 11))
    return KINDS[kind](rng, n, d)


def arrangements(kind: str, seeds: int, *key: int) -> Iterator[tuple[int, Rng, Array, Array, Mask]]:
    """Yield seed, generator, rows, weights and all cells of small arrangements."""
    for seed in range(seeds):
        rng = np.random.default_rng([*key, list(KINDS).index(kind), seed])
        X = drawn(kind, rng)
        lam = rng.standard_normal(len(X)) if seed % 3 else rng.integers(-2, 3, len(X)).astype(float)
        with suppress(ParameterError):  # all zero, or rounding decides which cells there are
            yield seed, rng, X, lam, enumerate_cells(X)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_bounds_meet_at_the_largest_value_over_all_cells(kind: str) -> None:
    looked_at = 0
    for seed, rng, X, lam, _ in arrangements(kind, 8):
        linear = rng.standard_normal(X.shape[1]) @ np.linalg.pinv(X) @ X if seed % 4 == 1 else None
        wanted = by_enumeration(X, lam, linear)
        looked_at += 1
        found = largest(row_sum(X, lam, linear))
        size = float(np.abs(lam) @ np.linalg.norm(X, axis=1)) + (0.0 if linear is None else np.linalg.norm(linear))
        attained = lam @ np.maximum(X @ found.point, 0.0) + (0.0 if linear is None else linear @ found.point)
        assert attained == pytest.approx(found.lower, abs=float(1e-12 * size))
        assert np.linalg.norm(found.point) <= 1 + 1e-12
        assert found.lower <= wanted + 1e-12 * size
        assert wanted <= found.upper + 1e-12 * size
        assert found.upper - found.lower <= 1e-6 * (size or 1.0)
    assert looked_at >= 4


def test_dense_search_finds_nothing_above_the_bound() -> None:
    for seed in range(10):
        rng = np.random.default_rng([11, seed])
        X, lam = rng.standard_normal((24, 6)), rng.standard_normal(24)
        U = rng.standard_normal((6, 20_000))
        found = largest(row_sum(X, lam))
        assert (lam @ np.maximum(X @ U, 0.0) / np.linalg.norm(U, axis=0)).max() <= found.upper
        assert found.upper - found.lower <= 1e-6 * found.upper


def test_a_limit_ends_the_search_where_it_decides() -> None:
    rng = np.random.default_rng(5)
    X, lam = rng.standard_normal((24, 8)), rng.standard_normal(24)
    full = largest(row_sum(X, lam))
    above = largest(row_sum(X, lam), limit=1.1 * full.lower)
    assert above.upper <= 1.1 * full.lower
    assert above.cones < full.cones
    stopped = largest(row_sum(X, lam), limit=0.5 * full.lower, stop=True)
    assert stopped.lower > 0.5 * full.lower
    assert stopped.upper > full.lower
    cut = largest(row_sum(X, lam), nodes=3)
    assert cut.cones == 3
    assert cut.upper >= full.lower


def test_a_known_cell_is_left_out() -> None:
    """The planted cell of a certificate has the value 1 exactly; nothing else here comes near it."""
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((30, 3)), np.array([1.0, 0.0, 0.0])
    own = X @ w >= 0
    lam = np.where(own, X @ np.linalg.solve(X[own].T @ X[own], w), 0.0)
    groups = ARCHITECTURES["relu"].groups(X, own[:, None])
    with_it = exact_dual(groups, lam, 1.0, limit=0.0, nodes=10**6)
    assert with_it.lower == pytest.approx(1.0, abs=1e-6)
    without = exact_dual(groups, lam, 1.0, limit=0.0, known=own[:, None], nodes=10**6)
    others = [
        nnls((np.where(on, 1.0, -1.0)[:, None] * X).T, -(X.T @ (lam * on)))[1]
        for on in enumerate_cells(X)[0].T
        if (on != own)[lam > 0].any()
    ]
    assert without.lower - 1e-9 <= max(others) <= without.upper + 1e-9
    beside = [on for on in enumerate_cells(X)[0].T if (on == own)[lam > 0].all() and (on != own)[lam < 0].any()]
    assert beside
    for on in beside:  # left out with it: f(u) <= (A_D^T lam).u there, below 1 off the planted direction
        assert nnls((np.where(on, 1.0, -1.0)[:, None] * X).T, -(X.T @ (lam * on)))[1] < 1.0 - 1e-9


def test_a_slope() -> None:
    rng = np.random.default_rng(2)
    X, lam = rng.standard_normal((12, 3)), rng.standard_normal(12)
    leaky = Architecture("leaky", slope=0.3).groups(X, np.ones((12, 1), dtype=np.bool_))
    U = rng.standard_normal((3, 50_000))
    for sign in (1.0, -1.0):
        found = exact_dual(leaky, lam, sign, limit=0.0, nodes=10**6)
        dense = (sign * lam @ leaky_relu(X @ U, leaky.slope) / np.linalg.norm(U, axis=0)).max()
        assert found.lower - 0.02 <= dense <= found.upper
    with pytest.raises(ParameterError, match="normalised"):
        RowSum.of(ARCHITECTURES["relu_norm"].groups(X, X[:, :1] >= 0), lam)


def test_nothing_to_bound() -> None:
    for X, lam in ((np.zeros((3, 2)), np.ones(3)), (np.ones((1, 2)), np.zeros(1)), (np.ones((1, 2)), -np.ones(1))):
        found = largest(row_sum(X, lam))
        assert found.lower == 0.0
        assert found.upper <= 1e-6
