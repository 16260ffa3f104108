"""Solvers by name, and the kinds of programs that each one solves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from recovery.errors import SolverError
from recovery.programs.certificate import certify
from recovery.programs.norms import L2
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.solvers.cones import solve_cones
from recovery.solvers.conic import MODULES, require_solver, solve_conic, solve_with_norm
from recovery.solvers.controls import GATED
from recovery.solvers.newton import solve_newton
from recovery.text import did_you_mean
from recovery.user import is_user_name, resolve


@dataclass(frozen=True)
class Solver:
    """A solver of one or both kinds of program.

    takes: a function for each kind, `gated` or `exact`; unsupported kinds are missing.
    """

    takes: Mapping[str, Callable[[Any], Solution]]

    def __call__(self, program: Program) -> Solution:
        """Solve a program. Raises `SolverError` if the function does not return a `Solution`."""
        solution = self.takes[program.kind](program)
        if not isinstance(solution, Solution):
            raise SolverError(f"the solver returned {type(solution).__name__}; allowed: a Solution")
        return solution


def _auto(solve: Callable[[Any], Solution], program: Program) -> Solution:
    """Return the solution of `solve`, or, if it is uncertified and the program small, Clarabel's if its error is less.

    A program with another norm than l2 goes to the solvers of cvxpy at once.
    """
    if program.norm is not L2:
        return solve_with_norm(program)
    solution = solve(program)
    certificate = certify(program, solution)
    if certificate.proves_optimal or program.groups.n * program.size * program.groups.rank > GATED.conic_entries:
        return solution
    try:
        other = solve_conic(program, "CLARABEL")
    except SolverError:
        return solution
    return other if certify(program, other).error < certificate.error else solution


def _conic(name: str) -> Solver:
    solve = partial(solve_conic, name=name)
    return Solver({"gated": solve, "exact": solve})


SOLVERS: dict[str, Solver] = {
    "auto": Solver({"gated": partial(_auto, solve_newton), "exact": partial(_auto, solve_cones)}),
    "newton": Solver({"gated": solve_newton, "exact": solve_cones}),
    **{name: _conic(name) for name in MODULES},
}


def solver_name(name: str) -> str:
    """Spell the name of a solver as in `SOLVERS`: `ecos` is ECOS. Return other names as they are."""
    return next((known for known in SOLVERS if known.casefold() == name.casefold()), name)


def find_solver(name: str, kind: str) -> Solver:
    """Return the solver of this name (in any case), or the user's as `module:NAME`, for programs of this kind.

    Raises `SolverError` if it does not exist, is not installed, or does not support this kind of program.
    """
    name = solver_name(name)
    if is_user_name(name):
        solver = resolve(name)
        if not isinstance(solver, Solver):
            raise SolverError(f"{name} is not a value of recovery.Solver")
    elif name in SOLVERS:
        solver = SOLVERS[name]
    else:
        allowed = f"{', '.join(SOLVERS)}, or your own as module:NAME"
        raise SolverError(f"found {name!r}; allowed: {allowed}{did_you_mean(name, SOLVERS)}")
    if name in MODULES:
        require_solver(name)
    if kind not in solver.takes:
        able = ", ".join(other for other, one in SOLVERS.items() if kind in one.takes)
        raise SolverError(f"solver {name} does not take {kind} programs; those that do are {able}")
    return solver
