"""Exact programs through cvxpy, solved by a conic solver chosen by name: the independent second opinion."""

import warnings
from collections.abc import Mapping

import numpy as np

from recovery.errors import SolverError
from recovery.programs.exact import ExactProgram
from recovery.programs.exact_certificate import Candidate
from recovery.solvers.cones import ExactSolution
from recovery.solvers.conic import STATUSES, require_solver
from recovery.solvers.solution import Status
from recovery.types import Index


def solve_conic_exact(
    program: ExactProgram, name: str, chosen: Index | None = None, options: Mapping[str, float] | None = None
) -> ExactSolution:
    """Solve the exact program, or its restriction to the signed groups `chosen`, as P1 writes it.

    Raises `SolverError` where the solver is missing or breaks down; a solver that stops early is a status. `options`
    go to the solver.
    """
    require_solver(name)
    import cvxpy as cp  # takes a second to import, and only conic solves need it

    groups, p = program.groups, program.groups.count
    members = program.members if chosen is None else chosen
    S = program.orientation(members)
    v = [cp.Variable(groups.rank) for _ in members]
    images, norms, cones = [], [], []
    for i, k in enumerate(members):
        g = int(k) % p
        images.append(float(program.sign(members[i : i + 1])[0]) * (groups.D[:, g, None] * groups.base) @ v[i])
        norms.append(cp.norm2(v[i] if program.factors is None else program.factors[g] @ v[i]))
        if S[i].any():
            cones.append((S[i][:, None] * groups.base) @ v[i] >= 0)
    fit, penalty = sum(images), program.penalty * cp.sum(cp.hstack(norms))
    if program.gated.interpolates:
        problem = cp.Problem(cp.Minimize(penalty), [fit == program.y, *cones])
    else:
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(fit - program.y) + penalty), cones)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cvxpy's remarks on accuracy are the status
            problem.solve(solver=name, **(options or {}))
    except (cp.SolverError, ArithmeticError, ValueError) as error:
        raise SolverError(f"{name} broke down: {error}") from error
    V, lam = np.zeros((2 * p, groups.rank)), np.zeros(groups.n)
    if v[0].value is not None:
        V[members] = np.array([x.value for x in v])
        interpolates = program.gated.interpolates
        lam = -problem.constraints[0].dual_value if interpolates else program.y - program.forward(V)
    status = STATUSES.get(problem.status, Status.NUMERICAL_TROUBLE)
    candidate = Candidate(V, lam, np.empty(0, dtype=np.intp), np.empty((0, groups.n)))
    return ExactSolution(candidate, status, int(problem.solver_stats.num_iters or 0), name)
