"""What every convex method does: form the program of an instance, solve it, and measure a solution against what was
planted."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from recovery.conditions.ties import reaches, twins
from recovery.instances.draw import Instance
from recovery.instances.patterns import patterns_of
from recovery.methods.interpolant import interpolant_near
from recovery.methods.ladder import NOT_PLANTED, UNSOUGHT, Decision, Ladder
from recovery.methods.method import Measurement
from recovery.methods.representation import (
    absolute_distance,
    dead_neurons,
    planted_neurons,
    planted_rows,
    planted_weights,
    test_distance,
)
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import Certificate, certify
from recovery.programs.exact import ExactProgram
from recovery.programs.orthonormal import ranks_are_sure
from recovery.programs.program import GatedProgram, Program
from recovery.programs.solution import Solution
from recovery.solvers.table import find_solver
from recovery.types import Array, Mask, Scalar

ProgramKind = Literal["gated", "exact"]
Confinement = Literal["row_space", "none"]
PROGRAMS: dict[str, type[Program]] = {program.kind: program for program in (GatedProgram, ExactProgram)}
"""Kind -> program."""

DEVIATION_TOLERANCE = 1e-4
"""P1's own code: recovered when every entry is within this of the planted weights."""
UNSURE = "rows of very different norms: rounding decides the ranges of normalised neurons"
BLANK = "the planted weights are zero on the data: there is nothing to recover"
DEAD = "a planted neuron is active on no row: no program has a group for it"
CANCELLED = "planted neurons cancel up to rounding: it decides what is left of them"
CANCELLING = 1e-10
"""Planted neurons of one group add up to weights this much smaller than they are by rounding."""
OPEN_TIE = "another interpolant costs the same up to rounding"
"""Why a verdict is open where a solution is as good as the planted weights."""
OPEN_RESIDUAL = "a solution costs less, and what it misses of the labels may be worth more"
"""Why it is open where rows are nearly dependent: a residual of 1e-9 there has bought 18 % of the norm."""
LOWER = 1e-7
"""An interpolant whose cost is at most this fraction below the planted one proves them not optimal: far above what
rounding leaves in sums of norms."""

SMALL = 10_000
"""Entries of all operators up to which planted weights that share their cost are put to a solve."""


@dataclass(frozen=True)
class PlantedProgram:
    """The program of an instance under an architecture, and the planted weights in it."""

    instance: Instance
    architecture: Architecture
    program: Program

    @classmethod
    def of(
        cls,
        instance: Instance,
        architecture: Architecture,
        kind: str,
        beta: float | None = None,
        confinement: Confinement = "row_space",
    ) -> "PlantedProgram":
        """Raises `ParameterError` for an architecture that does not declare programs of this kind.

        Searched and exhaustive patterns stand for all of P1's (5), over which confined neurons are no fewer: there, and
        in gated programs, nothing is confined.
        """
        program = PROGRAMS[kind]
        architecture.require(program.kind)
        groups = architecture.groups(instance.X, instance.patterns)
        if program.has_cones and confinement == "row_space" and instance.setting.patterns.kind == "sampled":
            groups = replace(groups, confined=groups.orthonormal)
        return cls(instance, architecture, program(groups, instance.y, beta))

    def over(self, patterns: Mask) -> "PlantedProgram":
        """The same program over these patterns (n, p)."""
        program = self.program
        groups = self.architecture.groups(self.instance.X, patterns)
        return replace(
            self,
            instance=self.instance.with_patterns(patterns),
            program=type(program)(groups, program.y, program.beta),
        )

    @cached_property
    def planted(self) -> Array:
        """The planted weights W*, as the program has them."""
        return planted_weights(self.program, self.instance, self.architecture)

    @cached_property
    def planted_cost(self) -> float:
        """The sum of the planted weights' norms."""
        return float(self.program.norms(self.planted).sum())

    @property
    def small(self) -> bool:
        """Whether a solve takes some hundredths of a second only."""
        groups = self.program.groups
        return groups.n * groups.count * groups.rank <= SMALL

    @property
    def noiseless(self) -> bool:
        """Whether recovery is a question at all."""
        return self.instance.setting.noise == 0

    @property
    def blank(self) -> bool:
        """Whether the planted weights are zero on the data, and so are the labels."""
        return not self.instance.y.any() and not self.planted.any()

    @cached_property
    def unasked(self) -> str | None:
        """Why recovery is no question here, or why rounding leaves it open."""
        if self.blank:
            return BLANK
        if dead_neurons(self.instance, self.architecture):
            return DEAD
        if not self.sure:
            return UNSURE
        if planted_neurons(self.instance).directions.shape[1] == 1:
            return None
        whole = np.zeros(self.program.size)
        for k, value in planted_rows(self.program, self.instance, self.architecture):
            whole[k] += float(np.linalg.norm(value))
        left = np.linalg.norm(self.planted, axis=1)
        return CANCELLED if bool(((left > 0) & (left < CANCELLING * whole)).any()) else None

    @cached_property
    def sure(self) -> bool:
        """Whether rounding leaves alone what normalised neurons can do, so that verdicts on them mean something."""
        instance = self.instance
        return not self.architecture.normalized or ranks_are_sure(
            self.architecture.features(instance.X), instance.patterns
        )

    @cached_property
    def ladder(self) -> Ladder:
        return Ladder(self.program, self.features, self.planted, self.tied)

    @cached_property
    def features(self) -> Array:
        """What the neurons act on, (n, d')."""
        return self.architecture.features(self.instance.X)

    @cached_property
    def tied(self) -> bool:
        """Whether another group is a planted neuron's twin: the planted weights are then not the only optimum."""
        return any(
            twins(F, patterns, w, own, alone=alone, free=free).size
            for F, patterns, w, own, alone, free in self._seats()
        )

    def shares_its_cost(self) -> bool:
        """Whether another group reaches a planted neuron's image at the same cost, by `ties`."""
        if self.tied or not self.architecture.normalizes_after:
            return self.tied
        return any(
            alone and reaches(F, patterns, w, own, cones=self.program.has_cones)
            for F, patterns, w, own, alone, _ in self._seats()
        )

    def _seats(self) -> Iterator[tuple[Array, Mask, Array, int, bool, bool]]:
        """Features, patterns, and each planted neuron with its group, whether it is alone there, and free of cones."""
        neurons, groups = planted_neurons(self.instance), self.program.groups
        X = self.instance.X
        F, H = self.architecture.features(X), self.architecture.lift(neurons.directions, X)
        if neurons.linear:
            yield F, groups.patterns, H @ neurons.signs, 0, True, not self.program.has_cones
            return
        H = np.delete(H, dead_neurons(self.instance, self.architecture), axis=1)
        owners = [groups.find(pattern) for pattern in patterns_of(F, H).T]
        for w, own in zip(H.T, owners, strict=True):
            yield F, groups.patterns, w, own, owners.count(own) == 1, True

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
        even = self.program.balanced()
        solution = find_solver(solver, self.program.kind)(even)
        if even is not self.program:
            solution = solution.unbalanced(self.program.groups.scales)
        return solution, certify(self.program, solution)

    def decided(self, row: Measurement, decision: Decision) -> Measurement:
        """The columns of a decision; a proved recovery has the certificate of the planted weights themselves."""
        row = row.having(
            recovered=None if decision.verdict == "undecided" else decision.verdict == "recovered",
            verdict=decision.verdict,
            certificate=decision.certificate,
            isometry_value=decision.value,
            reason=decision.reason,
            iterations=decision.steps,
            solver=decision.solver,
        )
        return row if decision.proof is None else self.recovered(row, decision.proof)

    def recovered(self, row: Measurement, certificate: Certificate) -> Measurement:
        """The columns of a proof that the planted weights are the unique optimum: they deviate from it by nothing."""
        return row.having(
            recovered=True,
            verdict="recovered",
            reason=None,
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

    def certified(self, certificate: Certificate) -> dict[str, Scalar]:
        """A certificate's columns."""
        columns: dict[str, Scalar] = {
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

    def optimal(self, row: Measurement, solution: Solution, certificate: Certificate) -> Measurement:
        """Where nothing can be recovered: whether the gap proves the optimum."""
        if certificate.proves_optimal:
            return row.having(certificate="gap")
        return row.undecided(f"a solve: {solution.outcome.value}")

    def settle(self, row: Measurement, solution: Solution, certificate: Certificate) -> Measurement:
        """What a solution proves of planted weights that the ladder left open, or why it proves nothing.

        A better interpolant proves them not optimal, once its residual is interpolated and paid for. Another
        interpolant of the same cost proves nothing that rounding could not undo, unless the tie has a reason.
        """
        if not self.ladder.feasible:
            return row.undecided(row.reason)
        if self.is_cheaper(solution.W):
            reason = None if row.reason == UNSOUGHT else row.reason
            return row.having(recovered=False, verdict="not_optimal", certificate="gap", reason=reason)
        if row.verdict == "not_unique":
            least = certificate.dual_objective >= self.planted_cost * (1.0 - LOWER)
            return row.having(reason=None if least else "no cheaper interpolant was found")
        elsewhere = certificate.proves_optimal and row.max_deviation > DEVIATION_TOLERANCE
        if elsewhere and self.shares_its_cost():
            return row.having(recovered=False, verdict="not_unique", certificate="gap")
        if certificate.objective < self.planted_cost * (1.0 - LOWER):
            return row.undecided(OPEN_RESIDUAL)
        reason = OPEN_TIE if elsewhere else f"{row.reason}; a solve: {solution.outcome.value}"
        return row.undecided(reason)

    def judge(self, row: Measurement, solution: Solution, certificate: Certificate) -> Measurement:
        """P1's rule on a certified solution: recovered when no entry deviates by more than DEVIATION_TOLERANCE."""
        if not certificate.proves_optimal and certificate.error > DEVIATION_TOLERANCE:
            return row.undecided(f"a solve: {solution.outcome.value}")
        if not self.ladder.feasible:
            return row.undecided(NOT_PLANTED)
        row = row.having(certificate="gap" if certificate.proves_optimal else "none")
        if row.max_deviation <= DEVIATION_TOLERANCE:
            return row.having(recovered=True, verdict="recovered")
        lower = certificate.proves_optimal and self.is_cheaper(solution.W)
        return row.having(recovered=False, verdict="not_optimal" if lower else "not_unique")

    def is_cheaper(self, W: Array) -> bool:
        """Whether an interpolant near W costs less than the planted weights."""
        limit = self.planted_cost * (1.0 - LOWER)
        if not float(self.program.norms(W).sum()) < limit:
            return False
        near = interpolant_near(self.program, self.features, W, self.planted)
        return near is not None and near.cost < limit
