"""The solver of exact programs against cvxpy, the gated program, and training."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Relu
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.networks import Network, network_of
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers import cones
from recovery.solvers.cones import solve_cones
from recovery.solvers.conic import solve_conic
from recovery.solvers.controls import CONES
from recovery.solvers.newton import solve_newton
from recovery.solvers.table import SOLVERS
from recovery.types import Array
from tests.solvers.instances import TIGHT, drawn, wide_program
from tests.suites import first


def test_the_certificate_refuses_weights_outside_their_cones_and_duals_that_are_too_long() -> None:
    program = wide_program("relu", drawn("relu", 12, 4, seed=1), None)
    good = solve_cones(program)
    doubled = certify(
        program,
        Solution(good.W, 2 * good.lam, multipliers=Multipliers(good.multipliers.chosen, 2 * good.multipliers.values)),
    )
    assert doubled.dual_violation == pytest.approx(1.0, rel=1e-6)
    k = int(np.argmax(program.norms(good.W)))
    V = good.W.copy()
    p = program.groups.count
    V[(k + p) % (2 * p)] -= V[k]
    V[k] = 0.0
    flipped = certify(program, Solution(V, good.lam, multipliers=good.multipliers))
    assert flipped.primal_residual < 1e-8
    assert flipped.cone_violation > 1e-3
    assert not flipped.proves_optimal


def test_multipliers_that_prove_nothing_are_replaced_by_projections() -> None:
    program = wide_program("relu_norm", drawn("relu_norm", 14, 4, seed=2), 0.05)
    good = solve_cones(program)
    none = Solution(good.W, good.lam)
    assert certify(program, none).gap == pytest.approx(certify(program, good).gap, abs=1e-7)


@pytest.mark.parametrize(("architecture", "n", "d"), [("relu", 12, 4), ("relu_norm", 12, 4), ("relu_norm", 8, 6)])
def test_a_projection_is_the_best_neuron_of_its_cell(architecture: str, n: int, d: int) -> None:
    import cvxpy as cp

    program = wide_program(architecture, drawn(architecture, n, d, seed=4, count=4), None)
    groups = program.groups
    lam = np.random.default_rng(0).standard_normal(n)
    values, multipliers = program.project(lam, program.members)
    assert multipliers.min() >= 0.0
    for k, value in zip(program.members, values, strict=True):
        chosen = np.array([k])
        v, g = cp.Variable(groups.rank), k % groups.count
        size = v if program.factors is None else program.factors[g] @ v
        cone = (program.orientation(chosen)[0][:, None] * groups.base) @ v >= 0
        problem = cp.Problem(cp.Maximize(program.gradients(lam, chosen)[0] @ v), [cp.norm2(size) <= 1, cone])
        problem.solve(solver="CLARABEL")
        assert value == pytest.approx(max(problem.value, 0.0), abs=1e-5)


def _train(X: Array, y: Array, beta: float, rng: np.random.Generator) -> float:
    """The lowest 1/2 ||f - y||^2 + beta R / 2 of several L-BFGS runs of a network normalised after the ReLU."""
    d = X.shape[1]
    m, best = 10, np.inf

    def loss(theta: Array) -> tuple[float, Array]:
        W, a = theta[: m * d].reshape(m, d), theta[m * d :]
        A = np.maximum(X @ W.T, 0.0)
        length = np.maximum(np.linalg.norm(A, axis=0), 1e-12)
        u, weight = A / length, a * np.abs(a)  # alpha and a have equal size, so alpha a = a |a|
        residual = u @ weight - y
        g_weight = u.T @ residual
        g_A = (np.outer(residual, weight) - u * (g_weight * weight)) / length
        value = 0.5 * float(residual @ residual) + beta * float(a @ a)
        return value, np.concatenate([((g_A * (A > 0)).T @ X).ravel(), 2 * np.abs(a) * g_weight + 2 * beta * a])

    for _ in range(40):
        start = rng.standard_normal(m * d + m)
        best = min(best, float(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 600}).fun))
    return best


def test_the_optimum_over_all_patterns_is_the_best_that_training_finds() -> None:
    """For networks normalised after the ReLU; test_excess trains the others."""
    rng = np.random.default_rng(11)
    setting = Setting(8, 2, planted=Relu(k=2), noise=0.5, patterns=Patterns(kind="exhaustive"))
    instance, beta = draw(setting, rng), 0.02
    program = wide_program("relu_norm", instance, beta)
    solution = solve_cones(program)
    optimum = certify(program, solution)
    assert optimum.proves_optimal
    trained = _train(instance.X, instance.y, beta, rng)
    assert trained >= optimum.dual_objective * (1 - 1e-7)
    assert trained == pytest.approx(optimum.objective, rel=1e-3)
    network: Network = network_of(program, solution.W, ARCHITECTURES["relu_norm"])
    assert network.objective(instance.X, instance.y, beta) == pytest.approx(optimum.objective, rel=1e-7)


@pytest.mark.parametrize(("seed", "beta"), first(3, [(4, None), (9, None), (9, 1e-6), (26, None), (27, 1e-6)]))
def test_thin_cones_leave_no_gap(seed: int, beta: float | None) -> None:
    """With twenty rows per weight, most active neurons are on a ray of their cone."""
    program = wide_program("relu_skip", drawn("relu_skip", 60, 3, seed, count=60), beta)
    ours = certify(program, SOLVERS["auto"](program))
    assert abs(ours.gap) <= 1e-8
    assert ours.error <= 1e-7  # seed 26 has a residual of 2e-8: a group is within 1e-7 of its bound
    theirs = certify(program, solve_conic(program, "CLARABEL", options=TIGHT))
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)
    assert ours.dual_objective <= theirs.objective * (1 + 1e-8)


def test_a_rough_gated_solution_is_used_only_if_it_clearly_leaves_its_cones(monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise the gated program is solved once, roughly; a solution in its cones is completed and returned."""
    requested: list[float] = []
    solve = cones.solve_newton

    def counted(program: Any, start: Any = None, tolerance: float = 1e-10) -> Solution:
        requested.append(tolerance)
        return solve(program, start, tolerance)

    monkeypatch.setattr(cones, "solve_newton", counted)
    noisy = wide_program("relu_skip", drawn("relu_skip", 30, 8, seed=1), None)
    assert certify(noisy, solve_cones(noisy)).proves_optimal
    assert requested == [CONES.roughly]
    assert cones.leaves_cones(noisy, solve_newton(noisy.gated).W)
    requested.clear()
    exact = wide_program("relu_skip", drawn("relu_skip", 60, 4, seed=1, noise=0.0), None)
    solution = solve_cones(exact)
    assert solution.solver == "gated"
    assert certify(exact, solution).proves_optimal
    assert not cones.leaves_cones(exact, solve_newton(exact.gated).W)
    assert requested == [CONES.roughly, 1e-10]


@pytest.mark.parametrize("architecture", ["relu", "relu_skip", "relu_norm"])
@pytest.mark.parametrize("off", [1e-1, 1e-5])
def test_infeasible_labels_are_reported_even_if_a_rough_start_misses_it(architecture: str, off: float) -> None:
    """Equal rows with unequal labels, and zero rows."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 8)), rng.standard_normal(10)
    X[5], y[5] = 0.0, 0.0
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    y[12] += off
    patterns = np.unique(X @ rng.standard_normal((8, 40)) >= 0, axis=1)
    program = ExactProgram(replace(ARCHITECTURES[architecture].groups(X, patterns), confined=False), y, None)
    assert solve_cones(program).outcome is Outcome.INFEASIBLE
