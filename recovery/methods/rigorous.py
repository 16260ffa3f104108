"""Stored verdicts of minimum-norm trials proved again, in balls: what `recover verify --rigorous` puts a row through.

The approximate duals and interpolants come from the same search and solvers as the verdicts did; nothing of them is
believed (`recovery.proofs`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from recovery.instances.all_ones import decide_all_ones
from recovery.instances.draw import Instance
from recovery.methods.exact import planted_copies
from recovery.methods.exact_proof import Proof
from recovery.methods.min_norm import SEARCH_THRESHOLDS, MinNorm
from recovery.methods.representation import planted_weights
from recovery.methods.searched import with_searched_patterns
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups, groups_of
from recovery.programs.program import Program
from recovery.programs.projection import project
from recovery.programs.uniqueness import planted_candidate
from recovery.proofs.balls import Unproved
from recovery.proofs.interpolants import Weight, prove_cheaper, prove_duplicate
from recovery.proofs.model import Balls, Model, Normalization, model_of
from recovery.proofs.uniqueness import prove_unique
from recovery.solvers.cones import solve_cones
from recovery.solvers.dual_search import search_dual
from recovery.solvers.newton import solve_newton
from recovery.types import Array, Index

FORMS: dict[str, tuple[Normalization, bool]] = {
    "relu": ("none", False),
    "relu_skip": ("none", True),
    "relu_norm": ("after", False),
    "relu_norm_skip": ("before", True),
}
SLACKS = (1e-4, 1e-6, 1e-2)
"""Sizes, relative to the largest neuron, of what moves each neuron of an exact interpolant into its cone."""


@dataclass(frozen=True)
class Verified:
    """Whether a verdict was proved, else why not.

    bound: what the proof shows to be below 1: the largest dual norm off the planted groups, or the sum of norms of
    another interpolant over that of the planted weights (1: as good). label_error: how far the stored labels are from
    A W*, relative.
    """

    proved: bool
    reason: str = ""
    bound: float | None = None
    label_error: float | None = None


def verify_rigorously(instance: Instance, architecture: str, method: MinNorm, verdict: str | None) -> Verified:
    """Prove a stored verdict of a minimum-norm trial, about the labels A W* of its planted weights W*."""
    if instance.setting.noise > 0:
        return Verified(False, "noisy labels: there is no verdict")
    if verdict not in ATTEMPTS:
        return Verified(False, "undecided: there is no verdict")
    instance = with_searched_patterns(instance, architecture, method.program == "exact", None)
    case = _Case(instance, architecture, method.program == "exact")
    error, reason = None, ""
    try:
        error = Balls(case.model).label_error(instance.signal)
        for attempt in ATTEMPTS[verdict](case):
            try:
                return Verified(True, bound=attempt(), label_error=error)
            except Unproved as why:
                reason = str(why)
    except Unproved as why:
        reason = str(why)
    return Verified(False, reason, label_error=error)


@dataclass(frozen=True)
class _Case:
    """A trial's program and the model to prove things about."""

    instance: Instance
    architecture: str
    exact: bool

    @cached_property
    def model(self) -> Model:
        return model_of(self.instance, *FORMS[self.architecture])

    @cached_property
    def groups(self) -> Groups:
        return groups_of(self.architecture, self.instance.X, self.instance.patterns)

    @cached_property
    def program(self) -> Program:
        return Program(self.groups, self.instance.signal)

    @cached_property
    def cones(self) -> ExactProgram:
        return ExactProgram(self.program)

    def duals(self) -> Iterator[Array]:
        """Duals that might prove the planted weights unique: the least-norm one, the search's, a solver's."""
        groups = self.groups
        if self.exact:
            proof = Proof.of(self.cones, planted_copies(self.cones, self.instance))
            if proof is None:
                raise Unproved("no dual has the planted directions")
            planted, groups = proof.planted, proof.reduced
        else:
            planted = planted_candidate(groups, planted_weights(groups, self.instance))
        if planted.lam is None:
            raise Unproved("no dual has the planted directions")
        yield planted.lam
        for threshold in SEARCH_THRESHOLDS:
            yield search_dual(groups, planted.support, planted.frame, planted.lam, threshold).lam
        yield solve_cones(self.cones).candidate.lam if self.exact else solve_newton(self.program).lam

    def multipliers(self, lam: Array, groups: list[int], signs: list[int]) -> Array:
        """Of the cones of signed groups."""
        return project(self.cones, lam, np.array(groups) + self.groups.count * (np.array(signs) < 0))[1]

    def interpolants(self) -> Iterator[list[Weight]]:
        """Weights that might cost less than the planted ones."""
        if not self.exact:
            W = solve_newton(self.program).W
            yield self._weights(self.groups.base_weights(W), np.flatnonzero(W.any(axis=1)))
            return
        V = solve_cones(self.cones).candidate.V
        count = self.groups.count
        active = np.unique(self.cones.group(np.flatnonzero(V.any(axis=1))))
        chosen, inside = self._inside(active)
        inside *= float(self.cones.norms(V).max())
        both = np.concatenate([chosen, chosen[chosen >= int(self.groups.linear)] + count])
        for slack in SLACKS:
            moved = V.copy()
            moved[chosen] += slack * inside
            moved[chosen + count] += slack * inside
            yield self._weights(moved, both)

    def _weights(self, V: Array, chosen: Index) -> list[Weight]:
        """The chosen rows of V, base weights of groups, or of signed groups, as raw weights."""
        raw = V @ np.linalg.pinv(self.groups.coordinates).T
        count = self.groups.count
        return [Weight(int(k) % count, 1 if k < count else -1, raw[k]) for k in chosen]

    def _inside(self, active: Index) -> tuple[Index, Array]:
        """The active groups and some more, and for each a base weight of size 1 inside its cone; zero for the skip.

        Added to both copies of a group it leaves the labels as they are, and takes the neurons off their cones' faces.
        The other groups are there so that together they can correct the labels of any row.
        """
        spare = np.setdiff1d(np.arange(self.groups.count), active)[: 8 + 2 * -(-self.groups.n // self.groups.rank)]
        H = np.zeros((2 * self.groups.count, self.groups.rank))
        chosen = []
        for g, side in zip([*active, *spare], self.cones.orientation(np.append(active, spare)), strict=True):
            direction = decide_all_ones(side[:, None] * self.groups.base).direction if side.any() else H[g]
            if direction is not None:
                H[g] = direction
                chosen.append(g)
            elif g in active:
                raise Unproved("a neuron of the other interpolant lies in a cone without interior")
        kept = np.array(chosen)
        sizes = self.cones.norms(H)[kept]
        return kept, H[kept] / np.where(sizes > 0, sizes, 1.0)[:, None]


def _proofs_of_uniqueness(case: _Case) -> Iterator[Callable[[], float]]:
    for lam in case.duals():
        yield partial(prove_unique, case.model, lam, case.multipliers if case.exact else None)


def _proofs_of_a_lower_cost(case: _Case) -> Iterator[Callable[[], float]]:
    for weights in case.interpolants():
        yield partial(prove_cheaper, case.model, weights, case.exact)


def _proofs_of_another_optimum(case: _Case) -> Iterator[Callable[[], float]]:
    yield partial(prove_duplicate, case.model, case.exact)


ATTEMPTS: dict[str | None, Callable[[_Case], Iterator[Callable[[], float]]]] = {
    "recovered": _proofs_of_uniqueness,
    "not_optimal": _proofs_of_a_lower_cost,
    "not_unique": _proofs_of_another_optimum,
}
"""Verdict -> what might prove it, in turn."""
