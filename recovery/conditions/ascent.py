"""Neurons that a dual of the exact program is violated by, looked for over all patterns at once.

Over all patterns the exact program's dual says sigma lam.(B v)_+ <= N(v) for every v, with N(v) = ||v||, or
||(B v)_+|| where neurons are normalised. The ratio is piecewise smooth in v; many points climb it together, each with
its own step, and cross from cell to cell as they go. What is found is certified by its point; nothing is missed only
in the sense that no start leads there.
"""

import numpy as np

from recovery.programs.groups import Groups
from recovery.types import Array, Mask, Rng

STEPS = 80
"""The best of 200 climbs is then within 1e-6 of where 400 steps lead; after 20 it is within 1 %."""
FIRST_STEP = 0.3
"""Of the unit sphere: far enough to cross into other cells; a step that fails is halved."""


def neuron_ratio(groups: Groups, lam: Array, v: Array) -> tuple[Array, Array]:
    """lam.(B v)_+ / N(v) and its gradient for the columns of v (r, m): (m,) and (r, m)."""
    # the gradient of a quotient f / N is (f' - (f / N) N') / N; at a kink any one-sided gradient serves, as a step that
    # does not climb is not taken
    base, raw = groups.base, groups.base @ v
    Z = groups.activate(raw)
    value = lam @ Z
    slope = base.T @ (lam[:, None] * np.where(raw > 0, 1.0, groups.slope))
    size = np.linalg.norm(Z if groups.orthonormal else v, axis=0)
    size = np.where(size > 0, size, 1.0)
    ratio = value / size
    # N' of ||Z|| is B^T (Z / ||Z||), as the activation's derivative is 1 where Z is not 0 (slope is 0 here)
    turn = base.T @ (Z / size) if groups.orthonormal else v / size
    return ratio, (slope - ratio * turn) / size


def climb(groups: Groups, lam: Array, starts: Array) -> tuple[Array, Array]:
    """Unit points (r, m) that the columns of `starts` climb to, and their ratios (m,)."""
    v = starts / np.linalg.norm(starts, axis=0)
    ratio, gradient = neuron_ratio(groups, lam, v)
    step = np.full(v.shape[1], FIRST_STEP)
    for _ in range(STEPS):
        length = np.linalg.norm(gradient, axis=0)
        trial = v + step * gradient / np.where(length > 0, length, 1.0)
        trial /= np.linalg.norm(trial, axis=0)
        value, slope = neuron_ratio(groups, lam, trial)
        # no line search: a trial costs both products with B for all points at once, so each goes one step and learns
        # its length from that
        better = value > ratio
        v, gradient = np.where(better, trial, v), np.where(better, slope, gradient)
        ratio, step = np.where(better, value, ratio), np.where(better, 1.2 * step, 0.5 * step)
    return v, ratio


def violated_neurons(groups: Groups, lam: Array, limit: float, known: Array, rng: Rng, *, starts: int) -> Mask:
    """Patterns (n, m) of the neurons found with |ratio| above `limit`, the largest first.

    known (r, k): neurons of the present solution, where climbs start too, with and without noise.
    """
    r = groups.rank
    # a neuron of the solution is a stationary point of the ratio in its own cell, where its dual constraint is tight: a
    # climb leaves it only across the cell's boundary, or from a point beside it
    noisy = known + 0.1 * np.linalg.norm(known, axis=0) * rng.standard_normal(known.shape) / np.sqrt(r)
    points = np.hstack([rng.standard_normal((r, starts)), known, noisy])
    # both signs: neurons of negative outer weight bound lam from below
    climbs = [climb(groups, signed, points) for signed in (lam, -lam)]
    v, ratio = np.hstack([f[0] for f in climbs]), np.concatenate([f[1] for f in climbs])
    order = np.argsort(-ratio)
    order = order[ratio[order] > limit]
    patterns: Mask = groups.base @ v[:, order] >= 0
    return patterns
