"""The two families of groups that the Newton method works on: gated groups, and signed groups in the cones of patterns.

A family has rows g with images A_g^T lam (k, r), and projects z_g on all of R^r, or on the cone K_g. Projections longer
than s b are active; with p their norms, u their unit vectors and P_g the projection on the face of u (all of R^r, for
gated groups), the Hessian of (1/2s) sum (p - s b)_+^2 is
    H = s sum_g A_g [(1 - s b/p) P_g + (s b/p) u u^T] A_g^T.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.projections import Projections
from recovery.solvers.newton_systems import Hessian
from recovery.types import Array, Index


class Active(NamedTuple):
    """Active rows (k,) of a family, the unit vectors u (k, r) and norms p (k,) of their projections, and labels A_g u
    (k, n).
    """

    rows: Index
    units: Array
    norms: Array
    labels: Array


class Family(Protocol):
    """Rows of a program; b is the bound on their dual norms."""

    bound: float

    def images(self, lam: Array) -> Array:
        """Return A_g^T lam of every row, (k, r)."""
        ...

    def project(self, Z: Array, s: float) -> Active:
        """Return the rows whose projections of Z (k, r) are longer than s b."""
        ...

    def slopes(self, Z: Array, turn: Array, s: float) -> Callable[[float], float]:
        """Return t -> the derivative at Z + t turn of (1/2s) sum (p - s b)_+^2, or of a lower bound."""
        ...

    def hessian(self, active: Active, s: float, rough: bool) -> Array:
        """Return the lower triangle of H (n, n), in Fortran order. rough: an estimate that costs much less."""
        ...

    def system(self, active: Active, s: float, shift: float) -> Hessian | None:
        """Return H + shift I for conjugate gradients, or None if the family has no such operator."""
        ...


class GatedFamily:
    """The groups `near` of a gated program, which have no cones. close: see `Controls`."""

    def __init__(self, groups: Groups, near: Index, bound: float, close: float) -> None:
        self.groups, self.near, self.bound, self.close = groups, near, bound, close
        self.diagonals = groups.D if len(near) == groups.count else groups.diagonals(near)

    def images(self, lam: Array) -> Array:
        return self.groups.adjoint(lam, self.near, self.diagonals)

    def project(self, Z: Array, s: float) -> Active:
        squares = np.einsum("gr,gr->g", Z, Z)
        rows = np.flatnonzero(squares > (s * self.bound) ** 2)
        norms = np.sqrt(squares[rows])
        units = Z[rows] / norms[:, None]
        labels = self.groups.base_weights(units, self.near[rows]) @ self.groups.base.T
        labels *= self.diagonals[:, rows].T
        return Active(rows, units, norms, labels)

    def slopes(self, Z: Array, turn: Array, s: float) -> Callable[[float], float]:
        squares, rates, turns = (np.einsum("gr,gr->g", a, b) for a, b in ((Z, Z), (Z, turn), (turn, turn)))
        threshold = s * self.bound
        # ||z_g||^2 is convex in the length, so a group inactive at both ends is active nowhere
        above = np.maximum(squares, squares + 2 * rates + turns) > threshold**2
        squares, rates, turns = squares[above], rates[above], turns[above]

        def slope(length: float) -> float:
            # the maximum makes groups with norms below the threshold contribute zero
            steeper = rates + length * turns
            norms = np.sqrt(np.maximum(squares + length * (rates + steeper), threshold**2))
            return float((1 - threshold / norms) @ steeper) / s

        return slope

    def hessian(self, active: Active, s: float, rough: bool) -> Array:
        shrinkage, own, groups = s * self.bound / active.norms, self.near[active.rows], self.groups
        c = s * (1.0 - shrinkage)
        H = groups.rough_gram(own, c) if rough else groups.weighted_gram(own, c, self.close)
        return with_rank(H, active.labels * np.sqrt(s * shrinkage)[:, None])

    def system(self, active: Active, s: float, shift: float) -> Hessian | None:
        if self.groups.transforms is not None or not len(active.rows):
            return None
        turns = s * s * self.bound / active.norms
        D = self.diagonals[:, active.rows]
        return Hessian(D, self.groups.base, active.units, active.labels, s - turns, turns, shift)


class ConeFamily:
    """The signed groups `chosen` (places in `members`) of an exact program, which share their last projections."""

    def __init__(self, program: ExactProgram, members: Index, cones: Projections, chosen: Index | None = None) -> None:
        self.program, self.members, self.cones, self.bound = program, members, cones, cones.bound
        self.chosen = np.arange(len(members)) if chosen is None else chosen
        self.own, self.sign = program.group(members[self.chosen]), program.sign(members[self.chosen])
        # both signs of a group share one product
        self.groups, (self.some, self.place) = program.groups, np.unique(self.own, return_inverse=True)
        self.diagonals = self.groups.D if len(self.some) == self.groups.count else self.groups.diagonals(self.some)
        self.signed = self.diagonals.T[self.place] * self.sign[:, None]

    def images(self, lam: Array) -> Array:
        return self.groups.adjoint(lam, self.some, self.diagonals)[self.place] * self.sign[:, None]

    def norms(self, images: Array, slack: float = 1.0) -> Array:
        """Return the norms of the projections of images, or upper bounds on them where these are at most slack b."""
        # the last multipliers of a group with weight bound its norm by b plus the change of its weight over s, so with
        # some slack few are projected, and the others keep the tight rows and factors from which the next step starts
        return self.cones.project(self.chosen, images, 1.0, slack=slack)[1]

    def project(self, Z: Array, s: float) -> Active:
        points, norms = self.cones.project(self.chosen, Z, s, keep=True)
        rows = np.flatnonzero(norms > s * self.bound)
        units, norms = points[rows] / norms[rows, None], norms[rows]
        return Active(rows, units, norms, self._labels(rows, self.cones.weights(self.chosen[rows], units)))

    def _labels(self, rows: Index, V: Array) -> Array:
        """Return the labels sigma D_g B v (k, n) of these rows of the family, for their base weights V (k, r)."""
        labels = V @ self.cones.base.T
        labels *= self.signed[rows]
        return labels

    def slopes(self, Z: Array, turn: Array, s: float) -> Callable[[float], float]:
        # a projection on a cone is at least as long as the component of its point along any unit vector of the cone.
        # Along the group's last direction this component is linear in the length of the step
        U = self.cones.directions[self.chosen]
        sizes, rates = np.einsum("gr,gr->g", U, Z) - s * self.bound, np.einsum("gr,gr->g", U, turn)

        def slope(length: float) -> float:
            return float(np.maximum(sizes + length * rates, 0.0) @ rates) / s

        return slope

    def hessian(self, active: Active, s: float, rough: bool) -> Array:
        chosen, shrinkage = self.chosen[active.rows], s * self.bound / active.norms
        freedom, n = self.cones.freedom(chosen), self.groups.n
        if rough:  # replace the projection on each face by the share of all directions that the face has
            c = s * (1.0 - shrinkage) * freedom / active.units.shape[1]
            H = self.groups.rough_gram(self.own[active.rows], c)
            return with_rank(H, active.labels * np.sqrt(s * shrinkage)[:, None])
        # most faces of thin cones are rays, which the unit vectors span; the widest ones are all directions without
        # those of a few tight rows
        widest = (2 * freedom > active.units.shape[1]) & (self.groups.transforms is None)
        H, wide, full = np.zeros((n, n)), np.flatnonzero((freedom > 1) & ~widest), np.flatnonzero(widest)
        faces = self.cones.faces(chosen[wide], active.units[wide], np.sqrt(1.0 - shrinkage[wide]))
        rays, rows = active.labels[~widest & (freedom == 1)], np.repeat(active.rows[wide], freedom[wide])
        columns = [rays, self._labels(rows, faces)]
        if len(full):
            c, tight = 1.0 - shrinkage[full], active.units.shape[1] - freedom[full]
            without = self.cones.tight_images(chosen[full]) * self.signed[np.repeat(active.rows[full], tight)]
            without *= np.sqrt(np.repeat(s * c, tight))[:, None]
            H = with_rank(self.groups.weighted_gram(self.own[active.rows[full]], s * c), without, -1.0).T
            columns.append(active.labels[full] * np.sqrt(shrinkage[full])[:, None])
        return with_rank(H, np.sqrt(s) * np.concatenate(columns))

    def system(self, active: Active, s: float, shift: float) -> Hessian | None:
        del active, s, shift
        return None


def with_rank(H: Array, rows: Array, factor: float = 1.0) -> Array:
    """Return the lower triangle of H + factor rows^T rows, for a symmetric H (n, n) and rows (k, n), in place."""
    if not len(rows):  # BLAS rejects matrices without columns
        return H.T
    total: Array = scipy.linalg.blas.dsyrk(factor, rows.T, beta=1.0, c=H.T, lower=1, overwrite_c=1)
    return total
