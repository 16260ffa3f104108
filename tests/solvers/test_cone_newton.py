"""Newton's method on projections: against Clarabel, and on many kinds of data."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recovery.errors import SolverError
from recovery.instances.patterns import unique_patterns
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Outcome
from recovery.solvers.cone_newton import solve_projected
from recovery.solvers.cones import in_cones, solve_cones
from recovery.solvers.conic import solve_conic
from recovery.solvers.controls import CONES
from recovery.solvers.inner import Inner
from recovery.solvers.newton import solve_newton
from recovery.solvers.table import SOLVERS
from tests.solvers.instances import STRANGE, TIGHT, drawn, small_program, strange_program, wide_program
from tests.suites import first

LOOSE = {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8}
"""Where Clarabel breaks down at the tight tolerances, as on ill-conditioned data on some processors."""


@pytest.mark.parametrize("beta", [None, 1e-6, 0.05])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("n", "d"), first(1, [(12, 9), (20, 6), (6, 8), (24, 4)]))
def test_agrees_with_cvxpy(architecture: str, n: int, d: int, beta: float | None) -> None:
    """Also with fewer than 2 d rows, where the outputs do not determine all weights of a normalised neuron."""
    program = wide_program(architecture, drawn(architecture, n, d, n, count=40), beta)
    solution = solve_cones(program)
    ours = certify(program, solution)
    theirs = certify(program, solve_conic(program, "CLARABEL", options=TIGHT))
    assert solution.solver in ("newton", "gated")
    assert ours.error <= 1e-8
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)


def _clarabel(program: ExactProgram) -> float:
    try:
        solution = solve_conic(program, "CLARABEL", options=TIGHT)
    except SolverError:
        solution = solve_conic(program, "CLARABEL", options=LOOSE)
    return certify(program, solution).objective


@pytest.mark.parametrize("seed", first(20, range(120)))
def test_survives_small_programs_of_every_kind(seed: int) -> None:
    """Wide data, low rank, repeated rows, one pattern: each outcome SOLVED is certified."""
    gated = small_program(seed)
    program = ExactProgram(replace(gated.groups, confined=False), gated.y, gated.beta)
    start = solve_newton(gated)
    if not gated.y.any() or in_cones(program, start.W) is not None:
        return
    solution = solve_projected(program, start, 1e-8)
    reached = certify(program, solution)
    assert reached.cone_violation <= 1e-8
    if solution.outcome is Outcome.SOLVED:
        assert reached.error <= 1e-5
        assert reached.objective == pytest.approx(_clarabel(program), rel=1e-4)


MAY_STAY_OPEN = ("rows times 1e-10 to 1e10", "nearly equal rows", "rows 1e-3 to 1e-12 apart")
"""Kinds with some undecided programs: nearly equal rows have cone multipliers beyond 1e9."""


@pytest.mark.parametrize("kind", [kind for kind in STRANGE if kind not in MAY_STAY_OPEN])
@pytest.mark.parametrize("seed", [0, 1, 2, 5, 15, 21])
def test_strange_programs_are_proved(kind: str, seed: int) -> None:
    """One, few and many rows, repeated patterns, patterns of no neuron, balanced as in sweeps."""
    program = strange_program(kind, seed)
    even = program.balanced()
    solution = SOLVERS["auto"].takes["exact"](even)
    assert certify(program, solution if even is program else solution.unbalanced(program.groups.scales)).proves_optimal


@pytest.mark.parametrize("architecture", ["relu", "relu_skip", "relu_norm"])
def test_data_with_one_large_row_are_solved_and_proved(architecture: str) -> None:
    """1 % of draws reach the limit of steps, and which ones depends on the BLAS kernel: allow one of six."""
    solved = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 5))
        X[0] *= 1e3
        patterns = unique_patterns(X, [X @ rng.standard_normal((5, 40)) >= 0])
        y = np.maximum(X @ rng.standard_normal(5), 0.0) - np.maximum(X @ rng.standard_normal(5), 0.0)
        groups = replace(ARCHITECTURES[architecture].groups(X, patterns), confined=False)
        program = ExactProgram(groups, y + 0.3 * X[:, 0] ** 2, 1e-3)
        solution = solve_cones(program)
        error = certify(program, solution).error
        solved += error <= 1e-7
        assert error <= 1e-7 or solution.outcome is not Outcome.SOLVED
    assert solved >= 5


def test_where_the_limit_of_steps_ends_it_clarabel_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    program = wide_program("relu", drawn("relu", 12, 4, 0, count=40), None)
    expected = certify(program, solve_cones(program)).objective
    monkeypatch.setattr("recovery.solvers.cones.CONES", replace(CONES, step_limit=3))
    stopped = solve_cones(program)
    assert stopped.outcome is Outcome.ITERATION_LIMIT
    assert not certify(program, stopped).proves_optimal
    solution = SOLVERS["auto"](program)
    assert solution.solver == "CLARABEL"
    assert certify(program, solution).objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("architecture", "n", "d"), [("relu_skip", 150, 5), ("relu_norm", 160, 10)])
def test_many_rows_a_variable_are_solved_by_the_same_method(architecture: str, n: int, d: int) -> None:
    """Most faces are rays here: if s kept growing after inner problems that failed, all later ones would fail."""
    program = wide_program(architecture, drawn(architecture, n, d, 1, count=n), 1e-6)
    solution = solve_cones(program)
    assert solution.solver == "newton"
    assert certify(program, solution).error <= 1e-7


def test_labels_that_no_weights_in_the_cones_fit_are_never_solved() -> None:
    """If a row and its negative are both active, a neuron is zero there, but a gated group need not be."""
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    groups = ARCHITECTURES["relu"].groups(X, np.ones((3, 1), dtype=np.bool_))
    program = ExactProgram(groups, np.array([1.0, -1.0, 0.0]), None)
    assert solve_projected(program, solve_newton(program.gated), 1e-8).outcome is Outcome.NUMERICAL_TROUBLE
    solution = solve_cones(program)
    assert solution.outcome is not Outcome.SOLVED
    assert not certify(program, solution).proves_optimal


def test_a_step_after_which_no_group_has_weight_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The objective is then zero, and the relative gap infinite."""
    program = wide_program("relu", drawn("relu", 30, 8, 0, count=40), None)
    minimise, calls = Inner.minimise, []

    def first_without(self: Inner, *given: Any) -> Any:
        point = minimise(self, *given)
        calls.append(point)
        if point is None or len(calls) > 1:
            return point
        rows, units, norms, labels = point.active
        none = point.active._replace(rows=rows[:0], units=units[:0], norms=norms[:0], labels=labels[:, :0])
        return replace(point, active=none, excess=point.excess[:0])

    gated = solve_newton(program.gated)
    monkeypatch.setattr(Inner, "minimise", first_without)
    found = solve_projected(program, gated, 1e-8)
    assert certify(program, found).error <= 1e-8
