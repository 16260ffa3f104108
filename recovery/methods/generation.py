"""Column generation: programs whose patterns grow until no other activation pattern changes the answer.

- `grown_program`: for a noiseless trial, patterns are added until a dual point of the planted weights is proved to be
  feasible over all patterns. Other verdicts need only the patterns found.
- `optimum_over_all`: with noise or a penalty there is nothing to recover. The program is solved, patterns that violate
  its dual are added, and it is solved again. When the search ends, an oracle bounds the largest dual norm M over all
  patterns from above. With the penalty beta (1 for interpolation), the dual c lam, c <= beta / M, is feasible, so
      c y.lam <= optimum (interpolation),    c y.lam - c^2 ||lam||^2 / 2 <= optimum (with a penalty).
  The weights found give an upper bound, because they are also weights of the program over all patterns.
- `searched_program`: the same without a proof, for a pattern set of kind `searched`. `over_searched_patterns` is
  `grown_program` without a proof, for noiseless trials of exact programs; it solves no large program.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from recovery.conditions.ascent import violated_neurons
from recovery.conditions.beam import beam_patterns
from recovery.conditions.oracle import Bounds, exact_dual, gated_dual
from recovery.conditions.planes import RowSum
from recovery.conditions.search import best_starts, dual_scores, search_pattern
from recovery.instances.arrangements import cell_count
from recovery.instances.draw import Setting
from recovery.instances.patterns import unique_patterns
from recovery.methods.cascade import State, decide, proved_by, undecided
from recovery.methods.convex import PlantedProgram, ProgramKind, solve
from recovery.methods.judgement import optimal, settle
from recovery.methods.pricing import PROVED_BELOW, STARTS, CellPricing, NeuronPricing, Pricing
from recovery.methods.theorems import decide_by_theorem
from recovery.programs.certificate import Certified, certify
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.types import Array, Mask, Rng

MOST_ROUNDS = 120
"""Limit on the rounds of pricing. About 30 are enough for activation patterns up to d = 12. At d = 16, n = 3d some
draws need up to 100, and minutes."""
PATIENCE = 8
"""Rounds until the next margin is tried. That no dual keeps a margin is often not detected."""
SEARCH_ROUNDS = 30
"""Limit on the rounds of a search without proof."""
MOST_ADDED = 0.5
"""Largest number of patterns added in one round of a search without proof, as a share of those present; 20 may
always be added."""
SEARCH_EXCESS = 1e-6
"""A search without proof ignores dual norms that exceed the penalty by less than this fraction of it."""
ALLOWED = 0.1
"""Relative excess of a dual norm over the penalty that the oracle accepts, as a share of the gap that proves an
optimum. The lower bound on the optimum decreases by as much."""
TIED = "too few rows see a planted neuron: others have its activations, and cost the same"


def proof_cost(program: ProgramKind, setting: Setting) -> float:
    """Estimate the seconds of one proof over all patterns, as in `Method.cost`.

    Gated programs, for n = 1.5d to 5d and d = 4 to 16: four more rows double the time, at every d, up to the time that
    all patterns take, or `nodes` nodes. Exact programs: most proofs need a few nodes, up to d = 40.
    """
    n, d, nodes = setting.n, setting.d, setting.patterns.nodes
    if program == "exact":
        return 1e-2 + 1e-7 * n * d**2
    cells = cell_count(n, min(d, 60))
    return 5e-4 + min(1e-4 * 2.0 ** min(n / 4, 60.0), 5e-6 * min(3 * cells, nodes))


@dataclass(frozen=True)
class Generation:
    """Result of column generation for planted weights: the patterns (n, k) found, and what was proved.

    lam: a dual with A_S^T lam = u whose norms off the planted neurons stay below 1 over all patterns, or None; of a
    search without proof, one that no neuron found violates.
    bounds: on the dual norms over all patterns, from the last attempt at a proof; None without an attempt.
    """

    patterns: Mask
    lam: Array | None = None
    bounds: Bounds | None = None

    @property
    def reason(self) -> str:
        """Reason why there is no proof."""
        if self.bounds is None:
            return "no dual was found that stays below 1 at all neurons found"
        lower, upper = self.bounds.lower, self.bounds.upper
        if upper <= PROVED_BELOW:
            return TIED
        if upper == np.inf:
            return f"the largest dual norm over all patterns is {lower:.9g} or more, of the last dual found"
        return f"the largest dual norm over all patterns lies between {lower:.9g} and {upper:.9g}"


def generate(problem: PlantedProgram, beam: int | None = None, *, proof: bool = True) -> Generation:
    """Add columns until a dual of the planted weights is proved, no dual is left, or a limit is reached.

    beam: width of the beam search before each proof over activation patterns. proof: False, for an exact program, ends
    where ascents find no neuron that violates the dual.
    """
    pricing: Pricing = NeuronPricing(problem, proof) if problem.program.has_cones else CellPricing(problem, beam)
    planted, margin, bounds = pricing.planted, 0, None
    if planted is None or planted.lam is None:
        return Generation(pricing.found())
    lam = planted.lam
    last = len(pricing.margins) - int(pricing.keeps_last_margin)
    for step in range(1, MOST_ROUNDS + 1):
        priced = pricing.price(lam, pricing.margins[margin])
        bounds = bounds if priced is None else priced
        if priced is not None and priced.lower <= PROVED_BELOW:
            settled = (priced.upper <= PROVED_BELOW or not proof) and pricing.proves
            return Generation(pricing.found(), lam if settled else None, bounds)
        margin, dual = min(margin + (step % PATIENCE == 0), last), None
        while dual is None and margin < len(pricing.margins):
            dual = pricing.dual(planted, pricing.margins[margin])
            margin += dual is None
        if dual is None:
            # no dual with norms up to the last margin was found on these columns: an interpolant that uses the columns
            # may cost less than the planted weights
            return Generation(pricing.found(infeasible=True), None, bounds)
        lam = dual
    return Generation(pricing.found(), None, bounds)


def grown_program(
    problem: PlantedProgram, beam: int | None = None, *, proof: bool = True
) -> tuple[PlantedProgram, Generation]:
    """Run column generation; return the program over the drawn and the found patterns, and what was found."""
    found = generate(problem, beam, proof=proof)
    return problem.over(unique_patterns(problem.features, [problem.instance.patterns, found.patterns])), found


Judge = Callable[[PlantedProgram], State]
"""Decides a program over its own patterns."""
Judged = tuple[PlantedProgram, State]
"""The program over the patterns of a trial and those found, and the state of the trial."""


def _proved(problem: PlantedProgram, found: Generation) -> State | None:
    """Return the state that proves the planted weights by the dual of column generation; None without a proof."""
    lam = found.lam
    made = None if lam is None else proved_by(problem, lam / problem.program.groups.scales)
    return None if made is None else State(made, bounds=found.bounds)


def over_all_patterns(problem: PlantedProgram, judge: Judge, beam: int | None = None) -> Judged:
    """Decide a noiseless trial over all patterns; `recovered` only where a dual is proved."""
    if problem.ill_posed is not None:
        return problem, judge(problem)
    if (theorem := decide_by_theorem(problem)) is not None:
        return problem, State(theorem)
    grown, found = grown_program(problem, beam)
    if (proved := _proved(grown, found)) is not None:
        return grown, proved
    state = judge(grown)
    if state.decision.verdict in ("not_unique", "undecided") and found.lam is None and grown.small:
        # column generation may have had no dual to start from; solving the program over all patterns needs none
        grown, optimum = optimum_over_all(grown)
        state = decide(grown, (settle,), replace(optimum, decision=state.decision))
    decision, state.brief = state.decision, True
    if decision.verdict == "recovered":
        state.decision, state.found = undecided(found.reason), decision.proof or state.found
    elif decision.verdict == "not_optimal" or (decision.verdict == "not_unique" and found.lam is not None):
        state.decision = replace(decision, reason=None)
    return grown, state


def over_searched_patterns(problem: PlantedProgram, judge: Judge) -> Judged:
    """Decide a noiseless trial of an exact program over searched patterns.

    Column generation ends with a dual that no neuron found violates, or with a few patterns that exclude every dual.
    The optimum over these patterns proves that the planted weights are not optimal. If it does not, `searched_program`
    continues the search.
    """
    if problem.ill_posed is not None:
        return problem, judge(problem)
    grown, found = grown_program(problem, proof=False)
    if found.patterns.size and (proved := _proved(grown, found)) is not None:
        return grown, replace(proved, bounds=None)
    if found.lam is None and not grown.tied:
        state = decide(grown, (settle,), State.of(solve(grown.program, "auto")))
        if state.decision.verdict == "not_optimal":
            return grown, state
    state = judge(grown)
    if found.lam is None and state.decision.verdict == "recovered":
        grown = searched_program(grown)
        state = judge(grown)
    return grown, state


Grown = tuple[Mask, Program, Certified, Bounds | None]
"""The patterns (n, p) that a search ended with, the program over them, its solution, and bounds on the dual norms over
all patterns, which the certificate's dual respects; None without an oracle."""


def grow(
    form: Callable[[Mask], Program],
    features: Array,
    patterns: Mask,
    rng: Rng,
    solver: str = "auto",
    *,
    nodes: int | None = None,
    beam: int | None = None,
) -> Grown:
    """Solve a program, add patterns of the features (n, d') that violate its dual, and repeat until none are found.

    form: patterns (n, p) -> the program over them. nodes: if given, an oracle that examines at most so many cones or
    cells then proves that no pattern violates the dual, or finds one. beam: see `violating_patterns`.
    """
    proof = nodes is not None
    for step in range(1, (MOST_ROUNDS if proof else SEARCH_ROUNDS) + 1):
        program, bounds = form(patterns), None
        found = solve(program, solver)
        solution = found.solution
        excess = ALLOWED * program.gap_tolerance if proof else SEARCH_EXCESS
        limit = program.penalty * (1.0 + excess)
        grown = unique_patterns(features, [patterns, violating_patterns(program, solution, features, limit, rng, beam)])
        if not proof:
            grown = grown[:, : patterns.shape[1] + max(20, int(MOST_ADDED * program.groups.count))]
        last = step == (MOST_ROUNDS if proof else SEARCH_ROUNDS)
        if nodes is not None and (grown.shape[1] == patterns.shape[1] or last):
            bounds = largest_dual(program, features, solution.lam, limit, nodes)
            found = Certified(solution, certify(program, solution, beyond=bounds.upper))
            if bounds.lower > limit:
                grown = unique_patterns(features, [patterns, program.groups.base @ bounds.point[:, None] >= 0])
        if grown.shape[1] == patterns.shape[1] or last:
            break
        patterns = grown
    return patterns, program, found, bounds


def searched_program(problem: PlantedProgram, beam: int | None = None) -> PlantedProgram:
    """Return the program with the patterns that a search without proof finds to violate its optimum's dual.

    Pattern sets of other kinds than `searched` are returned as they are. beam: see `violating_patterns`.
    """
    if problem.instance.setting.patterns.kind != "searched" or not problem.instance.y.any():
        return problem
    solver = "auto" if problem.program.has_cones else "newton"
    return problem.over(_grown(problem, solver, beam=beam)[0])


def optimum_over_all(problem: PlantedProgram) -> Judged:
    """Solve over patterns that are added until no dual norm exceeds the penalty, or the oracle's limit is reached.

    Return the program over these patterns, and the state: its solution, the bounds on the largest dual norm, by which
    the certificate scales the dual to be feasible for all patterns, and the decision of `optimal`.
    """
    patterns, _, found, bounds = _grown(problem, "auto", nodes=problem.instance.setting.patterns.nodes)
    problem = problem.over(patterns)
    return problem, decide(problem, (optimal,), State.of(found, bounds))


def _grown(problem: PlantedProgram, solver: str, *, nodes: int | None = None, beam: int | None = None) -> Grown:
    drawn, rng = problem.instance.patterns, problem.instance.streams.training
    return grow(lambda p: problem.over(p).program, problem.features, drawn, rng, solver, nodes=nodes, beam=beam)


def violating_patterns(
    program: Program, solution: Solution, features: Array, limit: float, rng: Rng, beam: int | None = None
) -> Mask:
    """Search for patterns (n, k) of the features (n, d') whose dual norm at a solution's dual exceeds `limit`.

    beam: width of a beam search for violating patterns of a gated program, in addition to the local searches.
    """
    groups, lam = program.groups, solution.lam
    if program.has_cones:
        V = solution.W[int(groups.linear) :]
        active = V[V.any(axis=1)]
        active = active[np.argsort(-np.linalg.norm(active, axis=1))[: 2 * groups.n]].T
        return violated_neurons(groups, lam, limit, active, rng, starts=STARTS * groups.n)
    score, gain = dual_scores(groups, lam)
    starts = best_starts(features, score, rng, 20 * STARTS, 2 * STARTS)
    found = [search_pattern(features, start, score, gain, rng) for start in starts]
    found.sort(key=lambda pattern: -pattern.value)
    if beam is not None:
        beamed = beam_patterns(RowSum.of(groups, lam), width=beam)
        found = [each for each in beamed if each.value > limit][: 2 * STARTS] + found
    patterns = [each.pattern for each in found if each.value > limit]
    return np.array(patterns, dtype=np.bool_).reshape(len(patterns), groups.n).T


def largest_dual(program: Program, features: Array, lam: Array, limit: float, nodes: int) -> Bounds:
    """Bound the largest dual norm over all patterns of the features, and the skip connection, from both sides.

    Below `limit` the value need not be exact. nodes: the largest number of cones or arrangement cells examined.
    """
    groups = program.groups
    if program.has_cones:
        both = [exact_dual(groups, lam, sign, limit=limit, nodes=nodes) for sign in (1.0, -1.0)]
        bounds = replace(max(both, key=lambda b: b.lower), upper=max(b.upper for b in both))
    else:
        bounds = gated_dual(groups, features, lam, nodes=nodes)
    skip = float(np.linalg.norm(groups.base.T @ lam)) if groups.linear else 0.0
    return replace(bounds, upper=max(bounds.upper, skip))
