"""Projections on cones by the active set, against non-negative least squares, for many kinds of rows."""

import numpy as np
import pytest
from scipy.optimize import nnls

from benchmarks.verdicts import KINDS
from recovery.programs import active_set
from recovery.programs.active_set import Cone, project
from recovery.types import Array, Index

ROWS = ("Gaussian", "{-1, 0, 1}", "repeated rows", "zero rows", "rows times 1e-10 to 1e10", "rank deficient")


class _Projector:
    """A cone, and the tight rows of the last projection on it."""

    def __init__(self, R: Array, s: Array, looked_up: bool = False) -> None:
        n, r = R.shape
        self.cone = Cone(R, s, np.linalg.norm(R, axis=1), R @ R.T if looked_up else np.empty((0, 0)))
        self.tight: Index = np.zeros(r, dtype=np.intp)
        self.L, self.count, self.mu = np.zeros(r * (r + 1) // 2), 0, np.empty(n)

    def __call__(self, z: Array, known: bool, enough: float = 0.0) -> Array:
        v = np.empty_like(z)
        self.count = project(self.cone, z, self.tight, self.L, self.count, known, enough, v, self.mu)
        return v


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize(("n", "r"), [(3, 5), (12, 4), (40, 6), (30, 1)])
@pytest.mark.parametrize("looked_up", [False, True])
def test_agrees_with_non_negative_least_squares(kind: str, n: int, r: int, looked_up: bool) -> None:
    """With and without the tight rows of another point as a guess, or a known Gram matrix; for any unit of z."""
    rng = np.random.default_rng(n)
    R = KINDS[kind](rng, n, r)
    s = np.where(R @ rng.standard_normal(r) >= 0, 1.0, -1.0)
    cone = _Projector(R, s, looked_up)
    C = s[:, None] * R
    for step in range(20):
        z = 10.0 ** rng.integers(-6, 7) * rng.standard_normal(r)
        v = cone(z, known=step > 0 and step % 2 == 0)
        size = np.linalg.norm(z)
        assert (cone.mu >= 0).all()
        assert np.abs(v - z - C.T @ cone.mu).max() <= 1e-9 * size
        assert (C @ v >= -1e-9 * size * cone.cone.norms).all()
        assert abs(v @ (v - z)) <= 1e-9 * size**2
        assert (C[cone.tight[: cone.count]] @ v <= 1e-9 * size * cone.cone.norms[cone.tight[: cone.count]]).all()
        scales = np.where(cone.cone.norms > 0, cone.cone.norms, 1.0)
        mu = nnls((C / scales[:, None]).T, -z / size, maxiter=100 * n)[0]
        assert np.abs(v - z - size * (C / scales[:, None]).T @ mu).max() <= 1e-8 * size


@pytest.mark.parametrize("kind", ROWS)
def test_ends_early_only_where_its_multipliers_prove_the_length(kind: str) -> None:
    """v = z + C^T mu bounds the length of the projection; results longer than `enough` are exact projections."""
    rng = np.random.default_rng(5)
    R = KINDS[kind](rng, 40, 6)
    s = np.where(R @ rng.standard_normal(6) >= 0, 1.0, -1.0)
    cone, exact, early = _Projector(R, s), _Projector(R, s), 0
    for step in range(60):
        z = rng.standard_normal(6)
        enough = float(rng.uniform(0.0, 1.5))
        true, v = exact(z, known=False), cone(z, known=step > 0, enough=enough)
        assert (cone.mu >= 0).all()
        assert np.abs(v - z - (s[:, None] * R).T @ cone.mu).max() <= 1e-9 * np.linalg.norm(z)
        if np.linalg.norm(v) > enough:
            assert v == pytest.approx(true, abs=1e-8)
        else:
            assert np.linalg.norm(true) <= np.linalg.norm(v) + 1e-9
            early += int(np.abs(v - true).max() > 1e-3)
    assert early > 0 or kind == "rank deficient"


def test_the_factor_is_that_of_the_tight_rows() -> None:
    """Also after rows entered and left, because the next projection starts from it."""
    rng = np.random.default_rng(0)
    R = rng.standard_normal((60, 10))
    s = np.where(R @ rng.standard_normal(10) >= 0, 1.0, -1.0)
    cone = _Projector(R, s)
    z = rng.standard_normal(10)
    for step in range(30):
        z = z + 0.3 * rng.standard_normal(10)
        cone(z, known=step > 0)
        C = (s[:, None] * R)[cone.tight[: cone.count]]
        L = np.zeros((10, 10))
        L[np.tril_indices(10)] = cone.L
        L = L[: cone.count, : cone.count]
        assert pytest.approx(C @ C.T, abs=1e-12 * 60) == L @ L.T


def test_one_row_at_a_time_ends_where_many_at_once_do_not_descend() -> None:
    """Nearly parallel rows that enter together remove each other again."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(100):
        R = rng.standard_normal(8) + 0.05 * rng.standard_normal((80, 8))
        s = np.where(R @ rng.standard_normal(8) >= 0, 1.0, -1.0)
        cone, z = _Projector(R, s), rng.standard_normal(8)
        v = cone(z, known=False)
        C = s[:, None] * R
        mu = nnls(C.T, -z, maxiter=10_000)[0]
        worst = max(worst, float(np.abs(v - z - C.T @ mu).max()))
    assert worst <= 1e-9


def test_where_the_limit_of_steps_ends_it_point_and_multipliers_still_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """v = z + C^T mu bounds the projection for any mu >= 0; the rows of the guess have multiplier 0."""
    monkeypatch.setattr(active_set, "STEPS", 0)
    rng = np.random.default_rng(0)
    R, z = rng.standard_normal((12, 4)), rng.standard_normal(4)
    v, mu, tight, L = np.full(4, np.nan), np.full(12, np.nan), np.zeros(4, dtype=np.intp), np.zeros(10)
    plain = getattr(project, "__wrapped__")  # noqa: B009  (compiled code has the limit as a constant)
    plain(Cone(R, np.ones(12), np.linalg.norm(R, axis=1), np.empty((0, 0))), z, tight, L, 1, False, 0.0, v, mu)
    assert (v == z).all()
    assert not mu.any()


@pytest.mark.parametrize("count", [1, 2, 3, 17, 200])
def test_the_largest_of_the_smallest_is_that_of_a_sort(count: int) -> None:
    """Also with equal or sorted entries."""
    rng = np.random.default_rng(count)
    for a in (rng.standard_normal(count), rng.integers(0, 3, count).astype(float), np.arange(count, dtype=float)):
        for some in (a, np.sort(a), np.sort(a)[::-1].copy()):
            for k in {1, (count + 1) // 2, count}:
                assert active_set.kth_smallest(some.copy(), k) == np.sort(a)[k - 1]
