"""The regularisation path: one gated program for many beta, each solve started at the previous solution.

Sweeps use no warm starts: there each trial is solved from scratch, so that its row does not depend on which trials ran
before it. All solutions are certified to the same gap.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recovery.programs.certificate import Certificate, certify
from recovery.programs.groups import Groups
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Outcome, Solution
from recovery.solvers.newton import TOLERANCE, solve_newton
from recovery.types import Array


@dataclass(frozen=True)
class PathPoint:
    """One beta of a path, with the solution of its program and the certificate."""

    beta: float
    solution: Solution
    certificate: Certificate


def largest_beta(groups: Groups, y: Array) -> float:
    """Return the least beta at which all weights are zero: the largest ||A_g^T y||."""
    return float(groups.adjoint_norms(y).max(initial=0.0))


def solve_path(
    groups: Groups, y: Array, betas: Sequence[float] | Array, tolerance: float = TOLERANCE
) -> Iterator[PathPoint]:
    """Solve min 1/2 ||sum_g A_g w_g - y||^2 + beta sum_g ||w_g|| for each beta, from the largest down.

    Raises `ParameterError` at the call if a beta is not positive and finite. Each point is solved when it is taken.
    """
    programs = [GatedProgram(groups, y, float(beta)) for beta in sorted(betas, reverse=True)]
    return _solved(programs, tolerance)


def _solved(programs: Sequence[GatedProgram], tolerance: float) -> Iterator[PathPoint]:
    start: Solution | None = None
    for program in programs:
        if start is not None and (largest := float(program.dual_norms(start).max())) > 0:
            # scale the previous dual to this penalty, so that the groups of largest dual norm are on the boundary
            start = replace(start, lam=start.lam * (program.penalty / largest))
        solution = solve_newton(program, start, tolerance)
        certificate = certify(program, solution)
        # on nearly degenerate data a warm start occasionally fails: solve again from a cold start and keep the better
        # solution
        if start is not None and solution.outcome is not Outcome.SOLVED:
            alone = solve_newton(program, None, tolerance)
            if (other := certify(program, alone)).error < certificate.error:
                solution, certificate = alone, other
        start = solution if np.isfinite(certificate.error) else None
        yield PathPoint(program.penalty, solution, certificate)
