"""Minimum-norm methods: least-norm interpolation, a norm penalty, and linear least squares.

With `solver: auto` a noiseless trial is decided before any solve where possible (`recovery.methods.cascade`). The row
names the certificate that decided it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt

from recovery.errors import ParameterError
from recovery.instances.arrangements import MOST_CELLS, cell_count
from recovery.instances.draw import Instance, Setting
from recovery.instances.ensembles import SIGN_SYMMETRIC, SINGULAR_TIES
from recovery.methods.cascade import BEFORE_SOLVING, State, decide, undecided
from recovery.methods.columns import SOLUTION, SOLVED, Columns, select
from recovery.methods.convex import Confinement, PlantedProgram, ProgramKind, solve
from recovery.methods.generation import (
    Judged,
    optimum_over_all,
    over_all_patterns,
    over_searched_patterns,
    proof_cost,
    searched_program,
)
from recovery.methods.judgement import AFTER_SOLVING, judge, optimal
from recovery.methods.method import UNDECIDED, Evidence, Measurement
from recovery.methods.representation import check_representable, planted_neurons, test_distance
from recovery.methods.theorems import certain_rank
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import active_groups, relative
from recovery.programs.networks import merge, network_of
from recovery.programs.norms import L2, NORMS, NormName
from recovery.solvers.table import find_solver, solver_name
from recovery.theory.network import failure_bound
from recovery.types import Array

SEARCH_SOLVES: dict[ProgramKind, int] = {"gated": 30, "exact": 5}
"""Solves per trial where patterns are searched."""


def solve_cost(program: ProgramKind, setting: Setting) -> float:
    """Estimate the seconds of the solves of a trial from n and the number of patterns, as in `Method.cost`.

    Measured with noise. For n = 40 to 400 and sampled patterns, d = 10 to 100 changes the time by a factor of 2
    (normalised) or 3 (skip connection).
    """
    patterns = setting.patterns.samples(setting.n)
    if setting.patterns.kind == "exhaustive":
        patterns = min(cell_count(setting.n, min(setting.d, MOST_CELLS.bit_length())), MOST_CELLS)
    work = setting.n * patterns
    seconds = 2e-2 + 2.5e-6 * work if program == "gated" else 3e-2 + 3e-5 * work
    return seconds * (SEARCH_SOLVES[program] if setting.patterns.kind in ("searched", "all") else 1)


PROOFS: dict[ProgramKind, int] = {"gated": 8, "exact": 1}
"""Mean number of proofs over all patterns per trial, near the transition."""


@dataclass(frozen=True)
class ConvexMethod(ABC):
    """Base of methods that solve gated or exact programs: their program, checks and cost.

    program: `gated`, the problem of the gated network; `exact`, the problem of the network itself.
    confinement: for neurons normalised after the ReLU, exact programs and sampled patterns. `row_space` restricts
    the neurons of pattern D_j to the row space of D_j X, as in (16); `none` allows all neurons of the pattern.
    norm: the norm of the weights of each group of a gated program, `l2` or `l1`. With `l1` HiGHS solves the
    interpolation, which is a linear program, and Clarabel the penalised program.
    """

    program: ProgramKind = "gated"
    solver: str = "auto"
    confinement: Confinement = field(default="row_space", metadata={"later": True})
    norm: NormName = field(default="l2", metadata={"later": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "solver", solver_name(self.solver))
        find_solver(self.solver, self.program)
        if self.norm not in NORMS:
            raise ParameterError(f"norm: found {self.norm!r}; allowed: {', '.join(NORMS)}")
        if self.norm != "l2" and (self.program != "gated" or self.solver == "newton"):
            raise ParameterError(f"norm {self.norm} goes with program gated, and with solver auto or one of cvxpy's")

    @property
    def penalty(self) -> float | None:
        """beta of the program, or None for interpolation."""
        return None

    @abstractmethod
    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        """Return the measurement of an instance, with the program that was solved as its evidence."""

    @abstractmethod
    def judged(self, problem: PlantedProgram) -> Judged:
        """Decide a program over drawn patterns: return it, with any patterns that a search added, and the state."""

    def problem(self, instance: Instance, architecture: Architecture) -> PlantedProgram:
        """Form the program that the method solves on an instance, with the planted weights in it.

        Searched patterns include the patterns that the search adds; over all patterns a trial adds further ones. Raises
        `ParameterError` for settings that the program cannot represent.
        """
        return searched_program(self.drawn_problem(instance, architecture), getattr(self, "beam", None))

    def drawn_problem(self, instance: Instance, architecture: Architecture) -> PlantedProgram:
        """Form the program over the patterns that are drawn, before any search; raises as `problem` does."""
        self.check(instance.setting, architecture)
        return PlantedProgram.of(instance, architecture, self.program, self.penalty, self.confinement, NORMS[self.norm])

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse settings that the program cannot represent. Raises `ParameterError`."""
        architecture.require(self.program)
        check_representable(setting, architecture)
        if setting.patterns.kind == "all" and self.solver != "auto":
            raise ParameterError(f"patterns.kind all goes with solver auto, found {self.solver!r}")
        if self.norm != "l2" and (architecture.normalized or setting.patterns.kind in ("all", "searched")):
            raise ParameterError(
                f"norm {self.norm} goes with architectures without normalisation and with patterns.kind sampled or "
                f"exhaustive, found {architecture.name!r} and {setting.patterns.kind!r}"
            )

    def setting_cost(self, setting: Setting) -> float:
        """Estimate the seconds of a solve."""
        return solve_cost(self.program, setting)


@dataclass(frozen=True)
class MinNorm(ConvexMethod):
    """min sum_g ||w_g|| subject to sum_g A_g w_g = y (P1, (12), (15), (17)).

    solver: `auto` decides without a solve where it can; `newton`, or a conic solver of cvxpy, always solves.
    distances: whether to solve also trials that are proved not to recover, to measure their distances, and to look for
    a cheaper interpolant after a tie. A sweep whose report, claims or rule need a column of solutions measures it too.
    beam: the width of a beam search for activation patterns that violate the dual of a gated program. With searched
    patterns it adds to the local searches; over all patterns it precedes each proof, so that fewer proofs are needed.
    failure_bound: whether to bound, for each X, the probability of failure over random signs of its rows, by Theorem A
    of docs/network-threshold.md: exact program with skip connection, linear neuron, laws symmetric in each row's sign.
    """

    columns: ClassVar[Columns] = SOLVED | select(
        *("recovered", "verdict", "reason", "patterns_proved", "isometry_value", "failure_bound")
    )
    noiseless: ClassVar[tuple[str, ...]] = ("recovered", "failure_bound")
    on_demand: ClassVar[tuple[str, ...]] = SOLUTION

    distances: bool = False
    beam: Annotated[int, Ge(1)] | None = field(default=None, metadata={"later": True})
    failure_bound: bool = field(default=False, metadata={"later": True})

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse settings that the program cannot represent. Raises `ParameterError`."""
        super().check(setting, architecture)
        if self.failure_bound and (
            (self.program, architecture.name) != ("exact", "relu_skip")
            or (direction := getattr(setting.planted, "direction", "nonnegative")) == "nonnegative"
            or not isinstance(setting.ensemble, SIGN_SYMMETRIC)
            or (direction == "smallest_singular" and isinstance(setting.ensemble, SINGULAR_TIES))
        ):
            raise ParameterError(
                "failure_bound: needs program exact, architecture relu_skip, a linear neuron in a direction that signs "
                "of rows keep (not nonnegative; smallest_singular only without equal singular values), and data whose "
                "law they keep"
            )
        if self.beam is not None and (self.program != "gated" or architecture.normalizes_after):
            raise ParameterError(
                "beam is known to the gated program of networks without normalised ReLU neurons only; leave it out"
            )

    def setting_cost(self, setting: Setting) -> float:
        """Estimate the seconds of a solve or of a decision. Exact programs with few rows need a solve to decide."""
        n, d = setting.n, setting.d
        if setting.patterns.kind == "all" and setting.noise == 0:
            return 5e-3 + PROOFS[self.program] * proof_cost(self.program, setting)
        if setting.noise > 0 or self.solver != "auto" or self.distances or setting.patterns.kind == "searched":
            return solve_cost(self.program, setting)
        if self.program == "exact" and n < 1.5 * d:
            return 0.1 + 5e-5 * d**2 + (1.5e-4 * n**2 if n < 1.25 * d else 0.0)
        return 2.5e-3 + 2.5e-7 * n * d

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        problem, state = self.judged(self.drawn_problem(instance, architecture))
        row = state.row(problem)
        if self.failure_bound and problem.noiseless:
            row["failure_bound"] = failure_bound(instance.X, planted_neurons(instance).directions[:, 0])
        return row.recording(_network(problem, row.evidence)) if self.distances else row

    def judged(self, problem: PlantedProgram) -> Judged:
        kind, only_verdict = problem.instance.setting.patterns.kind, self.solver == "auto" and not self.distances
        if kind == "all" and not problem.noiseless:
            return optimum_over_all(problem)
        if kind == "all":
            return over_all_patterns(problem, self._judge, self.beam)
        if only_verdict and kind == "searched" and self.program == "exact" and problem.noiseless:
            return over_searched_patterns(problem, self._judge)
        problem = searched_program(problem, self.beam)
        return problem, self._judge(problem)

    def measuring(self) -> "MinNorm":
        """Return the method that measures the columns of a solution in every trial."""
        return self if self.distances else SolvedMinNorm(**vars(self))

    def _judge(self, problem: PlantedProgram) -> State:
        if problem.noiseless and problem.ill_posed is not None:
            return State(undecided(problem.ill_posed))
        if not problem.noiseless or self.solver != "auto" or problem.program.norm is not L2:
            stage = judge if problem.noiseless else optimal
            return decide(problem, (stage,), State.of(solve(problem.program, self.solver)))
        state = decide(problem, BEFORE_SOLVING, State())
        verdict = state.decision.verdict
        unsettled = verdict == "undecided" or (verdict == "not_unique" and problem.small)
        if verdict == "recovered" or not (unsettled or self.distances):
            return state
        state.take(solve(problem.program, self.solver))
        return decide(problem, AFTER_SOLVING, state)


class SolvedMinNorm(MinNorm):
    """`MinNorm` that solves the program also where the verdict needs no solve, to measure the columns of a solution."""

    on_demand = ()

    def _judge(self, problem: PlantedProgram) -> State:
        state = super()._judge(problem)
        brief = problem.instance.setting.patterns.kind == "all" or problem.ill_posed is not None
        if state.found is None and state.decision.proof is None and not brief:
            state.found = solve(problem.program, self.solver)
        return state

    def setting_cost(self, setting: Setting) -> float:
        return max(super().setting_cost(setting), solve_cost(self.program, setting))


def _network(problem: PlantedProgram, evidence: Evidence | None) -> Mapping[str, Array] | None:
    """Return the network of the weights found, or of the planted weights, as arrays for a drawing.

    The network is f(x) = linear.x + sum_i sizes_i (neurons_i.x)_+.
    `data` (1, n, 2), `labels` (1, n), `neurons` (1, m, 2), `sizes` (1, m), `linear` (1, 2), as
    `recovery.report.figures.training_plots` draws them. None unless the program is exact, with plain neurons of two
    inputs.
    """
    architecture, instance = problem.architecture, problem.instance
    if evidence is not None and evidence.found is not None:
        program, V = evidence.program, evidence.found.solution.W
    else:
        program, V = problem.program, problem.planted
    plain = not architecture.normalized and architecture.slope == 0.0
    if not program.has_cones or not plain or instance.X.shape[1] != 2 or program.groups.rank != 2:
        return None
    small = merge(network_of(program, V, architecture))
    unit = small.inner / np.linalg.norm(small.inner, axis=1, keepdims=True)
    return {
        "data": instance.X[None],
        "labels": instance.y[None],
        "neurons": unit[None],
        "sizes": small.sizes()[None],
        "linear": np.zeros((1, 2)) if small.skip is None else small.skip[None],
    }


@dataclass(frozen=True)
class Regularized(ConvexMethod):
    """min 1/2 ||sum_g A_g w_g - y||^2 + beta sum_g ||w_g||; `support_recovered`: exactly the planted groups are active.

    scaling: `half` is the program above, equivalent to training with weight decay beta (P1, (9)). `printed` omits the
    1/2, as P1 prints (27), (28), (211), (212): the program above at beta / 2.
    """

    columns: ClassVar[Columns] = SOLVED | select("verdict", "reason", "patterns_proved", "support_recovered")

    beta: Annotated[float, Gt(0)] = field(kw_only=True)
    scaling: Literal["half", "printed"] = "half"

    @property
    def penalty(self) -> float:
        """The beta of the equivalent program with the factor 1/2."""
        return self.beta if self.scaling == "half" else self.beta / 2

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        problem, state = self.judged(self.drawn_problem(instance, architecture))
        row = state.row(problem)
        if row.certificate != "gap" or state.found is None:
            row.unmeasured["support_recovered"] = "no optimum is proved"
            return row
        active = active_groups(problem.program.norms(state.found.solution.W))
        row["support_recovered"] = bool((active == problem.planted.any(axis=1)).all() and active.any())
        return row

    def judged(self, problem: PlantedProgram) -> Judged:
        if problem.instance.setting.patterns.kind == "all":
            return optimum_over_all(problem)
        problem = searched_program(problem)
        return problem, decide(problem, (optimal,), State.of(solve(problem.program, self.solver)))


@dataclass(frozen=True)
class LeastSquares:
    """w = pinv(X) y, the baseline for networks; planted linear models only.

    The planted w* is the only w with X w = X w* if and only if X has full column rank.
    """

    columns: ClassVar[Columns] = select(
        *("recovered", "verdict", "reason", "certificate", "max_deviation", "absolute_distance", "test_distance"),
        *("primal_residual", "pattern_count", "solver"),
    )
    noiseless: ClassVar[tuple[str, ...]] = ("recovered",)

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse planted models that are not linear. Raises `ParameterError`."""
        if setting.planted.form != "linear":
            raise ParameterError("method least_squares fits a linear model: use planted {kind: linear}")

    def cost(self, n: int, d: int) -> float:
        return 1e-4 + 3e-9 * n * d * min(n, d)

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        w = np.linalg.lstsq(instance.X, instance.y, rcond=None)[0]
        neurons = planted_neurons(instance)
        planted = neurons.directions @ neurons.signs
        row = Measurement(
            max_deviation=float(np.abs(w - planted).max()),
            absolute_distance=float(np.linalg.norm(w - planted)),
            test_distance=test_distance(instance, lambda X: X @ w),
            primal_residual=relative(
                float(np.linalg.norm(instance.X @ w - instance.y)), float(np.linalg.norm(instance.y))
            ),
            pattern_count=0,
            solver="lstsq",
        )
        if instance.setting.noise > 0:
            return row
        rows, d = instance.X[instance.X.any(axis=1)], instance.X.shape[1]
        rank = certain_rank(rows) if len(rows) >= d else len(rows)
        if rank is None:
            row.unmeasured["recovered"] = UNDECIDED
            return row.having(verdict="undecided", certificate="none", reason="rounding decides the rank of the data")
        verdict = "recovered" if rank == d else "not_unique"
        return row.having(recovered=rank == d, verdict=verdict, certificate="theorem")
