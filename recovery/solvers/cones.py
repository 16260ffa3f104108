"""Exact programs: the gated solution where it lies in its cones, else Newton's method on projections from there.

The gated program is a relaxation, so that a solution of it whose every group is a neuron of its pattern is optimal for
the exact program too. With noise hardly any is, which a rough one shows already; then it is a start and no more.
"""

import numpy as np

from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers.cone_newton import ConeNewton
from recovery.solvers.cone_projections import UNSEEN
from recovery.solvers.newton import solve_newton
from recovery.types import Array

TOLERANCE = 1e-8
ROUGHLY, OUTSIDE, LEAVING = 1e-2, 0.1, 0.1
"""As a start the gated solution needs this gap only (measured: 5 to 20 % faster for 80 to 100 rows, as fast for more),
where groups outside their cones, by this share of their largest value, have more than this share of all weight."""


def solve_cones(program: ExactProgram, start: Solution | None = None, tolerance: float = TOLERANCE) -> Solution:
    """Solve an exact program to relative gap and residual `tolerance`, from the gated solution `start` if given.

    The solution says what ran: `gated`, whose solution lies in its cones, or `newton`.
    """
    gated = solve_newton(program.gated, tolerance=ROUGHLY) if start is None else start
    if start is None and gated.outcome is Outcome.SOLVED and leaves_cones(program, gated.W):
        solution = _projected(program, gated, tolerance)
        if solution.outcome is Outcome.SOLVED:
            return solution
    if start is None and gated.outcome is not Outcome.INFEASIBLE:
        gated = solve_newton(program.gated, gated)
    if gated.outcome is Outcome.INFEASIBLE:  # what the gated program cannot fit the exact one cannot either
        return _as_exact(program, gated, np.zeros((program.size, program.groups.rank)))
    V = in_cones(program, gated.W)
    # the relaxation's optimum is no larger: in the cones it is the exact one, with the same dual
    relaxed = None if V is None else _as_exact(program, gated, V)
    if relaxed is not None and gated.outcome is Outcome.SOLVED:
        return relaxed
    solution = _projected(program, gated, tolerance)
    if relaxed is not None and certify(program, relaxed).error < certify(program, solution).error:
        return relaxed
    return solution


def _projected(program: ExactProgram, gated: Solution, tolerance: float) -> Solution:
    """Newton's solution; where some norms are blind to weights, with the share of them that its certificate likes."""
    solution = ConeNewton(program).solve(gated, tolerance)
    groups = program.groups
    if groups.confined or groups.dimensions(np.arange(groups.count)).all():
        return solution
    certificate = certify(program, solution)
    # no share is right for all: the smaller one costs digits, so it comes second, and the certificate chooses
    for unseen in UNSEEN[1:]:
        if certificate.proves_optimal:
            break
        other = ConeNewton(program, unseen).solve(gated, tolerance)
        judged = certify(program, other)
        if judged.error < certificate.error:
            solution, certificate = other, judged
    return solution


def _as_exact(program: ExactProgram, gated: Solution, V: Array) -> Solution:
    return Solution(V, gated.lam, gated.outcome, gated.iterations, "gated", Multipliers.none(program.groups.n))


def in_cones(program: ExactProgram, W: Array) -> Array | None:
    """Base weights (2 p, r) of a gated solution W whose every group is a neuron of its pattern, or None."""
    p = program.groups.count
    V = np.zeros((2 * p, W.shape[1]))
    for g in np.flatnonzero(W.any(axis=1)):
        # w_g A_g is the difference of two neurons; one of them, of either sign, must be in the cone
        copies = [(g, W[g])] if program.groups.linear and g == 0 else [(g, W[g]), (g + p, -W[g])]
        neurons = [(k, v) for k, w in copies if (v := program.neuron(int(k), w)) is not None]
        if not neurons:
            return None
        V[neurons[0][0]] = neurons[0][1]
    return V


def leaves_cones(program: ExactProgram, W: Array) -> bool:
    """Whether so much of a rough gated solution W is far outside its cones that more digits would not bring it back."""
    groups, norms = program.groups, np.linalg.norm(W, axis=1)
    able = np.flatnonzero((norms > 0) & ~program.is_free(np.arange(groups.count)))
    values = groups.base_weights(W[able], able) @ groups.base.T
    slack = np.where(groups.patterns[:, able].T, values, -values)
    # either sign of the neuron may be in the cone: the better of the two counts
    inside = np.maximum(slack.min(axis=1), -slack.max(axis=1))
    outside = able[inside < -OUTSIDE * np.abs(values).max(axis=1)]
    return bool(norms[outside].sum() > LEAVING * norms.sum())
