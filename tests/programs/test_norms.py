"""Gated programs with the l1 norm: optima and certificates against other formulations, and verdicts."""

from collections import Counter
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog

from recovery.errors import ParameterError
from recovery.extras.rigorous import verify_rigorously
from recovery.instances.draw import Instance, Setting, Streams, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Relu
from recovery.methods.min_norm import MinNorm, Regularized
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.norms import NORMS, Norm
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Solution
from recovery.solvers.table import SOLVERS
from tests.methods.laws import SPOILED, Given, Spoiled

FAMILIES = ("gaussian", *SPOILED[:3], "integers", "signs")
METHODS = ("min_norm", "regularized")


def instance(family: str, seed: int, n: int, d: int, k: int = 1, sparse: bool = True, noise: float = 0.0) -> Instance:
    """One or two planted neurons, on few coordinates where `sparse`, on data of a family."""
    rng = np.random.default_rng([seed, n, d])
    W = rng.standard_normal((d, k))
    if sparse:
        W[1:] *= rng.random((d - 1, k)) < 0.2
    planted = Given(tuple(map(tuple, W.T)), tuple(rng.choice([-1.0, 1.0], k)))
    patterns = Patterns(count=6, all_ones="ignore")
    setting = Setting(n, d, noise=noise, ensemble=Spoiled(family), planted=planted, patterns=patterns)
    return draw(setting, Streams.spawn(rng))


def gated(one: Instance, norm: Norm, beta: float | None = None) -> GatedProgram:
    return GatedProgram(ARCHITECTURES["relu"].groups(one.X, one.patterns), one.y, beta, norm)


@pytest.mark.parametrize("name", NORMS)
def test_a_dual_norm_is_the_largest_product_with_the_unit_ball_and_faces_hold_where_it_is_reached(name: str) -> None:
    rng, norm = np.random.default_rng(0), NORMS[name]
    Z = rng.standard_normal((60, 4))
    Z[:20] = rng.integers(-2, 3, (20, 4))
    Z[0] = [1, 0, 0, 0]
    ball = rng.standard_normal((4000, 4)) * (rng.random((4000, 4)) < 0.5)
    ball = ball[norm.values(ball) > 0]
    corners = np.array(list(product([-1.0, 0.0, 1.0], repeat=4)))[1:]
    ball = np.vstack([ball, corners[norm.values(corners) > 0], Z[Z.any(axis=1)]])
    ball /= norm.values(ball)[:, None]
    assert (norm.values(ball) <= norm.largest(4) * np.linalg.norm(ball, axis=1) * (1 + 1e-12)).all()
    for z in Z[Z.any(axis=1)]:
        dual = float(norm.dual_values(z[None])[0])
        products = ball @ z
        assert products.max() <= dual * (1 + 1e-12)
        assert products.max() >= 0.8 * dual
        face = norm.face(z / dual)
        for w in ball[products >= dual * (1 - 1e-12)]:
            assert np.linalg.norm(face @ np.linalg.lstsq(face, w, rcond=None)[0] - w) <= 1e-9


def optimum(program: GatedProgram) -> float:
    """The optimum by another formulation: the dual as a linear program, or cvxpy on the formed operator."""
    groups, penalty = program.groups, program.penalty
    blocks = [groups.block(g) for g in range(groups.count)]
    if program.interpolates:
        A = np.hstack(blocks)
        found = linprog(-program.y, np.vstack([A.T, -A.T]), np.ones(2 * A.shape[1]), bounds=(None, None))
        assert found.status == 0
        return float(-found.fun)
    w = [cp.Variable(groups.rank) for _ in blocks]
    fit = sum(A @ part for A, part in zip(blocks, w, strict=True))
    cost = cp.sum_squares(fit - program.y) / 2 + penalty * sum(cp.norm(part, 1) for part in w)
    return float(cp.Problem(cp.Minimize(cost)).solve(solver="OSQP", eps_abs=1e-10, eps_rel=1e-10, max_iter=200_000))


@pytest.mark.parametrize("kind", METHODS)
def test_optima_are_those_of_another_formulation_and_are_certified(kind: str) -> None:
    proved = Counter[str]()
    for seed in range(36):
        family = FAMILIES[seed % len(FAMILIES)]
        one = instance(family, seed, 6 + seed % 11, 2 + seed % 3, k=1 + seed % 2, noise=0.1 * (kind == "regularized"))
        program = gated(one, NORMS["l1"], None if kind == "min_norm" else 0.1)
        found = SOLVERS["auto"](program)
        certificate = certify(program, found)
        expected = optimum(program)
        assert certificate.objective == pytest.approx(expected, rel=1e-6, abs=1e-8), (family, seed)
        assert certificate.dual_objective <= expected * (1 + 1e-6) + 1e-8
        proved[family] += certificate.proves_optimal
        worse = certify(program, Solution(found.W, found.lam * 1.5))
        assert worse.dual_objective <= expected * (1 + 1e-6) + 1e-8
    assert min(proved[family] for family in FAMILIES) >= 5, proved


def unique_by_ranges(program: GatedProgram, cost: float) -> bool:
    """Whether no coordinate of an optimum can change: two linear programs for each of them."""
    A = program.groups.columns(np.arange(program.groups.count))
    n, m = A.shape
    below = np.vstack([np.block([[np.eye(m), -np.eye(m)], [-np.eye(m), -np.eye(m)]]), np.repeat([0.0, 1.0], m)])
    right = np.append(np.zeros(2 * m), cost * (1 + 1e-9))
    for j in range(m):
        c = np.eye(2 * m)[j]
        ends = [
            linprog(sign * c, below, right, np.hstack([A, np.zeros((n, m))]), program.y, bounds=(None, None)).fun
            for sign in (1, -1)
        ]
        if -ends[1] - ends[0] > 1e-6:
            return False
    return True


def test_verdicts_are_those_of_the_ranges_of_all_optima() -> None:
    """A verdict is `recovered` if every coordinate of an optimum is fixed, `not_optimal` if an optimum costs less."""
    found, method, slack = Counter[str](), MinNorm(norm="l1"), 1e-8
    for seed in range(36):
        family = FAMILIES[seed % len(FAMILIES)]
        one = instance(family, seed, 4 + seed % 9, 2 + seed % 3, k=1 + (seed // 6) % 2, sparse=seed % 3 > 0)
        row = method(one, ARCHITECTURES["relu"])
        problem = method.problem(one, ARCHITECTURES["relu"])
        found[row.verdict] += 1
        if row.verdict == "undecided":
            assert problem.ill_posed is not None, (family, seed, row.reason)
            continue
        cost = problem.planted_cost
        least = optimum(problem.program)
        unique = least >= cost * (1 - slack) and unique_by_ranges(problem.program, cost)
        assert (row.verdict == "recovered") == unique, (family, seed, row.verdict, least, cost)
        assert (row.verdict == "not_optimal") == (least < cost * (1 - slack)), (family, seed, row.verdict)
        assert row.recovered is (row.verdict == "recovered")
    assert min(found[verdict] for verdict in ("recovered", "not_optimal", "not_unique")) >= 4, found


def test_independent_columns_determine_the_weights_in_the_l1_norm() -> None:
    recovered = 0
    for seed in range(12):
        one, method = instance("gaussian", seed, 40, 3), MinNorm(norm="l1")
        groups = method.problem(one, ARCHITECTURES["relu"]).program.groups
        row = method(one, ARCHITECTURES["relu"])
        assert row.certificate == "gap"
        recovered += row.verdict == "recovered"
        independent = np.linalg.matrix_rank(groups.columns(np.arange(groups.count))) == groups.count * groups.rank
        assert row.verdict == "recovered" or not independent
    assert recovered >= 10


@pytest.mark.parametrize(
    ("keys", "architecture", "patterns", "words"),
    [
        ({"program": "exact"}, "relu", "sampled", "norm l1 goes with program gated"),
        ({"solver": "newton"}, "relu", "sampled", "norm l1 goes with program gated"),
        ({}, "relu_norm", "sampled", "without normalisation"),
        ({}, "relu", "all", "patterns.kind sampled or exhaustive"),
        ({"norm": "l3"}, "relu", "sampled", "found 'l3'; allowed: l2, l1"),
    ],
)
def test_what_other_norms_do_not_go_with_is_refused(
    keys: dict[str, Any], architecture: str, patterns: Any, words: str
) -> None:
    setting = Setting(6, 2, planted=Relu(), patterns=Patterns(patterns))
    with pytest.raises(ParameterError, match=words):
        MinNorm(**{"norm": "l1"} | keys).check(setting, ARCHITECTURES[architecture])


def test_no_proof_in_ball_arithmetic_is_claimed_for_another_norm() -> None:
    one = instance("gaussian", 0, 40, 3)
    method = MinNorm(norm="l1")
    row = method(one, ARCHITECTURES["relu"])
    result = verify_rigorously(one, ARCHITECTURES["relu"], method, row.verdict)
    assert not result.proved
    assert "l2 norm only" in result.reason


def test_a_penalised_support_is_that_of_the_groups_with_weight() -> None:
    """With seed 1 other groups have dual norm 1 at the optimum, and weights."""
    for seed, same in ((1, False), (2, True), (3, True)):
        row = Regularized(beta=1e-2, norm="l1")(instance("gaussian", seed, 60, 3), ARCHITECTURES["relu"])
        assert row.certificate == "gap"
        assert row.support_recovered is same
