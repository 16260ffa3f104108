"""The optimum over all patterns of a program that is solved: of noisy or penalised data, where nothing is recovered.

Solve over the patterns there are, look for what violates the dual, add it, and solve again. Where the search finds
nothing more, an oracle bounds the largest dual norm M over all patterns from above. With the penalty beta, 1 for
interpolation, the dual c lam, c <= beta / M, is then feasible for all of them:
    c y.lam <= optimum (interpolation),    c y.lam - c^2 ||lam||^2 / 2 <= optimum (with a penalty).
The weights found bound it from above: they are weights over all patterns as well.
"""

from dataclasses import dataclass, replace

import numpy as np

from recovery.conditions.oracle import Bounds, exact_dual, gated_dual
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PlantedProgram
from recovery.methods.method import Measurement
from recovery.methods.searched import violating_cells, violating_neurons
from recovery.programs.certificate import Certificate, certify
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.types import Array

MOST_ROUNDS = 60
ALLOWED = 0.1
"""Of the gap that proves an optimum: what a dual may exceed the penalty by, as it costs as much of the lower bound."""


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
