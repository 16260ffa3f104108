"""Neural isometry conditions, evaluated over patterns, and the search for the pattern that violates one most.

Let S be the planted groups, u the stack of their unit weights, and
    lam = pinv(A_S^T) u.
The planted weights are the unique optimum of the gated program if max_{g not in S} ||A_g^T lam|| < 1. That is (NIC-L)
for a linear neuron next to a skip connection, (NIC-1) and (NIC-k) for `relu`, (NNIC-1) and (NNIC-k) for `relu_norm`,
and (orth-NIC-L) for `relu_norm_skip`. Source: P1, Definitions 2 to 6.

P1 uses the pseudo-inverse without requiring A_S^T lam = u. That equation has no solution if two planted patterns differ
in fewer than d rows, and the printed value can then be below 1 although the planted weights are not optimal. Here the
condition is then not `identified` and does not hold, except for `printed`.

Required for every linear neuron at once, a condition is uniform (strong): ||X^T D_j X (X^T X)^{-1}||_2 < 1.
"""

from dataclasses import dataclass, replace

import numpy as np

from recovery.conditions.beam import beam_search
from recovery.conditions.oracle import Bounds, dual_terms, gated_dual
from recovery.conditions.search import BestPattern, most_active, search_pattern, smoothed_search
from recovery.errors import ParameterError
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.programs.groups import Groups
from recovery.programs.uniqueness import planted_candidate
from recovery.types import Array, Mask, Rng

ROUNDING = 1e-9
"""A margin below this counts as zero. Larger than the error of the projections; true margins of 1e-8 occur next to the
planted pattern."""
CHUNK_BYTES = 48 * 2**20
"""Memory of the d x d matrices, and of their products, that are formed at a time."""


@dataclass(frozen=True)
class Condition:
    """A condition value < bound (orth-SNIC-L: value <= bound), evaluated over a set of patterns.

    value: the largest over the patterns. attained_by: the column that attains it, None for the skip connection and
    without patterns (the value is then 0). holds: whether the value is below the bound by more than rounding; a pattern
    that contains the planted one has the value 1 exactly. identified: False, with an infinite value, where the labels
    do not determine the planted weights; the condition then cannot hold.
    """

    name: str
    value: float
    holds: bool
    attained_by: int | None = None
    bound: float = 1.0
    identified: bool = True

    @property
    def margin(self) -> float:
        """The difference bound - value; negative where the condition is violated."""
        return self.bound - self.value


def neural_isometry(
    architecture: Architecture,
    X: Array,
    directions: Array,
    signs: Array,
    patterns: Mask,
    *,
    linear: bool,
    printed: bool = False,
) -> Condition:
    """Evaluate the condition for recovering planted neurons over the patterns (n, p) that differ from theirs.

    directions (d, k) and signs (k,): of the neurons, which have the activation of the architecture, or with `linear` of
    one linear neuron. printed: use pinv(A_S^T) u even where A_S^T lam = u has no solution. Raises `ParameterError` for
    a linear neuron without a skip connection. Source: P1, Definitions 2 to 6.
    """
    name = architecture.condition(len(signs), linear=linear)
    own, lam = planted_dual(architecture, X, directions, signs, linear=linear, printed=printed)
    if lam is None:
        return Condition(name, np.inf, False, identified=False)
    others = np.flatnonzero(~_among(patterns, own.patterns[:, int(own.linear) :]))
    values = own.over(patterns[:, others]).dual_norms(lam)
    value, attained_by = 0.0, None
    if values.size:
        best = int(np.argmax(values))
        value, attained_by = float(values[best]), int(others[best])
    if own.linear and not linear:
        skip = float(np.linalg.norm(own.base.T @ lam))
        if skip > value:
            value, attained_by = skip, None
    return Condition(name, value, value < 1 - ROUNDING, attained_by)


def isometry_bounds(
    architecture: Architecture, X: Array, directions: Array, signs: Array, *, linear: bool, nodes: int
) -> Bounds | None:
    """Bound the value of the condition over all patterns except the planted ones, with at most `nodes` cells.

    Neurons as in `neural_isometry`. None where they are not identified.
    """
    own, lam = planted_dual(architecture, X, directions, signs, linear=linear)
    if lam is None:
        return None
    bounds = gated_dual(own, lam, known=own.patterns[:, int(own.linear) :], nodes=nodes)
    skip = float(np.linalg.norm(own.base.T @ lam)) if own.linear and not linear else 0.0
    return replace(bounds, lower=max(bounds.lower, skip), upper=max(bounds.upper, skip))


def search_isometry(
    architecture: Architecture,
    X: Array,
    directions: Array,
    signs: Array,
    rng: Rng,
    *,
    linear: bool,
    starts: int = 4,
    beam: int | None = None,
    smoothed: bool = False,
) -> BestPattern | None:
    """Search locally for the pattern of largest ||A_j^T lam|| other than the planted ones.

    Starting points: the planted directions (their neighbours are the worst for one normalised neuron and n < 2d), the
    best `starts` of 50 random patterns, and `starts` patterns with nearly all rows active (where a condition with a
    skip connection is tight). beam: the width of a beam search, made instead. smoothed: `starts` smooth ascents, made
    instead. The value found is a lower bound: above 1 the condition fails. None where the planted weights are not
    identified or no other pattern is found. Raises `ParameterError` for a beam or smooth ascents and neurons that are
    normalised after the ReLU.
    """
    own, lam = planted_dual(architecture, X, directions, signs, linear=linear)
    if lam is None:
        return None
    X, directions = architecture.features(X), architecture.lift(directions, X)
    known = own.patterns[:, int(own.linear) :]
    if smoothed:
        return smoothed_search(own.base, *dual_terms(own, lam), rng, starts=starts, known=known)
    if beam is not None:
        return beam_search(own.base, *dual_terms(own, lam), width=beam, known=known)

    def score(patterns: Mask) -> Array:
        values = own.over(patterns).dual_norms(lam)
        values[_among(patterns, known)] = 0.0
        return values

    def gain(pattern: Mask) -> Array:
        return own.row_gains(pattern, lam)

    H = rng.standard_normal((X.shape[1], 50))
    chosen = np.argsort(score(X @ H >= 0))[-starts:]
    points = [h / np.linalg.norm(h) for h in H[:, chosen].T]
    points += [w / np.linalg.norm(w) for w in directions.T]
    # `most_active` deletes rows until the rest can be active together. Random row scales leave the cells as they are
    # but change the order of deletion: at n = 40, d = 8 ten tries end in eight patterns, not in one
    for _ in range(starts):
        points.append(most_active(X * rng.uniform(0.3, 1.0, (X.shape[0], 1)), rng, restarts=1).point)
    return max((search_pattern(X, h, score, gain, rng) for h in points), key=lambda best: best.value)


def planted_dual(
    architecture: Architecture, X: Array, directions: Array, signs: Array, *, linear: bool, printed: bool = False
) -> tuple[Groups, Array | None]:
    """Return the groups of the planted patterns only, and lam (n,), the least-norm solution of A_S^T lam = u.

    Neurons as in `neural_isometry`. lam is None where they are not identified: no solution exists (too few rows), two
    neurons share a pattern, or the images of the unit weights are zero or dependent. printed: lam is pinv(A_S^T) u even
    where no solution exists. In the coordinates of the base u_g = r_i w_i/||w_i||; for a normalised network
    r_i S V^T w_i / ||S V^T w_i||. Raises `ParameterError`.
    """
    architecture.require("isometry")
    if linear and not architecture.skip:
        raise ParameterError(
            f"architecture {architecture.name!r} has no skip connection, so no linear neuron to recover a planted "
            f"linear model with; those that have one are {', '.join(a.name for a in ARCHITECTURES.values() if a.skip)}"
        )
    F, neurons = architecture.features(X), architecture.lift(directions, X)
    own = architecture.groups(X, F @ neurons[:, : 0 if linear else None] >= 0)
    W, first = np.zeros((own.count, own.rank)), int(own.linear and not linear)
    if linear:
        W[0] = own.coordinates @ neurons[:, 0] * signs[0]
    else:
        for i, sign in enumerate(signs):
            W[first + i] = sign * own.neuron(first + i, neurons[:, i], F)
    # planted neurons with the same pattern share one group, which stores only the sum of their weights: lam is None
    # then
    if len(np.unique(own.patterns[:, first:], axis=1).T) < len(signs) or not W[first:].any(axis=1).all():
        return own, None
    candidate = planted_candidate(own, W, np.flatnonzero(W.any(axis=1)))
    if printed:
        return own, np.linalg.pinv(candidate.block.T) @ candidate.directions[candidate.present]
    return own, candidate.lam if candidate.distinct else None


def _among(patterns: Mask, own: Mask) -> Mask:
    """Mark the columns of `patterns` that are columns of `own`."""
    member = np.zeros(patterns.shape[1], dtype=np.bool_)
    for column in own.T:
        member |= (patterns == column[:, None]).all(axis=0)
    return member


def uniform_isometry(X: Array, patterns: Mask) -> Condition:
    """Evaluate max_j ||X^T D_j X (X^T X)^{-1}||_2 < 1, the spectral norm, for X (n, d) of full column rank.

    This is (NIC-L) for every w at once. Source: P1, (7).
    """
    d = X.shape[1]
    identified = bool(np.linalg.matrix_rank(X) == d)
    if not identified or patterns.shape[1] == 0:
        return Condition("SNIC-L", 0.0 if identified else np.inf, identified, identified=identified)
    inverse = np.linalg.inv(X.T @ X)
    i, j = np.triu_indices(d)
    outer = X[:, i] * X[:, j]
    values = np.empty(patterns.shape[1])
    size = max(1, CHUNK_BYTES // (16 * d * d))
    for start in range(0, values.size, size):
        packed = patterns[:, start : start + size].T @ outer
        G = np.empty((len(packed), d, d))
        G[:, i, j] = packed
        G[:, j, i] = packed
        values[start : start + size] = np.linalg.svd(G @ inverse, compute_uv=False)[:, 0]
    best = int(np.argmax(values))
    return Condition("SNIC-L", float(values[best]), bool(values[best] < 1 - ROUNDING), best)


def orthogonal_uniform_isometry(patterns: Mask, d: int) -> Condition:
    """Evaluate max_j tr(D_j) <= n - d, which is (7) for X (n, d) with orthonormal columns, rows in general position.

    ||X^T D_j X|| < 1 if and only if X^T (I - D_j) X is positive definite: at least d rows are inactive. Source: P1,
    (26).
    """
    n = patterns.shape[0]
    traces = patterns.sum(axis=0)
    if traces.size == 0:
        return Condition("orth-SNIC-L", 0.0, True, bound=float(n - d))
    best = int(np.argmax(traces))
    return Condition("orth-SNIC-L", float(traces[best]), bool(traces[best] <= n - d), best, bound=float(n - d))
