"""Gated programs through cvxpy, solved by a conic solver chosen by name: the independent second opinion."""

import warnings
from importlib.util import find_spec

import numpy as np

from recovery.errors import SolverError
from recovery.programs.program import Program
from recovery.solvers.solution import Solution, Status

MODULES = {"CLARABEL": "clarabel", "ECOS": "ecos", "SCS": "scs", "MOSEK": "mosek"}
"""Solver name -> the Python module that provides it."""

STATUSES = {
    "optimal": Status.SOLVED,
    "optimal_inaccurate": Status.NEARLY_SOLVED,
    "infeasible": Status.INFEASIBLE,
    "infeasible_inaccurate": Status.INFEASIBLE,
    "user_limit": Status.ITERATION_LIMIT,
}


def installed_solvers() -> list[str]:
    """The conic solvers of this environment, by name."""
    return [name for name, module in MODULES.items() if find_spec(module) is not None]


def require_solver(name: str) -> None:
    """Raise `SolverError` where a conic solver is not installed, listing those that are."""
    if name not in installed_solvers():
        raise SolverError(
            f"solver {name} is not installed (pip install {MODULES[name]}); installed: {', '.join(installed_solvers())}"
        )


def solve_conic(program: Program, name: str) -> Solution:
    """Solve min sum ||w_g|| s.t. A w = y, or its regularised form, with the solver's own default tolerances.

    Raises `SolverError` where the solver is missing or breaks down; a solver that stops early is a status.
    """
    require_solver(name)
    import cvxpy as cp  # takes a second to import, and only conic solves need it

    groups = program.groups
    chosen = np.arange(groups.count)
    present = groups.dimensions(chosen)
    A = groups.columns(chosen)[:, present.ravel()]
    w = cp.Variable(A.shape[1])
    ends = np.cumsum(present.sum(axis=1))
    norms = [cp.norm2(w[a:b]) for a, b in zip(ends - present.sum(axis=1), ends, strict=True) if b > a]
    penalty = program.penalty * cp.sum(cp.hstack(norms))
    if program.interpolates:
        problem = cp.Problem(cp.Minimize(penalty), [A @ w == program.y])
    else:
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(A @ w - program.y) + penalty))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cvxpy's remarks on accuracy are the status
            problem.solve(solver=name)
    except (cp.SolverError, ArithmeticError, ValueError) as error:
        raise SolverError(f"{name} broke down: {error}") from error
    W = np.zeros((groups.count, groups.rank))
    lam = np.zeros(groups.n)
    if w.value is not None:
        W[present] = w.value
        lam = -problem.constraints[0].dual_value if program.interpolates else program.y - A @ w.value
    status = STATUSES.get(problem.status, Status.NUMERICAL_TROUBLE)
    return Solution(W, lam, status, int(problem.solver_stats.num_iters or 0), name)
