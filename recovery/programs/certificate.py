"""What can be proved about a program from candidate weights and a candidate dual, whatever found them.

For interpolation, any lam whose dual norms are at most 1 proves that the optimum is at least y.lam; for regularisation
with bound beta, at least y.lam - 1/2 ||lam||^2. A lam that exceeds the bound is scaled back first.
"""

from dataclasses import dataclass

import numpy as np

from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.types import Array, Mask

RESIDUAL_TOLERANCE = 1e-8
CONE_TOLERANCE = 1e-8
ACTIVE_TOLERANCE = 1e-6
"""A group is active when its weight exceeds this fraction of the largest."""


@dataclass(frozen=True)
class Certificate:
    """Residuals and gap of a solution, all relative, so that scaling X or y changes none of them.

    primal_residual: ||F(W) - y|| / ||y|| (0 when regularised: every W is feasible), in rows divided by
    `groups.scales`; what it is worth, `recovery.methods.interpolant` says. dual_violation: the largest
    dual norm / bound - 1, at least 0, before lam was scaled back.
    gap: (objective - dual_objective) / the larger of the two, with the scaled-back lam. cone_violation: how far weights
    leave their cones. tolerance: of the gap, for a proof.
    """

    objective: float
    dual_objective: float
    gap: float
    primal_residual: float
    dual_violation: float
    cone_violation: float
    active_groups: int
    tolerance: float

    @property
    def feasible(self) -> bool:
        """Whether the weights interpolate, in their cones, to rounding."""
        return self.primal_residual <= RESIDUAL_TOLERANCE and self.cone_violation <= CONE_TOLERANCE

    @property
    def error(self) -> float:
        """The largest of residual, gap and cone violation: what a solver drives to zero."""
        return max(abs(self.gap), self.primal_residual, self.cone_violation)

    @property
    def proves_optimal(self) -> bool:
        """Feasible, in its cones, and within the tolerance of the optimum."""
        return self.feasible and abs(self.gap) <= self.tolerance


def certify(program: Program, solution: Solution, beyond: float = 0.0) -> Certificate:
    """The certificate of a solution; costs two products with the groups, and projections where there are cones.

    beyond: a bound on the dual norms at its lam of rows that the program does not have: over all patterns, say.
    """
    W, lam, bound = solution.W, solution.lam, program.penalty
    # a solver's lam exceeds the bound by its accuracy; only a multiple within it proves anything
    largest = float(program.dual_norms(solution).max(initial=beyond))
    norms = program.norms(W)
    residual = program.residual(W)
    objective = bound * float(norms.sum())
    if not program.interpolates:
        objective += 0.5 * float(residual @ residual)
    dual_objective = program.dual_objective(_feasible(program, lam, largest))
    # uneven rows each by its own size: relative to the whole, a row of 1 beside one of 1e9 could be missed altogether
    scales = program.groups.scales
    misfit = float(np.linalg.norm(residual / scales)) if program.interpolates else 0.0
    return Certificate(
        objective=objective,
        dual_objective=dual_objective,
        gap=relative(objective - dual_objective, max(abs(objective), abs(dual_objective))),
        primal_residual=relative(misfit, float(np.linalg.norm(program.y / scales))),
        dual_violation=max(0.0, largest / bound - 1.0),
        cone_violation=program.cone_violation(W),
        active_groups=int(np.count_nonzero(active_groups(norms))),
        tolerance=program.gap_tolerance,
    )


def _feasible(program: Program, lam: Array, largest: float) -> Array:
    """The multiple of lam that is dual feasible: for interpolation the nearest, else the one of the best objective."""
    limit = program.penalty / largest if largest > 0 else np.inf
    if program.interpolates:
        return lam * min(1.0, limit)
    square = float(lam @ lam)
    # c y.lam - c^2 ||lam||^2 / 2 is a parabola in c: its top, or the nearest c that is feasible
    return lam * float(np.clip(float(program.y @ lam) / square, 0.0, limit)) if square > 0 else lam


def active_groups(norms: Array) -> Mask:
    """Which groups have a weight above ACTIVE_TOLERANCE of the largest, from their norms (p,)."""
    active: Mask = norms > ACTIVE_TOLERANCE * norms.max(initial=0.0)
    return active


def relative(difference: float, scale: float) -> float:
    """difference / scale; 0 for no difference, infinite for one against nothing."""
    return 0.0 if difference == 0.0 else difference / scale if scale > 0 else float("inf")
