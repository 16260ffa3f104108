"""Over all patterns: verdicts of noiseless programs, and the optimum of noisy or penalised ones.

A verdict of recovery needs a dual that is proved for all patterns (`recovery.methods.feasible_dual`), over the program
with the patterns that column generation adds; the others need only the patterns found.

With noise or a penalty nothing is recovered. Solve over the patterns there are, look for what violates the dual, add
it, and solve again. Where the search finds nothing more, an oracle bounds the largest dual norm M over all patterns
from above. With the penalty beta, 1 for interpolation, the dual c lam, c <= beta / M, is then feasible for all:
    c y.lam <= optimum (interpolation),    c y.lam - c^2 ||lam||^2 / 2 <= optimum (with a penalty).
The weights found bound it from above: they are weights over all patterns as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from recovery.conditions.oracle import Bounds, exact_dual, gated_dual
from recovery.errors import ParameterError
from recovery.instances.arrangements import cell_count
from recovery.instances.draw import Setting
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PlantedProgram, ProgramKind
from recovery.methods.feasible_dual import CellSearch, Generation
from recovery.methods.method import Measurement
from recovery.methods.neuron_dual import NeuronSearch
from recovery.methods.searched import violating_cells, violating_neurons
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import Certificate, certify
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.types import Array

MOST_ROUNDS = 60
ALLOWED = 0.1
"""Of the gap that proves an optimum: what a dual may exceed the penalty by, as it costs as much of the lower bound."""


def check_all_patterns(setting: Setting, architecture: Architecture, solver: str) -> None:
    """Refuse `patterns.kind: all` where no proof over all patterns is known. Raises `ParameterError`."""
    if setting.patterns.kind != "all":
        return
    if solver != "auto":
        raise ParameterError(f"patterns.kind all goes with solver auto, found {solver!r}")


def proof_cost(program: ProgramKind, setting: Setting) -> float:
    """A guess of the seconds of one proof by the oracle, as `Method.cost`.

    Cells, n = 1.5 to 5d, d = 4 to 16: doubled by four rows, whatever d, until all cells are looked at. Cones: their
    roots, 2^d. The limit `nodes` ends both.
    """
    n, d, nodes = setting.n, setting.d, setting.patterns.nodes
    if program == "exact":
        return 1e-2 + 2.5e-6 * min(2.0 ** min(d, 60), nodes)
    cells = cell_count(n, min(d, 60))
    return 5e-4 + min(1e-4 * 2.0 ** min(n / 4, 60.0), 5e-6 * min(3 * cells, nodes))


def patterns_proved(row: Measurement, kind: str) -> str | None:
    """What a verdict is about. Planted weights that are not the unique optimum over some patterns are not over all."""
    if row.verdict in (None, "undecided"):
        return None
    return "all" if kind == "exhaustive" or row.verdict != "recovered" else kind


def over_all_patterns(
    problem: PlantedProgram,
    measure: Callable[[PlantedProgram], tuple[Measurement, Array]],
    beam: int | None = None,
) -> tuple[Measurement, Array]:
    """What `measure` finds with the patterns that the search added; recovered only where it proved a dual."""
    if problem.blank or not problem.sure:
        return measure(problem)
    grown, found = grown_program(problem, beam)
    proof = None if found.lam is None else grown.ladder.proof_from(found.lam / grown.program.groups.scales)
    known = grown.drawn().having(pattern_count=None)
    if proof is not None:
        return grown.recovered(known.having(certificate="dual"), proof), grown.planted
    row, weights = measure(grown)
    if row.verdict in ("recovered", "undecided"):
        return known.undecided(found.reason if row.verdict == "recovered" else row.reason), weights
    # what else a solution over the patterns found measures, and its reason, depend on the path that found them
    return known.having(**{name: row.get(name) for name in ("recovered", "verdict", "certificate")}), weights


def grown_program(problem: PlantedProgram, beam: int | None = None) -> tuple[PlantedProgram, Generation]:
    """The program over the patterns there are and those that the search finds, and what it ended with."""
    nodes, rng = problem.instance.setting.patterns.nodes, problem.instance.streams.training
    cones = problem.program.has_cones
    found = (NeuronSearch(problem, nodes, rng) if cones else CellSearch(problem, nodes, rng, beam)).run()
    patterns = unique_patterns(problem.features, [problem.instance.patterns, found.patterns])
    return problem.over(patterns), found


@dataclass(frozen=True)
class Optimum:
    """The program over the patterns added, its solution, and a certificate whose dual is feasible for all patterns."""

    problem: PlantedProgram
    solution: Solution
    certificate: Certificate

    def measured(self) -> Measurement:
        """The columns: `patterns_proved` where the gap proves the optimum, else both its bounds as the reason."""
        problem, certificate = self.problem, self.certificate
        # how many patterns were added depends on the way to them
        row = problem.measure(problem.drawn().having(pattern_count=None), self.solution, certificate)
        row = problem.optimal(row, self.solution, certificate)
        if certificate.proves_optimal:
            return row.having(patterns_proved="all")
        if not certificate.feasible:
            return row
        between = f"{certificate.dual_objective:.9g} and {certificate.objective:.9g}"
        return row.undecided(f"the optimum over all patterns lies between {between}")


def optimum_over_all(problem: PlantedProgram, solver: str) -> Optimum:
    """Solve over patterns that are added until no dual norm exceeds the penalty, or the oracle's limit is reached."""
    instance, features = problem.instance, problem.features
    rng, nodes = instance.streams.training, instance.setting.patterns.nodes
    limit = problem.program.penalty * (1.0 + ALLOWED * problem.program.gap_tolerance)
    for step in range(1, MOST_ROUNDS + 1):
        program = problem.program
        solution, certificate = problem.solve(solver)
        if program.has_cones:
            new = violating_neurons(program, solution, limit, rng)
        else:
            new = violating_cells(program.groups, features, solution.lam, limit, rng)
        patterns = unique_patterns(features, [problem.instance.patterns, new])
        if patterns.shape[1] == problem.instance.patterns.shape[1] or step == MOST_ROUNDS:
            bounds = largest_dual(program, solution.lam, limit, nodes)
            certificate = certify(program, solution, beyond=bounds.upper)
            if bounds.lower <= limit or step == MOST_ROUNDS:
                break
            new = program.groups.base @ bounds.point[:, None] >= 0
            patterns = unique_patterns(features, [problem.instance.patterns, new])
            if patterns.shape[1] == problem.instance.patterns.shape[1]:
                break
        problem = problem.over(patterns)
    return Optimum(problem, solution, certificate)


def largest_dual(program: Program, lam: Array, limit: float, nodes: int) -> Bounds:
    """Bounds on the largest dual norm of a program's rows over all patterns, that of the skip connection among them."""
    groups = program.groups
    if program.has_cones:
        both = [exact_dual(groups, lam, sign, limit=limit, nodes=nodes) for sign in (1.0, -1.0)]
        upper = max(bounds.upper for bounds in both)
        bounds = replace(max(both, key=lambda one: one.lower), upper=upper)
    else:
        bounds = gated_dual(groups, lam, nodes=nodes)
    skip = float(np.linalg.norm(groups.base.T @ lam)) if groups.linear else 0.0
    return replace(bounds, upper=max(bounds.upper, skip))
