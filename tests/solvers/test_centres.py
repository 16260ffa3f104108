"""Centres of cones against finite differences and cvxpy, and the rows that they leave out."""

import cvxpy as cp
import numpy as np
import pytest

from recovery.instances.patterns import unique_patterns
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.solvers import centres, cones
from recovery.solvers.centres import _inside, find_centres
from recovery.solvers.cones import solve_cones
from recovery.solvers.conic import solve_conic
from recovery.solvers.interior import InteriorPoint
from recovery.types import Array

TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def _program(architecture: str, X: Array, seed: int, count: int = 30, beta: float | None = 1e-3) -> ExactProgram:
    rng = np.random.default_rng(seed)
    patterns = unique_patterns(X, [X @ rng.standard_normal((X.shape[1], count)) >= 0])
    y = np.maximum(X @ rng.standard_normal(X.shape[1]), 0) + 0.1 * rng.standard_normal(len(X))
    return ExactProgram(ARCHITECTURES[architecture].groups(X, patterns), y, beta)


def _gaussian(architecture: str, n: int, d: int, seed: int) -> ExactProgram:
    return _program(architecture, np.random.default_rng(seed).standard_normal((n, d)), seed)


def _psi(program: ExactProgram, g: int, v: Array) -> float:
    F = np.eye(len(v)) if program.factors is None else program.factors[g]
    h = program.orientation(np.array([g]))[0] * (program.groups.base @ v)
    square = float(np.sum(np.square(F @ v)))
    t = (1 + np.sqrt(1 + 4 * square)) / 2
    assert (h > 0).all()
    return float(t - 0.5 * np.log(t * t - square) - np.log(h).sum())


@pytest.mark.parametrize("architecture", ["relu", "relu_norm", "relu_skip"])
def test_no_step_away_from_a_centre_goes_down(architecture: str) -> None:
    program = _gaussian(architecture, 40, 4, 0)
    found = find_centres(program, program.members)
    assert found.found.all()
    rng = np.random.default_rng(1)
    for g in range(int(program.groups.linear), program.groups.count):
        v = found.points[g]
        here = _psi(program, g, v)
        slack = np.abs(program.groups.base @ v).min() / np.linalg.norm(program.groups.base, axis=1).max()
        for _ in range(5):
            step = rng.standard_normal(4)
            step *= 0.5 * slack / np.linalg.norm(step)
            assert _psi(program, g, v + step) > here - 0.01  # the decrement is below 0.1: psi within 0.005 of its least


@pytest.mark.parametrize("d", [2, 5])
def test_newton_starts_from_the_largest_margin(d: int) -> None:
    program = _gaussian("relu", 30, d, 3)
    S, base = program.orientation(np.arange(program.groups.count)), program.groups.base
    units = base / np.linalg.norm(base, axis=1)[:, None]
    for s, v in zip(S, _inside(base, S), strict=True):
        w, margin = cp.Variable(d), cp.Variable()
        problem = cp.Problem(cp.Maximize(margin), [(s[:, None] * units) @ w >= margin, cp.norm(w) <= 1])
        problem.solve(solver="CLARABEL")
        assert float((s * (units @ v)).min()) == pytest.approx(float(margin.value), rel=1e-5)


def test_a_start_at_the_centres_lacks_only_the_labels() -> None:
    program = _gaussian("relu_norm", 60, 3, 2)
    point = InteriorPoint(program, program.members, 1.0, find_centres(program, program.members))
    products = point.h * point.mu
    assert np.abs(point.r_h).max() <= 1e-12 * point.h.max()
    assert products == pytest.approx(point.tau, rel=1e-9)
    pairs = point.bound * point.t + np.einsum("kr,kr->k", point.f, point.q)
    assert pairs == pytest.approx(point.tau, rel=1e-9)
    assert np.abs(point.r_v).max() <= 0.1 * np.abs((point._orientation * point.mu) @ np.ones(point.mu.shape[1])).max()


def test_cones_without_an_inside_and_blind_norms_have_no_centre() -> None:
    X = np.random.default_rng(0).standard_normal((12, 3))
    X[1] = -X[0]
    patterns = np.ones((12, 1), dtype=bool)  # both rows on one side: only the hyperplane between
    program = ExactProgram(ARCHITECTURES["relu"].groups(X, patterns), X[:, 0], None)
    assert not find_centres(program, program.members).found.any()
    blind = _gaussian("relu_norm", 6, 5, 1)  # patterns of fewer rows than weights
    some = find_centres(blind, blind.members)
    full = blind.groups.dimensions(np.arange(blind.groups.count)).all(axis=1)
    assert not full.all()
    assert (some.found == full).all()
    assert some.rows is None


@pytest.mark.parametrize("kind", ["zero", "repeated", "integers", "antipodal", "uneven"])
def test_rows_of_every_kind_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero rows touch every cone and repeated rows the same; the solution is that of Clarabel all the same."""
    monkeypatch.setattr(cones, "WITHOUT_SKIP", 0)
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 3))
    if kind == "zero":
        X[:4] = 0.0
    if kind == "repeated":
        X[30:] = X[:30]
    if kind == "integers":
        X = np.round(3 * X)
    if kind == "antipodal":
        X[30:] = -X[:30]
    if kind == "uneven":
        X *= 10.0 ** rng.integers(-2, 3, size=(60, 1))
    program = _program("relu", X, 4).balanced()
    assert isinstance(program, ExactProgram)
    solution = solve_cones(program)
    assert solution.solver == "interior"
    certificate = certify(program, solution)
    assert certificate.error < 1e-7
    theirs = certify(program, solve_conic(program, "CLARABEL", options=TIGHT))
    assert certificate.objective == pytest.approx(theirs.objective, rel=1e-6)


def test_few_rows_matter_and_they_are_those_that_are_tight() -> None:
    program = _gaussian("relu", 200, 3, 5)
    found = find_centres(program, program.members)
    assert found.rows is not None
    assert found.rows.shape[1] < 100
    solution = solve_cones(program)
    p = program.groups.count
    for k, mu in zip(solution.multipliers.chosen, solution.multipliers.values, strict=True):
        if solution.W[k].any():
            tight = np.flatnonzero(mu > 1e-6 * mu.max())
            assert np.isin(tight, found.rows[k % p]).all()


def test_a_row_left_out_that_is_violated_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    program = _gaussian("relu", 60, 3, 8)
    expected = certify(program, solve_cones(program)).objective
    monkeypatch.setattr(centres, "NEAR", 0.5)
    monkeypatch.setattr(cones, "WITHOUT_SKIP", 0)
    descent = cones._Descent(program, cones.solve_newton(program.gated))
    first = certify(program, descent.narrowed(1e-8))
    assert first.error > 1e-6  # half of the rows that matter are missing
    second = certify(program, solve_cones(program))
    assert second.error < 1e-8
    assert second.objective == pytest.approx(expected, rel=1e-7)
