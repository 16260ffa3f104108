"""Minimum-norm interpolation: is the planted model the unique interpolant of least norm? Decided before it is solved.

Under `solver: auto` a noiseless trial climbs a ladder and stops at the first rung that proves either answer:
another group with a planted group's operator (never unique); the isometry certificate (one matrix product); the
search for a dual certificate; the solve. The row says which rung decided.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.methods.columns import SOLVED, Columns, select
from recovery.methods.measurement import Measurement
from recovery.methods.representation import absolute_distance, check_representable, planted_weights, test_distance
from recovery.methods.searched import with_searched_patterns
from recovery.programs.certificate import Certificate, certify
from recovery.programs.groups import Groups, groups_of
from recovery.programs.program import Program
from recovery.programs.uniqueness import (
    examine_dual,
    planted_candidate,
    proves_not_optimal,
)
from recovery.solvers.dual_search import search_dual
from recovery.solvers.solution import Solution
from recovery.solvers.table import SOLVERS, SolverName, require
from recovery.types import Array

DEVIATION_TOLERANCE = 1e-4
"""P1's own code: recovered when every entry is within this of the planted weights."""
LOWER = 1e-7
"""A feasible objective this fraction below the planted one proves that the planted weights are not optimal."""
SEARCH_THRESHOLDS = (1.0 - 1e-3, 1.0 - 1e-6)


@dataclass(frozen=True)
class MinNorm:
    """min sum_g ||w_g|| subject to sum_g A_g w_g = y (P1, (12), (15), (17)).

    program: `gated`, the interpolation problem of the gated network; `exact`, that of the network itself.
    solver: `auto` decides before it solves; `newton`, or a conic solver of cvxpy, always solves.
    distances: solve, although the verdict is proved, for the distances of a trial that does not recover.
    """

    columns: ClassVar[Columns] = SOLVED | select("recovered", "verdict", "isometry_value")

    program: Literal["gated", "exact"] = "gated"
    solver: SolverName = "auto"
    distances: bool = False

    def __post_init__(self) -> None:
        require(self.solver)
        if self.program == "exact" and self.solver == "newton":
            raise ParameterError("solver newton is for program: gated; with program: exact use auto or a conic solver")

    def check(self, setting: Setting, architecture: str) -> None:
        """Refuse, before anything runs, what no trial of this setting could measure. Raises `ParameterError`."""
        check_representable(setting, architecture)

    def cost(self, n: int, d: int) -> float:
        products = n * d * max(n, 50) * 3e-10
        if self.program == "exact":
            return 2e-3 + 300 * products
        return 2e-4 + (5 * products if self.solver == "auto" else 2000 * products)

    def __call__(self, instance: Instance, architecture: str) -> Measurement:
        self.check(instance.setting, architecture)
        instance = with_searched_patterns(instance, architecture, self.program == "exact", None)
        if self.program == "exact":
            from recovery.methods.exact import exact_min_norm  # it builds on this module

            return exact_min_norm(instance, architecture, self.solver, self.distances)
        groups = groups_of(architecture, instance.X, instance.patterns)
        planted = planted_weights(groups, instance)
        start = drawn(instance, groups)
        if instance.setting.noise > 0 or not planted.any():
            return self._measure_noisy(start, groups, planted, instance)
        if self.solver != "auto":
            return self._judge(start, groups, planted, instance)
        decided = decide(start, groups, planted, instance.y)
        if decided.verdict == "undecided" or (self.distances and not decided.recovered):
            return self._solve_too(decided, groups, planted, instance)
        return decided

    def _solve(self, groups: Groups, y: Array) -> tuple[Solution, Certificate]:
        solution = SOLVERS[self.solver](Program(groups, y))
        return solution, certify(Program(groups, y), solution.W, solution.lam)

    def _measure_noisy(self, row: Measurement, groups: Groups, planted: Array, instance: Instance) -> Measurement:
        """With noise nothing is recovered; the distances of a certified optimum are measured."""
        solution, certificate = self._solve(groups, instance.y)
        row = measure_solution(row, groups, planted, instance, solution, certificate)
        if certificate.proves_optimal:
            return row.having(certificate="gap")
        return row.having(verdict="undecided", certificate="none")

    def _judge(self, row: Measurement, groups: Groups, planted: Array, instance: Instance) -> Measurement:
        """The papers' route: solve, and compare the solution with the planted weights."""
        solution, certificate = self._solve(groups, instance.y)
        row = measure_solution(row, groups, planted, instance, solution, certificate)
        return judge(row, certificate, planted)

    def _solve_too(self, decided: Measurement, groups: Groups, planted: Array, instance: Instance) -> Measurement:
        """Add a solution's distances to a verdict; an open verdict is settled where a better interpolant is found."""
        solution, certificate = self._solve(groups, instance.y)
        row = measure_solution(decided, groups, planted, instance, solution, certificate)
        if decided.verdict == "undecided" and certificate.proves_optimal and row.max_deviation is not None:
            if row.max_deviation > DEVIATION_TOLERANCE:  # another interpolant: a better one, or one as good
                return judge(row, certificate, planted)
            return row.having(certificate="none")
        return row


def drawn(instance: Instance, groups: Groups) -> Measurement:
    """What is known of a trial before anything is solved."""
    return Measurement(
        pattern_count=groups.count - int(groups.linear),
        all_ones=None if instance.all_ones is None else instance.all_ones.exists,
        redraws=instance.planted.redraws,
    )


def decide(row: Measurement, groups: Groups, W: Array, y: Array) -> Measurement:
    """Climb the ladder for noiseless planted weights W (p, r), short of a solve; `undecided` where no rung proves."""
    if any(groups.duplicates_of(int(g)).size for g in np.flatnonzero(W.any(axis=1))):
        return row.having(recovered=False, verdict="not_unique", certificate="duplicate")
    planted = planted_candidate(groups, W)
    if not planted.distinct:
        return row.having(recovered=False, verdict="not_unique", certificate="duplicate")
    if planted.lam is None:
        return row.having(verdict="undecided", certificate="none")
    value, proved = examine_dual(groups, planted, planted.lam)
    row = row.having(isometry_value=value)
    if proved:
        return _recovered(row.having(certificate="isometry", iterations=0), groups, W, y, planted.lam)
    steps = 0
    for threshold in SEARCH_THRESHOLDS:
        found = search_dual(groups, planted.support, planted.frame, planted.lam, threshold)
        steps += found.steps
        row = row.having(certificate="dual", iterations=steps, solver="newton")
        if examine_dual(groups, planted, found.lam)[1]:
            return _recovered(row, groups, W, y, found.lam)
        if proves_not_optimal(groups, planted, found.excess):
            return row.having(recovered=False, verdict="not_optimal")
    return row.having(verdict="undecided", certificate="none")


def _recovered(row: Measurement, groups: Groups, W: Array, y: Array, lam: Array) -> Measurement:
    """A proved recovery: the planted weights are the solution, so every distance is zero."""
    certificate = certify(Program(groups, y), W, lam)
    row = row.having(recovered=True, verdict="recovered", **certified(certificate))
    return row.having(max_deviation=0.0, absolute_distance=0.0, test_distance=0.0)


def judge(row: Measurement, certificate: Certificate, planted: Array) -> Measurement:
    """P1's rule on a certified solution: recovered when no entry deviates by more than DEVIATION_TOLERANCE."""
    deviation = np.inf if row.max_deviation is None else row.max_deviation
    if not certificate.proves_optimal and certificate.error > DEVIATION_TOLERANCE:
        return row.having(verdict="undecided", certificate="none")
    row = row.having(certificate="gap" if certificate.proves_optimal else "none")
    if deviation <= DEVIATION_TOLERANCE:
        return row.having(recovered=True, verdict="recovered")
    planted_norm = float(np.linalg.norm(planted, axis=1).sum())
    lower = certificate.proves_optimal and certificate.objective < planted_norm * (1.0 - LOWER)
    return row.having(recovered=False, verdict="not_optimal" if lower else "not_unique")


def measure_solution(
    row: Measurement, groups: Groups, planted: Array, instance: Instance, solution: Solution, certificate: Certificate
) -> Measurement:
    """A solution's certificate and its distances from the planted model."""
    return row.having(
        max_deviation=float(np.abs(solution.W - planted).max()),
        absolute_distance=absolute_distance(solution.W, planted),
        test_distance=None
        if instance.test is None
        else test_distance(groups, solution.W, instance.test, instance.planted),
        solver=solution.solver,
        iterations=solution.iterations,
        **certified(certificate),
    )


def certified(certificate: Certificate) -> dict[str, Any]:
    """A certificate's columns."""
    return {
        "objective": certificate.objective,
        "dual_objective": certificate.dual_objective,
        "gap": certificate.gap,
        "primal_residual": certificate.primal_residual,
        "dual_violation": certificate.dual_violation,
        "active_groups": certificate.active_groups,
    }
