"""The ladder: are planted weights the unique interpolant of least norm? Decided before anything is solved.

A noiseless trial climbs it and stops at the first rung that proves an answer: another row that could be a planted one
(never unique); the isometry certificate (one matrix product); the search for a dual certificate. Every certificate of
the gated program serves the exact one, whose dual asks less: off the planted rows only projections on cones must stay
below 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recovery.methods.method import CertificateKind, Verdict
from recovery.programs.certificate import CONE_TOLERANCE, RESIDUAL_TOLERANCE, Certificate, certify, relative
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.programs.uniqueness import Candidate, Examined, examine_dual, planted_candidate, proves_not_optimal
from recovery.solvers.dual_search import search_dual
from recovery.types import Array, Index

SEARCH_THRESHOLDS = (1.0 - 1e-3, 1.0 - 1e-6)
NOT_PLANTED = "the planted weights are no weights of the program that have the labels"
"""Why a verdict is open: labels are edited, or rounded too far, or a confined program has no such neuron."""


@dataclass(frozen=True)
class Decision:
    """What was proved of planted weights, by which certificate, and the dual that proves a recovery.

    reason: why it is open, or what it leaves open. value: the isometry condition's. steps: of the search, None where
    there was none. proof: the certificate of the planted weights with that dual.
    """

    verdict: Verdict
    certificate: CertificateKind
    reason: str | None = None
    value: float | None = None
    steps: int | None = None
    solver: str | None = None
    proof: Certificate | None = None


@dataclass(frozen=True)
class Ladder:
    """A program and its planted weights W*; tied: whether another group has a planted one's image at the same norm."""

    program: Program
    planted: Array
    tied: bool

    @cached_property
    def rows(self) -> Index:
        """The rows of W* that are not zero."""
        return np.flatnonzero(self.planted.any(axis=1))

    @cached_property
    def feasible(self) -> bool:
        """||F(W*) - y|| <= RESIDUAL_TOLERANCE ||y||, uneven rows each by its own norm: W* interpolates at all.

        Not where confinement shuts a planted neuron out: its weights are then those nearest to it, outside their cone.
        """
        if self.program.cone_violation(self.planted) > CONE_TOLERANCE:
            return False
        scales = self.program.groups.scales
        residual = float(np.linalg.norm(self.program.residual(self.planted) / scales))
        return relative(residual, float(np.linalg.norm(self.program.y / scales))) <= RESIDUAL_TOLERANCE

    def climb(self) -> Decision:
        """The first rung that proves an answer; `undecided` where none does."""
        program = self.program
        planted = None if self.tied else self._candidate(program)
        examined = None
        if planted is not None and planted.distinct and planted.lam is not None:
            examined = examine_dual(program, self.rows, planted, planted.lam)
            if examined.proved:
                return _recovered(self._proof(program, planted.lam, examined), "isometry", examined.value, 0, None)
        if not self.feasible:
            return _open(NOT_PLANTED)
        if self.tied:
            return Decision("not_unique", "duplicate", "a cheaper interpolant was not looked for")
        if planted is None:
            return _open("planted neurons of opposite signs share a group")
        if not planted.distinct:
            return _open("the images of planted neurons are dependent")
        if examined is None:
            return _open("no dual point has the planted directions")
        return self._searched(planted, examined.value)

    def _searched(self, planted: Candidate, value: float) -> Decision:
        """What the search for a dual certificate proves; value: the isometry condition's."""
        program, candidate = self.program.balanced(), planted
        if program is not self.program:
            even = self._candidate(program)
            if even is None or even.lam is None:
                return _open("rounding of uneven rows decides whether a dual point has the planted directions", value)
            candidate = even
        ignored = self._duplicates(candidate.support)
        steps, best = 0, np.inf
        for threshold in SEARCH_THRESHOLDS:
            assert candidate.lam is not None
            search = search_dual(program.groups, candidate.support, candidate.frame, candidate.lam, threshold, ignored)
            steps += search.steps
            examined = examine_dual(program, self.rows, candidate, search.lam)
            if examined.proved:
                return _recovered(self._proof(program, search.lam, examined), "dual", value, steps, "newton")
            if not program.has_cones and proves_not_optimal(program.groups, candidate, search.excess):
                return Decision("not_optimal", "dual", None, value, steps, "newton")
            best = examined.value
        return Decision("undecided", "none", f"the best dual norm found is {best:.9g}", value, steps, "newton")

    def duals(self) -> Iterator[Array]:
        """The duals that `climb` looks at: the least-norm one, then those that the search ends at."""
        even = self.program.balanced()
        yield from self._duals(self.program)
        if even is not self.program:
            for lam in self._duals(even):
                yield lam / self.program.groups.scales

    def _duals(self, program: Program) -> Iterator[Array]:
        planted = self._candidate(program)
        if planted is None or planted.lam is None:
            return
        yield planted.lam
        ignored = self._duplicates(planted.support)
        for threshold in SEARCH_THRESHOLDS:
            yield search_dual(program.groups, planted.support, planted.frame, planted.lam, threshold, ignored).lam

    def proof_from(self, lam: Array) -> Certificate | None:
        """The certificate of W* with a dual near lam that proves them the unique optimum, or None."""
        program = self.program.balanced()
        planted = self._candidate(program)
        if planted is None or planted.lam is None or not planted.distinct:
            return None
        lam = lam if program is self.program else lam * self.program.groups.scales
        corrected = lam - planted.frame @ (planted.frame.T @ (lam - planted.lam))
        examined = examine_dual(program, self.rows, planted, corrected)
        return self._proof(program, corrected, examined) if examined.proved else None

    def _proof(self, program: Program, lam: Array, examined: Examined) -> Certificate | None:
        """The certificate of W* with a dual that proves them the unique optimum of their own labels; None where these
        are not the program's. program: this one or the balanced one, whose dual it is."""
        optimum = Solution(self.planted, lam, solver="planted", multipliers=examined.multipliers)
        if program is not self.program:
            optimum = optimum.unbalanced(self.program.groups.scales)
        proof = certify(self.program, optimum)
        return proof if proof.feasible else None

    def _candidate(self, program: Program) -> Candidate | None:
        """None where two planted neurons of opposite signs share a group."""
        W = program.gated_weights(self.planted)
        support = self.rows if W is self.planted else np.flatnonzero(W.any(axis=1))
        return planted_candidate(program.groups, W, support) if len(support) == len(self.rows) else None

    def _duplicates(self, support: Index) -> Index:
        """Groups with a planted group's operator, which no search can hold below 1; their cones shut the neuron out."""
        if not self.program.has_cones:
            return np.empty(0, dtype=np.intp)
        return np.unique(np.concatenate([self.program.groups.duplicates_of(int(g)) for g in support]))


def _recovered(
    proof: Certificate | None, by: CertificateKind, value: float, steps: int, solver: str | None
) -> Decision:
    return _open(NOT_PLANTED) if proof is None else Decision("recovered", by, None, value, steps, solver, proof)


def _open(reason: str, value: float | None = None) -> Decision:
    return Decision("undecided", "none", reason, value)
