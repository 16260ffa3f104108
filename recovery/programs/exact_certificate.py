"""What can be proved about an exact program from candidate weights and a dual, whatever found them.

Any lam with ||P_K(sigma A_g^T lam)|| <= penalty for every signed group bounds the optimum from below by the dual
objective; a lam beyond that is scaled back first. Each projection is bounded by multipliers of its cone, the
candidate's where they do, else its own (`recovery.programs.projection`).
"""

from dataclasses import dataclass

import numpy as np

from recovery.programs.certificate import RESIDUAL_TOLERANCE, Certificate, active_groups
from recovery.programs.exact import ExactProgram
from recovery.programs.projection import project
from recovery.types import Array, Index

EXACT_GAP = 1e-6
CONE_TOLERANCE = 1e-8
FEASIBLE = 1.0 + 1e-10
"""Bounds up to this multiple of the penalty need no projection."""


@dataclass(frozen=True)
class Candidate:
    """Base weights V (2 p, r), a dual lam (n,), and multipliers (k, n) of the signed groups `proved` (k,), others 0."""

    V: Array
    lam: Array
    proved: Index
    multipliers: Array


@dataclass(frozen=True)
class ExactCertificate(Certificate):
    """As `Certificate`, and how far the weights leave their cones, relative to the largest of them."""

    cone_violation: float

    @property
    def error(self) -> float:
        return max(super().error, self.cone_violation)

    @property
    def proves_optimal(self) -> bool:
        """Feasible, in its cones, and within EXACT_GAP of the optimum."""
        feasible = self.primal_residual <= RESIDUAL_TOLERANCE and self.cone_violation <= CONE_TOLERANCE
        return feasible and abs(self.gap) <= EXACT_GAP


def certify_exact(program: ExactProgram, candidate: Candidate) -> ExactCertificate:
    """Compute the certificate of a candidate; costs a projection for each bound that is not yet feasible."""
    largest = float(dual_bounds(program, candidate).max(initial=0.0))
    bound, y, lam, V = program.penalty, program.y, candidate.lam, candidate.V
    norms = program.norms(V)
    residual = program.forward(V) - y
    objective = bound * float(norms.sum())
    feasible = lam * min(1.0, bound / largest) if largest > 0 else lam
    if not program.gated.interpolates:
        objective += 0.5 * float(residual @ residual)
        square = float(lam @ lam)
        # the best multiple of lam that is feasible
        best = float(y @ lam) / square if square > 0 else 0.0
        feasible = lam * float(np.clip(best, 0.0, bound / largest if largest > 0 else best))
    dual = program.gated.dual_objective(feasible)
    size = float(np.linalg.norm(y))
    return ExactCertificate(
        objective=objective,
        dual_objective=dual,
        gap=_relative(objective - dual, max(abs(objective), abs(dual))),
        primal_residual=_relative(float(np.linalg.norm(residual)), size) if program.gated.interpolates else 0.0,
        dual_violation=max(0.0, largest / bound - 1.0),
        active_groups=int(np.count_nonzero(active_groups(norms))),
        cone_violation=program.cone_violation(V),
    )


def dual_bounds(program: ExactProgram, candidate: Candidate) -> Array:
    """Upper bounds on ||P_K(sigma A_g^T lam)|| for every signed group that exists, projecting where it is needed."""
    lam, members, p = candidate.lam, program.members, program.groups.count
    norms = np.linalg.norm(program.groups.adjoint(lam), axis=1)
    bounds = norms[members % p]
    place = np.full(2 * p, -1)
    place[members] = np.arange(len(members))
    if len(candidate.proved):
        at = place[candidate.proved]
        bounds[at] = np.minimum(bounds[at], program.bounds(lam, candidate.proved, candidate.multipliers))
    open_ = np.flatnonzero((bounds > FEASIBLE * program.penalty) & ~program.is_free(members))
    if len(open_):
        bounds[open_] = np.minimum(bounds[open_], project(program, lam, members[open_])[0])
    return bounds


def _relative(difference: float, scale: float) -> float:
    return 0.0 if difference == 0.0 else difference / scale if scale > 0 else float("inf")
