"""Proofs that planted weights are, or are not, the unique optimum of an exact program, without solving it.

Every certificate of the gated program serves the exact one, whose dual asks less: off the planted groups only the
projections ||P_K(+-A_g^T lam)|| must stay below 1. The all-ones pattern next to a skip connection, a duplicate in the
gated program, is one here only when the planted weights lie in its cone (P1, Proposition 7).
"""

from dataclasses import replace

import numpy as np

from recovery.methods.measurement import Measurement
from recovery.methods.min_norm import SEARCH_THRESHOLDS
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.projection import project
from recovery.programs.uniqueness import EQUALITY_TOLERANCE, MARGIN, Planted, planted_candidate
from recovery.solvers.dual_search import search_dual
from recovery.types import Array, Index


def has_duplicate(program: ExactProgram, planted: Array) -> bool:
    """Whether a planted neuron is also, with the same size, a neuron of another group."""
    groups, p = program.groups, program.groups.count
    for k in np.flatnonzero(planted.any(axis=1)):
        g, sign = int(k) % p, 1.0 if k < p else -1.0
        for other in groups.duplicates_of(g):
            for copy in (int(other), int(other) + p):
                if groups.linear and other == 0 and copy == p:
                    continue
                chosen = np.array([copy])
                slack = program.orientation(chosen)[0] * (groups.base @ planted[k])
                if (sign * float(program.sign(chosen)[0]) * slack).min() >= 0.0:
                    return True
    return False


class Proof:
    """Looks for a dual that proves planted copies unique: support, candidate, and the groups without duplicates."""

    def __init__(self, program: ExactProgram, support: Index, reduced: Groups, planted: Planted) -> None:
        self.program, self.support, self.reduced, self.planted = program, support, reduced, planted

    @classmethod
    def of(cls, program: ExactProgram, V: Array) -> "Proof | None":
        """None where two planted neurons of opposite signs share a group, or no dual has the planted directions."""
        groups = program.groups
        support = np.flatnonzero(V.any(axis=1))
        own = program.group(support)
        if len(np.unique(own)) < len(own):
            return None
        kept = np.ones(groups.count, dtype=np.bool_)
        for g in own:
            kept[groups.duplicates_of(int(g))] = False
        kept[own] = True
        transforms = None if groups.transforms is None else groups.transforms[kept]
        reduced = replace(groups, patterns=groups.patterns[:, kept], transforms=transforms)
        planted = planted_candidate(reduced, program.gated_weights(V)[kept])
        return cls(program, support, reduced, planted) if planted.lam is not None and planted.distinct else None

    def decide(self, row: Measurement) -> Measurement:
        """The least-norm dual, then the search of the gated program's: `recovered` where one of them proves it."""
        assert self.planted.lam is not None
        lam, steps = self.planted.lam, 0
        value = float(self._outside(lam).max(initial=0.0))
        row = row.having(isometry_value=value, iterations=0)
        if self.holds(lam):
            return row.having(recovered=True, certificate="isometry")
        for threshold in SEARCH_THRESHOLDS:
            found = search_dual(self.reduced, self.planted.support, self.planted.frame, lam, threshold)
            steps += found.steps
            if self.holds(found.lam):
                return row.having(recovered=True, certificate="dual", iterations=steps, solver="newton")
        return row

    def corrected(self, lam: Array) -> Array:
        """lam moved, as little as possible, to where A_S^T lam = u."""
        assert self.planted.lam is not None
        frame = self.planted.frame
        return lam - frame @ (frame.T @ (lam - self.planted.lam))

    def holds(self, lam: Array) -> bool:
        """Whether lam has the planted directions, and projections below 1 by a margin off the planted copies."""
        gradients = self.reduced.adjoint(lam)[self.planted.support]
        error = float(np.linalg.norm(gradients - self.planted.directions))
        limit = 1.0 - MARGIN - error / self.planted.smallest * self.reduced.largest_norm
        return error <= EQUALITY_TOLERANCE and bool((self._outside(lam) < limit).all())

    def _outside(self, lam: Array) -> Array:
        """Bounds on the projections off the planted copies, exact where the gated norm does not settle them."""
        program = self.program
        others = np.setdiff1d(program.members, self.support)
        bounds = np.linalg.norm(program.groups.adjoint(lam), axis=1)[program.group(others)]
        open_ = np.flatnonzero((bounds >= 1.0 - MARGIN) & ~program.is_free(others))
        if len(open_):
            bounds[open_] = np.minimum(bounds[open_], project(program, lam, others[open_])[0])
        return bounds
