"""Exact programs: the gated solution where it lies in its cones, else a structured interior point that sheds groups.

The gated dual does not screen: at the exact optimum almost every ||A_g^T lam|| exceeds 1, while few projections
||P_K(sigma A_g^T lam)|| come near it. So the interior point starts with every signed group, drops those whose
projection is small once the dual is roughly known, and what was dropped is checked against the last dual.
"""

import copy
from dataclasses import replace
from itertools import product

import numpy as np

from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers.interior import InteriorPoint
from recovery.solvers.newton import solve_newton
from recovery.solvers.polish import ACTIVE, polish
from recovery.solvers.pricing import bound_projections
from recovery.types import Array, Index, Mask

TOLERANCE = 1e-8
DROPS = ((1e-1, 0.8), (1e-2, 0.93))
"""At this relative gap, signed groups whose projection is below this fraction of the bound are dropped."""
VIOLATED = 1.0 + 1e-9
SURELY = 1.05
"""Bounds above this are taken for violations without a projection to the end."""
RESTARTS = 8
STEP_LIMIT = 100
PATIENCE = 3
NEAR = 1e-6
"""A relative gap and residual at which a solve counts as nearly solved."""


def solve_cones(program: ExactProgram, start: Solution | None = None, tolerance: float = TOLERANCE) -> Solution:
    """Solve an exact program to relative gap and residual `tolerance`, from the gated solution `start` if given.

    The solution says what ran: `gated`, whose solution lies in its cones, or `interior`.
    """
    gated = solve_newton(program.gated) if start is None else start
    V = in_cones(program, gated.W)
    if V is not None or gated.outcome is Outcome.INFEASIBLE:
        V = np.zeros((2 * program.groups.count, program.groups.rank)) if V is None else V
        return Solution(V, gated.lam, gated.outcome, gated.iterations, "gated", Multipliers.none(program.groups.n))
    size = float(np.linalg.norm(gated.W, axis=1).sum())
    return _Descent(program, size).solve(tolerance)


def in_cones(program: ExactProgram, W: Array) -> Array | None:
    """Base weights (2 p, r) of a gated solution W whose every group is a neuron of its pattern, or None."""
    p = program.groups.count
    V = np.zeros((2 * p, W.shape[1]))
    for g in np.flatnonzero(W.any(axis=1)):
        copies = [(g, W[g])] if program.groups.linear and g == 0 else [(g, W[g]), (g + p, -W[g])]
        found = [(k, v) for k, w in copies if (v := program.neuron(int(k), w)) is not None]
        if not found:
            return None
        V[found[0][0]] = found[0][1]
    return V


class _Descent:
    """The interior point, the best iterate so far, and the multipliers of what was dropped."""

    def __init__(self, program: ExactProgram, size: float) -> None:
        self.program, self.size = program, size
        self.multipliers = np.zeros((2 * program.groups.count, program.groups.n))
        self.steps = 0
        self._begin(program.members)

    def _begin(self, chosen: Index) -> None:
        self.point = InteriorPoint(self.program, chosen, self.size)
        self.best = copy.copy(self.point)

    def solve(self, tolerance: float) -> Solution:
        kept = self.program.members
        for gap, share in DROPS:
            if self._descend(gap):
                kept = self._drop(share)
        for _ in range(RESTARTS):
            self._descend(tolerance)
            violated = self._violated()
            if not len(violated):
                break
            kept = np.union1d(kept, violated)
            self._begin(kept)
        found, error = self._solution(), self.best.error
        if error > tolerance:
            found, error = self._polished(found, error)
        outcome = Outcome.SOLVED if error <= tolerance else Outcome.NUMERICAL_TROUBLE
        if tolerance < error <= NEAR:
            outcome = Outcome.NEARLY_SOLVED
        return replace(found, outcome=outcome, iterations=self.steps, solver="interior")

    def _solution(self) -> Solution:
        V = np.zeros((2 * self.program.groups.count, self.program.groups.rank))
        V[self.best.chosen] = self.best.v
        members = self.program.members
        return Solution(V, self.best.lam, multipliers=Multipliers(members, self.multipliers[members]))

    def _polished(self, solution: Solution, error: float) -> tuple[Solution, float]:
        """A solution with more digits, and its certified error, where polishing finds one."""
        members = self.program.members
        for point, share in product((self.point, self.best), ACTIVE):
            if error <= TOLERANCE or (found := polish(self.program, point, share)) is None:
                continue
            multipliers = self.multipliers.copy()
            multipliers[found.multipliers.chosen] = found.multipliers.values
            better = Solution(found.W, found.lam, multipliers=Multipliers(members, multipliers[members]))
            reached = certify(self.program, better).error
            if reached < error:
                solution, error = better, reached
        return solution, error

    def _descend(self, tolerance: float) -> bool:
        """Advance until the error is at most `tolerance`, and keep the best iterate: beyond it rounding takes over."""
        point = self.point
        self.best, worse = copy.copy(point), 0
        for _ in range(STEP_LIMIT):
            if point.error <= tolerance:
                return True
            if worse == PATIENCE or not point.advance():
                return False
            self.steps += 1
            if point.error < self.best.error:
                self.best = copy.copy(point)
            worse = worse + 1 if NEAR > self.best.error < point.error else 0
        return False

    def _drop(self, share: float) -> Index:
        """Drop the signed groups whose projection is proved below `share` of the bound; those before the drop."""
        point, before = self.point, self.point.chosen
        limit = share * self.program.penalty
        start = np.zeros((len(before), self.program.groups.n))
        bounds, self.multipliers[before] = bound_projections(self.program, point.lam, before, start, limit)
        kept = (bounds > limit) | ~self._priced(before)
        if not kept.all():
            point.keep(kept)
        return before

    def _priced(self, chosen: Index) -> Mask:
        """Which signed groups may be dropped: not the skip connection, nor patterns without full rank."""
        partial = ~self.program.groups.dimensions(self.program.group(chosen)).all(axis=1)
        priced: Mask = ~(partial | self.program.is_free(chosen))
        return priced

    def _violated(self) -> Index:
        """Dropped signed groups whose projection exceeds the bound at the best dual."""
        program, best = self.program, self.best
        self.multipliers[best.chosen] = best.mu
        others = np.setdiff1d(program.members, best.chosen)
        limit = VIOLATED * program.penalty
        bounds, mu = bound_projections(program, best.lam, others, self.multipliers[others], limit)
        self.multipliers[others] = mu
        doubtful = np.flatnonzero((bounds > limit) & (bounds < SURELY * program.penalty))
        if len(doubtful):
            bounds[doubtful], self.multipliers[others[doubtful]] = program.project(best.lam, others[doubtful])
        return others[bounds > limit]
