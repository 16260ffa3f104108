"""A dual of planted neurons that stays feasible over all patterns, of an exact program; of cells: `feasible_dual`.

Neurons found are cuts of a least-norm problem: lam.image <= margin, one for each. Of networks whose neurons are
normalised after the ReLU an image may be as near to a planted one as it likes; the margin shrinks with the angle.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from recovery.conditions.ascent import climb
from recovery.conditions.oracle import Bounds, exact_dual
from recovery.methods.convex import PlantedProgram
from recovery.methods.feasible_dual import (
    ADDED,
    BELOW,
    CELL_MARGINS,
    MARGINS,
    MOST_ROUNDS,
    PATIENCE,
    Generation,
    planted_dual,
)
from recovery.programs.exact import ExactProgram
from recovery.programs.orthonormal import RANK_TOLERANCE
from recovery.programs.uniqueness import Candidate
from recovery.types import Array, Index, Mask, Rng

CLIMBS = 4
"""Starts of climbs a row."""


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
