"""Patterns beyond the sampled ones: those that violate the dual of the present optimum are added.

What is left when nothing more is found is, as far as the search can see, the optimum over all patterns.
"""

from dataclasses import replace

import numpy as np

from recovery.instances.draw import Instance
from recovery.instances.patterns import unique_patterns
from recovery.programs.ascent import violated_neurons
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import groups_of
from recovery.programs.isometry import group_norms
from recovery.programs.program import Program
from recovery.programs.search import search_pattern
from recovery.solvers.cones import solve_cones
from recovery.solvers.newton import solve_newton
from recovery.types import Array, Mask, Rng

ROUNDS = 30
CLIMBS = 4
MOST_ADDED = 0.5
"""Patterns added a round, as a share of those there are."""
EXCESS = 1e-6


def with_searched_patterns(instance: Instance, architecture: str, exact: bool, beta: float | None) -> Instance:
    """The instance with its patterns grown until a search finds none that violates the optimum's dual."""
    if instance.setting.patterns.kind != "searched" or not instance.y.any():
        return instance
    rng = instance.streams.training
    for _ in range(ROUNDS):
        groups = groups_of(architecture, instance.X, instance.patterns)
        program = Program(groups, instance.y, beta)
        limit = (1.0 + EXCESS) * program.penalty
        most = max(20, int(MOST_ADDED * groups.count))
        if exact:
            problem = ExactProgram(program)
            candidate = solve_cones(problem).candidate
            V = candidate.V[int(groups.linear) :]
            known = V[V.any(axis=1)]
            known = known[np.argsort(-np.linalg.norm(known, axis=1))[: 2 * groups.n]].T
            normalized = groups.transforms is not None
            starts = CLIMBS * groups.n
            found = violated_neurons(
                groups.base, candidate.lam, limit, known, rng, normalized=normalized, starts=starts
            )
        else:
            lam = solve_newton(program).lam
            found = _violated_patterns(architecture, instance.X, groups.base, lam, limit, rng)
        patterns = unique_patterns(instance.X, [instance.patterns, found])[:, : instance.patterns.shape[1] + most]
        if patterns.shape[1] == instance.patterns.shape[1]:
            break
        instance = replace(instance, patterns=patterns)
    return instance


def _violated_patterns(architecture: str, X: Array, base: Array, lam: Array, limit: float, rng: Rng) -> Mask:
    """Patterns with ||A_j^T lam|| above `limit`, from climbs over the cells."""

    def score(patterns: Mask) -> Array:
        return group_norms(architecture, X, patterns, lam)

    def gain(pattern: Mask) -> Array:
        rows = base[pattern]
        if architecture == "relu_norm":
            fitted = base @ np.linalg.lstsq(rows, lam[pattern], rcond=None)[0]
            return 2 * lam * fitted - fitted**2
        return lam * (base @ (rows.T @ lam[pattern]))

    H = rng.standard_normal((X.shape[1], 20 * CLIMBS))
    best = np.argsort(score(X @ H >= 0))[-2 * CLIMBS :]
    found = [search_pattern(X, H[:, j] / np.linalg.norm(H[:, j]), score, gain, rng) for j in best]
    found.sort(key=lambda f: -f.value)
    kept = [f.pattern for f in found if f.value > limit]
    return np.array(kept, dtype=np.bool_).reshape(len(kept), X.shape[0]).T
