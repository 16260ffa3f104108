"""Patterns beyond the sampled ones: those that violate the dual of the present optimum are added.

What is left when nothing more is found is, as far as the search can see, the optimum over all patterns.
"""

import numpy as np

from recovery.conditions.ascent import violated_neurons
from recovery.conditions.beam import beam_patterns
from recovery.conditions.oracle import dual_terms
from recovery.conditions.search import search_pattern
from recovery.instances.draw import Instance
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PROGRAMS
from recovery.programs.architecture import Architecture
from recovery.programs.groups import Groups
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.solvers.table import find_solver
from recovery.types import Array, Mask, Rng

MOST_ROUNDS = 30
CLIMBS = 4
MOST_ADDED = 0.5
"""Patterns added a round, as a share of those there are."""
EXCESS = 1e-6


def with_searched_patterns(
    instance: Instance, architecture: Architecture, kind: str, beta: float | None, beam: int | None = None
) -> Instance:
    """The instance with its patterns grown until a search finds none that violates the optimum's dual.

    beam: the width of a beam search of cells that is made beside the climbs.
    """
    if instance.setting.patterns.kind != "searched" or not instance.y.any():
        return instance
    rng, F = instance.streams.training, architecture.features(instance.X)
    for _ in range(MOST_ROUNDS):
        groups = architecture.groups(instance.X, instance.patterns)
        program = PROGRAMS[kind](groups, instance.y, beta)
        solution = find_solver("auto" if program.has_cones else "newton", kind)(program)
        limit = (1.0 + EXCESS) * program.penalty
        searched = (
            violating_neurons(program, solution, limit, rng)
            if program.has_cones
            else violating_cells(groups, F, solution.lam, limit, rng)
        )
        if beam is not None:
            searched = np.hstack([violating_beam(groups, solution.lam, limit, beam), searched])
        most = max(20, int(MOST_ADDED * groups.count))
        patterns = unique_patterns(F, [instance.patterns, searched])[:, : instance.patterns.shape[1] + most]
        if patterns.shape[1] == instance.patterns.shape[1]:
            break
        instance = instance.with_patterns(patterns)
    return instance


def violating_neurons(program: Program, solution: Solution, limit: float, rng: Rng) -> Mask:
    """Patterns of neurons that violate the exact dual, from climbs over all neurons."""
    groups = program.groups
    V = solution.W[int(groups.linear) :]
    known = V[V.any(axis=1)]
    known = known[np.argsort(-np.linalg.norm(known, axis=1))[: 2 * groups.n]].T
    return violated_neurons(groups, solution.lam, limit, known, rng, starts=CLIMBS * groups.n)


def violating_cells(groups: Groups, F: Array, lam: Array, limit: float, rng: Rng) -> Mask:
    """Patterns of the features F (n, d) with ||A_j^T lam|| above `limit`, from climbs over the cells."""

    def score(patterns: Mask) -> Array:
        return groups.over(patterns).dual_norms(lam)

    def gain(pattern: Mask) -> Array:
        return groups.row_gains(pattern, lam)

    H = rng.standard_normal((F.shape[1], 20 * CLIMBS))
    best = np.argsort(score(F @ H >= 0))[-2 * CLIMBS :]
    climbs = [search_pattern(F, H[:, j] / np.linalg.norm(H[:, j]), score, gain, rng) for j in best]
    climbs.sort(key=lambda f: -f.value)
    kept = [f.pattern for f in climbs if f.value > limit]
    return np.array(kept, dtype=np.bool_).reshape(len(kept), len(F)).T


def violating_beam(groups: Groups, lam: Array, limit: float, width: int) -> Mask:
    """Patterns (n, m) with ||A_j^T lam|| above `limit`, the largest first, that a beam search over the cells ends with.

    Not for normalised neurons. Raises `ParameterError`.
    """
    weights, linear = dual_terms(groups, lam)
    met = beam_patterns(groups.base, weights, linear, width=width)
    kept = [f.pattern for f in met if f.value > limit][: 2 * CLIMBS]
    return np.array(kept, dtype=np.bool_).reshape(len(kept), groups.n).T
