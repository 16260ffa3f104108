"""Pricing oracles of column generation: activation patterns and neurons that a dual point does not yet respect.

A pricing oracle stores the columns found so far. `price` adds columns that violate the present dual, or proves that no
column does; `dual` returns a dual point that respects all columns stored. `recovery.methods.generation` has the loop.

For a noiseless trial the dual is not unique. Its images A_S^T lam = u on the planted groups S are given, and every
dual norm off S must stay below 1. The oracles keep a margin below 1 at each column found: a dual on the boundary has
many norms that are nearly 1, which a proof over all patterns cannot exclude.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy

from recovery.conditions.ascent import ascend
from recovery.conditions.beam import beam_patterns
from recovery.conditions.oracle import Bounds, exact_dual, gated_dual
from recovery.conditions.planes import RowSum
from recovery.conditions.search import circle_points
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PlantedProgram
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import leaky_relu
from recovery.programs.program import Program
from recovery.programs.range_factor import RANK_TOLERANCE
from recovery.programs.uniqueness import MARGIN, Candidate
from recovery.solvers.dual_search import search_dual
from recovery.types import Array, Index, Mask

NEURON_MARGINS = (0.9, 0.97, 0.99, 0.999, 0.9999, 1.0 - 1e-5)
"""Limits on the dual norms at the columns found, tried in turn: the first limit that a dual can keep is used."""
CELL_MARGINS = (*NEURON_MARGINS, 1.0 - 1e-6, 1.0 - 3e-7, 1.0 - 2.1e-7)
"""Limits for activation patterns, whose norms near a planted neuron can be within 1e-6 of 1. The last one is just below
`PROVED_BELOW`."""
PROVED_BELOW = 1.0 - 2.0 * MARGIN
"""A proof bounds all dual norms by this. One MARGIN is required by the certificate over the patterns found. The other
allows for the correction to A_S^T lam = u, which moves every dual norm by less (`safe_candidate`)."""
EXCESS = 1e-9
"""Rounding that Newton's method leaves above a margin."""
ADDED = 3
"""Patterns added per great circle, or neurons per row, in one round."""
CIRCLES = 8
"""Great circles through the worst activation pattern. Each circle meets up to 2n other patterns."""
STARTS = 4
"""Starting points of the ascent per row. A smooth ascent needs a quarter of them."""
KNOWN = 2
"""Neurons found before from which an ascent starts too, per row: those of the largest values under the dual."""
SEARCHES = 2
"""Smooth searches from new starting points that must find nothing before a search without proof ends."""


class Pricing(ABC):
    """Pricing oracle of a noiseless problem with planted weights, and the columns that it has found.

    proves: whether a bound from `price` proves uniqueness. keeps_last_margin: whether column generation stays at the
    last of `margins`, instead of ending, when `PATIENCE` rounds there have proved nothing.
    """

    margins: tuple[float, ...] = NEURON_MARGINS
    keeps_last_margin = False
    proves = True

    def __init__(self, problem: PlantedProgram) -> None:
        self.problem, self.program = problem, problem.program.balanced()
        self.groups, self.nodes = self.program.groups, problem.instance.setting.patterns.nodes
        self.rng, self.planted = problem.instance.streams.training, safe_candidate(problem, self.program)

    @abstractmethod
    def price(self, lam: Array, margin: float) -> Bounds | None:
        """Add columns with norms above 1 or `margin` at `lam`. Return bounds on all norms, None if none are proved."""

    @abstractmethod
    def dual(self, planted: Candidate, margin: float) -> Array | None:
        """Return a dual point whose norms at all stored columns are at most `margin`, or None."""

    @abstractmethod
    def found(self, *, infeasible: bool = False) -> Mask:
        """Return the patterns found, (n, k). infeasible: only those that exclude every dual point."""


def safe_candidate(problem: PlantedProgram, program: Program) -> Candidate | None:
    """Return the planted weights with their least-norm dual for this program, the balanced one; None without a dual.

    None too where the correction to A_S^T lam = u may move a dual norm by more than MARGIN.
    """
    planted = problem.candidate(program)
    if planted is None or planted.lam is None or not planted.distinct:
        return None
    return planted if planted.error / planted.factor.smallest * program.groups.largest_norm <= MARGIN else None


class CellPricing(Pricing):
    """Pricing oracle of activation patterns that violate the dual of a gated program.

    beam: width of a beam search for violating patterns, which precedes each proof because it costs less. best: the
    least lower bound on the largest dual norm that any dual point had so far, and this dual point.
    """

    margins = CELL_MARGINS
    keeps_last_margin = True

    def __init__(self, problem: PlantedProgram, beam: int | None) -> None:
        super().__init__(problem)
        self.beam, self.known = beam, self.groups.count
        self.best: tuple[float, Array] = (np.inf, np.empty(0))

    def found(self, *, infeasible: bool = False) -> Mask:
        del infeasible
        return self.groups.patterns[:, self.known :]

    def price(self, lam: Array, margin: float) -> Bounds:
        del margin
        bounds = self._bounds(lam)
        if bounds.lower > PROVED_BELOW:
            self.best = min(self.best, (bounds.lower, lam), key=lambda known: known[0])
            self._add(lam, bounds.point)
        return bounds

    def dual(self, planted: Candidate, margin: float) -> Array | None:
        search = search_dual(self.groups, planted.support, planted.factor.frame, self.best[1], margin, self._duplicates)
        excess = float(np.linalg.norm(search.excess, axis=1).max(initial=0.0))
        return search.lam if excess <= EXCESS else None

    def _bounds(self, lam: Array) -> Bounds:
        """Bound the dual norms over all patterns except the planted ones and their duplicates."""
        assert self.planted is not None
        groups, support = self.groups, self.planted.support
        excluded = np.concatenate([support, self._duplicates])
        known = groups.patterns[:, excluded[excluded >= int(groups.linear)]]
        if self.beam is not None:
            met = beam_patterns(RowSum.of(groups, lam), width=self.beam, known=known)
            if met and met[0].value > PROVED_BELOW:
                return Bounds(met[0].value, np.inf, met[0].point, 0)
        bounds = gated_dual(groups, self.problem.features, lam, known=known, nodes=self.nodes)
        skip = float(np.linalg.norm(groups.base.T @ lam)) if groups.linear and 0 not in support else 0.0
        return replace(bounds, lower=max(bounds.lower, skip), upper=max(bounds.upper, skip))

    def _add(self, lam: Array, point: Array) -> None:
        """Add the pattern of `point`, and the patterns of largest norms on great circles through it."""
        groups, linear = self.groups, int(self.groups.linear)
        circles = [circle_points(groups.base, point, v) for v in self.rng.standard_normal((CIRCLES, groups.rank))]
        patterns: Mask = groups.base @ np.hstack([point[:, None], *circles]) >= 0
        norms = groups.over(patterns).dual_norms(lam)
        norms[0] = np.inf
        order = np.argsort(-norms)[: 1 + ADDED * CIRCLES]
        new = patterns[:, order[norms[order] > CELL_MARGINS[0]]]
        # `unique_patterns` needs the rows of zeros of the features; the base has zeros in the same rows
        patterns = unique_patterns(groups.base, [groups.patterns[:, linear:], new])
        self.groups = replace(groups, patterns=np.hstack([groups.patterns[:, :linear], patterns]))

    @property
    def _duplicates(self) -> Index:
        """Groups with the operator of a planted group: their dual norm is 1, too, which is a tie and no violation."""
        assert self.planted is not None
        return np.unique(np.concatenate([self.groups.duplicates_of(int(g)) for g in self.planted.support]))


class NeuronPricing(Pricing):
    """Pricing oracle of neurons that violate the dual of an exact program: cuts lam.image <= margin on its dual.

    points (r, k): unit neurons, or zeros for a weight of the skip connection. images (n, k): their signed activations.
    multipliers: those of the last least-norm problem. proof: whether `price` bounds all dual norms from above; without
    a proof it searches for violating neurons only.
    """

    def __init__(self, problem: PlantedProgram, proof: bool = True) -> None:
        super().__init__(problem)
        self.proof, self.keeps_last_margin = proof, not proof
        assert isinstance(self.program, ExactProgram)
        self.exact, self.rows = self.program, np.flatnonzero(problem.planted.any(axis=1))
        self.points, self.images = np.empty((self.groups.rank, 0)), np.empty((self.groups.n, 0))
        self.multipliers: Array = np.empty(0)
        self.ties = self._tied_patterns()
        self.proves = not self.ties.size

    def found(self, *, infeasible: bool = False) -> Mask:
        points = self.points
        if infeasible and len(self.multipliers) == points.shape[1]:
            points = points[:, self.multipliers > 0]
        patterns: Mask = self.groups.base @ points[:, points.any(axis=0)] >= 0
        return np.hstack([patterns, self.ties])

    def price(self, lam: Array, margin: float) -> Bounds | None:
        limit = margin if self.images.shape[1] else PROVED_BELOW
        new, signs, ratios = self._violating(lam, limit)
        skip, size = self._skip(lam, limit)
        bounds = None
        if max([size, *ratios]) <= PROVED_BELOW:
            both = [self._bounds(lam, sign) for sign in (1.0, -1.0)]
            worst = int(np.argmax([b.lower for b in both]))
            bounds = replace(both[worst], upper=max(b.upper for b in both))
            if bounds.lower <= PROVED_BELOW:
                return bounds
            new, signs = np.column_stack([new, bounds.point]), np.append(signs, (1.0, -1.0)[worst])
        self.points = np.hstack([self.points, new, np.zeros((len(new), skip.shape[1]))])
        self.images = np.hstack([self.images, signs * self._activations(new), skip])
        return bounds

    def dual(self, planted: Candidate, margin: float) -> Array | None:
        """Return a dual by least-distance programming (Lawson, Hanson 1974, chapter 23), or None if there is none.

        The residual of non-negative least squares gives the least w off range(A_S) with images^T (lam_0 + w) <= limits.
        """
        assert planted.lam is not None
        frame, first, images, limits = planted.factor.frame, planted.lam, self.images, self._limits(self.images, margin)
        free = images - frame @ (frame.T @ images)
        target = np.zeros(len(free) + 1)
        target[-1] = 1.0
        system = np.vstack([-free, first @ images - limits])
        scale = np.linalg.norm(system, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        self.multipliers, distance = scipy.optimize.nnls(system / scale, target, maxiter=50 * system.shape[1])
        residual = system @ (self.multipliers / scale) - target
        # at distance 0, up to the rounding of nnls, no dual keeps the limits
        if distance < 1e-7 or residual[-1] >= 0:
            return None
        lam: Array = first - residual[:-1] / residual[-1]
        return lam if (images.T @ lam <= limits + EXCESS).all() else None

    def _activations(self, points: Array) -> Array:
        """Return the activations (n, k) of neurons (r, k) of norm 1."""
        Z = leaky_relu(self.groups.base @ points, self.groups.slope)
        if not self.groups.orthonormal:
            return Z
        sizes = np.linalg.norm(Z, axis=0)
        return Z / np.where(sizes > 0, sizes, 1.0)

    @cached_property
    def _planted_images(self) -> Array:
        """Signed images (n, k) of the planted neurons, of length 1."""
        own, V = self.exact.group(self.rows), self.problem.planted[self.rows]
        Z = self.groups.D[:, own] * (self.groups.base @ V.T) * self.exact.sign(self.rows)
        images: Array = Z / np.linalg.norm(Z, axis=0)
        return images

    def _limits(self, images: Array, margin: float) -> Array:
        """Return the limits (k,) on lam.image for signed images (n, k), each at most `PROVED_BELOW`.

        The image of a normalised neuron at an angle t to a planted image has a value near cos t under every dual. The
        margin below 1 therefore shrinks with the angle to the nearest planted image.
        """
        if not self.groups.orthonormal:
            return np.full(images.shape[1], margin)
        nearest = np.clip((self._planted_images.T @ images).max(axis=0), 0.0, 1.0)
        return np.minimum(1.0 - (1.0 - margin) * (1.0 - nearest), CELL_MARGINS[-1])

    def _own(self, sign: float) -> Mask:
        """Return the patterns (n, k) of the planted neurons whose outer weights have this sign."""
        kept = (self.exact.sign(self.rows) == sign) & ~self.exact.is_free(self.rows)
        own: Mask = self.groups.patterns[:, self.exact.group(self.rows[kept])]
        return own

    def _bounds(self, lam: Array, sign: float) -> Bounds:
        known = self._own(sign)
        if not self.proof:
            for _ in range(SEARCHES):
                starts = self._starts()
                found, ratios = self._ascended(lam, sign, starts, PROVED_BELOW)
                if ratios.size:
                    return Bounds(float(ratios[0]), np.inf, found[:, 0], 0)
            return Bounds(0.0, np.inf, starts[:, 0], 0)
        return exact_dual(self.groups, lam, sign, limit=PROVED_BELOW, known=known, nodes=self.nodes, stop=True)

    def _skip(self, lam: Array, limit: float) -> tuple[Array, float]:
        """Return the image (n, 1) of a unit skip weight of largest lam.image, (n, 0) if at most `limit`; and lam.image.

        Without a skip connection, or with a planted one, return no image and 0.
        """
        groups, none = self.groups, np.empty((self.groups.n, 0))
        gradient = groups.base.T @ lam
        size = float(np.linalg.norm(gradient))
        if not groups.linear or self.problem.planted[0].any():
            return none, 0.0
        return groups.base @ (gradient / size)[:, None] if size > limit else none, size

    def _violating(self, lam: Array, limit: float) -> tuple[Array, Array, Array]:
        """Return unit neurons (r, k) that violate lam, one per pattern off the planted ones; their signs and ratios."""
        known = self.points[:, np.argsort(-(self.images.T @ lam))[: KNOWN * self.groups.n]]
        starts = np.hstack([self._starts(), known[:, known.any(axis=0)]])
        (plus, above), (minus, below) = (self._ascended(lam, sign, starts, limit) for sign in (1.0, -1.0))
        signs, values = np.repeat([1.0, -1.0], [len(above), len(below)]), np.concatenate([above, below])
        return np.hstack([plus, minus]), signs, values

    def _starts(self) -> Array:
        """Draw starting points (r, k) of the ascent."""
        return self.rng.standard_normal((self.groups.rank, (STARTS if self.proof else 1) * self.groups.n))

    def _ascended(self, lam: Array, sign: float, starts: Array, limit: float) -> tuple[Array, Array]:
        """Return unit neurons of this sign that violate lam, one per pattern, ascended from `starts`; and ratios."""
        groups = self.groups
        v, ratio = ascend(groups, sign * lam, starts, smooth=not self.proof)
        order = np.argsort(-ratio)
        order = order[ratio[order] > self._limits(sign * self._activations(v[:, order]), limit)]
        own = self._own(sign)
        _, first = np.unique(np.hstack([own, groups.base @ v[:, order] >= 0]), axis=1, return_index=True)
        kept = order[np.sort(first[first >= own.shape[1]]) - own.shape[1]][: ADDED * groups.n]
        return v[:, kept], ratio[kept]

    def _tied_patterns(self) -> Mask:
        """Return patterns (n, k) of groups that may hold a planted neuron at the same cost. The proof excludes them.

        These are the cells that a neuron touches. A normalised neuron that few rows see can also move along a direction
        that its rows do not see, keep its image, and meet another row at zero.
        """
        groups, found = self.groups, [self.problem.neighbours()]
        for k in self.rows if groups.orthonormal else ():
            own = groups.patterns[:, self.exact.group(np.array([k]))[0]]
            _, s, Vt = np.linalg.svd(groups.base[own], full_matrices=True)
            unseen = Vt[int(np.count_nonzero(s > RANK_TOLERANCE)) :]
            for u in np.vstack([unseen, -unseen]):
                z, speed = groups.base @ self.problem.planted[k], groups.base @ u
                steps = np.where(~own & (speed > RANK_TOLERANCE), -z / np.where(speed > 0, speed, 1.0), np.inf)
                if np.isfinite(steps.min()):
                    found.append((own | (np.arange(groups.n) == steps.argmin()))[:, None])
        return np.hstack(found)
