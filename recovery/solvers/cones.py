"""Exact programs: the gated solution if it lies in the cones, otherwise Newton's method on projections, started from
it.

The gated program is a relaxation, so a gated solution in which every group is a neuron of its pattern is also optimal
for the exact program. With noise this rarely happens, which a rough gated solution already shows; then it only serves
as a start.
"""

import numpy as np

from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.projections import UNSEEN
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers.cone_newton import solve_projected
from recovery.solvers.controls import CONES
from recovery.solvers.newton import solve_newton
from recovery.types import Array


def solve_cones(program: ExactProgram, start: Solution | None = None, tolerance: float = CONES.tolerance) -> Solution:
    """Solve an exact program to relative gap and residual `tolerance`, from the gated solution `start` if given.

    `Solution.solver` is `gated` if the gated solution lies in the cones or is infeasible, otherwise `newton`.
    """
    gated = solve_newton(program.gated, tolerance=CONES.roughly) if start is None else start
    if start is None and gated.outcome is Outcome.SOLVED and leaves_cones(program, gated.W):
        solution = _projected(program, gated, tolerance)
        if solution.outcome is Outcome.SOLVED:
            return solution
    if start is None and gated.outcome is not Outcome.INFEASIBLE:
        gated = solve_newton(program.gated, gated)
    if gated.outcome is Outcome.INFEASIBLE:  # the gated program is a relaxation, so the exact program is infeasible too
        return _as_exact(program, gated, np.zeros((program.size, program.groups.rank)))
    V = in_cones(program, gated.W)
    # a gated solution that lies in the cones solves the exact program too, with the same dual
    relaxed = None if V is None else _as_exact(program, gated, V)
    if relaxed is not None and gated.outcome is Outcome.SOLVED:
        return relaxed
    solution = _projected(program, gated, tolerance)
    if relaxed is not None and certify(program, relaxed).error < certify(program, solution).error:
        return relaxed
    return solution


def _projected(program: ExactProgram, gated: Solution, tolerance: float) -> Solution:
    """Solve by projections; if norms ignore some weights, try UNSEEN until an optimum is proved; return the best."""
    solution = solve_projected(program, gated, tolerance, UNSEEN[0], CONES)
    groups = program.groups
    if groups.confined or groups.dimensions(np.arange(groups.count)).all():
        return solution
    certificate = certify(program, solution)
    # no value of UNSEEN, the weight of null-space directions, suits all programs. The smaller value loses more digits,
    # so try it second
    for unseen in UNSEEN[1:]:
        if certificate.proves_optimal:
            break
        other = solve_projected(program, gated, tolerance, unseen, CONES)
        judged = certify(program, other)
        if judged.error < certificate.error:
            solution, certificate = other, judged
    return solution


def _as_exact(program: ExactProgram, gated: Solution, V: Array) -> Solution:
    return Solution(V, gated.lam, gated.outcome, gated.iterations, "gated", Multipliers.none(program.groups.n))


def in_cones(program: ExactProgram, W: Array) -> Array | None:
    """Return base weights (2 p, r) of a gated solution W if every group is a neuron of its pattern, otherwise None."""
    p = program.groups.count
    V = np.zeros((2 * p, W.shape[1]))
    for g in np.flatnonzero(W.any(axis=1)):
        # the group has a place in the exact program if w_g is a neuron in its cone with positive sign, or -w_g one with
        # negative sign
        copies = [(g, W[g])] if program.groups.linear and g == 0 else [(g, W[g]), (g + p, -W[g])]
        neurons = [(k, v) for k, w in copies if (v := program.neuron(int(k), w)) is not None]
        if not neurons:
            return None
        V[neurons[0][0]] = neurons[0][1]
    return V


def leaves_cones(program: ExactProgram, W: Array) -> bool:
    """Return whether a rough gated solution W is so far outside its cones that a more accurate one cannot be inside."""
    groups, norms = program.groups, np.linalg.norm(W, axis=1)
    able = np.flatnonzero((norms > 0) & ~program.is_free(np.arange(groups.count)))
    values = groups.base_weights(W[able], able) @ groups.base.T
    slack = np.where(groups.patterns[:, able].T, values, -values)
    # a group's neuron may have either sign: take the sign with the larger least slack
    inside = np.maximum(slack.min(axis=1), -slack.max(axis=1))
    outside = able[inside < -CONES.astray * np.abs(values).max(axis=1)]
    return bool(norms[outside].sum() > CONES.leaving * norms.sum())
