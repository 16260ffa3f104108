"""Verdicts over all activation patterns that a theorem gives, at any n and d, without a search.

Both theorems are about noiseless labels. They use a dual lam whose norm is at most 1 in every group.

- One linear neuron w beside a skip connection, base matrix B with B^T B = I (orthonormal data, or the coordinates of
  neurons normalised before the ReLU), no non-zero row orthogonal to w. With lam = B w / ||w||, every pattern D that is
  inactive on a non-zero row k has ||B^T D lam||^2 <= ||D lam||^2 <= 1 - lam_k^2 < 1. So only the all-ones pattern can
  share the cost. Gated: w is the unique optimum exactly if there is no all-ones pattern. Exact: in the cone of that
  pattern u.w = ||w|| ||u|| only along w, so w is unique unless B w >= 0 or B w <= 0.
- One neuron w normalised after the ReLU, no skip connection, no non-zero row orthogonal to w. Let a = (X w)_+, and
  S its active rows. With lam = a / ||a|| the norm of the projection of lam on the range of D X is 1 only if a is in
  that range: D contains S, and some v has X v = X w on S and X v = 0 on the other non-zero rows of D. If X and X_S have
  the same rank, v gives X v = X w on all rows, and D has no other such row: w is the unique optimum. If X_S has lower
  rank, some z with X_S z = 0 turns w until a first inactive row reaches 0: the pattern there has a, at the same cost,
  and w + t z is in its cone. So w is an optimum, but not the only one.

Found while P1's Theorem 7 and Figure 4 were checked; P1 has the first dual before its Proposition 7.
"""

import numpy as np

from recovery.methods.cascade import Decision
from recovery.methods.convex import PlantedProgram
from recovery.methods.representation import planted_neurons
from recovery.programs.certificate import Certified, certify
from recovery.programs.integers import quick_rank
from recovery.programs.orthonormal import SURE
from recovery.programs.solution import Solution
from recovery.types import EPS, Array

ORTHONORMAL = 1e-10
"""Largest ||B^T B - I|| at which B counts as orthonormal."""
CERTAIN = 1e-9
"""Products x.w above this fraction of ||x|| ||w|| have a certain sign."""


def decide_by_theorem(problem: PlantedProgram) -> Decision | None:
    """Return the verdict that a theorem gives over all patterns; None if none applies, or rounding might decide it."""
    neurons, architecture = planted_neurons(problem.instance), problem.architecture
    if not problem.feasible:
        return None
    if neurons.linear:
        applies = architecture.skip and architecture.slope == 0.0 and not architecture.normalizes_after
        return _linear_neuron(problem) if applies else None
    applies = architecture.normalizes_after and not architecture.skip and neurons.directions.shape[1] == 1
    return _normalised_neuron(problem) if applies else None


def _linear_neuron(problem: PlantedProgram) -> Decision | None:
    B, w = problem.program.groups.base, problem.planted[0]
    lam = B @ w / np.linalg.norm(w)
    live = B.any(axis=1)
    error = float(np.linalg.norm(B.T @ B - np.eye(B.shape[1])))
    if error > ORTHONORMAL or (lam[live] ** 2).min() <= 4 * error + 4 * len(B) * EPS:
        return None
    if not problem.program.has_cones:
        all_ones = problem.instance.all_ones
        return None if all_ones is None else _decision(problem, lam, unique=not all_ones.exists)
    return _decision(problem, lam, unique=bool((lam[live] > 0).any() and (lam[live] < 0).any()))


def _normalised_neuron(problem: PlantedProgram) -> Decision | None:
    neurons, F = planted_neurons(problem.instance), problem.features
    w = problem.architecture.lift(neurons.directions, problem.instance.X)[:, 0]
    z, sizes = F @ w, np.linalg.norm(F, axis=1)
    live = sizes > 0
    active = live & (z > 0)
    if not active.any() or (np.abs(z[live]) <= CERTAIN * sizes[live] * np.linalg.norm(w)).any():
        return None
    ranks = certain_rank(F[live]), certain_rank(F[active])
    if None in ranks:
        return None
    a = np.where(active, z, 0.0)
    lam = float(np.sign(neurons.signs[0])) * a / np.linalg.norm(a)
    return _decision(problem, lam, unique=ranks[0] == ranks[1])


def certain_rank(A: Array) -> int | None:
    """Return the rank of a matrix (n, d) of non-zero rows; None if rows are so nearly dependent that rounding decides.

    Also None for a large matrix of low rank, whose rank in integers would take long.
    """
    s = np.linalg.svd(A / np.linalg.norm(A, axis=1, keepdims=True), compute_uv=False)
    rank = int(np.count_nonzero(s > SURE * s[0]))
    if rank == len(s):
        return rank
    return rank if quick_rank(A) == rank else None


def _decision(problem: PlantedProgram, lam: Array, *, unique: bool) -> Decision:
    if not unique:
        return Decision("not_unique", "theorem")
    optimum = Solution(problem.planted, lam, solver="planted")
    return Decision("recovered", "theorem", proof=Certified(optimum, certify(problem.program, optimum)))
