"""The convex program of an instance, with the planted weights in it, and what is known of both before any solve."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from recovery.conditions.ties import exact_signs, faint, neighbours, reaches, twins
from recovery.instances.draw import Instance
from recovery.instances.patterns import live_rows, patterns_of
from recovery.methods.interpolant import interpolant_near, operator_rank
from recovery.methods.representation import planted_neurons
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import CONE_TOLERANCE, RESIDUAL_TOLERANCE, Certified, certify, relative
from recovery.programs.exact import ExactProgram
from recovery.programs.integers import quick_rank
from recovery.programs.norms import L2, Norm
from recovery.programs.program import GatedProgram, Program
from recovery.programs.uniqueness import Candidate, planted_candidate
from recovery.solvers.table import find_solver
from recovery.types import Array, Index, Mask

ProgramKind = Literal["gated", "exact"]
Confinement = Literal["row_space", "none"]
PROGRAMS: dict[str, type[Program]] = {program.kind: program for program in (GatedProgram, ExactProgram)}
"""Kind of a program -> its class."""

UNSURE = "rows of very different norms, or nearly dependent: rounding decides the ranges of normalised neurons"
BLANK = "the planted weights are zero on the data: there is nothing to recover"
DEAD = "a planted neuron is active on no row, or below rounding only: no program has a group for it"
FAINT = "the activations of a planted neuron are zero up to rounding, and normalised: it decides the labels"
CANCELLED = "planted neurons cancel up to rounding: it decides what is left of them"
ZERO = 1e-12
"""Products x.w below this fraction of ||F|| ||w|| may be zero exactly; their signs are then computed in fractions."""
CANCELLING = 1e-10
"""If the sum of the planted neurons of a group is smaller than their norms by this factor, rounding decides it."""
LOWER = 1e-7
"""An interpolant that costs less than the planted weights by this fraction proves them not optimal. Rounding in sums of
norms is far smaller."""
SMALL = 10_000
"""Largest n p r, the entries of all A_g, at which a program is solved to look for a cheaper interpolant after a tie."""


@dataclass(frozen=True)
class PlantedProgram:
    """The convex program of an instance for an architecture, with the planted weights in it."""

    instance: Instance
    architecture: Architecture
    program: Program

    @classmethod
    def of(
        cls,
        instance: Instance,
        architecture: Architecture,
        kind: str,
        beta: float | None = None,
        confinement: Confinement = "row_space",
        norm: Norm = L2,
    ) -> "PlantedProgram":
        """Form the program of an instance. Raises `ParameterError` if the architecture has no programs of this kind.

        Only exact programs over sampled patterns are confined. Over all patterns, as in P1's (5), confinement excludes
        no neuron, and searched and exhaustive patterns represent all patterns.
        """
        program = PROGRAMS[kind]
        architecture.require(program.kind)
        groups = architecture.groups(instance.X, instance.patterns)
        confined = program.has_cones and confinement == "row_space" and instance.setting.patterns.kind == "sampled"
        groups = replace(groups, confined=confined and groups.orthonormal)
        return cls(instance, architecture, program(groups, instance.y, beta, norm))

    def over(self, patterns: Mask) -> "PlantedProgram":
        """Return the same program over these patterns (n, p), not confined."""
        program = self.program
        groups = replace(self.architecture.groups(self.instance.X, patterns), confined=False)
        return replace(self, instance=self.instance.with_patterns(patterns), program=replace(program, groups=groups))

    @cached_property
    def planted(self) -> Array:
        """W* with F(W*) = the noiseless labels: the skip connection, or each neuron in the row of its pattern and sign.

        Neurons that are active on no row are left out, because no program has a group for them (`dead`).
        """
        W = np.zeros((self.program.size, self.program.groups.rank))
        for k, value in self._rows():
            W[k] += value
        return W

    def _rows(self) -> Iterator[tuple[int, Array]]:
        """Yield the row of W* and the weight that each planted neuron adds to it."""
        neurons = planted_neurons(self.instance)
        if neurons.linear:
            yield 0, self.program.groups.coordinates @ (self.lifted @ neurons.signs)
            return
        sizes = neurons.sizes(self.instance.X)
        for i, g in self.owners:
            k, value = self.program.place(g, float(neurons.signs[i]), self.lifted[:, i], self.features)
            yield k, value / sizes[i]

    @cached_property
    def lifted(self) -> Array:
        """The planted neurons as they act on the features, (d', k)."""
        return self.architecture.lift(planted_neurons(self.instance).directions, self.instance.X)

    @cached_property
    def owners(self) -> list[tuple[int, int]]:
        """Each planted neuron that is active on some row, with the group of its pattern.

        Rounding may decide the sign of a product that is nearly zero. All neurons are therefore multiplied at once, as
        in the draw of the patterns: a product of another shape may round to another pattern, which no group has.
        """
        own = patterns_of(self.features, self.lifted)
        return [(i, self.program.groups.find(own[:, i])) for i in range(own.shape[1]) if i not in self.dead]

    @cached_property
    def dead(self) -> list[int]:
        """Indices of planted neurons whose image is exactly zero or whose pattern is empty; no shipped model draws any.

        A neuron that is orthogonal to some rows and negative on the others has a pattern, and its ReLU is zero on all
        rows. A neuron normalised after the ReLU is also dead if all its products round to zero or less.
        """
        if planted_neurons(self.instance).linear:
            return []
        F, H = self.features, self.lifted
        own, live = patterns_of(F, H), live_rows(F)
        products, dead = F @ H, np.asarray(~(own if live.all() else own[live]).any(axis=0))
        # compute exact signs only for neurons whose products with all rows are at most zero up to rounding, because an
        # exact sign costs more than a product
        for i in np.flatnonzero(~dead & (products.max(axis=0) <= ZERO * np.linalg.norm(F) * np.linalg.norm(H, axis=0))):
            signs = exact_signs(F, H[:, i])
            dead[i] = not (signs > 0).any() and (self.architecture.slope == 0.0 or not signs.any())
            # labels of double precision lack a normalised neuron whose products all round to zero or less
            dead[i] |= self.architecture.normalizes_after and not (products[:, i] > 0).any()
        return np.flatnonzero(dead).tolist()

    @cached_property
    def planted_cost(self) -> float:
        """The sum of the norms of the planted weights."""
        return float(self.program.norms(self.planted).sum())

    @property
    def small(self) -> bool:
        """Whether a solve takes only a few hundredths of a second."""
        groups = self.program.groups
        return groups.n * groups.count * groups.rank <= SMALL

    @property
    def noiseless(self) -> bool:
        """Whether labels have no noise, so that recovery is well defined."""
        return self.instance.setting.noise == 0

    @cached_property
    def ill_posed(self) -> str | None:
        """Reason why recovery is ill-posed or undecidable in double precision, or None."""
        if not self.instance.y.any() and not self.planted.any():
            return BLANK
        if self.dead:
            return DEAD
        neurons = planted_neurons(self.instance)
        unit = self.architecture.normalizes_after or neurons.form == "normalized_relu"
        if unit and not neurons.linear and faint(self.features, self.lifted, RESIDUAL_TOLERANCE).any():
            return FAINT
        if self.architecture.normalized and not self.program.groups.ranks_are_sure(self.features):
            return UNSURE
        if neurons.directions.shape[1] == 1:
            return None
        whole = np.zeros(self.program.size)
        for k, value in self._rows():
            whole[k] += float(np.linalg.norm(value))
        left = np.linalg.norm(self.planted, axis=1)
        return CANCELLED if bool(((left > 0) & (left < CANCELLING * whole)).any()) else None

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

    def candidate(self, program: Program) -> Candidate | None:
        """Return W* with its least-norm dual for `program`: this one, or the balanced one.

        None where two planted neurons of opposite signs share a group, or nothing is planted. The dual is None where
        none exists, or where rounding decides whether one does.
        """
        W = program.gated_weights(self.planted)
        support = self.rows if W is self.planted else np.flatnonzero(W.any(axis=1))
        if not len(support) or len(support) != len(self.rows):
            return None
        found = planted_candidate(program.groups, W, support)
        rank = found.factor.rank
        sure = found.lam is None or rank == found.factor.A.shape[1] or self._has_dual(support, rank)
        return found if sure else replace(found, lam=None)

    def _has_dual(self, support: Index, rank: int) -> bool:
        """Return whether exact ranks confirm a dual with the planted directions, where A_S has dependent columns.

        The operators of the groups must be independent of each other, and a neuron must be in the row space of its
        group; with normalisation it always is.
        """
        groups, F = self.program.groups, self.features
        ranks = {int(g): operator_rank(groups, F, np.array([g])) for g in support}
        whole = operator_rank(groups, F, support)
        if whole != rank or whole != sum(-1 if one is None else one for one in ranks.values()):
            return False
        owners = [(0, 0)] if planted_neurons(self.instance).linear else self.owners
        return self.architecture.normalized or all(
            quick_rank(np.vstack([F[groups.diagonals(np.array([g]))[:, 0] != 0], self.lifted[:, i]])) == ranks[g]
            for i, g in owners
        )

    @cached_property
    def features(self) -> Array:
        """The features that the neurons act on, (n, d')."""
        return self.architecture.features(self.instance.X)

    @cached_property
    def tied(self) -> bool:
        """Whether another group can hold a planted neuron at the same cost, so that W* is not the only optimum."""
        return any(
            twins(F, patterns, w, own, alone=alone, free=free).size
            for F, patterns, w, own, alone, free in self._planted_groups()
        )

    def shares_its_cost(self) -> bool:
        """Return whether another group has a planted neuron's image at the same cost (`recovery.conditions.ties`)."""
        if self.tied or not self.architecture.normalizes_after:
            return self.tied
        return any(
            alone and reaches(F, patterns, w, own, cones=self.program.has_cones)
            for F, patterns, w, own, alone, _ in self._planted_groups()
        )

    def neighbours(self) -> Mask:
        """Return patterns (n, k): two cells at each planted neuron that is on a hyperplane up to rounding, as they
        may hold the neuron at equal cost.
        """
        found = [np.empty((len(self.features), 0), dtype=np.bool_)]
        for F, patterns, w, own, _, free in self._planted_groups():
            if free:
                found.append(neighbours(F, w, patterns[:, own]))
        return np.hstack(found)

    def _planted_groups(self) -> Iterator[tuple[Array, Mask, Array, int, bool, bool]]:
        """Yield features, patterns, and each planted neuron with its group; whether no other planted neuron shares the
        group, and whether the neuron may be in any cone. These are the arguments of `twins`."""
        neurons, patterns = planted_neurons(self.instance), self.program.groups.patterns
        F, H = self.features, self.lifted
        if neurons.linear:
            yield F, patterns, H @ neurons.signs, 0, True, not self.program.has_cones
            return
        owners = [g for _, g in self.owners]
        for i, g in self.owners:
            yield F, patterns, H[:, i], g, owners.count(g) == 1, True

    def is_cheaper(self, W: Array) -> bool:
        """Return whether some interpolant near W costs less than the planted weights."""
        limit = self.planted_cost * (1.0 - LOWER)
        if not float(self.program.norms(W).sum()) < limit:
            return False
        near = interpolant_near(self.program, self.features, W, self.planted)
        return near is not None and near[1] < limit


def solve(program: Program, solver: str) -> Certified:
    """Solve the balanced program; return the solution in the units of this program, and its certificate for it."""
    balanced = program.balanced()
    solution = find_solver(solver, program.kind)(balanced)
    if balanced is not program:
        solution = solution.unbalanced(program.groups.scales)
    return Certified(solution, certify(program, solution))
