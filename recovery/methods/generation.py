"""Column generation over all patterns, which ends with a proof: is a dual point feasible everywhere?

Of a noiseless trial the dual is chosen among many. Its images A_S^T lam = u are given, the least-norm one comes first,
and then the least-norm one that leaves a margin at every neuron found so far; a point that proves the optimum over the
patterns found lies on the boundary, where many neurons are nearly tight and none can be excluded. Each round looks for
neurons that violate the present dual, by climbing and, where that finds none, by the oracle, which proves that there
are none. A verdict of recovery needs that proof; the others need only the patterns found.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from recovery.conditions.ascent import climb
from recovery.conditions.oracle import Bounds, exact_dual
from recovery.errors import ParameterError
from recovery.instances.draw import Setting
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PROGRAMS, PlantedProgram
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.programs.exact import ExactProgram
from recovery.programs.uniqueness import MARGIN, Candidate, planted_candidate
from recovery.types import Array, Index, Mask, Rng

MOST_ROUNDS = 60
MARGINS = (0.9, 0.97, 0.99, 0.999, 0.9999, 1.0 - 1e-5)
"""What the dual is to stay below at the neurons found: the first of these that it can."""
PATIENCE = 8
"""Rounds until the next margin is tried: one that cannot be kept is often not seen to be so."""
CLIMBS = 4
"""Starts of climbs a row."""
ADDED = 3
"""Neurons added a round, a row."""
BELOW = 1.0 - 2.0 * MARGIN
"""What the oracle is to prove: a margin for the rounding of the certificate."""


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
        if self.lower is None or self.upper is None:
            return "no dual was found that stays below 1 at all neurons found"
        return f"the largest dual norm over all patterns lies between {self.lower:.9g} and {self.upper:.9g}"


def check_all_patterns(setting: Setting, architecture: Architecture, program: str, solver: str) -> None:
    """Refuse `patterns.kind: all` where no proof over all patterns is known. Raises `ParameterError`."""
    if setting.patterns.kind != "all":
        return
    if architecture.normalizes_after:
        raise ParameterError(
            f"patterns.kind all is not known for architecture {architecture.name!r}, whose neurons are normalised "
            "after the ReLU; use exhaustive, or searched"
        )
    if program != "exact" or setting.noise > 0:
        raise ParameterError("patterns.kind all is known to noiseless trials of exact programs only")
    if solver != "auto":
        raise ParameterError(f"patterns.kind all goes with solver auto, found {solver!r}")


def patterns_proved(row: Measurement, kind: str) -> str | None:
    """What a verdict is about. Planted weights that are not the unique optimum over some patterns are not over all."""
    if row.verdict in (None, "undecided"):
        return None
    return "all" if kind == "exhaustive" or row.verdict != "recovered" else kind


def over_all_patterns(
    problem: PlantedProgram, measure: Callable[[PlantedProgram], tuple[Measurement, Array]]
) -> tuple[Measurement, Array]:
    """What `measure` finds with the patterns that the search added; recovered only where it proved a dual."""
    if problem.blank or not problem.sure:
        return measure(problem)
    grown, found = grown_program(problem)
    proof = None if found.lam is None else grown.ladder.proof_from(found.lam / grown.program.groups.scales)
    known = grown.drawn().having(pattern_count=None)
    if proof is not None:
        return grown.recovered(known.having(certificate="dual"), proof), grown.planted
    row, weights = measure(grown)
    if row.verdict in ("recovered", "undecided"):
        return known.undecided(found.reason if row.verdict == "recovered" else row.reason), weights
    # what else a solution over the patterns found measures, and its reason, depend on the path that found them
    return known.having(**{name: row.get(name) for name in ("recovered", "verdict", "certificate")}), weights


def grown_program(problem: PlantedProgram) -> tuple[PlantedProgram, Generation]:
    """The program over the patterns there are and those that the search finds, and what it ended with."""
    instance = problem.instance
    found = Search(problem, instance.setting.patterns.nodes, instance.streams.training).run()
    patterns = unique_patterns(problem.architecture.features(instance.X), [instance.patterns, found.patterns])
    groups = problem.architecture.groups(instance.X, patterns)
    program = PROGRAMS[problem.program.kind](groups, instance.y)
    return replace(problem, instance=instance.with_patterns(patterns), program=program), found


@dataclass(frozen=True)
class Search:
    """Column generation for the planted weights of a noiseless exact program; nodes: the limit of each proof."""

    problem: PlantedProgram
    nodes: int
    rng: Rng

    def run(self) -> Generation:
        """Until the oracle proves a dual, no dual is left, or the limit is reached."""
        planted, program = self.candidate, self.program
        n, r = program.groups.n, program.groups.rank
        if planted is None or planted.lam is None or not planted.distinct:
            return Generation(np.empty((n, 0), dtype=np.bool_))
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
                    return Generation(self._patterns(points), lam, lower, upper)
                if lower <= BELOW:
                    return Generation(self._patterns(points), None, lower, upper)
                worst = int(np.argmax([b.lower for b in found]))
                new = np.column_stack([new, found[worst].point])
                sides = np.append(sides, (1.0, -1.0)[worst])
            points = np.hstack([points, new, np.zeros((r, skip.shape[1]))])
            images = np.hstack([images, sides * program.groups.activate(program.groups.base @ new), skip])
            margin += step % PATIENCE == 0
            kept = None
            while margin < len(MARGINS):
                kept, used = _least_norm(planted, images, MARGINS[margin])
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

    @cached_property
    def candidate(self) -> Candidate | None:
        """None where two planted neurons of opposite signs share a group."""
        W = self.program.gated_weights(self.problem.planted)
        support = np.flatnonzero(W.any(axis=1))
        rows = np.flatnonzero(self.problem.planted.any(axis=1))
        return planted_candidate(self.program.groups, W, support) if len(support) == len(rows) else None

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
            order = order[ratio[order] > limit]
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

    def _patterns(self, points: Array) -> Mask:
        patterns: Mask = self.program.groups.base @ points[:, points.any(axis=0)] >= 0
        return patterns


def _least_norm(planted: Candidate, images: Array, limit: float) -> tuple[Array | None, Array]:
    """The least-norm lam with A_S^T lam = u and images^T lam <= limit, or None where there is none; multipliers.

    Least-distance programming (Lawson, Hanson 1974, chapter 23): with lam = lam_0 + w, w off range(A_S), it is the
    residual of one non-negative least-squares problem.
    """
    assert planted.lam is not None
    frame = planted.frame
    free = images - frame @ (frame.T @ images)
    target = np.zeros(len(free) + 1)
    target[-1] = 1.0
    system = np.vstack([-free, planted.lam @ images - limit])
    scale = np.linalg.norm(system, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    y, distance = scipy.optimize.nnls(system / scale, target, maxiter=50 * system.shape[1])
    residual = system @ (y / scale) - target
    if distance < 1e-7 or residual[-1] >= 0:
        return None, y
    lam: Array = planted.lam - residual[:-1] / residual[-1]
    return (lam if (images.T @ lam <= limit + 1e-9).all() else None), y
