"""Verdicts of noiseless trials with another norm than l2, where an optimum near the planted weights may not be unique.

The certificate of a solution proves the optimum and that the planted weights reach it; `optimum_is_unique` proves from
the dual that no other weights do.
"""

from recovery.methods.cascade import NOT_PLANTED
from recovery.methods.convex import DEVIATION_TOLERANCE, OPEN_RESIDUAL, OPEN_TIE, PlantedProgram, shortfall
from recovery.methods.method import Measurement
from recovery.programs.certificate import certify
from recovery.programs.solution import Solution
from recovery.programs.uniqueness import optimum_is_unique
from recovery.solvers.conic import LINEAR, solve_inside


def judge_norm(problem: PlantedProgram, row: Measurement, solution: Solution) -> Measurement:
    """Return the row with the verdict that a solution proves.

    HiGHS returns corners of the sets of optimal weights and duals, which may leave uniqueness open; a solution inside
    both sets decides it.
    """
    program, certificate = problem.program, certify(problem.program, solution)
    if not certificate.proves_optimal:
        return row.undecided(shortfall(solution, certificate))
    if not problem.cascade.feasible:
        return row.undecided(NOT_PLANTED)
    row = row.having(certificate="gap")
    if problem.is_cheaper(solution.W):
        return row.having(recovered=False, verdict="not_optimal")
    if not certify(program, Solution(problem.planted, solution.lam)).proves_optimal:
        return row.undecided(OPEN_RESIDUAL)
    if problem.tied or row.max_deviation > DEVIATION_TOLERANCE:
        return row.having(recovered=False, verdict="not_unique")
    if optimum_is_unique(program, solution.lam):
        return row.having(recovered=True, verdict="recovered")
    if solution.solver != LINEAR:
        return row.undecided(OPEN_TIE)
    inside = solve_inside(program)
    return judge_norm(problem, problem.measure(row, inside, certify(program, inside)), inside)
