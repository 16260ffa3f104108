"""A dual of planted weights that stays feasible over all patterns: column generation that ends with a proof.

Of a noiseless trial the dual is chosen among many. Its images A_S^T lam = u are given, the least-norm one comes first,
and then one that leaves a margin at every neuron, or cell, found so far; a point that proves the optimum over the
patterns found lies on the boundary, where many are nearly tight and none can be excluded. Each round looks for what
violates the present dual, by climbs or on great circles, and asks an oracle, which proves that there is nothing.
Cells enter with their whole dual norm, here; neurons as cuts of a least-norm problem (`recovery.methods.neuron_dual`).
"""

from dataclasses import dataclass, replace

import numpy as np

from recovery.conditions.beam import beam_search
from recovery.conditions.oracle import Bounds, dual_terms, gated_dual
from recovery.conditions.search import circle_points
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PlantedProgram
from recovery.programs.groups import Groups
from recovery.programs.program import Program
from recovery.programs.uniqueness import MARGIN, Candidate, planted_candidate
from recovery.solvers.dual_search import search_dual
from recovery.types import Array, Index, Mask, Rng

MOST_ROUNDS = 60
"""Some 30 are enough for cells up to d = 12; at d = 16, n = 3d some draws take more, and minutes."""
MARGINS = (0.9, 0.97, 0.99, 0.999, 0.9999, 1.0 - 1e-5)
"""What the dual is to stay below at what was found: the first of these that it can."""
CELL_MARGINS = (*MARGINS, 1.0 - 1e-6, 1.0 - 3e-7, 1.0 - 2.1e-7)
"""The same of cells, whose norms near a planted neuron's can be within 1e-6 of 1; the last is just below `BELOW`."""
PATIENCE = 8
"""Rounds until the next margin is tried: one that cannot be kept is often not seen to be so."""
MET = 1e-9
"""Norms this far above a margin meet it: Newton's method ends at the margin up to rounding."""
ADDED = 3
"""Cells added a round, a circle, and neurons, a row."""
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
