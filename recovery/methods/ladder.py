"""The ladder: are planted weights the unique interpolant of least norm? Decided before anything is solved.

A noiseless trial climbs it and stops at the first rung that proves an answer: another row that could be a planted one
(never unique); the isometry certificate (one matrix product); the search for a dual certificate. Every certificate of
the gated program serves the exact one, whose dual asks less: off the planted rows only projections on cones must stay
below 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recovery.methods.measurement import CertificateKind, Verdict
from recovery.programs.certificate import RESIDUAL_TOLERANCE, relative
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.programs.uniqueness import Candidate, Examined, examine_dual, planted_candidate, proves_not_optimal
from recovery.solvers.dual_search import search_dual
from recovery.types import Array, Index

SEARCH_THRESHOLDS = (1.0 - 1e-3, 1.0 - 1e-6)


@dataclass(frozen=True)
class Decision:
    """What was proved of planted weights, by which certificate, and the dual that proves a recovery.

    value: the isometry condition's. steps: of the search, None where there was none.
    """

    verdict: Verdict
    certificate: CertificateKind
    value: float | None = None
    steps: int | None = None
    solver: str | None = None
    optimum: Solution | None = None


@dataclass(frozen=True)
class Ladder:
    """A program and its planted weights W*; feasible: whether they reproduce the labels that were given."""

    program: Program
    planted: Array

    @property
    def feasible(self) -> bool:
        """||F(W*) - y|| <= RESIDUAL_TOLERANCE ||y||: weights that do not give the labels are no interpolant at all."""
        residual = float(np.linalg.norm(self.program.residual(self.planted)))
        return relative(residual, float(np.linalg.norm(self.program.y))) <= RESIDUAL_TOLERANCE

    def climb(self) -> Decision:
        """The first rung that proves an answer; `undecided` where none does."""
        program, W = self.program, self.planted
        if not self.feasible:
            return Decision("undecided", "none")
        if program.duplicated(W):
            return Decision("not_unique", "duplicate")
        rows = np.flatnonzero(W.any(axis=1))
        if (planted := self._candidate(rows)) is None:
            return Decision("undecided", "none")
        if not planted.distinct:
            return Decision("not_unique", "duplicate") if not program.has_cones else Decision("undecided", "none")
        if planted.lam is None:
            return Decision("undecided", "none")
        examined = examine_dual(program, rows, planted, planted.lam)
        value = examined.value
        if examined.proved:
            return Decision("recovered", "isometry", value, 0, None, self._optimum(planted.lam, examined))
        ignored = self._duplicates(planted.support)
        steps = 0
        for threshold in SEARCH_THRESHOLDS:
            found = search_dual(program.groups, planted.support, planted.frame, planted.lam, threshold, ignored)
            steps += found.steps
            examined = examine_dual(program, rows, planted, found.lam)
            if examined.proved:
                return Decision("recovered", "dual", value, steps, "newton", self._optimum(found.lam, examined))
            if not program.has_cones and proves_not_optimal(program.groups, planted, found.excess):
                return Decision("not_optimal", "dual", value, steps, "newton")
        return Decision("undecided", "none", value, steps, "newton")

    def duals(self) -> Iterator[Array]:
        """The duals that `climb` looks at: the least-norm one, then those that the search ends at."""
        planted = self._candidate(np.flatnonzero(self.planted.any(axis=1)))
        if planted is None or planted.lam is None:
            return
        yield planted.lam
        ignored = self._duplicates(planted.support)
        for threshold in SEARCH_THRESHOLDS:
            yield search_dual(self.program.groups, planted.support, planted.frame, planted.lam, threshold, ignored).lam

    def proof_from(self, lam: Array) -> Solution | None:
        """The planted weights with a dual near lam that proves them the unique optimum, or None."""
        rows = np.flatnonzero(self.planted.any(axis=1))
        planted = self._candidate(rows)
        if planted is None or planted.lam is None or not planted.distinct or not self.feasible:
            return None
        corrected = lam - planted.frame @ (planted.frame.T @ (lam - planted.lam))
        examined = examine_dual(self.program, rows, planted, corrected)
        return self._optimum(corrected, examined) if examined.proved else None

    def _candidate(self, rows: Index) -> Candidate | None:
        """None where two planted neurons of opposite signs share a group."""
        W = self.program.gated_weights(self.planted)
        return planted_candidate(self.program.groups, W) if len(np.flatnonzero(W.any(axis=1))) == len(rows) else None

    def _duplicates(self, support: Index) -> Index:
        """Groups with a planted group's operator, which no search can hold below 1; their cones shut the neuron out."""
        if not self.program.has_cones:
            return np.empty(0, dtype=np.intp)
        return np.unique(np.concatenate([self.program.groups.duplicates_of(int(g)) for g in support]))

    def _optimum(self, lam: Array, examined: Examined) -> Solution:
        return Solution(self.planted, lam, solver="planted", multipliers=examined.multipliers)
