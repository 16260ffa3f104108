"""What every convex method does: form the program of an instance, solve it, and measure a solution against what was
planted."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from recovery.instances.draw import Instance
from recovery.methods.columns import Value
from recovery.methods.ladder import Decision, Ladder
from recovery.methods.measurement import Measurement
from recovery.methods.representation import absolute_distance, planted_weights, prediction, test_distance
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import Certificate, certify
from recovery.programs.exact import ExactProgram
from recovery.programs.program import GatedProgram, Program
from recovery.programs.solution import Solution
from recovery.solvers.table import find_solver
from recovery.types import Array

ProgramKind = Literal["gated", "exact"]
PROGRAMS: dict[str, type[Program]] = {program.kind: program for program in (GatedProgram, ExactProgram)}
"""Kind -> program."""

DEVIATION_TOLERANCE = 1e-4
"""P1's own code: recovered when every entry is within this of the planted weights."""
LOWER = 1e-7
"""A feasible objective this fraction below the planted one proves that the planted weights are not optimal."""


@dataclass(frozen=True)
class Problem:
    """The program of an instance under an architecture, and the planted weights in it."""

    instance: Instance
    architecture: Architecture
    program: Program

    @classmethod
    def of(cls, instance: Instance, architecture: Architecture, kind: str, beta: float | None = None) -> "Problem":
        """Raises `ParameterError` for an architecture that does not declare programs of this kind."""
        program = PROGRAMS[kind]
        architecture.require(program.kind)
        groups = architecture.groups(instance.X, instance.patterns)
        return cls(instance, architecture, program(groups, instance.y, beta))

    @cached_property
    def planted(self) -> Array:
        """The planted weights W*, as the program has them."""
        return planted_weights(self.program, self.instance, self.architecture)

    @property
    def noiseless(self) -> bool:
        """Whether recovery is a question at all: no noise, and something planted."""
        return self.instance.setting.noise == 0 and bool(self.planted.any())

    @cached_property
    def ladder(self) -> Ladder:
        return Ladder(self.program, self.planted)

    def drawn(self) -> Measurement:
        """What is known before anything is solved."""
        groups, instance = self.program.groups, self.instance
        return Measurement(
            pattern_count=groups.count - int(groups.linear),
            all_ones=None if instance.all_ones is None else instance.all_ones.exists,
            redraws=instance.planted.redraws,
        )

    def solve(self, solver: str) -> tuple[Solution, Certificate]:
        """What the solver finds, and what can be proved about it."""
        solution = find_solver(solver, self.program.kind)(self.program)
        return solution, certify(self.program, solution)

    def decided(self, row: Measurement, decision: Decision) -> Measurement:
        """The columns of a decision; a proved recovery has the certificate of the planted weights themselves."""
        row = row.having(
            recovered=None if decision.verdict == "undecided" else decision.verdict == "recovered",
            verdict=decision.verdict,
            certificate=decision.certificate,
            isometry_value=decision.value,
            iterations=decision.steps,
            solver=decision.solver,
        )
        return row if decision.optimum is None else self.recovered(row, decision.optimum)

    def recovered(self, row: Measurement, optimum: Solution) -> Measurement:
        """The columns of a proof that the planted weights are the unique optimum: they deviate from it by nothing."""
        certificate = certify(self.program, optimum)
        return row.having(
            recovered=True,
            verdict="recovered",
            max_deviation=0.0,
            absolute_distance=0.0,
            test_distance=0.0,
            **self.certified(certificate),
        )

    def measure(self, row: Measurement, solution: Solution, certificate: Certificate) -> Measurement:
        """A solution's certificate and its distances from the planted model."""
        program, W, planted = self.program, solution.W, self.planted
        return row.having(
            max_deviation=float(np.abs(program.coordinates_of(W) - program.coordinates_of(planted)).max()),
            absolute_distance=absolute_distance(program, W, planted),
            test_distance=test_distance(program, W, self.architecture, self.instance),
            solver=solution.solver,
            iterations=solution.iterations,
            **self.certified(certificate),
        )

    def certified(self, certificate: Certificate) -> dict[str, Value]:
        """A certificate's columns."""
        columns: dict[str, Value] = {
            "objective": certificate.objective,
            "dual_objective": certificate.dual_objective,
            "gap": certificate.gap,
            "primal_residual": certificate.primal_residual,
            "dual_violation": certificate.dual_violation,
            "active_groups": certificate.active_groups,
        }
        if self.program.has_cones:
            columns["cone_violation"] = certificate.cone_violation
        return columns

    def optimal(self, row: Measurement, certificate: Certificate) -> Measurement:
        """Where nothing can be recovered: whether the gap proves the optimum."""
        if certificate.proves_optimal:
            return row.having(certificate="gap")
        return row.having(verdict="undecided", certificate="none")

    def judge(self, row: Measurement, certificate: Certificate) -> Measurement:
        """P1's rule on a certified solution: recovered when no entry deviates by more than DEVIATION_TOLERANCE."""
        if not certificate.proves_optimal and certificate.error > DEVIATION_TOLERANCE:
            return row.having(verdict="undecided", certificate="none")
        row = row.having(certificate="gap" if certificate.proves_optimal else "none")
        if not self.ladder.feasible:
            return row.having(verdict="undecided", certificate="none")
        if row.max_deviation <= DEVIATION_TOLERANCE:
            return row.having(recovered=True, verdict="recovered")
        planted = float(self.program.norms(self.planted).sum())
        lower = certificate.proves_optimal and certificate.objective < planted * (1.0 - LOWER)
        return row.having(recovered=False, verdict="not_optimal" if lower else "not_unique")


def convex_prediction(instance: Instance, architecture: Architecture) -> Array | None:
    """The gated optimum's predictions on the test draw, X w_0 + sum_j (X w_j)_+, shape (n,) (P1, section VII).

    None without a test draw, for normalised architectures, and where no solver certified an optimum.
    """
    if instance.test is None or architecture.normalization != "none":
        return None
    problem = Problem.of(instance, architecture, "gated")
    solution, certificate = problem.solve("auto")
    if not certificate.proves_optimal:
        return None
    return prediction(problem.program, solution.W, architecture, instance.test)
