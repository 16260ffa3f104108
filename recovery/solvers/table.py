"""Solvers of gated programs by name."""

from collections.abc import Callable
from functools import partial
from typing import Literal

from recovery.errors import SolverError
from recovery.programs.certificate import certify
from recovery.programs.program import Program
from recovery.solvers.conic import MODULES, require_solver, solve_conic
from recovery.solvers.newton import solve_newton
from recovery.solvers.solution import Solution

SolverName = Literal["auto", "newton", "CLARABEL", "ECOS", "SCS", "MOSEK"]

CONIC_ENTRIES = 2_000_000
"""Largest number of matrix entries n p r at which `auto` asks a conic solver for what Newton left open."""


def solve_auto(program: Program) -> Solution:
    """Newton; where its certificate falls short on a small program, Clarabel too, and the better of the two."""
    solution = solve_newton(program)
    groups = program.groups
    if groups.n * groups.count * groups.rank > CONIC_ENTRIES:
        return solution
    first = certify(program, solution.W, solution.lam)
    if first.proves_optimal:
        return solution
    try:
        other = solve_conic(program, "CLARABEL")
    except SolverError:
        return solution
    second = certify(program, other.W, other.lam)
    return other if second.error < first.error else solution


SOLVERS: dict[str, Callable[[Program], Solution]] = {
    "auto": solve_auto,
    "newton": solve_newton,
    **{name: partial(solve_conic, name=name) for name in MODULES},
}


def require(name: str) -> None:
    """Raise `SolverError` where the solver of this name cannot run here."""
    if name in MODULES:
        require_solver(name)
