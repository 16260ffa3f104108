"""The worst pattern for an isometry condition, searched for among all of them."""

import numpy as np

from recovery.conditions.isometry import among, planted_dual, planted_groups
from recovery.conditions.search import BestPattern, most_active, search_pattern
from recovery.programs.architecture import Architecture
from recovery.types import Array, Mask, Rng


def search_isometry(
    architecture: Architecture, X: Array, directions: Array, signs: Array, rng: Rng, *, linear: bool, starts: int = 4
) -> BestPattern | None:
    """The pattern of largest ||A_j^T lam|| that a local search finds, the planted ones left out.

    Starts: the planted directions (whose neighbours are the worst for one normalised neuron and n < 2d), the best
    `starts` of 50 random patterns, and as many patterns with nearly all rows active (where a condition next to a
    skip connection is tight). The value found bounds the condition's from below: above 1, it
    fails. None where the planted weights are not identified.
    """
    own = planted_groups(architecture, X, directions, linear=linear)
    X, directions = architecture.features(X), architecture.lift(directions, X)
    lam = planted_dual(own, X, directions, signs, linear=linear)
    if lam is None:
        return None
    known = own.patterns[:, int(own.linear) :]

    def score(patterns: Mask) -> Array:
        values = own.over(patterns).dual_norms(lam)
        values[among(patterns, known)] = 0.0
        return values

    def gain(pattern: Mask) -> Array:
        return own.row_gains(pattern, lam)

    H = rng.standard_normal((X.shape[1], 50))
    chosen = np.argsort(score(X @ H >= 0))[-starts:]
    points = [h / np.linalg.norm(h) for h in H[:, chosen].T]
    points += [w / np.linalg.norm(w) for w in directions.T]
    for _ in range(starts):
        points.append(most_active(X * rng.uniform(0.3, 1.0, (X.shape[0], 1)), rng, restarts=1).point)
    return max((search_pattern(X, h, score, gain, rng) for h in points), key=lambda found: found.value)
