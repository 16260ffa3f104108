"""A dual of planted weights that stays feasible over all patterns: column generation that ends with a proof.

Of a noiseless trial the dual is chosen among many. Its images A_S^T lam = u are given, the least-norm one comes first,
and then one that leaves a margin at every neuron, or cell, found so far; a point that proves the optimum over the
patterns found lies on the boundary, where many are nearly tight and none can be excluded. Each round looks for what
violates the present dual, by climbs or on great circles, and asks an oracle, which proves that there is nothing.
Neurons enter as cuts of a least-norm problem, cells with their whole dual norm.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from recovery.conditions.ascent import climb
from recovery.conditions.beam import beam_search
from recovery.conditions.oracle import Bounds, dual_terms, exact_dual, gated_dual
from recovery.conditions.search import circle_points
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PlantedProgram
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.programs.program import Program
from recovery.programs.uniqueness import MARGIN, Candidate, planted_candidate
from recovery.solvers.dual_search import search_dual
from recovery.types import Array, Index, Mask, Rng

MOST_ROUNDS = 240
"""Some 30 are enough for cells up to d = 12; at d = 16, n = 3d some draws take more than 60."""
MARGINS = (0.9, 0.97, 0.99, 0.999, 0.9999, 1.0 - 1e-5)
"""What the dual is to stay below at what was found: the first of these that it can."""
CELL_MARGINS = (*MARGINS, 1.0 - 1e-6, 1.0 - 3e-7, 1.0 - 2.1e-7)
"""The same of cells, whose norms near a planted neuron's can be within 1e-6 of 1; the last is just below `BELOW`."""
PATIENCE = 8
"""Rounds until the next margin is tried: one that cannot be kept is often not seen to be so."""
MET = 1e-9
"""Norms this far above a margin meet it: Newton's method ends at the margin up to rounding."""
CLIMBS = 4
"""Starts of climbs a row."""
ADDED = 3
"""Neurons added a round, a row, and cells, a circle."""
CIRCLES = 8
"""Great circles through the worst cell; each meets up to 2n others."""
BELOW = 1.0 - 2.0 * MARGIN
"""What the oracle is to prove. One margin is that of the certificate over the patterns found; the other is left for
making A_S^T lam = u exact, which moves every dual norm by less (`planted_dual`)."""

TIED = "too few rows see a planted neuron: others have its activations, and cost the same"


@dataclass(frozen=True)
class Generation:
    """What column generation ended with: patterns (n, k) found, the dual last looked at, and bounds on its norm.

    lam: a dual with A_S^T lam = u that stays below 1 off the planted neurons over all patterns, or None.
    lower, upper: bounds on the dual norm over all patterns of the last dual that the oracle was asked about, or None.
    """

    patterns: Mask
    lam: Array | None = None
    lower: float | None = None
    upper: float | None = None

    @property
    def reason(self) -> str:
        """Why there is no proof."""
        if self.upper is not None and self.upper <= BELOW:
            return TIED
        if self.lower is None or self.upper is None:
            return "no dual was found that stays below 1 at all neurons found"
        if self.upper == np.inf:
            return f"the largest dual norm over all patterns is {self.lower:.9g} or more, of the last dual found"
        return f"the largest dual norm over all patterns lies between {self.lower:.9g} and {self.upper:.9g}"


def planted_dual(problem: PlantedProgram, program: Program) -> Candidate | None:
    """The planted weights of a program, with their least-norm dual, as a candidate for the unique optimum.

    None where no dual has A_S^T lam = u, or two planted neurons of opposite signs share a group, or where the images
    of planted neurons are dependent; and where the correction to A_S^T lam = u may move a dual norm by MARGIN.
    """
    W = program.gated_weights(problem.planted)
    support = np.flatnonzero(W.any(axis=1))
    if not len(support) or len(support) != np.count_nonzero(problem.planted.any(axis=1)):
        return None
    planted = planted_candidate(program.groups, W, support)
    sure = planted.error / planted.smallest * program.groups.largest_norm <= MARGIN
    return planted if planted.lam is not None and planted.distinct and sure else None


@dataclass(frozen=True)
class CellSearch:
    """Column generation for the planted weights of a noiseless gated program; nodes: the limit of each proof.

    beam: the width of a beam search for violators, which costs less than a proof and then goes before each.
    """

    problem: PlantedProgram
    nodes: int
    rng: Rng
    beam: int | None = None

    def run(self) -> Generation:
        """Until the oracle proves a dual, no dual is left, or the limit is reached."""
        program = self.problem.program.balanced()
        groups, planted = program.groups, planted_dual(self.problem, program)
        first = groups.count
        if planted is None:
            return Generation(groups.patterns[:, first:])
        assert planted.lam is not None
        lam, best, margin = planted.lam, (np.inf, planted.lam), 0
        lower = upper = None
        for step in range(1, MOST_ROUNDS + 1):
            bounds = self._bounds(groups, planted, lam)
            lower, upper = bounds.lower, bounds.upper
            if upper <= BELOW:
                return Generation(groups.patterns[:, first:], lam, lower, upper)
            if lower <= BELOW:
                break
            best = min(best, (lower, lam), key=lambda known: known[0])
            groups = self._grown(groups, lam, bounds.point)
            margin = min(margin + (step % PATIENCE == 0), len(CELL_MARGINS) - 1)
            kept = None
            while kept is None and margin < len(CELL_MARGINS):
                kept = _below(groups, planted, best[1], CELL_MARGINS[margin])
                margin += kept is None
            if kept is None:
                # these cells alone leave no dual: the program over them has a better interpolant
                break
            lam = kept
        return Generation(groups.patterns[:, first:], None, lower, upper)

    def _bounds(self, groups: Groups, planted: Candidate, lam: Array) -> Bounds:
        """On the dual norm of all groups but the planted ones and their duplicates."""
        left_out = np.concatenate([planted.support, _duplicates(groups, planted)])
        left_out = left_out[left_out >= int(groups.linear)]
        known = groups.patterns[:, left_out]
        if self.beam is not None:
            weights, linear = dual_terms(groups, lam)
            worst = beam_search(groups.base, weights, linear, width=self.beam, known=known)
            if worst is not None and worst.value > BELOW:
                return Bounds(worst.value, np.inf, worst.point, 0)
        bounds = gated_dual(groups, lam, limit=BELOW, known=known, nodes=self.nodes, stop=True)
        skip = float(np.linalg.norm(groups.base.T @ lam)) if groups.linear and 0 not in planted.support else 0.0
        return replace(bounds, lower=max(bounds.lower, skip), upper=max(bounds.upper, skip))

    def _grown(self, groups: Groups, lam: Array, point: Array) -> Groups:
        """The groups, that of the point, and those of largest norms among the cells on circles through it."""
        first = int(groups.linear)
        circles = [circle_points(groups.base, point, v) for v in self.rng.standard_normal((CIRCLES, groups.rank))]
        patterns: Mask = groups.base @ np.hstack([point[:, None], *circles]) >= 0
        norms = groups.over(patterns).dual_norms(lam)
        norms[0] = np.inf
        order = np.argsort(-norms)[: 1 + ADDED * CIRCLES]
        new = patterns[:, order[norms[order] > CELL_MARGINS[0]]]
        # the zero rows of the base are those of the features
        patterns = unique_patterns(groups.base, [groups.patterns[:, first:], new])
        return replace(groups, patterns=np.hstack([groups.patterns[:, :first], patterns]))


def _duplicates(groups: Groups, planted: Candidate) -> Index:
    """Groups with a planted group's operator: no dual keeps them below 1, and they only share its cost."""
    return np.unique(np.concatenate([groups.duplicates_of(int(g)) for g in planted.support]))


def _below(groups: Groups, planted: Candidate, start: Array, limit: float) -> Array | None:
    """A dual near the start whose norms are at most the limit off the planted groups; None if none is met."""
    found = search_dual(groups, planted.support, planted.frame, start, limit, _duplicates(groups, planted))
    excess = float(np.linalg.norm(found.excess, axis=1).max(initial=0.0))
    return found.lam if excess <= MET else None


@dataclass(frozen=True)
class NeuronSearch:
    """Column generation for the planted weights of a noiseless exact program; nodes: the limit of each proof."""

    problem: PlantedProgram
    nodes: int
    rng: Rng

    def run(self) -> Generation:
        """Until the oracle proves a dual, no dual is left, or the limit is reached."""
        program, planted = self.program, planted_dual(self.problem, self.program)
        n, r = program.groups.n, program.groups.rank
        if planted is None:
            return Generation(self._ties)
        assert planted.lam is not None
        points, images, lam, margin = np.empty((r, 0)), np.empty((n, 0)), planted.lam, 0
        used: Array = np.empty(0)
        lower = upper = None
        for step in range(1, MOST_ROUNDS + 1):
            limit = MARGINS[margin] if images.shape[1] else BELOW
            new, sides, ratio = self._violators(lam, points, limit)
            skip, size = self._skip(lam, limit)
            if max(size, *ratio[:1], 0.0) <= BELOW:
                found = [self._bounds(lam, sign) for sign in (1.0, -1.0)]
                lower, upper = max(b.lower for b in found), max(b.upper for b in found)
                if upper <= BELOW:
                    return Generation(self._patterns(points), None if self._ties.size else lam, lower, upper)
                if lower <= BELOW:
                    return Generation(self._patterns(points), None, lower, upper)
                worst = int(np.argmax([b.lower for b in found]))
                new = np.column_stack([new, found[worst].point])
                sides = np.append(sides, (1.0, -1.0)[worst])
            points = np.hstack([points, new, np.zeros((r, skip.shape[1]))])
            images = np.hstack([images, sides * self._images(new), skip])
            margin += step % PATIENCE == 0
            kept = None
            while margin < len(MARGINS):
                kept, used = _least_norm(planted, images, self._limits(images, MARGINS[margin]))
                if kept is not None:
                    break
                margin += 1
            if kept is None:
                # these neurons alone leave no dual: the program over their patterns has a better interpolant
                points = points[:, used > 0] if len(used) == points.shape[1] else points
                break
            lam = kept
        return Generation(self._patterns(points), None, lower, upper)

    @cached_property
    def program(self) -> ExactProgram:
        program = self.problem.program.balanced()
        assert isinstance(program, ExactProgram)
        return program

    def _images(self, points: Array) -> Array:
        """Activations (n, k) of neurons (r, k) of norm 1."""
        groups = self.program.groups
        Z = groups.activate(groups.base @ points)
        if not groups.orthonormal:
            return Z
        sizes = np.linalg.norm(Z, axis=0)
        return Z / np.where(sizes > 0, sizes, 1.0)

    @cached_property
    def _planted_images(self) -> Array:
        """Signed images (n, k) of the planted neurons, of length 1."""
        rows: Index = np.flatnonzero(self.problem.planted.any(axis=1))
        own, V = self.program.group(rows), self.problem.planted[rows]
        Z = self.program.groups.D[:, own] * (self.program.groups.base @ V.T) * self.program.sign(rows)
        planted: Array = Z / np.linalg.norm(Z, axis=0)
        return planted

    def _limits(self, images: Array, margin: float) -> Array:
        """What the dual is to stay below at signed images (n, k), at least as far below 1 as `BELOW`.

        Of normalised neurons an image at the angle t to a planted one has a value near cos t whatever the dual is: the
        farther it is from all of these, the larger is the margin that can be asked for.
        """
        if not self.program.groups.orthonormal:
            return np.full(images.shape[1], margin)
        nearest = np.clip((self._planted_images.T @ images).max(axis=0), 0.0, 1.0)
        return np.minimum(1.0 - (1.0 - margin) * (1.0 - nearest), CELL_MARGINS[-1])

    def _own(self, sign: float) -> Mask:
        """Patterns of the planted neurons of this sign, (n, k)."""
        rows: Index = np.flatnonzero(self.problem.planted.any(axis=1))
        kept = (self.program.sign(rows) == sign) & ~self.program.is_free(rows)
        own: Mask = self.program.groups.patterns[:, self.program.group(rows[kept])]
        return own

    def _bounds(self, lam: Array, sign: float) -> Bounds:
        known = self._own(sign)
        return exact_dual(self.program.groups, lam, sign, limit=BELOW, known=known, nodes=self.nodes, stop=True)

    def _skip(self, lam: Array, limit: float) -> tuple[Array, float]:
        """The image of the skip connection's worst weight, (n, 1), if its dual norm is above the limit; the norm.

        A planted skip connection has no image, and norm 0.
        """
        groups = self.program.groups
        pull = groups.base.T @ lam
        size = float(np.linalg.norm(pull))
        if not groups.linear or self.problem.planted[0].any():
            return np.empty((groups.n, 0)), 0.0
        return groups.base @ (pull / size)[:, None] if size > limit else np.empty((groups.n, 0)), size

    def _violators(self, lam: Array, points: Array, limit: float) -> tuple[Array, Array, Array]:
        """Unit neurons (r, k) off the planted cells, their signs and ratios above the limit, one of each cell."""
        groups = self.program.groups
        starts = self.rng.standard_normal((groups.rank, CLIMBS * groups.n))
        found, sides, values = [], [], []
        for sign in (1.0, -1.0):
            v, ratio = climb(groups, sign * lam, np.hstack([starts, points[:, points.any(axis=0)]]))
            order = np.argsort(-ratio)
            order = order[ratio[order] > self._limits(sign * self._images(v[:, order]), limit)]
            patterns = np.hstack([self._own(sign), groups.base @ v[:, order] >= 0])
            _, first = np.unique(patterns, axis=1, return_index=True)
            kept = order[np.sort(first[first >= patterns.shape[1] - len(order)]) - patterns.shape[1] + len(order)]
            kept = kept[: ADDED * groups.n]
            found.append(v[:, kept])
            sides.append(np.full(len(kept), sign))
            values.append(ratio[kept])
        ratio = np.concatenate(values)
        order = np.argsort(-ratio)
        return np.hstack(found)[:, order], np.concatenate(sides)[order], ratio[order]

    @cached_property
    def _ties(self) -> Mask:
        """Patterns (n, k) beside normalised planted neurons that too few rows see: their images at the same cost.

        Moved along what its rows do not see, such a neuron meets other rows at zero and keeps its image: it is then in
        the closed cells of both signs of these rows. The oracle leaves them out with the planted cell.
        """
        groups, found = self.program.groups, [np.empty((self.program.groups.n, 0), dtype=np.bool_)]
        rows: Index = np.flatnonzero(self.problem.planted.any(axis=1))
        for k in rows if groups.orthonormal else ():
            own = groups.patterns[:, self.program.group(np.array([k]))[0]]
            _, s, Vt = np.linalg.svd(groups.base[own], full_matrices=True)
            unseen = Vt[int(np.count_nonzero(s > RANK_TOLERANCE)) :]
            for u in np.vstack([unseen, -unseen]):
                z, speed = groups.base @ self.problem.planted[k], groups.base @ u
                steps = np.where(~own & (speed > RANK_TOLERANCE), -z / np.where(speed > 0, speed, 1.0), np.inf)
                if np.isfinite(steps.min()):
                    found.append((own | (np.arange(groups.n) == steps.argmin()))[:, None])
        return np.hstack(found)

    def _patterns(self, points: Array) -> Mask:
        patterns: Mask = self.program.groups.base @ points[:, points.any(axis=0)] >= 0
        return np.hstack([patterns, self._ties])


def _least_norm(planted: Candidate, images: Array, limits: Array) -> tuple[Array | None, Array]:
    """The least-norm lam with A_S^T lam = u and images^T lam <= limits, or None where there is none; multipliers.

    Least-distance programming (Lawson, Hanson 1974, chapter 23): with lam = lam_0 + w, w off range(A_S), it is the
    residual of one non-negative least-squares problem.
    """
    assert planted.lam is not None
    frame = planted.frame
    free = images - frame @ (frame.T @ images)
    target = np.zeros(len(free) + 1)
    target[-1] = 1.0
    system = np.vstack([-free, planted.lam @ images - limits])
    scale = np.linalg.norm(system, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    y, distance = scipy.optimize.nnls(system / scale, target, maxiter=50 * system.shape[1])
    residual = system @ (y / scale) - target
    if distance < 1e-7 or residual[-1] >= 0:
        return None, y
    lam: Array = planted.lam - residual[:-1] / residual[-1]
    return (lam if (images.T @ lam <= limits + 1e-9).all() else None), y
