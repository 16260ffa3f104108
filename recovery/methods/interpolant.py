"""Upper bounds on the cost of interpolants, to prove that planted weights are not optimal, in floating point.

The weights W of a solver interpolate up to a residual, and no dual bounds the cost of that residual: where two rows are
1e-9 apart, a residual of 3e-9 has reduced the norm by 18 %. So the residual is interpolated by the least change
    C = A^+ (y - F(W)),   A = [A_g, g chosen] the operators of a few groups side by side.
Rounding leaves at most rho in each row. A further change, which is not formed, interpolates that rest: its norm is at
most ||rho|| over the least singular value of A. In the exact program each neuron is then moved into its cone by h, a
vector inside the cone that is added to the weights of both signs, so that the labels stay. The sum of all these norms
bounds the cost.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.integers import exact_rank, gated_integers
from recovery.programs.program import Program
from recovery.programs.range_factor import gram_factor
from recovery.types import EPS, Array, Index

ROUNDS = 3
"""Number of times that the residual is interpolated. Only rounding remains after that."""
SPARE = 8
"""Groups in addition to planted and active groups and to 2 n / r others: together they can change any row's label."""
ESTIMATE = 10.0
"""Largest factor between LAPACK's estimate of a condition number and its value."""
MOST_ENTRIES = 500_000
"""Entries of the largest ill-conditioned A that is decomposed: its singular values take seconds."""
MOST_EXACT = 10_000
"""Entries of the largest A whose rank is computed exactly where its least singular values may be zero."""


@dataclass(frozen=True)
class Reach:
    """The operator A (n, k r) of the groups `chosen` on `rows`, with its pseudo-inverse.

    features (n, d'): of the neurons. own: the planted groups. The range of A must contain the ranges of their
    operators, because the labels lie in these.
    """

    groups: Groups
    features: Array
    chosen: Index
    own: Index

    @cached_property
    def rows(self) -> Index:
        """Indices of the rows on which a chosen or a planted group is not zero: all other labels are 0."""
        seen = self.groups.diagonals(np.union1d(self.chosen, self.own)).any(axis=1)
        return np.flatnonzero(self.features.any(axis=1) & seen)

    @cached_property
    def _cholesky(self) -> tuple[Array, float] | None:
        """The Cholesky factor of A A^T and a lower bound on the least singular value; None if A is ill-conditioned."""
        gram = self.groups.weighted_gram(self.chosen, np.ones(len(self.chosen)))[np.ix_(self.rows, self.rows)]
        found = gram_factor(gram)
        return None if found is None else (found[0], float(np.sqrt(found[1] / ESTIMATE)))

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array] | None:
        """P, s, Q^T with A = P s Q^T, without zero singular values; None where rounding decides which are zero."""
        A = self.groups.columns(self.chosen)[self.rows]
        if not 0 < A.size <= MOST_ENTRIES:
            return None
        P, s, Qt = np.linalg.svd(A, full_matrices=False)
        rounding = 2 * max(A.shape) * EPS * float(s[0])
        rank = int(np.count_nonzero(s > 4 * rounding))
        # the ranges of the chosen groups, and of their union with the planted ones, are equal if their ranks are
        wider = np.union1d(self.chosen, self.own)
        reached = [self.chosen] if len(wider) == len(self.chosen) else [self.chosen, wider]
        if rank < len(A) and any(rank != operator_rank(self.groups, self.features, each) for each in reached):
            return None
        return P[:, :rank], s[:rank] - rounding, Qt[:rank]

    @property
    def known(self) -> bool:
        """Whether `least` and `worth` can be computed."""
        return len(self.rows) > 0 and (self._cholesky is not None or self._singular is not None)

    def least(self, labels: Array) -> Array:
        """Return the least group weights (k, r) with these labels (n,), up to rounding."""
        if self._cholesky is not None:
            z = np.zeros(self.groups.n)
            z[self.rows] = scipy.linalg.lapack.dpotrs(self._cholesky[0], labels[self.rows])[0]
            return self.groups.adjoint(z, self.chosen)
        assert self._singular is not None
        P, s, Qt = self._singular
        return np.asarray((Qt.T @ (P.T @ labels[self.rows] / s)).reshape(len(self.chosen), -1))

    def worth(self, rho: Array) -> float:
        """Bound from above sum_g ||c_g|| of the `least` weights C of labels in the range of A, |label_i| <= rho_i."""
        share = float(np.sqrt(len(self.chosen)))
        if self._cholesky is not None:
            return share * float(np.linalg.norm(rho[self.rows])) / self._cholesky[1]
        assert self._singular is not None
        P, s, _ = self._singular
        return share * float(np.linalg.norm((np.abs(P).T @ rho[self.rows]) / s))

    @cached_property
    def sizes(self) -> Array:
        """Bounds (k,) on the norms of the base weights T_g w of the chosen groups g, for group weights w of norm 1."""
        T = self.groups.transforms
        return np.ones(len(self.chosen)) if T is None else np.linalg.norm(T[self.chosen], axis=(1, 2))


def operator_rank(groups: Groups, features: Array, chosen: Index) -> int | None:
    """Return the exact rank of the operator of some groups on the features (n, d'); None where that takes too long."""
    rows = np.flatnonzero(features.any(axis=1) & groups.diagonals(chosen).any(axis=1))
    if len(rows) * len(chosen) * groups.rank > MOST_EXACT:
        return None
    return exact_rank(gated_integers(features[rows], groups.patterns[np.ix_(rows, chosen)], groups.slope))


def _rounding(groups: Groups, V: Array) -> Array:
    """Bound the rounding error (n,) of each label that is computed from base weights V (k, r)."""
    sizes = np.linalg.norm(groups.base, axis=1)
    lengths = np.linalg.norm(V, axis=1)
    return np.asarray(2 * EPS * (groups.rank + np.count_nonzero(lengths) + 8) * float(lengths.sum()) * sizes)


def interpolant_near(program: Program, features: Array, W: Array, planted: Array) -> tuple[Array, float] | None:
    """Return weights near W, and a bound on the cost of exact interpolants near them; None where none can be proved.

    The weights are in their cones and have the labels of the planted weights up to rounding.
    planted: weights with the labels of the program up to rounding. features (n, d'): of the neurons.
    """
    if not features.any():
        return np.zeros_like(W), 0.0
    balanced = program.balanced()
    groups, p = balanced.groups, balanced.groups.count
    own = np.unique(np.flatnonzero(planted.any(axis=1)) % p)
    active = np.unique(np.flatnonzero(W.any(axis=1)) % p)
    # the planted and active groups, and some others, enough to reach every row
    needed = np.union1d(own, active)
    others = np.setdiff1d(np.arange(p), needed)[: SPARE + 2 * -(-groups.n // max(1, groups.rank))]
    reach = Reach(groups, features, np.append(needed, others), own)
    inside = None
    if isinstance(balanced, ExactProgram):
        inside = interior_weights(balanced, reach.chosen)
        movable = balanced.is_free(reach.chosen) | inside[reach.chosen].any(axis=1)
        if not movable[np.isin(reach.chosen, active)].all():
            return None
        reach = replace(reach, chosen=reach.chosen[movable])
    if not reach.known:
        return None
    W, chosen = W.copy(), reach.chosen
    # change the larger of the two signed copies of each group, which is less likely to leave its cone
    if inside is not None:
        sizes = np.linalg.norm(W, axis=1)
        chosen = np.where(sizes[chosen] >= sizes[chosen + p], chosen, chosen + p)
    for _ in range(ROUNDS):
        change = reach.least(-balanced.residual(W))
        if inside is not None:
            change = groups.base_weights(change, reach.chosen) * balanced.signs[chosen, None]
        W[chosen] += change
    bases = [V if balanced.has_cones else groups.base_weights(V) for V in (W, planted)]
    rho = np.abs(balanced.residual(W)) + sum(_rounding(groups, V) for V in bases)
    further = reach.worth(rho)
    cost = float(balanced.norms(W).sum()) + balanced.norm.largest(groups.rank) * further
    if isinstance(balanced, ExactProgram) and inside is not None:
        moved = _moves(balanced, reach, W, inside, further)
        cost += float(balanced.norms(moved).sum())
        W += moved
    return W, cost


def interior_weights(program: ExactProgram, chosen: Index) -> Array:
    """Return a base weight of norm 1 inside the cone of each chosen group, (p, r); zero if none is known or needed."""
    groups = program.groups
    H = np.zeros((program.size, groups.rank))
    for g, side in zip(chosen, program.orientation(chosen), strict=True):
        if not side.any():
            continue
        lift = None
        # a narrowed group has only base weights of the form T_g w, so search for w
        if groups.transforms is not None and groups.narrowed[g]:
            lift = groups.transforms[g][:, groups.dimensions(np.array([g]))[0]]
        rows = side[:, None] * (groups.base if lift is None else groups.base @ lift)
        try:
            direction = decide_all_ones(rows).direction
        except ParameterError:
            continue
        if direction is not None:
            H[g] = direction if lift is None else lift @ direction
    sizes = program.norms(H)
    return np.asarray((H / np.where(sizes > 0, sizes, 1.0)[:, None])[: groups.count])


def _moves(program: ExactProgram, reach: Reach, W: Array, inside: Array, further: float) -> Array:
    """Return changes (2 p, r) that move all weights into their cones, even after a further change of norm `further`."""
    groups, p = program.groups, program.groups.count
    rows = np.linalg.norm(groups.base, axis=1)
    moves = np.zeros_like(W)
    for g, size, side in zip(reach.chosen, reach.sizes, program.orientation(reach.chosen), strict=True):
        width = side * (groups.base @ inside[g])
        live = np.flatnonzero(width)
        for v in (W[g], W[g + p]) if len(live) else ():
            slack = side * (groups.base @ v) - rows * (size * further + 4 * EPS * (groups.rank + 8) * np.linalg.norm(v))
            step = float(np.max(-slack[live] / width[live], initial=0.0))
            moves[[g, g + p]] = np.maximum(step, np.max(np.abs(moves[g]) / np.abs(inside[g]).max())) * inside[g]
    return moves
