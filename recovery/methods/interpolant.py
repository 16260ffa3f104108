"""Is there an interpolant that costs less than the planted weights? Upper bounds on costs, in floating point.

A solver's weights W interpolate up to a residual, and what that is worth no dual says: where two rows are 1e-9 apart,
a residual of 3e-9 has bought 18 % of the norm. So the residual is interpolated itself, by the least change
    C = A^+ (y - F(W)),   A = [A_g, g chosen] the operators of a few groups side by side,
and what rounding leaves of it, at most rho in each row, by a further change that is not formed: its norm is at most
||rho|| over the least singular value of A. In the exact program a neuron is then moved into its cone by h, inside the
cone, which the weights of both signs get, so that the labels stay. All these norms together bound the cost.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.arrangements import exact_rank
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.program import Program
from recovery.programs.uniqueness import MARGIN, WELL_CONDITIONED, Candidate
from recovery.types import Array, Index

EPS = float(np.finfo(float).eps)
ROUNDS = 3
"""So often is the residual interpolated: what is left then is rounding."""
SPARE = 8
"""Groups beside the active ones, and two for every `rank` rows: together they can change the label of any row."""
ESTIMATE = 10.0
"""LAPACK's estimate of a condition number is within this factor."""
MOST_ENTRIES = 500_000
"""Of an ill-conditioned A: its singular values are then a matter of seconds."""
MOST_EXACT = 10_000
"""Entries of an A whose rank is counted in whole numbers, where its least singular values may be zeros."""


@dataclass(frozen=True)
class Reach:
    """What the groups `chosen` reach: A (n, k r) on the rows that are not zero, as a map that can be undone.

    features: (n, d'), what the neurons act on. whole: whether A reaches whatever residual there can be; it has to reach
    all labels otherwise.
    """

    groups: Groups
    features: Array
    chosen: Index
    whole: bool = True

    @cached_property
    def rows(self) -> Index:
        """Those that are not zero."""
        return np.flatnonzero(self.features.any(axis=1))

    @cached_property
    def _cholesky(self) -> tuple[Array, float] | None:
        """The factor of A A^T and the least singular value of A, from below; None where A is ill-conditioned."""
        gram = self.groups.weighted_gram(self.chosen, np.ones(len(self.chosen)))[np.ix_(self.rows, self.rows)]
        size = float(np.abs(gram).sum(axis=0).max(initial=0.0))
        factor, failed = scipy.linalg.lapack.dpotrf(gram)
        reciprocal = 0.0 if failed or not size else float(scipy.linalg.lapack.dpocon(factor, size)[0])
        return (factor, float(np.sqrt(reciprocal * size / ESTIMATE))) if reciprocal > WELL_CONDITIONED else None

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array] | None:
        """P, s, Q^T with A = P s Q^T, without what is zero; None where rounding hides what is."""
        A = self.groups.columns(self.chosen)[self.rows]
        if not 0 < A.size <= MOST_ENTRIES:
            return None
        P, s, Qt = np.linalg.svd(A, full_matrices=False)
        rounding = 2 * max(A.shape) * EPS * float(s[0])
        rank = int(np.count_nonzero(s > 4 * rounding))
        if rank < len(A) and not (self.whole and rank == self._exact_rank(A.size)):
            return None
        return P[:, :rank], s[:rank] - rounding, Qt[:rank]

    def _exact_rank(self, entries: int) -> int | None:
        """The rank of A for the rationals that its floats are; None where that is long to count."""
        if self.groups.slope != 0.0 or entries > MOST_EXACT:
            return None
        patterns = self.groups.patterns
        return exact_rank(
            np.hstack([np.where(patterns[self.rows, g, None], self.features[self.rows], 0.0) for g in self.chosen])
        )

    @property
    def known(self) -> bool:
        """Whether `least` and `worth` have an answer."""
        return len(self.rows) > 0 and (self._cholesky is not None or self._singular is not None)

    def least(self, labels: Array) -> Array:
        """The least group weights (k, r) that have these labels (n,), up to rounding."""
        if self._cholesky is not None:
            z = np.zeros(self.groups.n)
            z[self.rows] = scipy.linalg.lapack.dpotrs(self._cholesky[0], labels[self.rows])[0]
            return self.groups.adjoint(z)[self.chosen]
        assert self._singular is not None
        P, s, Qt = self._singular
        return np.asarray((Qt.T @ (P.T @ labels[self.rows] / s)).reshape(len(self.chosen), -1))

    def worth(self, rho: Array) -> float:
        """A bound on sum_g ||c_g|| for the least weights C of labels that are at most rho (n,) and in the range."""
        share = float(np.sqrt(len(self.chosen)))
        if self._cholesky is not None:
            return share * float(np.linalg.norm(rho[self.rows])) / self._cholesky[1]
        assert self._singular is not None
        P, s, _ = self._singular
        return share * float(np.linalg.norm((np.abs(P).T @ rho[self.rows]) / s))

    @cached_property
    def sizes(self) -> Array:
        """Bounds on ||T_g|| of the chosen groups, (k,): what a group weight can be in the base."""
        T = self.groups.transforms
        return np.ones(len(self.chosen)) if T is None else np.linalg.norm(T[self.chosen], axis=(1, 2))


def _range(groups: Groups, features: Array, needed: Index) -> Reach:
    """What the needed groups and some more reach."""
    others = np.setdiff1d(np.arange(groups.count), needed)
    return Reach(groups, features, np.append(needed, others[: SPARE + 2 * -(-groups.n // max(1, groups.rank))]))


def _rounding(groups: Groups, V: Array) -> Array:
    """How far, at most, rounding moves the labels of base weights V, row by row, (n,)."""
    sizes = np.linalg.norm(groups.base, axis=1)
    lengths = np.linalg.norm(V, axis=1)
    return np.asarray(2 * EPS * (groups.rank + np.count_nonzero(lengths) + 8) * float(lengths.sum()) * sizes)


@dataclass(frozen=True)
class Interpolant:
    """Weights, in their cones, that interpolate up to rounding, and a bound on the cost of some beside them that do."""

    W: Array
    cost: float


def interpolant_near(program: Program, features: Array, W: Array, planted: Array) -> Interpolant | None:
    """An interpolant near W of the labels that the planted weights have exactly; None where none is shown.

    planted: weights that have the program's labels up to rounding. features: as `Reach` has them.
    """
    if not features.any():
        return Interpolant(np.zeros_like(W), 0.0)
    even = program.balanced()
    groups, p = even.groups, even.groups.count
    own = np.unique(np.flatnonzero(planted.any(axis=1)) % p)
    active = np.unique(np.flatnonzero(W.any(axis=1)) % p)
    reach = _range(groups, features, np.union1d(own, active))
    inside = None
    if isinstance(even, ExactProgram):
        inside = _inside(even, reach.chosen)
        movable = even.is_free(reach.chosen) | inside[reach.chosen].any(axis=1)
        if not movable[np.isin(reach.chosen, active)].all():
            return None
        reach = replace(reach, chosen=reach.chosen[movable], whole=bool(movable[np.isin(reach.chosen, own)].all()))
    if not reach.known:
        return None
    W, chosen = W.copy(), reach.chosen
    if inside is not None:  # the larger copy of each group takes its change
        sizes = np.linalg.norm(W, axis=1)
        chosen = np.where(sizes[chosen] >= sizes[chosen + p], chosen, chosen + p)
    for _ in range(ROUNDS):
        change = reach.least(-even.residual(W))
        if inside is not None:
            change = groups.base_weights(change, reach.chosen) * even.signs[chosen, None]
        W[chosen] += change
    rho = np.abs(even.residual(W)) + sum(_rounding(groups, _base(even, V)) for V in (W, planted))
    further = reach.worth(rho)
    cost = float(even.norms(W).sum()) + further
    if isinstance(even, ExactProgram) and inside is not None:
        moved = _moves(even, reach, W, inside, further)
        cost += float(even.norms(moved).sum())
        W += moved
    return Interpolant(W, cost)


def _base(program: Program, W: Array) -> Array:
    return W if program.has_cones else program.groups.base_weights(W)


def _inside(program: ExactProgram, chosen: Index) -> Array:
    """A base weight of norm 1 inside the cone of each chosen group, (p, r); zero where none is known, or no cone."""
    groups = program.groups
    H = np.zeros((program.size, groups.rank))
    for g, side in zip(chosen, program.orientation(chosen), strict=True):
        if not side.any():
            continue
        lift = None  # a confined group has the weights T_g w alone
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
    """What takes all weights (2 p, r) into their cones, whatever change of norm `further` there is yet to come."""
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


def descends(groups: Groups, features: Array, planted: Candidate, excess: Array) -> bool:
    """Whether `excess` (p, r), zero on S, is the off-support part of a direction of descent from the planted weights.

    The labels are kept by moving the planted groups by -v, A_S v = sum_g A_g excess_g, and by what interpolates the
    part of these labels that A_S does not reach. The objective then changes at most at the rate
    sum_g ||excess_g|| - <u, v> and the norms of that, which must be clearly negative.
    """
    total = float(np.linalg.norm(excess, axis=1).sum())
    if planted.lam is None or total == 0.0:
        return False
    image = groups.forward(excess)
    gain = float(planted.lam @ image)  # <u, v> = lam . A_S v, as A_S^T lam = u
    if not total - gain < -MARGIN * total:
        return False
    reach = _range(groups, features, np.union1d(planted.support, np.flatnonzero(excess.any(axis=1))))
    if not reach.known:
        return False
    missed = image - planted.frame @ (planted.frame.T @ image)
    change = reach.least(missed)
    left = np.zeros_like(excess)
    left[reach.chosen] = change
    # how far the frame, and lam, are from those of the exact A_S
    frame = EPS * groups.n * groups.largest_norm / planted.smallest * float(np.linalg.norm(image))
    rho = np.abs(missed - groups.forward(left)) + _rounding(groups, groups.base_weights(excess)) + frame
    price = (
        float(np.linalg.norm(change, axis=1).sum())
        + reach.worth(rho)
        + planted.error * float(np.linalg.norm(image)) / planted.smallest
    )
    return total - gain + price < -MARGIN * total
