"""Exact programs: the gated solution where it lies in its cones, else Newton's method on projections, else an interior
point on a working set.

Newton's method is faster up to some ten rows a variable: see `recovery.solvers.cone_newton`. The interior point starts
with every signed group at its centre, and with the rows that matter there: see `recovery.solvers.centres`. As the gap
falls, groups whose size is small are dropped, and those outside that violate the dual are taken in, without starting
over. Where that does not end, or where a row that was left out is violated, it starts again with all rows and groups.
"""

import copy
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

import numpy as np

from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers.centres import Centres, find_centres
from recovery.solvers.cone_newton import ConeNewton
from recovery.solvers.conic import solve_conic
from recovery.solvers.interior import InteriorPoint
from recovery.solvers.newton import solve_newton
from recovery.solvers.polish import ACTIVE, Vicinity, polish, widened
from recovery.solvers.pricing import bound_projections
from recovery.types import Array, Index, Mask

TOLERANCE = 1e-8
ROWS, WITHOUT_SKIP, FROM, EACH = 20, 16.0, 7.0, 0.5
"""Rows a variable up to which projections are tried first, with and without a skip connection; without one also EACH
more a variable from FROM on. Beyond, most faces are rays, Newton's method meets many of them, and the interior point is
faster (measured: at (130, 10) and (150, 10) 1.6 times, at (80, 5) 1.5 times)."""
BEGUN, OUTSIDE, LEAVING = 1e-2, 0.1, 0.1
"""As a start the gated solution needs this gap only (measured: 5 to 20 % faster for 80 to 100 rows, as fast for more),
where groups outside their cones, by this share of their largest value, have more than this share of all weight."""
SMALLEST = 30
"""Working sets stay as large as this."""
PRICING = 20
"""Steps of projected gradients that price the signed groups outside."""
STAGES = (0.7, 0.4, 0.2, 0.08, 0.03, 0.01, 1e-3)
"""Relative gaps at which the working set is revised."""
SHARE, SHARE_FROM = 0.4, 0.2
"""Signed groups below this share of the mean size are dropped; below the gap SHARE_FROM it falls as the gap's root."""
POLISHED, SURELY_ACTIVE = 1e-6, 1e-4
"""The relative gap at which a polish is tried, of the signed groups above this share of the largest size."""
STAGE_LIMIT = 25
"""Steps between two stages after which narrowing is given up."""
VIOLATED = 1.0 + 1e-9
SURELY = 1.05
"""Bounds above this are taken for violations without a projection to the end."""
RESTARTS = 8
WIDENINGS, WORTH = 4, 1e-2
"""How often a polished solution takes in what its dual violates, and from which error on."""
STEP_LIMIT = 100
PATIENCE = 3
NEAR = 1e-6
"""A relative gap and residual at which a solve counts as nearly solved."""


def solve_cones(
    program: ExactProgram, start: Solution | None = None, tolerance: float = TOLERANCE, central: bool = False
) -> Solution:
    """Solve an exact program to relative gap and residual `tolerance`, from the gated solution `start` if given.

    The solution says what ran: `gated`, whose solution lies in its cones, `newton` or `interior`. central: whether the
    dual is to keep away from bounds that need not be tight, as a proof of uniqueness wants it; Newton's does not.
    """
    groups = program.groups
    rows = ROWS if groups.linear else min(WITHOUT_SKIP, FROM + EACH * groups.rank)
    shut = bool(groups.shut.any())  # the interior point and the polish move all of a group's base weights
    projects = shut or (not central and groups.n <= rows * groups.rank)
    rough = solve_newton(program.gated, tolerance=BEGUN) if projects and start is None else None
    if rough is not None and rough.outcome is Outcome.SOLVED and leaves_cones(program, rough.W):
        found = _projected(program, rough, tolerance)
        if found is not None:
            return found
        projects = False
        if shut:
            return solve_conic(program, "CLARABEL")
    if rough is not None and rough.outcome is Outcome.INFEASIBLE:
        start = rough
    gated = solve_newton(program.gated, rough) if start is None else start
    V = in_cones(program, gated.W)
    if gated.outcome is Outcome.INFEASIBLE:
        V = np.zeros((program.size, program.groups.rank))
    relaxed = None if V is None else _relaxed(program, gated, V)
    if relaxed is not None and gated.outcome in (Outcome.SOLVED, Outcome.INFEASIBLE):
        return relaxed
    found = _projected(program, gated, tolerance) if projects else None
    if found is None and shut:
        found = solve_conic(program, "CLARABEL")
    if found is None:
        descent = _Descent(program, gated)
        found = descent.narrowed(tolerance)
        found = found if found.outcome is Outcome.SOLVED else descent.whole(tolerance, found)
    if relaxed is not None and certify(program, relaxed).error < certify(program, found).error:
        return relaxed
    return found


def _relaxed(program: ExactProgram, gated: Solution, V: Array) -> Solution:
    return Solution(V, gated.lam, gated.outcome, gated.iterations, "gated", Multipliers.none(program.groups.n))


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


def leaves_cones(program: ExactProgram, W: Array) -> bool:
    """Whether so much of a rough gated solution W is far outside its cones that more digits would not bring it back."""
    groups, norms = program.groups, np.linalg.norm(W, axis=1)
    able = np.flatnonzero((norms > 0) & ~program.is_free(np.arange(groups.count)))
    values = groups.base_weights(W[able], able) @ groups.base.T
    slack = np.where(groups.patterns[:, able].T, values, -values)
    inside = np.maximum(slack.min(axis=1), -slack.max(axis=1))
    outside = able[inside < -OUTSIDE * np.abs(values).max(axis=1)]
    return bool(norms[outside].sum() > LEAVING * norms.sum())


def _projected(program: ExactProgram, gated: Solution, tolerance: float) -> Solution | None:
    """What Newton's method on projections finds, polished where its certificate is short of the tolerance."""
    newton = ConeNewton(program)
    found = newton.solve(gated, tolerance)
    if found is None:
        return None
    error = certify(program, found).error
    if program.groups.shut.any():
        return found if error <= tolerance else None
    multipliers = np.zeros((program.size, program.groups.n))
    multipliers[found.multipliers.chosen] = found.multipliers.values
    better, error = _polished(program, [(newton.vicinity(), 0.0)], found, error, multipliers)
    return replace(better, iterations=newton.steps, solver="newton") if error <= tolerance else None


def _polished(
    program: ExactProgram,
    attempts: Iterable[tuple[Vicinity, float]],
    solution: Solution,
    error: float,
    known: Array,
) -> tuple[Solution, float]:
    """The solution and its error, or one with more digits, where polishing finds one, and its own.

    attempts: points, and the share of the largest size above which their signed groups are active. known: multipliers
    (2 p, n) that bound the projections of signed groups outside.
    """
    members = program.members
    for point, share in attempts:
        found = polish(program, point, share) if error > TOLERANCE else None
        for _ in range(WIDENINGS):
            if found is None:
                break
            multipliers = known.copy()
            multipliers[found.multipliers.chosen] = found.multipliers.values
            better = Solution(found.W, found.lam, multipliers=Multipliers(members, multipliers[members]))
            reached = certify(program, better).error
            if reached < error:
                solution, error = better, reached
            further = widened(program, point, better) if TOLERANCE < reached < WORTH else None
            found = None if further is None else polish(program, further, 0.0)
    return solution, error


class _Descent:
    """The interior point, the best iterate so far, and the multipliers of what is not in the working set."""

    def __init__(self, program: ExactProgram, gated: Solution) -> None:
        self.program, self.gated, self.centres = program, gated, find_centres(program, program.members)
        self.point: InteriorPoint
        self.best: InteriorPoint
        self.multipliers = np.zeros((program.size, program.groups.n))
        self.steps = 0

    def narrowed(self, tolerance: float) -> Solution:
        """Solve on a working set that is revised at every stage."""
        self._begin(self.centres)
        for gap in STAGES:
            if not self._descend(gap, STAGE_LIMIT):
                return self._ended(self._solution(), np.inf, tolerance)
            self._revise()
        milestone = self.point
        for _ in range(RESTARTS):
            self.point = copy.copy(milestone)
            self._descend(POLISHED)
            if self.best.error > tolerance:
                self._violated()  # for the multipliers of what is outside
                found, error = self._polished([(self.point, SURELY_ACTIVE)])
                if error <= tolerance:
                    return self._ended(found, error, tolerance)
            self._descend(tolerance)
            violated = self._violated()
            if not len(violated):
                break
            milestone.add(violated, self.multipliers[violated])
        return self._finished(tolerance)

    def whole(self, tolerance: float, other: Solution) -> Solution:
        """Solve with every signed group, or hand back the `other` solution where that is no better."""
        error = certify(self.program, other).error
        self._begin(self.centres.everything())
        self._descend(tolerance)
        self._violated()
        found = self._finished(tolerance)
        return found if certify(self.program, found).error <= error else replace(other, iterations=self.steps)

    def _begin(self, centres: Centres) -> None:
        size = float(np.linalg.norm(self.gated.W, axis=1).sum())
        self.point = InteriorPoint(self.program, self.program.members, size, centres)
        self.best = copy.copy(self.point)

    def _finished(self, tolerance: float) -> Solution:
        found, error = self._polished(product((self.point, self.best), ACTIVE))
        return self._ended(found, error, tolerance)

    def _ended(self, found: Solution, error: float, tolerance: float) -> Solution:
        outcome = Outcome.SOLVED if error <= tolerance else Outcome.NUMERICAL_TROUBLE
        if tolerance < error <= NEAR:
            outcome = Outcome.NEARLY_SOLVED
        return replace(found, outcome=outcome, iterations=self.steps, solver="interior")

    def _solution(self) -> Solution:
        V = np.zeros((self.program.size, self.program.groups.rank))
        V[self.best.chosen] = self.best.v
        members = self.program.members
        return Solution(V, self.best.lam, multipliers=Multipliers(members, self.multipliers[members]))

    def _polished(self, attempts: Iterable[tuple[InteriorPoint, float]]) -> tuple[Solution, float]:
        """The best iterate and its error, or a solution with more digits, where polishing finds one, and its own."""
        near = ((point.vicinity(), share) for point, share in attempts)
        solution = self._solution()
        error = max(self.best.error, self.program.cone_violation(solution.W))
        return _polished(self.program, near, solution, error, self.multipliers)

    def _descend(self, tolerance: float, limit: int = STEP_LIMIT) -> bool:
        """Advance until the error is at most `tolerance`, and keep the best iterate: beyond it rounding takes over."""
        point = self.point
        self.best, worse = copy.copy(point), 0
        for _ in range(limit):
            if point.error <= tolerance:
                return True
            if worse == PATIENCE or not point.advance():
                return False
            self.steps += 1
            if point.error < self.best.error:
                self.best = copy.copy(point)
            worse = worse + 1 if NEAR > self.best.error < point.error else 0
        return False

    def _revise(self) -> None:
        """Drop signed groups of small size, and take in those outside whose projection exceeds the bound."""
        program, point = self.program, self.point
        self.multipliers[point.chosen] = point.multipliers
        others = np.setdiff1d(program.members, point.chosen)
        bounds, mu = bound_projections(program, point.lam, others, self.multipliers[others], program.penalty, PRICING)
        self.multipliers[others] = mu
        share = SHARE * min(1.0, (point.gap / SHARE_FROM) ** 0.5)
        least = min(share * point.t.sum() / len(program.members), np.sort(point.t)[-SMALLEST:][0])
        point.keep((point.t >= least) | ~self._priced(point.chosen))
        violated = others[bounds > program.penalty]
        if len(violated):
            point.add(violated, self.multipliers[violated])

    def _priced(self, chosen: Index) -> Mask:
        """Which signed groups may be dropped: not the skip connection, nor patterns without full rank."""
        partial = ~self.program.groups.dimensions(self.program.group(chosen)).all(axis=1)
        priced: Mask = ~(partial | self.program.is_free(chosen))
        return priced

    def _violated(self) -> Index:
        """Dropped signed groups whose projection exceeds the bound at the best dual."""
        program, best = self.program, self.best
        self.multipliers[best.chosen] = best.multipliers
        others = np.setdiff1d(program.members, best.chosen)
        limit = VIOLATED * program.penalty
        bounds, mu = bound_projections(program, best.lam, others, self.multipliers[others], limit)
        self.multipliers[others] = mu
        doubtful = np.flatnonzero((bounds > limit) & (bounds < SURELY * program.penalty))
        if len(doubtful):
            bounds[doubtful], self.multipliers[others[doubtful]] = program.project(best.lam, others[doubtful])
        return others[bounds > limit]
