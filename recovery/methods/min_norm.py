"""The least norm, as an interpolant, as a penalty or of one linear neuron: is the planted model the unique optimum?

Under `solver: auto` a noiseless trial is decided before it is solved (`recovery.methods.ladder`); the row says which
rung decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt

from recovery.errors import ParameterError
from recovery.instances.arrangements import MOST_CELLS, cell_count
from recovery.instances.draw import Instance, Setting
from recovery.methods.columns import SOLVED, Columns, select
from recovery.methods.convex import DEVIATION_TOLERANCE, Confinement, PlantedProgram, ProgramKind
from recovery.methods.generation import (
    check_all_patterns,
    optimum_over_all,
    over_all_patterns,
    patterns_proved,
    proof_cost,
)
from recovery.methods.ladder import Decision
from recovery.methods.method import Measurement
from recovery.methods.representation import check_representable, planted_neurons
from recovery.methods.searched import with_searched_patterns
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import active_groups, relative
from recovery.programs.networks import merge, network_of
from recovery.solvers.table import find_solver
from recovery.types import Array

SEARCH_SOLVES: dict[ProgramKind, int] = {"gated": 30, "exact": 5}
"""A search for patterns takes about as long as so many solves."""


def solve_cost(program: ProgramKind, setting: Setting) -> float:
    """A guess of the seconds that solves take, as `Method.cost`: by n and the patterns, as measured under noise.

    For n = 40 to 400 and sampled patterns, d = 10 to 100 moves the time by a factor of 2 (normalised) or 3 (skip).
    """
    patterns = setting.patterns.samples(setting.n)
    if setting.patterns.kind == "exhaustive":
        patterns = min(cell_count(setting.n, min(setting.d, MOST_CELLS.bit_length())), MOST_CELLS)
    work = setting.n * patterns
    seconds = 2e-2 + 2.5e-6 * work if program == "gated" else 3e-2 + 3e-5 * work
    return seconds * (SEARCH_SOLVES[program] if setting.patterns.kind in ("searched", "all") else 1)


PROOFS: dict[ProgramKind, int] = {"gated": 8, "exact": 1}
"""Proofs that column generation asks the oracle for, in the mean near the transition."""


class _Solved:
    """What programs of both kinds share: what they refuse, and what a solve takes."""

    program: ProgramKind
    solver: str

    def __post_init__(self) -> None:
        find_solver(self.solver, self.program)

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse, before anything runs, what no trial of this setting could measure. Raises `ParameterError`."""
        architecture.require(self.program)
        check_representable(setting, architecture)
        check_all_patterns(setting, architecture, self.solver)

    def cost(self, n: int, d: int) -> float:
        return self.setting_cost(Setting(n, d))

    def setting_cost(self, setting: Setting) -> float:
        """Seconds of a solve."""
        return solve_cost(self.program, setting)


@dataclass(frozen=True)
class MinNorm(_Solved):
    """min sum_g ||w_g|| subject to sum_g A_g w_g = y (P1, (12), (15), (17)).

    program: `gated`, the interpolation problem of the gated network; `exact`, that of the network itself.
    solver: `auto` decides before it solves; `newton`, or a conic solver of cvxpy, always solves.
    distances: solve, although the verdict is proved, for the distances of a trial that does not recover.
    confinement: of neurons normalised after the ReLU, in exact programs over sampled patterns: `row_space` keeps those
    of pattern D_j in the row space of D_j X, as (16) does; `none` lets them be any that have the pattern.
    beam: the width of a beam search for cells that violate a gated program's dual. Searched patterns add its cells to
    those of the climbs; over all patterns it goes before each proof, which then is asked less often.
    """

    columns: ClassVar[Columns] = SOLVED | select("recovered", "verdict", "reason", "patterns_proved", "isometry_value")

    program: ProgramKind = "gated"
    solver: str = "auto"
    distances: bool = False
    confinement: Confinement = field(default="row_space", metadata={"later": True})
    beam: Annotated[int, Ge(1)] | None = field(default=None, metadata={"later": True})

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse, before anything runs, what no trial of this setting could measure. Raises `ParameterError`."""
        super().check(setting, architecture)
        if self.beam is not None and (self.program != "gated" or architecture.normalizes_after):
            raise ParameterError(
                "beam is known to the gated program of networks without normalised ReLU neurons only; leave it out"
            )

    def setting_cost(self, setting: Setting) -> float:
        """Seconds: of a solve, or of a decision; few rows leave one on an exact program to a solve for a centre."""
        n, d = setting.n, setting.d
        if setting.patterns.kind == "all" and setting.noise == 0:
            return 5e-3 + PROOFS[self.program] * proof_cost(self.program, setting)
        if setting.noise > 0 or self.solver != "auto" or setting.patterns.kind == "searched":
            return solve_cost(self.program, setting)
        if self.program == "exact" and n < 1.5 * d:
            return 0.1 + 5e-5 * d**2 + (1.5e-4 * n**2 if n < 1.25 * d else 0.0)
        return 2.5e-3 + 2.5e-7 * n * d

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        instance = with_searched_patterns(instance, architecture, self.program, None, self.beam)
        problem = PlantedProgram.of(instance, architecture, self.program, confinement=self.confinement)
        if instance.setting.patterns.kind == "all" and not problem.noiseless:
            return optimum_over_all(problem, self.solver).measured()
        if instance.setting.patterns.kind == "all":
            row, weights = over_all_patterns(problem, self._measure, self.beam)
        else:
            row, weights = self._measure(problem)
        row = row.having(patterns_proved=patterns_proved(row, instance.setting.patterns.kind))
        return row.recording(_network(problem, weights)) if self.distances else row

    def _measure(self, problem: PlantedProgram) -> tuple[Measurement, Array]:
        """The measurement, and the weights that it is of."""
        row = problem.drawn()
        if problem.noiseless and problem.unasked is not None:
            return row.undecided(problem.unasked), problem.planted
        if not problem.noiseless or self.solver != "auto":
            solution, certificate = problem.solve(self.solver)
            row = problem.measure(row, solution, certificate)
            finish = problem.judge if problem.noiseless else problem.optimal
            return finish(row, solution, certificate), solution.W
        decision = problem.ladder.climb()
        row = problem.decided(row, decision)
        open_ = decision.verdict == "undecided" or (decision.verdict == "not_unique" and problem.small)
        if decision.verdict == "recovered" or not (open_ or self.distances):
            return row, problem.planted
        return self._solve_too(problem, row, decision)

    def _solve_too(self, problem: PlantedProgram, row: Measurement, decision: Decision) -> tuple[Measurement, Array]:
        """Add a solution's distances to a verdict; an open one is settled by its dual, or by a better interpolant."""
        solution, certificate = problem.solve(self.solver)
        measured = problem.measure(row, solution, certificate)
        if decision.verdict == "not_optimal":
            return measured, solution.W
        if decision.verdict == "undecided" and (proof := problem.ladder.proof_from(solution.lam)) is not None:
            proved = measured.having(recovered=True, verdict="recovered", certificate="dual")
            return problem.recovered(proved, proof), solution.W
        return problem.settle(measured, solution, certificate), solution.W


def _network(problem: PlantedProgram, V: Array) -> Mapping[str, Array] | None:
    """The network of weights V, f(x) = linear.x + sum_i sizes_i (neurons_i.x)_+, as a record for its drawing.

    `data` (1, n, 2), `labels` (1, n), `neurons` (1, m, 2), `sizes` (1, m), `linear` (1, 2), as
    `recovery.report.figures.trajectories` draws them; None but for an exact program of plain neurons with two inputs.
    """
    architecture, instance = problem.architecture, problem.instance
    plain = not architecture.normalized and architecture.slope == 0.0
    if not problem.program.has_cones or not plain or instance.X.shape[1] != 2 or problem.program.groups.rank != 2:
        return None
    small = merge(network_of(problem.program, V, architecture))
    unit = small.inner / np.linalg.norm(small.inner, axis=1, keepdims=True)
    return {
        "data": instance.X[None],
        "labels": instance.y[None],
        "neurons": unit[None],
        "sizes": small.sizes()[None],
        "linear": np.zeros((1, 2)) if small.skip is None else small.skip[None],
    }


@dataclass(frozen=True)
class Regularized(_Solved):
    """min 1/2 ||sum_g A_g w_g - y||^2 + beta sum_g ||w_g||; `support_recovered`: only the planted groups are active.

    scaling: `half` is the program above, to which training with weight decay beta is equivalent (P1, (9));
    `printed` leaves out the 1/2, as P1 prints (27), (28), (211), (212): it is the program above at beta / 2.
    confinement: of neurons normalised after the ReLU, in exact programs over sampled patterns: `row_space` keeps those
    of pattern D_j in the row space of D_j X, as (16) does; `none` lets them be any that have the pattern.
    """

    columns: ClassVar[Columns] = SOLVED | select("verdict", "reason", "patterns_proved", "support_recovered")

    beta: Annotated[float, Gt(0)]
    program: ProgramKind = "gated"
    solver: str = "auto"
    scaling: Literal["half", "printed"] = "half"
    confinement: Confinement = field(default="row_space", metadata={"later": True})

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        beta = self.beta if self.scaling == "half" else self.beta / 2
        instance = with_searched_patterns(instance, architecture, self.program, beta)
        problem = PlantedProgram.of(instance, architecture, self.program, beta, self.confinement)
        if instance.setting.patterns.kind == "all":
            best = optimum_over_all(problem, self.solver)
            problem, solution, certificate, row = best.problem, best.solution, best.certificate, best.measured()
        else:
            solution, certificate = problem.solve(self.solver)
            row = problem.optimal(problem.measure(problem.drawn(), solution, certificate), solution, certificate)
        if not certificate.proves_optimal:
            return row
        active = active_groups(problem.program.norms(solution.W))
        same = bool((active == problem.planted.any(axis=1)).all()) and bool(active.any())
        return row.having(support_recovered=same)


@dataclass(frozen=True)
class LeastSquares:
    """w = pinv(X) y, the baseline beside every network; a planted linear model only."""

    columns: ClassVar[Columns] = select(
        *("recovered", "verdict", "certificate", "max_deviation", "absolute_distance", "test_distance"),
        *("primal_residual", "pattern_count", "solver"),
    )

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse planted models that no linear model can be. Raises `ParameterError`."""
        if setting.planted.form != "linear":
            raise ParameterError("method least_squares fits a linear model: use planted {kind: linear}")

    def cost(self, n: int, d: int) -> float:
        return 1e-4 + 3e-9 * n * d * min(n, d)

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        w, _, rank, _ = np.linalg.lstsq(instance.X, instance.y, rcond=None)
        neurons = planted_neurons(instance)
        planted = neurons.directions @ neurons.signs
        deviation = float(np.abs(w - planted).max())
        row = Measurement(
            max_deviation=deviation,
            absolute_distance=float(np.linalg.norm(w - planted)),
            test_distance=None
            if instance.test is None
            else float(np.linalg.norm(instance.test @ w - instance.planted.labels(instance.test))),
            primal_residual=relative(
                float(np.linalg.norm(instance.X @ w - instance.y)), float(np.linalg.norm(instance.y))
            ),
            pattern_count=0,
            solver="lstsq",
        )
        if instance.setting.noise > 0:
            return row
        if rank < instance.X.shape[1]:
            return row.having(recovered=False, verdict="not_unique", certificate="none")
        if deviation > DEVIATION_TOLERANCE:
            return row.having(verdict="undecided", certificate="none")
        return row.having(recovered=True, verdict="recovered", certificate="none")
