"""Verdicts on planted weights: a list of stages, of which the first that proves an answer ends the trial.

A stage takes the problem and the `State` of its trial, and returns a `Decision` or None. The stages before any solve
are in order of cost:
1. isometry: the least-norm dual is a certificate (one matrix product);
2. misfit: the planted weights do not have the labels, which leaves the verdict undecided;
3. duplicate: another group can hold a planted neuron at the same norm, so the planted weights are not unique;
4. search: Newton's method finds a dual certificate, or a direction of descent.
A certificate for the gated program is one for the exact program, which constrains only projections on cones off the
planted rows. If no stage decides, a solve may. The row is written once, from the last state.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from recovery.conditions.oracle import Bounds
from recovery.methods.columns import SOLUTION
from recovery.methods.convex import PlantedProgram
from recovery.methods.method import UNDECIDED, CertificateKind, Evidence, Measurement, Verdict
from recovery.methods.representation import test_distance
from recovery.programs.certificate import Certified, certify
from recovery.programs.exact import ExactProgram
from recovery.programs.networks import network_of
from recovery.programs.program import Program
from recovery.programs.range_factor import RangeFactor
from recovery.programs.solution import Solution
from recovery.programs.uniqueness import EQUALITY_TOLERANCE, Candidate, Examined, examine_dual
from recovery.solvers.dual_search import DualSearch, search_dual, search_exact_dual
from recovery.types import Array

SEARCH_THRESHOLDS = (1.0 - 1e-3, 1.0 - 1e-6)
"""Limits on the dual norms of the other groups, tried in turn."""
NOT_PLANTED = "the planted weights are no weights of the program that have the labels"
"""Reason where labels were edited or rounded too far, or where a confined program cannot hold the planted neuron."""
UNSOUGHT = "a cheaper interpolant was not looked for"
"""Reason for planted weights that share their cost, in a program that is too large to be solved to look for one."""
UNSOLVED = "the trial was decided without a solve, and method.distances is off"
UNPREDICTED = "weights of normalised neurons predict nothing on other data"
NO_DUAL = "no dual point has the planted directions"
UNSURE_DUAL = "rounding decides whether a dual point has the planted directions"
UNEXAMINED = "no dual point of the planted weights was examined"
SEARCHED = "over all patterns it depends on which of them a search found"
"""Reasons why a row lacks a value."""
OUTSIDE = 1e-6
"""A planted direction, of norm 1, with a component of this length outside the row space of its group is not optimal:
without the component it costs less. A row of a cone is tight if its product with the neuron is below this fraction of
their norms. Rounding is far smaller."""


@dataclass(frozen=True)
class Decision:
    """A verdict, None for a proved optimum with noise, and the certificate that decided it.

    reason: why the verdict is undecided, or what it does not settle. proof: the planted weights with the dual that
    proves them the unique optimum.
    """

    verdict: Verdict | None
    certificate: CertificateKind = "none"
    reason: str | None = None
    proof: Certified | None = None


def undecided(reason: str | None) -> Decision:
    return Decision("undecided", reason=reason)


@dataclass
class State:
    """What the stages of a trial found so far, and the decision that it ends with.

    value: of the isometry condition, the largest dual norm off the planted groups. steps, solver: of the last search or
    solve. found: the solution of a solve. bounds: on the dual norms over all patterns. brief: whether the row leaves
    out all that depends on which patterns a search found, except the decision.
    """

    decision: Decision = field(default_factory=lambda: undecided(None))
    value: float | None = None
    steps: int | None = None
    solver: str | None = None
    candidate: Candidate | None = None
    examined: Examined | None = None
    found: Certified | None = None
    bounds: Bounds | None = None
    brief: bool = False

    @classmethod
    def of(cls, found: Certified, bounds: Bounds | None = None) -> "State":
        """Return the state with the solution of a solve."""
        state = cls(bounds=bounds)
        state.take(found)
        return state

    def take(self, found: Certified) -> None:
        """Keep the solution of a solve."""
        self.found, self.steps, self.solver = found, found.solution.iterations, found.solution.solver

    def row(self, problem: PlantedProgram) -> Measurement:
        """Return the row of a trial, with its evidence, and the columns that it does not measure.

        Over all patterns `pattern_count` is null, because it depends on the order in which a search finds patterns.
        """
        decision, instance, program = self.decision, problem.instance, problem.program
        verdict, shown = decision.verdict, decision.proof or self.found
        kind = instance.setting.patterns.kind
        row = Measurement(
            pattern_count=None if kind == "all" else program.groups.count - int(program.groups.linear),
            all_ones=None if instance.all_ones is None else instance.all_ones.exists,
            redraws=instance.planted.redraws,
            verdict=verdict,
            certificate=decision.certificate,
            reason=decision.reason,
            patterns_proved=patterns_proved(verdict, decision.certificate, kind),
        )
        if verdict not in (None, "undecided"):
            row["recovered"] = verdict == "recovered"
        elif verdict is not None and problem.noiseless:
            row.unmeasured["recovered"] = UNDECIDED
        row.evidence = Evidence(program, shown, self.bounds)
        absent = {"test_distance": not instance.has_test, "cone_violation": not program.has_cones}
        names = [name for name in SOLUTION if not absent.get(name)]
        if self.brief:
            row.unmeasured |= dict.fromkeys([*names, "isometry_value", "iterations", "solver"], SEARCHED)
            return row
        row |= {"iterations": self.steps, "solver": self.solver}
        if self.value is not None:
            row["isometry_value"] = self.value
        elif problem.noiseless:
            row.unmeasured["isometry_value"] = UNEXAMINED
        if shown is None:
            row.unmeasured |= dict.fromkeys(names, UNSOLVED)
            return row
        row |= {name: getattr(shown.certificate, name, 0.0) for name in names}
        if decision.proof is not None:  # the planted weights, at distance 0
            return row
        W, architecture = shown.solution.W, problem.architecture
        w, wanted = (program.gated_weights(V) for V in (W, problem.planted))
        off = (w - wanted)[wanted.any(axis=1)]
        row |= {"max_deviation": deviation(problem, W), "absolute_distance": float(np.linalg.norm(off))}
        if instance.has_test and architecture.normalized:
            row["test_distance"], row.unmeasured["test_distance"] = None, UNPREDICTED
        elif instance.has_test:
            row["test_distance"] = test_distance(instance, network_of(program, W, architecture).predict)
        return row


def patterns_proved(verdict: Verdict | None, certificate: CertificateKind, kind: str) -> str | None:
    """Return the pattern set that a verdict holds for: `all`, or `kind` for a recovery over fewer; None if undecided.

    Planted weights that are not the unique optimum over some patterns are not the unique optimum over all patterns.
    """
    if verdict is None:  # noise or a penalty: the row has no verdict, but its gap may be proved over all patterns
        return "all" if kind == "all" and certificate == "gap" else None
    if verdict == "undecided":
        return None
    return "all" if kind == "exhaustive" or verdict != "recovered" else kind


Stage = Callable[[PlantedProgram, State], Decision | None]


def decide(problem: PlantedProgram, stages: Sequence[Stage], state: State) -> State:
    """Run stages until one decides, and return the state with its decision."""
    state.decision = next((made for stage in stages if (made := stage(problem, state)) is not None), state.decision)
    return state


def isometry(problem: PlantedProgram, state: State) -> Decision | None:
    """Decide by the least-norm dual: the isometry condition."""
    planted = state.candidate = None if problem.tied else problem.candidate(problem.program)
    if planted is None or not planted.distinct or planted.lam is None:
        return None
    state.examined = examined = examine_dual(problem.program, problem.rows, planted, planted.lam)
    if not examined.proved:
        return None
    state.value, state.steps = examined.value, 0
    return _recovered(problem, problem.program, planted.lam, examined, "isometry")


def misfit(problem: PlantedProgram, state: State) -> Decision | None:
    """Leave weights undecided that do not have the labels."""
    del state
    return None if problem.feasible else undecided(NOT_PLANTED)


def duplicate(problem: PlantedProgram, state: State) -> Decision | None:
    """Decide `not_unique` or `not_optimal` if another group can hold a planted neuron at the same norm."""
    del state
    if not problem.tied:
        return None
    if _has_unseen_part(problem):
        return Decision("not_optimal", "dual")
    return Decision("not_unique", "duplicate", UNSOUGHT)


def search(problem: PlantedProgram, state: State) -> Decision:
    """Decide by a search for a dual certificate, which may end at a direction of descent."""
    candidate, examined, program = state.candidate, state.examined, problem.program.balanced()
    if candidate is None:
        return undecided("planted neurons of opposite signs share a group")
    if not candidate.distinct:
        return undecided("the images of planted neurons are dependent")
    if examined is None:
        return undecided(UNSURE_DUAL if candidate.error <= EQUALITY_TOLERANCE else NO_DUAL)
    state.value = examined.value
    if program is not problem.program:
        candidate = problem.candidate(program)
        if candidate is None or candidate.lam is None:
            return undecided(UNSURE_DUAL)
    state.steps, state.solver, best = 0, "newton", np.inf
    for found in _searches(problem, program, candidate):
        state.steps += found.steps
        known = found.multipliers or examined.multipliers
        examined = examine_dual(program, problem.rows, candidate, found.lam, known)
        if examined.proved:
            return _recovered(problem, program, found.lam, examined)
        if not program.has_cones and problem.is_cheaper(descended(program, candidate, found.excess)):
            return Decision("not_optimal", "dual")
        best = examined.value
    return undecided(f"the best dual norm found is {best:.9g}")


BEFORE_SOLVING: tuple[Stage, ...] = (isometry, misfit, duplicate, search)


def proved_by(problem: PlantedProgram, lam: Array) -> Decision | None:
    """Return the recovery that a dual near lam proves, or None."""
    program = problem.program.balanced()
    planted = problem.candidate(program)
    if planted is None or planted.lam is None or not planted.distinct:
        return None
    lam = lam if program is problem.program else lam * problem.program.groups.scales
    corrected = lam - planted.factor.frame @ (planted.factor.frame.T @ (lam - planted.lam))
    examined = examine_dual(program, problem.rows, planted, corrected)
    made = _recovered(problem, program, corrected, examined) if examined.proved else undecided(None)
    return None if made.proof is None else made


def duals(problem: PlantedProgram) -> Iterator[Array]:
    """Yield the dual points that the stages examine: the least-norm one, then the ends of the searches."""
    balanced = problem.program.balanced()
    for program in (problem.program,) if balanced is problem.program else (problem.program, balanced):
        scales = 1.0 if program is problem.program else problem.program.groups.scales
        planted = problem.candidate(program)
        if planted is not None and planted.lam is not None:
            yield planted.lam / scales
            for found in _searches(problem, program, planted):
                yield found.lam / scales


def descents(problem: PlantedProgram) -> Iterator[Array]:
    """Yield, for a gated program, the least-norm weights from the planted ones along the end of each dual search."""
    program = problem.program.balanced()
    planted = None if program.has_cones else problem.candidate(program)
    if planted is not None and planted.lam is not None:
        yield from (descended(program, planted, found.excess) for found in _searches(problem, program, planted))


def descended(program: Program, planted: Candidate, excess: Array) -> Array:
    """Return the weights of least norm among steps from the planted ones along a direction that keeps the labels.

    excess (p, r): the direction of the groups outside S, the planted ones; S moves by -v, A_S v = sum_g A_g excess_g.
    """
    direction = excess.copy()
    direction[planted.support] = -planted.solve(program.groups.forward(excess))
    size = float(np.linalg.norm(direction)) or 1.0
    steps = np.exp2(np.arange(-30.0, 2.0)) * float(np.linalg.norm(planted.weights)) / size
    return min((planted.weights + t * direction for t in steps), key=lambda W: float(program.norms(W).sum()))


def _searches(problem: PlantedProgram, program: Program, planted: Candidate) -> Iterator[DualSearch]:
    """Yield searches for a dual: with gated dual norms, then, for an exact program, with its own smaller norms."""
    assert planted.lam is not None
    groups, lam, ignored = program.groups, planted.lam, np.empty(0, dtype=np.intp)
    if (
        program.has_cones
    ):  # leave out other groups with a planted group's operator: their cones exclude the neuron, but their norm is 1
        ignored = np.unique(np.concatenate([groups.duplicates_of(int(g)) for g in planted.support]))
    for threshold in SEARCH_THRESHOLDS:
        found = search_dual(groups, planted.support, planted.factor.frame, planted.lam, threshold, ignored)
        lam = found.lam
        yield found
    if isinstance(program, ExactProgram):
        for threshold in SEARCH_THRESHOLDS:
            yield search_exact_dual(program, problem.rows, planted.factor.frame, lam, threshold)


def _recovered(
    problem: PlantedProgram, program: Program, lam: Array, examined: Examined, by: CertificateKind = "dual"
) -> Decision:
    """Return the verdict `recovered` for W*, whose dual lam proves it the unique optimum for the labels F(W*).

    Undecided where F(W*) differs from the program's labels. program: the program of lam, balanced or not.
    """
    optimum = Solution(problem.planted, lam, solver="planted", multipliers=examined.multipliers)
    images = examined.images if program is problem.program else None
    if images is None:
        optimum = optimum.unbalanced(problem.program.groups.scales)
    proof = Certified(optimum, certify(problem.program, optimum, images=images))
    return Decision("recovered", by, proof=proof) if proof.certificate.feasible else undecided(NOT_PLANTED)


def _has_unseen_part(problem: PlantedProgram) -> bool:
    """Return whether a planted direction has a part outside the span of its active rows, if these are fewer than r.

    Without that part the labels are the same and the norm is smaller, in every program whose cone allows the move.
    """
    groups, W = problem.program.groups, problem.program.gated_weights(problem.planted)
    for g in np.flatnonzero(W.any(axis=1)):
        seen = groups.patterns[:, g]
        if groups.orthonormal or groups.slope != 0.0 or np.count_nonzero(seen) >= groups.rank:
            continue
        A, u = groups.base[seen], W[g] / np.linalg.norm(W[g])
        factor = RangeFactor(A.T)
        if not factor.conditioned or not _moves(problem, int(g)):
            continue
        # compare u with the least weights of the same labels on its active rows: the rest of u is the unseen part
        if np.linalg.norm(u - factor.least_norm(A @ u)) > OUTSIDE:
            return True
    return False


def _moves(problem: PlantedProgram, g: int) -> bool:
    """Return whether the weights of group g may move a little in every direction: no row of their cone is tight."""
    groups = problem.program.groups
    if not problem.program.has_cones or (groups.linear and g == 0):
        return True
    v = problem.planted[g] + problem.planted[g + groups.count]
    tight = np.abs(groups.base @ v) <= OUTSIDE * np.linalg.norm(groups.base, axis=1) * np.linalg.norm(v)
    return not bool(tight.any())


def deviation(problem: PlantedProgram, W: Array) -> float:
    """Return the largest entry of |W - W*|, in group coordinates."""
    difference = problem.program.coordinates_of(W) - problem.program.coordinates_of(problem.planted)
    return float(np.abs(difference).max(initial=0.0))
