"""Verdicts on planted weights by the solution of a program: stages after a solve (`recovery.methods.cascade`)."""

from dataclasses import replace

from recovery.methods.cascade import NOT_PLANTED, UNSOUGHT, Decision, Stage, State, deviation, proved_by, undecided
from recovery.methods.columns import DEVIATION_TOLERANCE
from recovery.methods.convex import LOWER, PlantedProgram
from recovery.methods.method import CertificateKind
from recovery.programs.certificate import Certified, certify
from recovery.programs.norms import L2
from recovery.programs.solution import Outcome, Solution
from recovery.programs.uniqueness import optimum_is_unique
from recovery.solvers.conic import LINEAR, MODULES, solve_inside

OPEN_TIE = "another interpolant costs the same up to rounding"
OPEN_RESIDUAL = "a solution costs less, and what it misses of the labels may be worth more"
"""Reason where rows are nearly dependent: what a residual may be worth there, see `recovery.methods.interpolant`."""


def solved_dual(problem: PlantedProgram, state: State) -> Decision | None:
    """Decide an undecided verdict by the dual of a solve."""
    assert state.found is not None
    return proved_by(problem, state.found.solution.lam) if state.decision.verdict == "undecided" else None


def settle(problem: PlantedProgram, state: State) -> Decision:
    """Decide by a solution what the stages before it left open, or say why nothing is proved.

    W* is not optimal if the solution is cheaper even with the cost of interpolating its residual added. Another
    interpolant of equal cost proves nothing, because of rounding, unless a group is known to share the cost.
    """
    assert state.found is not None
    known, solution, certificate = state.decision, state.found.solution, state.found.certificate
    limit = problem.planted_cost * (1.0 - LOWER)
    if known.verdict == "not_optimal":
        return known
    if not problem.feasible:
        return undecided(known.reason)
    if problem.is_cheaper(solution.W):
        return Decision("not_optimal", "gap", None if known.reason == UNSOUGHT else known.reason)
    if known.verdict == "not_unique":
        lower = OPEN_RESIDUAL if certificate.objective < limit else "no cheaper interpolant was found"
        return replace(known, reason=None if certificate.dual_objective >= limit else lower)
    elsewhere = certificate.proves_optimal and deviation(problem, solution.W) > DEVIATION_TOLERANCE
    if elsewhere and problem.shares_its_cost():
        return Decision("not_unique", "gap", known.reason)
    if certificate.objective < limit:
        return undecided(OPEN_RESIDUAL)
    return undecided(OPEN_TIE if elsewhere else f"{known.reason}; a solve: {solution.outcome.value}")


AFTER_SOLVING: tuple[Stage, ...] = (solved_dual, settle)


def optimal(problem: PlantedProgram, state: State) -> Decision:
    """Decide a trial with noise or a penalty: its optimum is proved by the gap, or undecided and why."""
    del problem
    assert state.found is not None
    certificate = state.found.certificate
    if certificate.proves_optimal:
        return Decision(None, "gap")
    if state.bounds is None or not certificate.feasible:
        return undecided(_shortfall(state.found))
    between = f"{certificate.dual_objective:.9g} and {certificate.objective:.9g}"
    return undecided(f"the optimum over all patterns lies between {between}")


def judge(problem: PlantedProgram, state: State) -> Decision:
    """Decide by P1's rule on a solution W: recovered if no entry of |W - W*| exceeds DEVIATION_TOLERANCE.

    Undecided if the certificate neither proves an optimum nor, with the l2 norm, has an error of at most this
    tolerance. With another norm `judge_norm` decides.
    """
    assert state.found is not None
    certificate, W, l2 = state.found.certificate, state.found.solution.W, problem.program.norm is L2
    if not (certificate.proves_optimal or (l2 and certificate.error <= DEVIATION_TOLERANCE)):
        return undecided(_shortfall(state.found))
    if not problem.feasible:
        return undecided(NOT_PLANTED)
    if not l2:
        return judge_norm(problem, state, state.found)
    by: CertificateKind = "gap" if certificate.proves_optimal else "none"
    if deviation(problem, W) <= DEVIATION_TOLERANCE:
        return Decision("recovered", by)
    return Decision("not_optimal" if certificate.proves_optimal and problem.is_cheaper(W) else "not_unique", by)


def judge_norm(problem: PlantedProgram, state: State, found: Certified) -> Decision:
    """Decide by an optimum for another norm than l2, near which the planted weights may not be unique.

    HiGHS returns corners of the sets of optimal weights and duals, which may leave uniqueness open; a solution inside
    both sets decides it.
    """
    program, solution = problem.program, found.solution
    if problem.is_cheaper(solution.W):
        return Decision("not_optimal", "gap")
    if not certify(program, Solution(problem.planted, solution.lam)).proves_optimal:
        return undecided(OPEN_RESIDUAL)
    if problem.tied or deviation(problem, solution.W) > DEVIATION_TOLERANCE:
        return Decision("not_unique", "gap")
    if optimum_is_unique(program, solution.lam):
        return Decision("recovered", "gap")
    if solution.solver != LINEAR:
        return undecided(OPEN_TIE)
    inside = solve_inside(program)
    state.take(Certified(inside, certify(program, inside)))
    return judge(problem, state)


def _shortfall(found: Certified) -> str:
    """Return why a solution is no proof. A conic solver that ends at its own tolerance calls its solution optimal."""
    if found.solution.solver in MODULES and found.solution.outcome in (Outcome.SOLVED, Outcome.NEARLY_SOLVED):
        return found.certificate.shortfall
    return f"a solve: {found.solution.outcome.value}"
