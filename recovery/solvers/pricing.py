"""Which signed groups a dual violates: bounds on many projections at once, by accelerated projected gradients.

Each bound ||b(mu)|| (see `recovery.programs.projection`) is a valid one at every mu >= 0, so a group is done with as
soon as its bound is below the limit. All groups step together: two products of size k x n x r a step.
"""

import numpy as np

from recovery.programs.exact import ExactProgram
from recovery.types import Array, Index

STEPS = 60


def bound_projections(
    program: ExactProgram, lam: Array, chosen: Index, multipliers: Array, limit: float, steps: int = STEPS
) -> tuple[Array, Array]:
    """Improve multipliers (k, n) until each bound is at most `limit`, or `steps` are taken; bounds (k,) and they."""
    B = program.groups.base
    best = multipliers.copy()
    bounds = program.bounds(lam, chosen, best)
    open_ = np.flatnonzero(bounds > limit)
    mu = momentum = best[open_]
    S, z, inner, length = _local(program, lam, chosen[open_])
    weight = 1.0
    for step in range(steps):
        if not len(open_):
            break
        b = z + (S * momentum) @ B
        b = b if inner is None else np.matmul(inner, b[:, :, None])[:, :, 0]
        new = np.maximum(momentum - length[:, None] * (S * (b @ B.T)), 0.0)
        following = (1 + np.sqrt(1 + 4 * weight * weight)) / 2
        backwards = np.einsum("kn,kn->k", momentum - new, new - mu) > 0
        pace = np.where(backwards, 0.0, (weight - 1) / following)
        momentum = new + pace[:, None] * (new - mu)
        mu, weight = new, following
        if step % 10 == 9 or step == steps - 1:
            value = program.bounds(lam, chosen[open_], mu)
            better = value < bounds[open_]
            best[open_[better]], bounds[open_[better]] = mu[better], value[better]
            left = bounds[open_] > limit
            open_, mu, momentum, S, z, length = (
                open_[left],
                mu[left],
                momentum[left],
                S[left],
                z[left],
                length[left],
            )
            inner = None if inner is None else inner[left]
    return bounds, best


def _local(program: ExactProgram, lam: Array, chosen: Index) -> tuple[Array, Array, Array | None, Array]:
    """Orientations, pulls, the inner products T T^T or None, and the step lengths of the chosen groups."""
    groups = program.groups
    S, z = program.orientation(chosen), program.pulls(lam, chosen)
    largest = float(np.linalg.norm(groups.base, 2)) ** 2
    if program.metrics is None:
        return S, z, None, np.full(len(chosen), 1.0 / largest)
    products, norms = program.metrics
    own = program.group(chosen)
    return S, z, products[own], 1.0 / (largest * norms[own])
