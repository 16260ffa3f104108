"""Solvers by name, each with the programs that it takes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from recovery.errors import ParameterError, SolverError
from recovery.programs.certificate import certify
from recovery.programs.program import GatedProgram, Program
from recovery.programs.solution import Solution
from recovery.solvers.cones import solve_cones
from recovery.solvers.conic import MODULES, require_solver, solve_conic
from recovery.solvers.newton import solve_newton

Kind = Literal["gated", "exact"]
SolverName = Literal["auto", "newton", "CLARABEL", "ECOS", "SCS", "MOSEK"]

CONIC_ENTRIES = 2_000_000
"""Largest number of matrix entries n p r at which `auto` asks a conic solver for what Newton left open."""


@dataclass(frozen=True)
class Solver:
    """What solves each kind of program; a kind that it does not take is left out."""

    takes: dict[str, Callable[[Any], Solution]]

    def __call__(self, program: Program) -> Solution:
        return self.takes[program.kind](program)


def _auto_gated(program: GatedProgram) -> Solution:
    """Newton; where its certificate falls short on a small program, Clarabel too, and the better of the two."""
    solution = solve_newton(program)
    groups = program.groups
    if groups.n * groups.count * groups.rank > CONIC_ENTRIES:
        return solution
    first = certify(program, solution)
    if first.proves_optimal:
        return solution
    try:
        other = solve_conic(program, "CLARABEL")
    except SolverError:
        return solution
    return other if certify(program, other).error < first.error else solution


def _conic(name: str) -> Solver:
    solve = partial(solve_conic, name=name)
    return Solver({"gated": solve, "exact": solve})


SOLVERS: dict[str, Solver] = {
    "auto": Solver({"gated": _auto_gated, "exact": solve_cones}),
    "newton": Solver({"gated": solve_newton}),
    **{name: _conic(name) for name in MODULES},
}


def require(name: str, kind: str) -> None:
    """Raise `SolverError` where the solver cannot run here, `ParameterError` where it does not take such programs."""
    if name in MODULES:
        require_solver(name)
    if kind not in SOLVERS[name].takes:
        able = ", ".join(other for other, solver in SOLVERS.items() if kind in solver.takes)
        raise ParameterError(f"solver {name} does not take {kind} programs; with program: {kind} use one of {able}")
