"""Certification cascade: are planted weights the unique interpolant of least norm? Decided before any solve.

A noiseless trial passes its stages in order of cost and ends at the first one that proves an answer:
1. duplicate: another group can hold a planted neuron at the same norm, so the planted weights are not unique;
2. isometry: the least-norm dual is a certificate (one matrix product);
3. search: Newton's method finds a dual certificate, or a direction of descent.
A certificate for the gated program is one for the exact program. Off the planted rows the exact program constrains
only projections on cones.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from recovery.methods.interpolant import descends
from recovery.methods.method import CertificateKind, Verdict
from recovery.programs.certificate import CONE_TOLERANCE, RESIDUAL_TOLERANCE, Certified, certify, relative
from recovery.programs.exact import ExactProgram
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.programs.uniqueness import WELL_CONDITIONED, Candidate, Examined, examine_dual, planted_candidate
from recovery.solvers.dual_search import DualSearch, search_dual, search_exact_dual
from recovery.types import Array, Index

SEARCH_THRESHOLDS = (1.0 - 1e-3, 1.0 - 1e-6)
NOT_PLANTED = "the planted weights are no weights of the program that have the labels"
"""Reason where labels were edited or rounded too far, or where a confined program cannot hold the planted neuron."""
UNSOUGHT = "a cheaper interpolant was not looked for"
"""Reason for planted weights that share their cost, in a program that is too large to be solved to look for one."""
OUTSIDE = 1e-6
"""A planted direction, of norm 1, with a component of this length outside the row space of its group is not optimal:
without the component it costs less. Rounding is far smaller."""


@dataclass(frozen=True)
class Decision:
    """The verdict on planted weights, the certificate that decided it, and the dual that proves a recovery.

    reason: why the verdict is undecided, or what it does not settle. value: of the isometry condition, the largest dual
    norm off the planted groups. steps: of the search for a dual, None without a search. proof: the planted
    weights with the dual that proves them.
    """

    verdict: Verdict
    certificate: CertificateKind
    reason: str | None = None
    value: float | None = None
    steps: int | None = None
    solver: str | None = None
    proof: Certified | None = None


@dataclass(frozen=True)
class Cascade:
    """A program, the features (n, d') that its neurons act on, and the planted weights W* in its variables.

    tied: whether another group has the image of a planted group at the same norm.
    """

    program: Program
    features: Array
    planted: Array
    tied: bool

    @cached_property
    def rows(self) -> Index:
        """The non-zero rows of W*."""
        return np.flatnonzero(self.planted.any(axis=1))

    @cached_property
    def feasible(self) -> bool:
        """Whether W* interpolates: ||F(W*) - y|| <= RESIDUAL_TOLERANCE ||y||, with uneven rows divided by their norms.

        False where a confined program excludes a planted neuron: its weights then lie outside their cone.
        """
        if self.program.cone_violation(self.planted) > CONE_TOLERANCE:
            return False
        scales = self.program.groups.scales
        residual = float(np.linalg.norm(self.program.residual(self.planted) / scales))
        return relative(residual, float(np.linalg.norm(self.program.y / scales))) <= RESIDUAL_TOLERANCE

    def decide(self) -> Decision:
        """Return the answer of the first stage that proves one, otherwise `undecided`."""
        program = self.program
        planted = None if self.tied else self.candidate(program)
        examined = None
        if planted is not None and planted.distinct and planted.lam is not None:
            examined = examine_dual(program, self.rows, planted, planted.lam)
            if examined.proved:
                return _recovered(self._proof(program, planted.lam, examined), "isometry", examined.value, 0, None)
        if not self.feasible:
            return _undecided(NOT_PLANTED)
        if self.tied:
            if self._has_unseen_part():
                return Decision("not_optimal", "dual")
            return Decision("not_unique", "duplicate", UNSOUGHT)
        if planted is None:
            return _undecided("planted neurons of opposite signs share a group")
        if not planted.distinct:
            return _undecided("the images of planted neurons are dependent")
        if examined is None:
            return _undecided("no dual point has the planted directions")
        return self._search(planted, examined)

    def _has_unseen_part(self) -> bool:
        """Return whether a planted direction has a part outside the span of its active rows, if these are fewer than r.

        Without that part the labels are the same and the norm is smaller, in every program whose cone allows the move.
        """
        groups, W = self.program.groups, self.program.gated_weights(self.planted)
        for g in np.flatnonzero(W.any(axis=1)):
            seen = groups.patterns[:, g]
            if groups.orthonormal or groups.slope != 0.0 or np.count_nonzero(seen) >= groups.rank:
                continue
            A, u = groups.base[seen], W[g] / np.linalg.norm(W[g])
            gram = A @ A.T
            size = float(np.abs(gram).sum(axis=0).max(initial=0.0))
            factor, failed = scipy.linalg.lapack.dpotrf(gram)
            if failed or scipy.linalg.lapack.dpocon(factor, size)[0] < WELL_CONDITIONED or not self._moves(int(g)):
                continue
            if np.linalg.norm(u - A.T @ scipy.linalg.lapack.dpotrs(factor, A @ u)[0]) > OUTSIDE:
                return True
        return False

    def _moves(self, g: int) -> bool:
        """Return whether the weights of group g may move a little in every direction: no row of their cone is tight."""
        groups = self.program.groups
        if not self.program.has_cones or (groups.linear and g == 0):
            return True
        v = self.planted[g] + self.planted[g + groups.count]
        tight = np.abs(groups.base @ v) <= OUTSIDE * np.linalg.norm(groups.base, axis=1) * np.linalg.norm(v)
        return not bool(tight.any())

    def _search(self, planted: Candidate, examined: Examined) -> Decision:
        """Run the last stage, the search for a dual certificate. examined: the dual of the isometry condition."""
        program, candidate, value = self.program.balanced(), planted, examined.value
        if program is not self.program:
            balanced = self.candidate(program)
            if balanced is None or balanced.lam is None:
                reason = "rounding of uneven rows decides whether a dual point has the planted directions"
                return _undecided(reason, value)
            candidate = balanced
        steps, best = 0, np.inf
        for search in self._searches(program, candidate):
            steps += search.steps
            known = search.multipliers or examined.multipliers
            examined = examine_dual(program, self.rows, candidate, search.lam, known)
            if examined.proved:
                return _recovered(self._proof(program, search.lam, examined), "dual", value, steps, "newton")
            if not program.has_cones and descends(program.groups, self.features, candidate, search.excess):
                return Decision("not_optimal", "dual", None, value, steps, "newton")
            best = examined.value
        return Decision("undecided", "none", f"the best dual norm found is {best:.9g}", value, steps, "newton")

    def duals(self) -> Iterator[Array]:
        """Yield the dual points that `decide` examines: the least-norm one, then the ends of the searches."""
        balanced = self.program.balanced()
        for program in (self.program,) if balanced is self.program else (self.program, balanced):
            scales = 1.0 if program is self.program else self.program.groups.scales
            planted = self.candidate(program)
            if planted is not None and planted.lam is not None:
                yield planted.lam / scales
                for search in self._searches(program, planted):
                    yield search.lam / scales

    def descents(self) -> Iterator[Array]:
        """Yield weights of a gated program, one per direction of descent in `decide`, where the objective is least."""
        program = self.program.balanced()
        planted = None if program.has_cones else self.candidate(program)
        if planted is None or planted.lam is None:
            return
        for search in self._searches(program, planted):
            direction = search.excess.copy()
            direction[planted.support] = -planted.solve(program.groups.forward(search.excess))
            size = float(np.linalg.norm(direction))
            if size > 0:
                steps = np.exp2(np.arange(-30.0, 2.0)) * float(np.linalg.norm(planted.weights)) / size
                yield min((planted.weights + t * direction for t in steps), key=lambda W: float(program.norms(W).sum()))

    def _searches(self, program: Program, planted: Candidate) -> Iterator[DualSearch]:
        """Yield searches for a dual: with gated dual norms, then, for an exact program, with its own smaller norms."""
        assert planted.lam is not None
        lam, ignored = planted.lam, self._duplicates(planted.support)
        for threshold in SEARCH_THRESHOLDS:
            search = search_dual(program.groups, planted.support, planted.frame, planted.lam, threshold, ignored)
            lam = search.lam
            yield search
        if isinstance(program, ExactProgram):
            for threshold in SEARCH_THRESHOLDS:
                yield search_exact_dual(program, self.rows, planted.frame, lam, threshold)

    def proof_from(self, lam: Array) -> Certified | None:
        """Return W* with a dual near lam that proves W* the unique optimum, or None."""
        program = self.program.balanced()
        planted = self.candidate(program)
        if planted is None or planted.lam is None or not planted.distinct:
            return None
        lam = lam if program is self.program else lam * self.program.groups.scales
        corrected = lam - planted.frame @ (planted.frame.T @ (lam - planted.lam))
        examined = examine_dual(program, self.rows, planted, corrected)
        return self._proof(program, corrected, examined) if examined.proved else None

    def _proof(self, program: Program, lam: Array, examined: Examined) -> Certified | None:
        """Return W* with a dual that proves it the unique optimum for its own labels.

        None where these are not the labels of the program. program: this one or the balanced one, to which lam belongs.
        """
        optimum = Solution(self.planted, lam, solver="planted", multipliers=examined.multipliers)
        if program is not self.program:
            optimum = optimum.unbalanced(self.program.groups.scales)
        certificate = certify(self.program, optimum)
        return Certified(optimum, certificate) if certificate.feasible else None

    def candidate(self, program: Program) -> Candidate | None:
        """Return W* with its least-norm dual for this program or the balanced one.

        None where two planted neurons of opposite signs share a group, or nothing is planted.
        """
        W = program.gated_weights(self.planted)
        support = self.rows if W is self.planted else np.flatnonzero(W.any(axis=1))
        if not len(support) or len(support) != len(self.rows):
            return None
        return planted_candidate(program.groups, W, support)

    def _duplicates(self, support: Index) -> Index:
        """Return groups with a planted group's operator, whose cones exclude the neuron: their dual norms are 1."""
        if not self.program.has_cones:
            return np.empty(0, dtype=np.intp)
        return np.unique(np.concatenate([self.program.groups.duplicates_of(int(g)) for g in support]))


def _recovered(proof: Certified | None, by: CertificateKind, value: float, steps: int, solver: str | None) -> Decision:
    return _undecided(NOT_PLANTED) if proof is None else Decision("recovered", by, None, value, steps, solver, proof)


def _undecided(reason: str, value: float | None = None) -> Decision:
    return Decision("undecided", "none", reason, value)
