"""What can be proved about a program from candidate weights and a candidate dual, whatever found them.

For interpolation, any lam with max_g ||A_g^T lam|| <= 1 proves that the optimum is at least y.lam; for regularisation
with bound beta, at least y.lam - 1/2 ||lam||^2. A lam that exceeds the bound is scaled back first.
"""

from dataclasses import dataclass

import numpy as np

from recovery.programs.program import Program
from recovery.types import Array, Mask

GAP_TOLERANCE = 1e-8
RESIDUAL_TOLERANCE = 1e-8
ACTIVE_TOLERANCE = 1e-6
"""A group is active when its weight exceeds this fraction of the largest."""


@dataclass(frozen=True)
class Certificate:
    """Residuals and gap of (program, W, lam), all relative, so that scaling X or y changes none of them.

    primal_residual: ||A W - y|| / ||y|| (0 when regularised: every W is feasible).
    dual_violation: max_g ||A_g^T lam|| / bound - 1, at least 0, before lam was scaled back.
    gap: (objective - dual_objective) / objective, with the scaled-back lam.
    """

    objective: float
    dual_objective: float
    gap: float
    primal_residual: float
    dual_violation: float
    active_groups: int

    @property
    def error(self) -> float:
        """The larger of residual and gap: what a solver drives to zero."""
        return max(abs(self.gap), self.primal_residual)

    @property
    def proves_optimal(self) -> bool:
        """Feasible and within GAP_TOLERANCE of the optimum."""
        return self.primal_residual <= RESIDUAL_TOLERANCE and abs(self.gap) <= GAP_TOLERANCE


def certify(program: Program, W: Array, lam: Array) -> Certificate:
    """Compute the certificate of weights W (p, r) and dual lam (n,); costs two products with the groups."""
    norms = np.linalg.norm(W, axis=1)
    bound = program.penalty
    largest = float(np.linalg.norm(program.groups.adjoint(lam), axis=1).max(initial=0.0))
    feasible = lam if largest <= bound else lam * (bound / largest)
    if not program.interpolates:
        feasible = _best_scaling(program, feasible, min(largest, bound))
    residual = program.groups.forward(W) - program.y
    size = float(np.linalg.norm(program.y))
    objective = bound * float(norms.sum())
    if not program.interpolates:
        objective += 0.5 * float(residual @ residual)
    dual_objective = program.dual_objective(feasible)
    return Certificate(
        objective=objective,
        dual_objective=dual_objective,
        gap=_relative(objective - dual_objective, max(abs(objective), abs(dual_objective))),
        primal_residual=_relative(float(np.linalg.norm(residual)), size) if program.interpolates else 0.0,
        dual_violation=max(0.0, largest / bound - 1.0),
        active_groups=int(np.count_nonzero(active_groups(norms))),
    )


def _best_scaling(program: Program, lam: Array, largest: float) -> Array:
    """The multiple of a dual feasible lam with the largest dual objective among the feasible ones."""
    square = float(lam @ lam)
    if square == 0.0:
        return lam
    best = float(program.y @ lam) / square
    limit = program.penalty / largest if largest > 0 else best
    return lam * float(np.clip(best, 0.0, limit))


def active_groups(norms: Array) -> Mask:
    """Which groups have a weight above ACTIVE_TOLERANCE of the largest, from their norms (p,)."""
    active: Mask = norms > ACTIVE_TOLERANCE * norms.max(initial=0.0)
    return active


def _relative(difference: float, scale: float) -> float:
    return 0.0 if difference == 0.0 else difference / scale if scale > 0 else float("inf")
