"""Convex programs through cvxpy and a conic solver chosen by name: an independent reference solution."""

import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

from recovery.errors import SolverError
from recovery.programs.program import Program
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.types import Index

MODULES = {"CLARABEL": "clarabel", "ECOS": "ecos", "SCS": "scs", "MOSEK": "mosek"}
"""The Python module that provides each conic solver."""
TIGHT = {"tol_gap_abs": 1e-16, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
"""Clarabel's tolerances for other norms than l2: a proof needs a relative gap of 1e-8."""

LINEAR = "SCIPY"
"""cvxpy's name for SciPy's HiGHS, which solves linear programs only."""

OUTCOMES = {
    "optimal": Outcome.SOLVED,
    "optimal_inaccurate": Outcome.NEARLY_SOLVED,
    "infeasible": Outcome.INFEASIBLE,
    "infeasible_inaccurate": Outcome.INFEASIBLE,
    "user_limit": Outcome.ITERATION_LIMIT,
}


def solve_with_norm(program: Program) -> Solution:
    """Solve a program with the l1 norm: the interpolation, a linear program, by HiGHS, otherwise by Clarabel."""
    return solve_conic(program, LINEAR) if program.interpolates else solve_inside(program)


def solve_inside(program: Program) -> Solution:
    """Solve a program by Clarabel, whose weights and dual lie inside the sets of optimal ones, not at their corners."""
    return solve_conic(program, "CLARABEL", options=TIGHT)


def installed_solvers() -> list[str]:
    """Return the names of the installed conic solvers."""
    return [name for name, module in MODULES.items() if find_spec(module) is not None]


def require_solver(name: str) -> None:
    """Raise `SolverError`, with the list of installed solvers, if this conic solver is not installed."""
    if name not in installed_solvers():
        raise SolverError(
            f"solver {name} is not installed (pip install {MODULES[name]}); installed: {', '.join(installed_solvers())}"
        )


def solve_conic(
    program: Program, name: str, *, chosen: Index | None = None, options: Mapping[str, float] | None = None
) -> Solution:
    """Solve the program as P1 writes it, or only its rows `chosen` of W, by cvxpy and the conic solver `name`.

    `options` are passed to the solver; without them it has its default tolerances. Raises `SolverError` if the solver
    is missing or breaks down; if it stops early, the outcome says so.
    """
    if name != LINEAR:
        require_solver(name)
    import cvxpy as cp  # imported here, because cvxpy takes a second to import and only conic solves need it

    members = program.members if chosen is None else chosen
    rows = [program.row(int(k)) for k in members]
    if not any(row.lift.size for row in rows):
        return Solution.zero((program.size, program.groups.rank), program.y, program.interpolates, name)
    ends = np.cumsum([0, *(row.lift.shape[1] for row in rows)])
    w = cp.Variable(int(ends[-1]))
    parts = [w[a:b] for a, b in pairwise(ends)]
    fit = np.hstack([row.operator for row in rows]) @ w
    # rows of W without coordinates have no norm, so leave them out
    present = [(row, part) for row, part in zip(rows, parts, strict=True) if row.lift.size]
    norms = [program.norm.expression(part if row.norm is None else row.norm @ part) for row, part in present]
    cones = [row.cone @ part >= 0 for row, part in present if row.cone is not None]
    penalty = program.penalty * cp.sum(cp.hstack(norms))
    if program.interpolates:
        problem = cp.Problem(cp.Minimize(penalty), [fit == program.y, *cones])
    else:
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(fit - program.y) + penalty), cones)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cvxpy warns of low accuracy, which the outcome reports
            problem.solve(solver=name, **(options or {}))
    except (cp.SolverError, ArithmeticError, ValueError) as error:
        raise SolverError(f"{name} broke down: {error}") from error
    W, lam = np.zeros((program.size, program.groups.rank)), np.zeros(program.groups.n)
    if w.value is not None:
        for k, row, (a, b) in zip(members, rows, pairwise(ends), strict=True):
            W[k] = row.lift @ w.value[a:b]
        # for a regularised program the optimal lam is y - F(W)
        lam = np.asarray(-problem.constraints[0].dual_value if program.interpolates else -program.residual(W))
    outcome = OUTCOMES.get(problem.status, Outcome.NUMERICAL_TROUBLE)
    none = Multipliers.none(program.groups.n)
    return Solution(W, lam, outcome, int(problem.solver_stats.num_iters or 0), name, none)
