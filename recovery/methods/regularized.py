"""Regularised training as its convex program, and whether exactly the planted groups are active in its optimum."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Gt

from recovery.instances.draw import Instance, Setting
from recovery.methods.columns import SOLVED, Columns, select
from recovery.methods.exact import check_exact_solver, exact_regularized
from recovery.methods.measurement import Measurement
from recovery.methods.min_norm import drawn, measure_solution
from recovery.methods.representation import check_representable, planted_weights
from recovery.methods.searched import with_searched_patterns
from recovery.programs.certificate import active_groups, certify
from recovery.programs.groups import groups_of
from recovery.programs.program import Program
from recovery.solvers.table import SOLVERS, SolverName, require


@dataclass(frozen=True)
class Regularized:
    """min 1/2 ||sum_g A_g w_g - y||^2 + beta sum_g ||w_g||; `support_recovered`: only the planted groups are active.

    scaling: `half` is the program above, to which training with weight decay beta is equivalent (P1, (9));
    `printed` leaves out the 1/2, as P1 prints (27), (28), (211), (212): it is the program above at beta / 2.
    """

    columns: ClassVar[Columns] = SOLVED | select("verdict", "support_recovered")

    beta: Annotated[float, Gt(0)]
    program: Literal["gated", "exact"] = "gated"
    solver: SolverName = "auto"
    scaling: Literal["half", "printed"] = "half"

    def __post_init__(self) -> None:
        require(self.solver)
        if self.program == "exact":
            check_exact_solver(self.solver)

    def check(self, setting: Setting, architecture: str) -> None:
        """Refuse a planted model that the architecture has no groups for. Raises `ParameterError`."""
        check_representable(setting, architecture)

    def cost(self, n: int, d: int) -> float:
        return 2e-4 + n * d * max(n, 50) * (1e-8 if self.program == "gated" else 1e-7)

    def __call__(self, instance: Instance, architecture: str) -> Measurement:
        beta = self.beta if self.scaling == "half" else self.beta / 2
        instance = with_searched_patterns(instance, architecture, self.program == "exact", beta)
        if self.program == "exact":
            return exact_regularized(instance, architecture, self.solver, beta)
        groups = groups_of(architecture, instance.X, instance.patterns)
        planted = planted_weights(groups, instance)
        program = Program(groups, instance.y, beta)
        solution = SOLVERS[self.solver](program)
        certificate = certify(program, solution.W, solution.lam)
        row = measure_solution(drawn(instance, groups), groups, planted, instance, solution, certificate)
        if not certificate.proves_optimal:
            return row.having(verdict="undecided", certificate="none")
        active = active_groups(np.linalg.norm(solution.W, axis=1))
        return row.having(
            certificate="gap", support_recovered=bool((active == planted.any(axis=1)).all()) and bool(active.any())
        )
