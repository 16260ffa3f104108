"""Exact programs by the proximal-point Newton method: signed groups in the cones of their patterns.

A projection on a cone is linear as long as the same rows are tight. With a basis Z_g of the face, phi (of
`recovery.solvers.inner`) has the Hessian of the gated program with Z_g^T A_g^T instead of A_g^T, over active groups
only: where faces are small, one product with a few columns per group. Projections: `recovery.programs.projections`.
"""

import numpy as np

from recovery.programs.certificate import relative
from recovery.programs.exact import ExactProgram
from recovery.programs.projections import UNSEEN, Projections
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers.controls import CONES, Controls
from recovery.solvers.families import ConeFamily
from recovery.solvers.proximal_newton import DualProblem, JudgedPoint, Start, near_rows, proximal_newton
from recovery.types import Array, Index


class ConeProblem(DualProblem):
    """An exact program over its signed groups, with the last projection of each."""

    fits = True

    def __init__(self, program: ExactProgram, unseen: float, controls: Controls) -> None:
        groups, members = program.groups, program.members
        self.program, self.controls, self.y = program, controls, program.y
        self.delta = 0.0 if program.interpolates else 1.0
        self.cones = Projections(groups, program.group(members), program.penalty, unseen)
        self.whole = ConeFamily(program, members, self.cones)
        self.pinned, self.bound, self.error = self.cones.free, program.penalty, 1.0

    def family(self, near: Index) -> ConeFamily:
        self.cones.forget_others(near)
        return ConeFamily(self.program, self.program.members, self.cones, near)

    def judge(self, W: Array, lam: Array, misfit: Array, tolerance: float) -> JudgedPoint:
        # project the images of all groups, because the bound on the dual must hold for each
        At, size = self.whole.images(lam), float(np.linalg.norm(self.y))
        norms = self.whole.norms(At, 1.0 + self.controls.slack * self.error) / self.bound
        largest = float(norms.max())
        inside = lam / max(1.0, largest)
        objective = self.bound * float(np.linalg.norm(W, axis=1).sum()) + 0.5 * self.delta * float(lam @ lam)
        gap = relative(objective - float(self.y @ inside) + 0.5 * self.delta * float(inside @ inside), objective)
        error = max(abs(gap), float(np.linalg.norm(misfit)) / size)
        # `gap` takes lam, the certificate takes the residual y - F(W) = lam - misfit: the objectives differ by `excess`
        excess = self.delta * float(misfit @ (0.5 * misfit - lam))
        if error <= tolerance:
            error = max(error, abs(gap + relative(excess, objective)))
        if error <= tolerance:
            # lam is scaled into the bounds: scale the projections with it, so that their multipliers prove that
            # `inside` is feasible
            self.cones.scale(1.0 / max(1.0, largest))
        self.error = min(1.0, error)
        return JudgedPoint(error, objective, norms, largest - 1.0, At, inside)

    def start(self, gated: Solution) -> Start | None:
        """Return a start with weights 0 and the gated dual scaled until its largest dual norm is the bound; or None.

        None if no multiple of the gated dual reaches the bound: then no weights in the cones fit the labels.
        """
        At = self.whole.images(gated.lam)
        norms = self.whole.norms(At) / self.bound
        largest, base = float(norms.max()), self.cones.base
        if not largest > self.controls.digits:
            return None
        # projections are shorter than the projected vectors, so scale the gated dual until the longest has norm b
        self.cones.scale(1.0 / largest)
        always = np.any(gated.W, axis=1)[self.whole.own] | self.pinned
        near = near_rows(self.controls, norms, always, np.inf, self.controls.first_share)
        # first s: the expected size of the weights, ||y|| / column, divided by b, the size of the norms of A^T lam
        column = float(np.sqrt(np.mean(np.square(base).sum(axis=0))))
        s = float(np.linalg.norm(self.y)) / (self.bound * column)
        return Start(np.zeros_like(At), gated.lam / largest, At / largest, near, s, column**2)

    def solution(self, W: Array, lam: Array, outcome: Outcome, steps: int) -> Solution:
        """Return the solution with base weights for every row of W, and if SOLVED, multipliers of its dual."""
        V, members = np.zeros((self.program.size, W.shape[1])), self.program.members
        active = np.flatnonzero(W.any(axis=1))
        V[members[active]] = self.cones.weights(active, W[active])
        solved = outcome is Outcome.SOLVED
        known = Multipliers(members, self.cones.multipliers) if solved else Multipliers.none(len(lam))
        return Solution(V, lam, outcome, steps, "newton", known)


def solve_projected(
    program: ExactProgram, gated: Solution, tolerance: float, unseen: float = UNSEEN[0], controls: Controls = CONES
) -> Solution:
    """Solve an exact program to relative gap and residual `tolerance` from a gated solution, or return the best found.

    unseen: the share of directions that norms ignore, see `recovery.programs.projections`.
    """
    problem = ConeProblem(program, unseen, controls)
    start = problem.start(gated)
    if start is not None:
        return proximal_newton(problem, start, tolerance, controls)
    whole, none = problem.whole, np.zeros((len(program.members), program.groups.rank))
    if problem.delta and whole.norms(whole.images(program.y)).max() <= program.penalty:
        return problem.solution(none, program.y, Outcome.SOLVED, 0)
    return problem.solution(none, np.zeros(len(program.y)), Outcome.NUMERICAL_TROUBLE, 0)
