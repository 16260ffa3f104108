"""The convex program of an instance: formed, solved, and its solution measured against the planted weights."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from recovery.conditions.oracle import Bounds
from recovery.conditions.ties import neighbours, reaches, twins
from recovery.instances.draw import Instance
from recovery.methods.cascade import NOT_PLANTED, UNSOUGHT, Cascade, Decision
from recovery.methods.interpolant import interpolant_near
from recovery.methods.method import Evidence, Measurement
from recovery.methods.representation import (
    absolute_distance,
    dead_neurons,
    planted_groups,
    planted_neurons,
    planted_rows,
    planted_weights,
    test_distance,
)
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import Certificate, Certified, certify
from recovery.programs.exact import ExactProgram
from recovery.programs.norms import L2, Norm
from recovery.programs.orthonormal import ranks_are_sure
from recovery.programs.program import GatedProgram, Program
from recovery.programs.solution import Outcome, Solution
from recovery.solvers.conic import MODULES
from recovery.solvers.table import find_solver
from recovery.types import Array, Mask, Scalar

ProgramKind = Literal["gated", "exact"]
Confinement = Literal["row_space", "none"]
PROGRAMS: dict[str, type[Program]] = {program.kind: program for program in (GatedProgram, ExactProgram)}
"""Kind of a program -> its class."""

DEVIATION_TOLERANCE = 1e-4
"""Recovered when every entry of the weights is within this distance of W*, as in the published code of P1."""
UNSURE = "rows of very different norms: rounding decides the ranges of normalised neurons"
BLANK = "the planted weights are zero on the data: there is nothing to recover"
DEAD = "a planted neuron is active on no row: no program has a group for it"
CANCELLED = "planted neurons cancel up to rounding: it decides what is left of them"
CANCELLING = 1e-10
"""If the sum of the planted neurons of a group is smaller than their norms by this factor, rounding decides it."""
OPEN_TIE = "another interpolant costs the same up to rounding"
OPEN_RESIDUAL = "a solution costs less, and what it misses of the labels may be worth more"
"""Reason where rows are nearly dependent. There a residual of 1e-9 reduced the sum of norms by 18 %."""
LOWER = 1e-7
"""An interpolant that costs less than the planted weights by this fraction proves them not optimal. Rounding in sums of
norms is far smaller."""
SMALL = 10_000
"""Largest n p r, the entries of all A_g, at which a program is solved to look for a cheaper interpolant after a tie."""


@dataclass(frozen=True)
class PlantedProgram:
    """The convex program of an instance for an architecture, with the planted weights in it."""

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
        norm: Norm = L2,
    ) -> "PlantedProgram":
        """Form the program of an instance. Raises `ParameterError` if the architecture has no programs of this kind.

        Only exact programs over sampled patterns are confined. Over all patterns, as in P1's (5), confinement excludes
        no neuron, and searched and exhaustive patterns represent all patterns.
        """
        program = PROGRAMS[kind]
        architecture.require(program.kind)
        groups = architecture.groups(instance.X, instance.patterns)
        confined = program.has_cones and confinement == "row_space" and instance.setting.patterns.kind == "sampled"
        groups = replace(groups, confined=confined and groups.orthonormal)
        return cls(instance, architecture, program(groups, instance.y, beta, norm))

    def over(self, patterns: Mask) -> "PlantedProgram":
        """Return the same program over these patterns (n, p), not confined."""
        program = self.program
        groups = replace(self.architecture.groups(self.instance.X, patterns), confined=False)
        return replace(
            self,
            instance=self.instance.with_patterns(patterns),
            program=replace(program, groups=groups),
        )

    @cached_property
    def planted(self) -> Array:
        """The planted weights W* in the variables of the program."""
        return planted_weights(self.program, self.instance, self.architecture)

    @cached_property
    def planted_cost(self) -> float:
        """The sum of the norms of the planted weights."""
        return float(self.program.norms(self.planted).sum())

    @property
    def small(self) -> bool:
        """Whether a solve takes only a few hundredths of a second."""
        groups = self.program.groups
        return groups.n * groups.count * groups.rank <= SMALL

    @property
    def noiseless(self) -> bool:
        """Whether labels have no noise, so that recovery is well defined."""
        return self.instance.setting.noise == 0

    @property
    def blank(self) -> bool:
        """Whether the planted weights and the labels are zero on the data."""
        return not self.instance.y.any() and not self.planted.any()

    @cached_property
    def ill_posed(self) -> str | None:
        """Reason why recovery is ill-posed or undecidable in double precision, or None."""
        if self.blank:
            return BLANK
        if dead_neurons(self.instance, self.architecture):
            return DEAD
        if not self.ranks_are_sure:
            return UNSURE
        if planted_neurons(self.instance).directions.shape[1] == 1:
            return None
        whole = np.zeros(self.program.size)
        for k, value in planted_rows(self.program, self.instance, self.architecture):
            whole[k] += float(np.linalg.norm(value))
        left = np.linalg.norm(self.planted, axis=1)
        return CANCELLED if bool(((left > 0) & (left < CANCELLING * whole)).any()) else None

    @cached_property
    def ranks_are_sure(self) -> bool:
        """Whether rounding does not decide the ranks of the groups of normalised neurons."""
        instance = self.instance
        return not self.architecture.normalized or ranks_are_sure(
            self.architecture.features(instance.X), instance.patterns
        )

    @cached_property
    def cascade(self) -> Cascade:
        return Cascade(self.program, self.features, self.planted, self.tied)

    @cached_property
    def features(self) -> Array:
        """The features that the neurons act on, (n, d')."""
        return self.architecture.features(self.instance.X)

    @cached_property
    def tied(self) -> bool:
        """Whether another group can hold a planted neuron at the same cost, so that W* is not the only optimum."""
        return any(
            twins(F, patterns, w, own, alone=alone, free=free).size
            for F, patterns, w, own, alone, free in self._planted_groups()
        )

    def shares_its_cost(self) -> bool:
        """Return whether another group has a planted neuron's image at the same cost (`recovery.conditions.ties`)."""
        if self.tied or not self.architecture.normalizes_after:
            return self.tied
        return any(
            alone and reaches(F, patterns, w, own, cones=self.program.has_cones)
            for F, patterns, w, own, alone, _ in self._planted_groups()
        )

    def neighbours(self) -> Mask:
        """Return patterns (n, k): two cells at each planted neuron that is on a hyperplane up to rounding, as their
        costs may be equal.
        """
        found = [np.empty((len(self.features), 0), dtype=np.bool_)]
        for F, patterns, w, own, _, free in self._planted_groups():
            if free:
                found.append(neighbours(F, w, patterns[:, own]))
        return np.hstack(found)

    def _planted_groups(self) -> Iterator[tuple[Array, Mask, Array, int, bool, bool]]:
        """Yield features, patterns, and each planted neuron with its group; whether no other planted neuron shares the
        group, and whether the neuron may be in any cone. These are the arguments of `twins`."""
        neurons, patterns = planted_neurons(self.instance), self.program.groups.patterns
        F, H = self.features, self.architecture.lift(neurons.directions, self.instance.X)
        if neurons.linear:
            yield F, patterns, H @ neurons.signs, 0, True, not self.program.has_cones
            return
        planted = planted_groups(self.program, self.instance, self.architecture)
        owners = [g for _, g in planted]
        for i, g in planted:
            yield F, patterns, H[:, i], g, owners.count(g) == 1, True

    def drawn(self) -> Measurement:
        """Return the columns that the draw of the instance determines, before any solve."""
        groups, instance = self.program.groups, self.instance
        row = Measurement(
            pattern_count=groups.count - int(groups.linear),
            all_ones=None if instance.all_ones is None else instance.all_ones.exists,
            redraws=instance.planted.redraws,
        )
        return row.supported_by(Evidence(self.program))

    def solve(self, solver: str) -> tuple[Solution, Certificate]:
        """Solve the program by the solver of this name, as `solve` does."""
        return solve(self.program, solver)

    def decided(self, row: Measurement, decision: Decision) -> Measurement:
        """Return the row with the columns of a decision, and for a recovery the certificate of the planted weights."""
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

    def recovered(self, row: Measurement, proof: Certified) -> Measurement:
        """Return the row with the columns of a proof that the planted weights are the unique optimum: deviations 0."""
        return row.supported_by(Evidence(self.program, proof)).having(
            recovered=True,
            verdict="recovered",
            reason=None,
            max_deviation=0.0,
            absolute_distance=0.0,
            test_distance=0.0,
            **self.certified(proof.certificate),
        )

    def measure(
        self, row: Measurement, solution: Solution, certificate: Certificate, bounds: Bounds | None = None
    ) -> Measurement:
        """Return the row with the certificate of a solution and its distances from the planted model.

        bounds: on the dual norms over all patterns.
        """
        program, W, planted = self.program, solution.W, self.planted
        return row.supported_by(Evidence(program, Certified(solution, certificate), bounds)).having(
            max_deviation=float(np.abs(program.coordinates_of(W) - program.coordinates_of(planted)).max(initial=0.0)),
            absolute_distance=absolute_distance(program, W, planted),
            test_distance=test_distance(program, W, self.architecture, self.instance),
            solver=solution.solver,
            iterations=solution.iterations,
            **self.certified(certificate),
        )

    def certified(self, certificate: Certificate) -> dict[str, Scalar]:
        """Return the columns of a certificate."""
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
        """Return the row of a trial with noise or a penalty: its optimum proved by the gap, or undecided and why."""
        if certificate.proves_optimal:
            return row.having(certificate="gap")
        return row.undecided(shortfall(solution, certificate))

    def settle(self, row: Measurement, solution: Solution, certificate: Certificate) -> Measurement:
        """Return the row with the verdict that a solution proves where the cascade settled none, or why none is proved.

        A cheaper interpolant proves W* not optimal, once the cost of interpolating its residual is added. Another
        interpolant of equal cost proves nothing, because of rounding, unless a group is known to share the cost.
        """
        if not self.cascade.feasible:
            return row.undecided(row.reason)
        if self.is_cheaper(solution.W):
            reason = None if row.reason == UNSOUGHT else row.reason
            return row.having(recovered=False, verdict="not_optimal", certificate="gap", reason=reason)
        if row.verdict == "not_unique":
            limit = self.planted_cost * (1.0 - LOWER)
            lower = OPEN_RESIDUAL if certificate.objective < limit else "no cheaper interpolant was found"
            return row.having(reason=None if certificate.dual_objective >= limit else lower)
        elsewhere = certificate.proves_optimal and row.max_deviation > DEVIATION_TOLERANCE
        if elsewhere and self.shares_its_cost():
            return row.having(recovered=False, verdict="not_unique", certificate="gap")
        if certificate.objective < self.planted_cost * (1.0 - LOWER):
            return row.undecided(OPEN_RESIDUAL)
        reason = OPEN_TIE if elsewhere else f"{row.reason}; a solve: {solution.outcome.value}"
        return row.undecided(reason)

    def judge(self, row: Measurement, solution: Solution, certificate: Certificate) -> Measurement:
        """Return the row with P1's verdict on a solution: recovered if no entry deviates beyond DEVIATION_TOLERANCE.

        Undecided if the certificate neither proves an optimum nor has an error that small.
        """
        if not certificate.proves_optimal and certificate.error > DEVIATION_TOLERANCE:
            return row.undecided(shortfall(solution, certificate))
        if not self.cascade.feasible:
            return row.undecided(NOT_PLANTED)
        row = row.having(certificate="gap" if certificate.proves_optimal else "none")
        if row.max_deviation <= DEVIATION_TOLERANCE:
            return row.having(recovered=True, verdict="recovered")
        lower = certificate.proves_optimal and self.is_cheaper(solution.W)
        return row.having(recovered=False, verdict="not_optimal" if lower else "not_unique")

    def is_cheaper(self, W: Array) -> bool:
        """Return whether some interpolant near W costs less than the planted weights."""
        limit = self.planted_cost * (1.0 - LOWER)
        if not float(self.program.norms(W).sum()) < limit:
            return False
        near = interpolant_near(self.program, self.features, W, self.planted)
        return near is not None and near.cost < limit


def solve(program: Program, solver: str) -> tuple[Solution, Certificate]:
    """Solve the balanced program; return the solution in the units of this program, and its certificate for it."""
    balanced = program.balanced()
    solution = find_solver(solver, program.kind)(balanced)
    if balanced is not program:
        solution = solution.unbalanced(program.groups.scales)
    return solution, certify(program, solution)


def shortfall(solution: Solution, certificate: Certificate) -> str:
    """Return why a solution is no proof. A conic solver that ends at its own tolerance calls its solution optimal."""
    if solution.solver in MODULES and solution.outcome in (Outcome.SOLVED, Outcome.NEARLY_SOLVED):
        return certificate.shortfall
    return f"a solve: {solution.outcome.value}"
