"""The oracles of neurons normalised after the ReLU, against every cell of small arrangements and dense search."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest

from benchmarks.verdicts import KINDS as MATRICES
from recovery.conditions.oracle import exact_dual, gated_dual
from recovery.errors import ParameterError
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.groups import Groups
from recovery.types import Array, Mask, Rng

KINDS = ("Gaussian", "{-1, 0, 1}", "zero rows", "repeated rows", "opposite rows", "rank deficient", "few rows")


def drawn(kind: str, seed: int) -> tuple[Groups, Array, Array] | None:
    """Groups over all cells, their features, and lam; None where rounding decides which cells there are."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    d = int(rng.integers(2, 4))
    n = int(rng.integers(1, 3)) if kind == "few rows" else int(rng.integers(2, 8))
    X = MATRICES.get(kind, MATRICES["Gaussian"])(rng, n, d)
    lam = rng.standard_normal(n) if seed % 3 else rng.integers(-2, 3, n).astype(float)
    try:
        return ARCHITECTURES["relu_norm"].groups(X, enumerate_cells(X)[0]), X, lam
    except ParameterError:
        return None


def over_closed_cell(base: Array, lam: Array, on: Mask) -> float:
    """max lam.a over a = (B v)_+ of length at most 1, v in the closed cell."""
    v = cp.Variable(base.shape[1])
    z = base @ v
    inside = [cp.multiply(np.where(on, 1.0, -1.0), z) >= 0, cp.norm(cp.multiply(on.astype(float), z)) <= 1]
    problem = cp.Problem(cp.Maximize((lam * on) @ z), inside)
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bounds_meet_at_the_largest_value_over_all_cells(kind: str) -> None:
    looked_at = 0
    for seed in range(6):
        if (found := drawn(kind, seed)) is None or not (found[2] * found[0].base.any(axis=1)).any():
            continue
        groups, X, lam = found
        looked_at += 1
        size = float(np.linalg.norm(lam))
        every = [np.linalg.svd(groups.base[on], full_matrices=False) for on in groups.patterns.T]
        wanted = max(
            float(np.linalg.norm(P[:, s > 1e-9].T @ lam[on]))
            for (P, s, _), on in zip(every, groups.patterns.T, strict=True)
        )
        gated = gated_dual(groups, X, lam, nodes=10**6)
        assert gated.lower - 1e-9 * size <= wanted <= gated.upper + 1e-9 * size
        assert gated.upper - gated.lower <= 1e-8 * size
        for sign in (1.0, -1.0):
            wanted = max(over_closed_cell(groups.base, sign * lam, on) for on in groups.patterns.T)
            exact = exact_dual(groups, lam, sign, limit=0.0, nodes=10**6)
            assert exact.lower - 1e-6 * size <= wanted <= exact.upper + 1e-6 * size
            assert exact.upper - exact.lower <= 1e-6 * size
            assert exact.upper <= gated.upper + 1e-6 * size
    assert looked_at >= 4


def ratio(groups: Groups, lam: Array, v: Array) -> Array:
    Z = np.maximum(groups.base @ v, 0.0)
    sizes = np.linalg.norm(Z, axis=0)
    values: Array = lam @ Z / np.where(sizes > 0, sizes, 1.0)
    return values


def gaussian(n: int, d: int, seed: int) -> tuple[Groups, Array, Rng]:
    rng = np.random.default_rng([n, d, seed])
    groups = ARCHITECTURES["relu_norm"].groups(rng.standard_normal((n, d)), np.ones((n, 1), dtype=np.bool_))
    return groups, rng.standard_normal(n), rng


@pytest.mark.parametrize(("n", "d"), [(8, 6), (12, 6), (24, 5)])
def test_dense_search_finds_nothing_above_the_bound(n: int, d: int) -> None:
    for seed in range(4):
        groups, lam, rng = gaussian(n, d, seed)
        found = exact_dual(groups, lam, 1.0, limit=0.0, nodes=10**6)
        assert ratio(groups, lam, rng.standard_normal((groups.rank, 20_000))).max() <= found.upper
        assert ratio(groups, lam, found.point[:, None])[0] == pytest.approx(found.lower, rel=1e-12)
        assert found.upper - found.lower <= 1e-6 * found.upper


def test_a_limit_ends_the_search_where_it_decides() -> None:
    groups, lam, _ = gaussian(20, 4, 1)
    full = exact_dual(groups, lam, 1.0, limit=0.0, nodes=10**6)
    above = exact_dual(groups, lam, 1.0, limit=1.01 * full.lower, nodes=10**6)
    assert above.upper <= 1.01 * full.lower
    assert above.cones < full.cones
    stopped = exact_dual(groups, lam, 1.0, limit=0.5 * full.lower, nodes=10**6, stop=True)
    assert stopped.lower > 0.5 * full.lower
    assert stopped.upper > full.lower


def test_too_few_nodes_leave_true_bounds() -> None:
    groups, lam, _ = gaussian(20, 4, 1)
    for oracle in (
        lambda nodes: exact_dual(groups, lam, 1.0, limit=0.0, nodes=nodes),
        partial(gated_dual, groups, groups.base, lam),
    ):
        full, cut = oracle(nodes=10**6), oracle(nodes=1)
        assert cut.lower <= full.lower + 1e-9
        assert cut.upper >= full.lower
    many, lam, _ = gaussian(100, 6, 1)
    assert gated_dual(many, many.base, lam, nodes=10**9).upper == pytest.approx(float(np.linalg.norm(lam)))


@pytest.mark.parametrize("angle", [1e-6, 1e-8, 1e-10, 1e-12, 1e-14])
def test_rows_that_rounding_calls_dependent_lower_no_bound(angle: float) -> None:
    """Two rows in the plane that are not parallel span it: the projection on their pattern is lam itself."""
    X = np.array([[1.0, 0.0], [1.0, angle], [0.0, 1.0], [-1.0, -0.5]])
    groups = ARCHITECTURES["relu_norm"].groups(X, enumerate_cells(X)[0])
    lam = np.append(np.linalg.svd(groups.base[:2])[0][:, 1], [0.0, 0.0])
    assert gated_dual(groups, X, lam, nodes=10**6).upper >= 1.0 - 1e-12


def test_a_planted_cell_is_left_out() -> None:
    """A normalised neuron's own activations are a dual of length 1, which no other neuron reaches."""
    groups, _, rng = gaussian(30, 3, 0)
    own = groups.base @ rng.standard_normal((3, 1)) >= 0
    lam = np.where(own[:, 0], groups.base @ np.linalg.lstsq(groups.base[own[:, 0]], np.ones(own.sum()))[0], 0.0)
    own = groups.base @ np.linalg.lstsq(groups.base[own[:, 0]], np.ones(own.sum()))[0][:, None] >= 0
    lam = np.maximum(groups.base @ np.linalg.lstsq(groups.base[own[:, 0]], lam[own[:, 0]])[0], 0.0)
    own, lam = lam[:, None] > 0, lam / np.linalg.norm(lam)
    for oracle in (partial(exact_dual, groups, lam, 1.0, limit=0.0), partial(gated_dual, groups, groups.base, lam)):
        assert oracle(nodes=10**6).lower == pytest.approx(1.0, abs=1e-9)
        assert oracle(known=own, nodes=10**6).upper < 1.0 - 1e-7


def test_nothing_to_bound() -> None:
    groups, lam, _ = gaussian(4, 2, 0)
    for oracle in (
        lambda z: exact_dual(groups, z, 1.0, limit=0.0, nodes=10),
        lambda z: gated_dual(groups, groups.base, z, nodes=10),
    ):
        assert oracle(0.0 * lam).upper <= 1e-9
    assert exact_dual(groups, -np.abs(lam), 1.0, limit=0.0, nodes=10).upper <= 1e-9
