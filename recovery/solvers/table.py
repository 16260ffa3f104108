"""Solvers by name, each with the programs that it takes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from recovery.errors import SolverError
from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.program import GatedProgram, Program
from recovery.programs.solution import Solution
from recovery.solvers.conic import MODULES, require_solver, solve_conic
from recovery.solvers.newton import solve_newton
from recovery.text import did_you_mean
from recovery.user import is_user_name, resolve

CONIC_ENTRIES = 2_000_000
"""Largest number of matrix entries at which `auto` asks a conic solver for what Newton left open."""


@dataclass(frozen=True)
class Solver:
    """What solves each kind of program, `gated` and `exact`; a kind that it does not take is left out."""

    takes: Mapping[str, Callable[[Any], Solution]]

    def __call__(self, program: Program) -> Solution:
        """Raises `SolverError` for what is no solution of a program of this size."""
        solution = self.takes[program.kind](program)
        if not isinstance(solution, Solution):
            raise SolverError(f"the solver returned {type(solution).__name__}; allowed: a Solution")
        return solution


def _auto(program: Program, solution: Solution) -> Solution:
    """Newton's solution; where its certificate falls short on a small program, Clarabel's too, and the better one."""
    certificate = certify(program, solution)
    if certificate.proves_optimal or program.groups.n * program.size * program.groups.rank > CONIC_ENTRIES:
        return solution
    try:
        other = solve_conic(program, "CLARABEL")
    except SolverError:
        return solution
    return other if certify(program, other).error < certificate.error else solution


def _auto_gated(program: GatedProgram) -> Solution:
    return _auto(program, solve_newton(program))


def _auto_exact(program: ExactProgram) -> Solution:
    from recovery.solvers.cones import solve_cones  # its compiled parts are loaded with the first exact program

    return _auto(program, solve_cones(program))


def _conic(name: str) -> Solver:
    solve = partial(solve_conic, name=name)
    return Solver({"gated": solve, "exact": solve})


SOLVERS: dict[str, Solver] = {
    "auto": Solver({"gated": _auto_gated, "exact": _auto_exact}),
    "newton": Solver({"gated": solve_newton}),
    **{name: _conic(name) for name in MODULES},
}


def find_solver(name: str, kind: str) -> Solver:
    """The solver of this name, the user's own as `module:NAME`, for programs of this kind.

    Raises `SolverError` where there is none, where it cannot run here, or where it does not take such programs.
    """
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
