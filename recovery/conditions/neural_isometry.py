"""Neural isometry conditions, evaluated over patterns, and the search for the pattern that violates one most.

Let S be the planted groups, u the stack of their unit weights, and
    lam = pinv(A_S^T) u.
The planted weights are the unique optimum of the gated program if max_{g not in S} ||A_g^T lam|| < 1. That is (NIC-L)
for a linear neuron next to a skip connection, (NIC-1) and (NIC-k) for `relu`, (NNIC-1) and (NNIC-k) for `relu_norm`,
and (orth-NIC-L) for `relu_norm_skip`. Source: P1, Definitions 2 to 6.

P1 uses the pseudo-inverse without requiring A_S^T lam = u. That equation has no solution if two planted patterns differ
in fewer than d rows, and the printed value can then be below 1 although the planted weights are not optimal. Here the
condition then does not hold, and its value is infinite.

Required for every linear neuron at once, a condition is uniform (strong): ||X^T D_j X (X^T X)^{-1}||_2 < 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from recovery.conditions.exact_dual import exact_margins, uniform_margin
from recovery.conditions.exact_model import Model
from recovery.conditions.oracle import gated_dual
from recovery.conditions.planes import RowSum
from recovery.conditions.search import (
    BestPattern,
    among,
    best_starts,
    dual_scores,
    most_active,
    search_pattern,
    smoothed_search,
)
from recovery.conditions.ties import faint
from recovery.instances.planted import Neurons
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import RESIDUAL_TOLERANCE
from recovery.programs.groups import Groups
from recovery.programs.integers import MOST_ENTRIES, exact_rank, integer_rows
from recovery.programs.orthonormal import PROJECTED, chunks, projection_norms, range_is_sure
from recovery.programs.uniqueness import Candidate, planted_candidate
from recovery.types import EPS, Array, Mask, Rng

SMALL = 1e-6
"""Margins below this are computed without cancellation, by ball arithmetic."""
UNSOLVED = 1e-6
"""A residual of the equations of the dual above this shows that they have no solution, if their rank is exact."""
VALUE_WIDTH = 1e-9
"""Largest distance of bounds that are stored as a value."""
UNSURE = "rounding decides whether the value is below 1"


@dataclass(frozen=True)
class Condition:
    """A condition value < 1 (orth-SNIC-L: value <= n - d), evaluated over a set of patterns.

    value: the largest over the patterns; infinite where the labels do not determine the planted weights, so that the
    condition cannot hold. margin: the bound less the value, also where it is smaller than the rounding of the value.
    holds: whether the value is below the bound, exactly; None where that is not known, with the `reason`. attained_by:
    the column that attains the value, None for the skip connection and without patterns (the value is then 0).
    """

    value: float
    margin: float
    holds: bool | None
    attained_by: int | None = None
    reason: str | None = None


def _judged(values: Array, error: Array, exact: Callable[[int], float | None]) -> Condition:
    """Return the condition value < 1 for values (p,) with bounds on their errors; `attained_by` is an index of values.

    exact: an index -> the margin with a proved sign, or None. It is called only if the errors leave the sign in doubt.
    """
    if not values.size:
        return Condition(0.0, 1.0, True)
    best = int(np.argmax(values))
    value = float(values[best])
    violated = np.flatnonzero(values > 1 + error)
    if violated.size:
        best = int(violated[np.argmax(values[violated])])
        proved = exact(best) if values[best] < 1 + SMALL else None
        least = 1 - float(values[best]) if proved is None else proved
        return Condition(1 - least, least, False, best)
    near = values >= 1 - error
    if not near.any() and value > 1 - SMALL:
        near = values + error >= (values - error).max()
    known: dict[int, float] = {}
    for j in np.flatnonzero(near)[np.argsort(-values[near])].tolist():
        margin = exact(j)
        if margin is not None and margin <= 0:
            return Condition(1 - margin, margin, False, j)
        if margin is not None:
            known[j] = margin
        elif values[j] >= 1 - error[j]:
            return Condition(value, 1 - value, None, best, reason=UNSURE)
    margins = 1 - values
    margins[list(known)] = list(known.values())
    best = int(np.argmin(margins))
    return Condition(1 - float(margins[best]), float(margins[best]), True, best)


@dataclass(frozen=True)
class PlantedDual:
    """The groups of the planted patterns only, and lam (n,), the least-norm solution of A_S^T lam = u.

    X (n, d), neurons (d, k): as the neurons see them. lam is None where no solution exists (too few rows), two neurons
    share a pattern, or the images of the unit weights are zero or dependent; certain: whether that is certain. doubt: a
    bound on the rounding of dual norms of lam, infinite if A_S is singular up to rounding.
    """

    architecture: Architecture
    X: Array
    neurons: Array
    signs: Array
    own: Groups
    lam: Array | None = None
    doubt: float = np.inf
    certain: bool = True

    @property
    def patterns(self) -> Mask:
        """The planted patterns (n, k), without that of a skip connection."""
        return self.own.patterns[:, int(self.own.linear) :]

    def over(self, patterns: Mask) -> Condition:
        """Evaluate the condition over the patterns (n, p) that differ from the planted ones."""
        if self.lam is None:
            return self._not_identified()
        others = np.flatnonzero(~among(patterns, self.patterns))
        found = self._judged(patterns[:, others])
        column = None if found.attained_by in (None, len(others)) else int(others[found.attained_by])
        return replace(found, attained_by=column)

    def over_all(self, nodes: int) -> Condition:
        """Bound the value of the condition over all patterns except the planted ones, with at most `nodes` cells.

        The value is NaN, with both bounds as reason, if these are not equal.
        """
        if self.lam is None:
            return self._not_identified()
        bounds = gated_dual(self.own, self.X, self.lam, known=self.patterns, nodes=nodes)
        at: Mask = (self.own.base @ bounds.point > 0) | ~self.own.base.any(axis=1)
        worst = self._judged(at[:, None] if bounds.lower > 0 else np.empty((len(at), 0), dtype=np.bool_))
        low, high = max(bounds.lower, worst.value), max(bounds.upper, worst.value)
        known = high - low <= VALUE_WIDTH
        value, margin = (worst.value, worst.margin) if known else (np.nan, np.nan)
        between = None if known else f"the value over all patterns lies between {low:.9g} and {high:.9g}"
        holds = False if worst.holds is False else True if high < 1 - self.doubt else None
        reason = between or (worst.reason or UNSURE if holds is None else None)
        return Condition(value, margin, holds, reason=reason)

    def searched(self, rng: Rng, *, starts: int = 4, smoothed: bool = False) -> BestPattern | None:
        """Search locally for the pattern of largest ||A_j^T lam|| other than the planted ones.

        Starting points: the planted directions (their neighbours are the worst for one normalised neuron and n < 2d),
        the best `starts` of 50 random patterns, and `starts` patterns with nearly all rows active (where a condition
        with a skip connection is tight). smoothed: `starts` smooth ascents, made instead. The value found is a lower
        bound: above 1 the condition fails. None where the planted weights are not identified or no other pattern is
        found. Raises `ParameterError` for smooth ascents and neurons that are normalised after the ReLU.
        """
        if self.lam is None:
            return None
        X, own, lam, known = self.X, self.own, self.lam, self.patterns
        if smoothed:
            return smoothed_search(RowSum.of(own, lam), rng, starts=starts, known=known)
        score, gain = dual_scores(own, lam, known)
        points = best_starts(X, score, rng, 50, starts)
        points += [w / np.linalg.norm(w) for w in self.neurons.T]
        # `most_active` deletes rows until the rest can be active together. Random row scales leave the cells as they
        # are but change the order of deletion: at n = 40, d = 8 ten tries end in eight patterns, not in one
        for _ in range(starts):
            points.append(most_active(X * rng.uniform(0.3, 1.0, (X.shape[0], 1)), rng, restarts=1).point)
        return max((search_pattern(X, h, score, gain, rng) for h in points), key=lambda best: best.value)

    def _not_identified(self) -> Condition:
        reason = None if self.certain else "rounding decides whether a dual with the planted directions exists"
        return Condition(np.inf, -np.inf, False if self.certain else None, reason=reason)

    def _judged(self, patterns: Mask) -> Condition:
        """Return the condition over patterns (n, p) that are not planted, and the skip connection if not planted."""
        assert self.lam is not None
        own, first, k = self.own, int(self.own.linear), len(self.signs)
        unsure = np.zeros(patterns.shape[1], dtype=np.bool_)
        if own.orthonormal:
            values = projection_norms(own.base, patterns, self.lam, unsure)
            unsure[unsure] = [not range_is_sure(self.X, rows) for rows in patterns[:, unsure].T]
        else:
            values = own.over(patterns).dual_norms(self.lam)
        if own.linear and self.patterns.shape[1]:  # a skip connection that is not planted
            values, unsure = np.append(values, np.linalg.norm(own.base.T @ self.lam)), np.append(unsure, False)
        together = np.hstack([own.patterns, patterns])
        owner = tuple(range(first, first + k)) if self.patterns.shape[1] else (0,)
        exact = exact_margins(Model(self.architecture, self.X, together, self.neurons, self.signs, owner))

        def margin(j: int) -> float | None:
            return exact(0 if j == patterns.shape[1] else own.count + j)

        return _judged(values, np.where(unsure, np.inf, self.doubt), margin)


def planted_dual(architecture: Architecture, X: Array, planted: Neurons) -> PlantedDual:
    """Return the dual of planted neurons, which have the activation of the architecture, or of one linear neuron beside
    its skip connection.

    In coordinates of the base, u_g = r_i w_i/||w_i||, r_i a sign; if normalised, r_i S V^T w_i / ||S V^T w_i||. Raises
    `ParameterError` for an architecture without isometry conditions.
    """
    architecture.require("isometry")
    F, neurons, signs = architecture.features(X), architecture.lift(planted.directions, X), planted.signs
    own = architecture.groups(X, F @ neurons[:, : 0 if planted.linear else None] >= 0)
    W, first = np.zeros((own.count, own.rank)), int(own.linear and not planted.linear)
    if planted.linear:
        W[0] = own.coordinates @ neurons[:, 0] * signs[0]
    else:
        for i, sign in enumerate(signs):
            W[first + i] = sign * own.neuron(first + i, neurons[:, i], F)
    found = PlantedDual(architecture, F, neurons, signs, own)
    if architecture.normalized and not own.ranks_are_sure(F):
        return replace(found, certain=False)
    if architecture.normalizes_after and not planted.linear and faint(F, neurons, RESIDUAL_TOLERANCE).any():
        return replace(found, certain=False)
    # planted neurons with the same pattern share one group, which stores only the sum of their weights: lam is None
    # then
    if len(np.unique(own.patterns[:, first:], axis=1).T) < len(signs) or not W[first:].any(axis=1).all():
        return found
    candidate = planted_candidate(own, W, np.flatnonzero(W.any(axis=1)))
    if candidate.lam is None or not candidate.distinct:
        return replace(found, certain=_is_certain(found, candidate))
    return replace(found, lam=candidate.lam, doubt=_doubt(own, candidate))


def _is_certain(planted: PlantedDual, candidate: Candidate) -> bool:
    """Return whether exact ranks confirm that the images are dependent, or that A_S^T lam = u has no solution.

    They confirm it if the images are dependent in integers, or if the exact rank of A_S is that of its factor: then the
    residual of A_S^T lam = u exceeds any rounding.
    """
    own, d = planted.own.patterns[:, candidate.support], planted.X.shape[1]
    small = own.size * d <= MOST_ENTRIES
    X, W = (np.array(integer_rows(A) if small else [], dtype=object) for A in (planted.X, planted.neurons.T))
    if not candidate.distinct:
        return small and exact_rank((X @ W.T * own).tolist()) < own.shape[1]
    seen = int((own.any(axis=1) & planted.X.any(axis=1)).sum())
    known = rank = candidate.factor.rank
    if rank < min(seen, int(np.minimum(own.sum(axis=0), d).sum())):
        known = exact_rank(np.hstack([X * column[:, None] for column in own.T]).tolist()) if small else -1
    return candidate.error > UNSOLVED and known == rank


def _doubt(own: Groups, planted: Candidate) -> float:
    """Bound the rounding of the dual norms of the least-norm dual lam; infinite if A_S has no full column rank.

    With r = A_S^T lam - u and its rounding, lam is within ||r|| / sigma_min of the exact dual. A tenth of the estimate
    of sigma_min replaces it, to be safe.
    """
    A, lam = planted.factor.A, planted.lam
    size = float(np.linalg.norm(A))
    if lam is None or planted.factor.rank < np.count_nonzero(A.any(axis=0)) or planted.factor.smallest * 1e9 < size:
        return np.inf
    length = float(np.linalg.norm(lam))
    moved = 10 * (planted.error + EPS * sum(A.shape) * size * length) / planted.factor.smallest
    doubt = own.largest_norm * (moved + EPS * sum(own.base.shape) * length)
    if own.orthonormal or not np.array_equal(own.coordinates, np.eye(len(own.coordinates))):
        # bound the rounding of the basis, after scaling its columns to norm 1
        lengths = np.linalg.norm(own.coordinates, axis=0)
        s = np.linalg.svd(own.coordinates[:, lengths > 0] / lengths[lengths > 0], compute_uv=False)
        doubt += length * EPS * sum(own.base.shape) * float(s[0] / s[-1]) if s[-1] > 0 else np.inf
    return doubt + (PROJECTED * length if own.orthonormal else 0.0)


def uniform_isometry(X: Array, patterns: Mask) -> Condition:
    """Evaluate max_j ||X^T D_j X (X^T X)^{-1}||_2 < 1, the spectral norm, for X (n, d) of full column rank.

    This is (NIC-L) for every w at once. It is ||R^T P_j R^{-T}|| with X = Q R and P_j = Q^T D_j Q, and at least 1 if
    the inactive rows do not span all dimensions. Source: P1, (7).
    """
    d, live = X.shape[1], np.asarray(X.any(axis=1))
    Q, R = np.linalg.qr(X / (np.abs(X).max(initial=0.0) or 1.0))
    s = np.linalg.svd(R, compute_uv=False)
    if len(X) < d or (s[-1] <= 1e-12 * s[0] and exact_rank(integer_rows(X)) < d):
        return Condition(np.inf, -np.inf, False)
    i, j = np.triu_indices(d)
    outer = Q[:, i] * Q[:, j]
    values = np.empty(patterns.shape[1])
    for chunk in chunks(values.size, 16 * d * d):
        packed = patterns[:, chunk].T @ outer
        P = np.empty((len(packed), d, d))
        P[:, i, j] = packed
        P[:, j, i] = packed
        values[chunk] = np.linalg.svd(np.linalg.solve(R, P) @ R, compute_uv=False)[:, 0]
    error = 16 * EPS * len(X) * (float(s[0] / s[-1]) if s[-1] > 0 else np.inf) * np.maximum(values, 1)
    few = (~patterns & live[:, None]).sum(axis=0) < d
    values, error = np.where(few, np.maximum(values, 1), values), np.where(few, np.inf, error)
    return _judged(values, error, lambda p: 1 - values[p] if few[p] else uniform_margin(X, patterns[:, p]))


def orthogonal_uniform_isometry(patterns: Mask, d: int) -> Condition:
    """Evaluate max_j tr(D_j) <= n - d, which is (7) for X (n, d) with orthonormal columns, rows in general position.

    ||X^T D_j X|| < 1 if and only if X^T (I - D_j) X is positive definite: at least d rows are inactive. Source: P1,
    (26).
    """
    n = patterns.shape[0]
    traces = patterns.sum(axis=0)
    best = int(np.argmax(traces)) if traces.size else None
    value = float(traces.max(initial=0))
    return Condition(value, n - d - value, best is None or value <= n - d, best)
