"""Certificates: what candidate weights and a candidate dual prove about a program, whichever solver found them.

For interpolation, any lam whose dual norms are at most 1 proves that the optimum is at least y.lam; for regularisation
with beta, at least y.lam - 1/2 ||lam||^2 if they are at most beta. A lam that exceeds the bound is scaled back first.
"""

from dataclasses import dataclass

import numpy as np

from recovery.programs.groups import DualImages
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.types import Array, Mask

RESIDUAL_TOLERANCE = 1e-8
"""Largest relative residual of weights that count as an interpolant."""
CONE_TOLERANCE = 1e-8
"""Largest distance from their cones of weights that count as inside."""
ACTIVE_TOLERANCE = 1e-6
"""A group, or a trained neuron, is active if its norm exceeds this fraction of the largest."""


@dataclass(frozen=True)
class Certificate:
    """Residuals and gap of a solution. All are relative, so scaling X or y does not change them.

    objective: of the weights. dual_objective: the lower bound that lam proves. primal_residual: ||F(W) - y|| / ||y||,
    with rows divided by `groups.scales`; 0 if regularised, since every W is feasible. `recovery.methods.interpolant`
    judges how much a residual matters. dual_violation: max(0, largest dual norm / bound - 1) of the solver's lam. gap:
    (objective - dual_objective) / the larger magnitude of the two, after lam is scaled to be dual feasible.
    cone_violation: distance of the weights from their cones. active_groups: their number. tolerance: the largest gap
    that counts as a proof.
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
        """Whether the weights interpolate (unless regularised) and are in their cones, up to rounding."""
        return self.primal_residual <= RESIDUAL_TOLERANCE and self.cone_violation <= CONE_TOLERANCE

    @property
    def error(self) -> float:
        """The largest of residual, gap and cone violation."""
        return max(abs(self.gap), self.primal_residual, self.cone_violation)

    @property
    def proves_optimal(self) -> bool:
        """Whether the weights are feasible and within the tolerance of the optimum."""
        return self.feasible and abs(self.gap) <= self.tolerance

    @property
    def shortfall(self) -> str:
        """The numbers that exceed what a proof needs, in words; empty if the optimum is proved."""
        needs = [
            ("relative gap", abs(self.gap), self.tolerance),
            ("relative residual", self.primal_residual, RESIDUAL_TOLERANCE),
            ("cone violation", self.cone_violation, CONE_TOLERANCE),
        ]
        short = [f"{name} {value:.2g}; a proof needs {most:.2g}" for name, value, most in needs if not value <= most]
        return ", ".join(short)


@dataclass(frozen=True)
class Certified:
    """Weights and a dual of a program, with their certificate."""

    solution: Solution
    certificate: Certificate


def certify(program: Program, solution: Solution, beyond: float = 0.0, images: DualImages | None = None) -> Certificate:
    """Compute the certificate of a solution. Costs two products with the groups, and projections if there are cones.

    program: the convex program. solution: weights and a dual, of any solver. beyond: a bound on the dual norms of rows
    that are not in the program, for example over all other patterns. images: those of the solution's dual, where they
    are known, which saves one product.
    """
    W, lam, bound = solution.W, solution.lam, program.penalty
    # a solver's lam may exceed the bound on dual norms by the solver's accuracy. It is scaled back, because only a lam
    # within the bound proves a lower bound
    largest = float(program.proved_norms(solution, images)[0].max(initial=beyond))
    norms = program.norms(W)
    objective = program.objective(W)
    dual_objective = program.dual_objective(_feasible(program, lam, largest))
    # if rows differ widely in norm, each row's residual is divided by its norm: otherwise the misfit of a row of norm 1
    # next to one of norm 1e9 would not show
    misfit = 0.0
    if program.interpolates:
        scales = program.groups.scales
        misfit = relative(
            float(np.linalg.norm(program.residual(W) / scales)), float(np.linalg.norm(program.y / scales))
        )
    return Certificate(
        objective=objective,
        dual_objective=dual_objective,
        gap=relative(objective - dual_objective, max(abs(objective), abs(dual_objective))),
        primal_residual=misfit,
        dual_violation=max(0.0, largest / bound - 1.0),
        cone_violation=program.cone_violation(W),
        active_groups=int(np.count_nonzero(active_groups(norms))),
        tolerance=program.gap_tolerance,
    )


def _feasible(program: Program, lam: Array, largest: float) -> Array:
    """Return the feasible multiple of lam, of largest dual norm `largest`: the nearest, or the best if regularised."""
    limit = program.penalty / largest if largest > 0 else np.inf
    if program.interpolates:
        return lam * min(1.0, limit)
    square = float(lam @ lam)
    # the dual objective of c lam, c y.lam - c^2 ||lam||^2 / 2, is a parabola in c: take its maximiser, or the nearest
    # feasible c
    return lam * min(max(float(program.y @ lam) / square, 0.0), limit) if square > 0 else lam


def active_groups(norms: Array) -> Mask:
    """Return which groups have a norm above ACTIVE_TOLERANCE times the largest, (p,), from their norms (p,)."""
    active: Mask = norms > ACTIVE_TOLERANCE * norms.max(initial=0.0)
    return active


def relative(difference: float, scale: float) -> float:
    """Return difference / scale, or 0 if there is no difference; infinite if only the scale is 0."""
    return 0.0 if difference == 0.0 else difference / scale if scale > 0 else float("inf")
