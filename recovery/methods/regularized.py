"""Regularised training as its convex program, and whether exactly the planted groups are active in its optimum."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from annotated_types import Gt

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.methods.columns import SOLVED, Columns, select
from recovery.methods.convex import Confinement, PlantedProgram, ProgramKind, solve_cost
from recovery.methods.method import Measurement
from recovery.methods.representation import check_representable
from recovery.methods.searched import with_searched_patterns
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import active_groups
from recovery.solvers.table import find_solver


@dataclass(frozen=True)
class Regularized:
    """min 1/2 ||sum_g A_g w_g - y||^2 + beta sum_g ||w_g||; `support_recovered`: only the planted groups are active.

    scaling: `half` is the program above, to which training with weight decay beta is equivalent (P1, (9));
    `printed` leaves out the 1/2, as P1 prints (27), (28), (211), (212): it is the program above at beta / 2.
    confinement: of neurons normalised after the ReLU, in exact programs over sampled patterns: `row_space` keeps those
    of pattern D_j in the row space of D_j X, as (16) does; `none` lets them be any that have the pattern.
    """

    columns: ClassVar[Columns] = SOLVED | select("verdict", "reason", "support_recovered")

    beta: Annotated[float, Gt(0)]
    program: ProgramKind = "gated"
    solver: str = "auto"
    scaling: Literal["half", "printed"] = "half"
    confinement: Confinement = field(default="row_space", metadata={"later": True})

    def __post_init__(self) -> None:
        find_solver(self.solver, self.program)

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse a planted model that the architecture has no groups for. Raises `ParameterError`."""
        architecture.require(self.program)
        check_representable(setting, architecture)
        if setting.patterns.kind == "all":
            raise ParameterError("patterns.kind all is known to method min_norm with program exact only")

    def cost(self, n: int, d: int) -> float:
        return self.setting_cost(Setting(n, d))

    def setting_cost(self, setting: Setting) -> float:
        """Seconds of a solve."""
        return solve_cost(self.program, setting)

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        beta = self.beta if self.scaling == "half" else self.beta / 2
        instance = with_searched_patterns(instance, architecture, self.program, beta)
        problem = PlantedProgram.of(instance, architecture, self.program, beta, self.confinement)
        solution, certificate = problem.solve(self.solver)
        row = problem.optimal(problem.measure(problem.drawn(), solution, certificate), solution, certificate)
        if not certificate.proves_optimal:
            return row
        active = active_groups(problem.program.norms(solution.W))
        same = bool((active == problem.planted.any(axis=1)).all()) and bool(active.any())
        return row.having(support_recovered=same)
