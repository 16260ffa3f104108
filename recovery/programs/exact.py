"""The exact program as data: the convex problem that is equivalent to training the network.

Each group's weights have two copies, one per sign, each confined to the cone of its pattern. With base weights v (which
multiply the base B), the neuron (B v)_+ has pattern D_g exactly if (2 D_g - I) B v >= 0, and then equals D_g B v. So
    min sum_{g, sigma} ||v_{g,sigma}||_g   s.t.  sum sigma D_g B v_{g,sigma} = y,  (2 D_g - I) B v_{g,sigma} >= 0,
with ||v||_g = ||v||, or ||D_g B v|| under `relu_norm`; the skip connection has one copy and no cone. Source: P1, (6),
(11), (14), (16), (25), (211), (212).

If D_g X does not have full rank, (16) also confines v to the row space of D_g X: v = T_g w with group weights w
(`groups.confined`). This excludes some neurons, and a planted one for n < 2d. Over all patterns of (5) it excludes
none: move v within the null space of D_g X until enough rows reach zero, and it belongs to a pattern of full rank with
the same outputs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from recovery.errors import ParameterError, SolverError
from recovery.programs.groups import DualImages, Groups
from recovery.programs.program import GatedProgram, Program, Row
from recovery.programs.projections import Projections
from recovery.programs.range_factor import RANK_TOLERANCE
from recovery.programs.solution import Multipliers
from recovery.types import Array, Index, Mask

FIRST = 8
"""Groups of the longest images, projected first: projections of the others are completed only if they may be longer."""


@dataclass(frozen=True)
class ExactProgram(Program):
    """The exact counterpart of a gated program. Signed group k < 2 p is group k mod p, positive for k < p.

    groups: the operators A_g. y: labels (n,). beta: factor of the norms, or None for interpolation. norm: Euclidean.

    Weights are arrays V (2 p, r) of base weights.
    """

    kind = "exact"
    # looser than for gated programs, because projections leave such gaps at degenerate programs (`UNSEEN`)
    gap_tolerance = 1e-6
    has_cones = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups.orthonormal and self.groups.confined is None:
            raise ParameterError(
                "groups of neurons that are normalised after the ReLU give two exact programs: set their field "
                "`confined` to True for P1's (16), or to False for all neurons of each pattern"
            )

    @cached_property
    def gated(self) -> GatedProgram:
        """The relaxation: the program without cones."""
        return GatedProgram(self.groups, self.y, self.beta)

    @property
    def size(self) -> int:
        return 2 * self.groups.count

    @cached_property
    def members(self) -> Index:
        """The signed groups that exist: the skip connection has no negative copy."""
        p = self.groups.count
        everyone = np.arange(2 * p)
        return np.delete(everyone, p) if self.groups.linear else everyone

    def row(self, k: int) -> Row:
        groups, one = self.groups, np.array([k])
        g, S = int(self.group(one)[0]), self.orientation(one)[0]
        operator = float(self.sign(one)[0]) * groups.D[:, g, None] * groups.base
        cone = S[:, None] * groups.base
        lift, norm = np.eye(groups.rank), None if self.factors is None else self.factors[g]
        if groups.narrowed[g]:
            assert groups.transforms is not None
            # the variables of a narrowed group are w of P1, (16), and its base weights are T_g w
            lift, norm = groups.transforms[g][:, groups.dimensions(np.array([g]))[0]], None
        return Row(lift, operator @ lift, norm, cone @ lift if S.any() else None)

    def group(self, chosen: Index) -> Index:
        """Return the group of each chosen signed group, (k,)."""
        return chosen % self.groups.count

    def sign(self, chosen: Index) -> Array:
        """Return +1 or -1: the sign of each signed group's second layer."""
        return np.where(chosen < self.groups.count, 1.0, -1.0)

    def is_free(self, chosen: Index) -> Mask:
        """Return which signed groups have no cone: those of the skip connection."""
        return self.groups.is_free(self.group(chosen))

    def orientation(self, chosen: Index) -> Array:
        """Return the diagonals of 2 D_g - I, one row per signed group, (k, n); zero for the skip connection."""
        return self.groups.orientations(self.group(chosen))

    @cached_property
    def factors(self) -> Array | None:
        """The factors F_g (p, r, r) with ||v||_g = ||F_g v|| and w_g = F_g v; None if all are the identity."""
        groups = self.groups
        if groups.transforms is None:
            return None
        F = np.empty_like(groups.transforms)
        for g in range(groups.count):
            rows = groups.base[groups.patterns[:, g]]
            # A_g = D_g B T_g has orthonormal columns, so F_g = A_g^T D_g B = T_g^T B^T D_g B
            F[g] = groups.transforms[g].T @ (rows.T @ rows)
        return F

    def coordinates(self, V: Array, chosen: Index) -> Array:
        """Return group weights w = F_g v for base weights V (k, r) of the chosen signed groups."""
        if self.factors is None:
            return V
        return np.matmul(self.factors[self.group(chosen)], V[:, :, None])[:, :, 0]

    def norms(self, V: Array) -> Array:
        result = np.zeros(len(V))
        active = np.flatnonzero(V.any(axis=1))
        result[active] = np.linalg.norm(self.coordinates(V[active], active), axis=1)
        return result

    def gated_weights(self, V: Array) -> Array:
        """Return the gated weights w_g = F_g (v_{g,+} - v_{g,-}), (p, r)."""
        p = self.groups.count
        difference = V[:p] - V[p:]
        return self.coordinates(difference, np.arange(p))

    def forward(self, V: Array) -> Array:
        active = np.flatnonzero(V.any(axis=1))
        # sum sigma D_g B v over the signed groups with non-zero weights: one product with B serves all of them
        E = self.groups.D[:, self.group(active)] * self.sign(active)
        return np.einsum("nk,nk->n", E, self.groups.base @ V[active].T)

    def cone_violation(self, V: Array) -> float:
        """Return the largest -(2 D_g - I) B v over rows and signed groups, relative to max ||v|| and the largest row.

        If rows of B are uneven, each is relative to its own norm. Confined groups add the distance of v from T_g F_g v.
        """
        active = np.flatnonzero(V.any(axis=1))
        if not len(active):
            return 0.0
        scales = self.groups.scales
        slack = self.orientation(active) * (V[active] @ self.groups.base.T) / scales
        # the slack of row i is (B v)_i up to sign, so it is measured relative to the largest row norm times the largest
        # ||v||
        size = (np.linalg.norm(self.groups.base, axis=1) / scales).max() * np.linalg.norm(V[active], axis=1).max()
        outside = max(0.0, -float(slack.min()) / max(float(size), np.finfo(float).tiny))
        own = self.group(active)
        narrowed = np.flatnonzero(self.groups.narrowed[own])
        if not len(narrowed):
            return outside
        v = V[active[narrowed]]
        # T_g F_g projects v on the base weights that a confined group may have; the distance of v from there is a
        # violation too
        astray = v - self.groups.base_weights(self.coordinates(v, active[narrowed]), own[narrowed])
        return max(outside, float(np.linalg.norm(astray, axis=1).max() / np.linalg.norm(V[active], axis=1).max()))

    def gradients(self, lam: Array, chosen: Index) -> Array:
        """Return sigma B^T D_g lam of the chosen signed groups, (k, r): the gradients of lam.F(V) in base weights."""
        E = self.groups.D[:, self.group(chosen)].T * self.sign(chosen)[:, None]
        return (E * lam) @ self.groups.base

    def bounds(self, lam: Array, chosen: Index, multipliers: Array) -> Array:
        """Return upper bounds on max {sigma lam . D_g B v : ||v||_g <= 1, v in the cone}, one per chosen signed group.

        With multipliers mu >= 0 (k, n) of the rows of the cone and b = sigma B^T D_g lam + B^T (2 D_g - I) mu, the
        bound is ||b||, or ||T_g^T b|| plus the norm of the part of b outside the span of group weights. It equals
        ||P_K(sigma A_g^T lam)|| at the best mu.
        """
        # weak duality: mu . (2 D_g - I) B v >= 0 for v in the cone, so adding it to sigma lam . D_g B v gives an upper
        # bound
        b = self.gradients(lam, chosen) + (self.orientation(chosen) * multipliers) @ self.groups.base
        if self.groups.transforms is None:
            return np.linalg.norm(b, axis=1)
        own = self.group(chosen)
        q = self.groups.group_gradients(b, own)
        result = np.linalg.norm(q, axis=1)
        partial = np.flatnonzero(~self.groups.dimensions(own).all(axis=1))
        if len(partial) and not self.groups.confined:
            assert self.factors is not None
            # outside: b minus its projection F_g^T T_g^T b on the row space of the pattern's rows. Its norm is added to
            # the bound
            outside = b[partial] - np.matmul(q[partial, None, :], self.factors[own[partial]])[:, 0]
            result[partial] += np.linalg.norm(outside, axis=1)
        return result

    def project(
        self, lam: Array, chosen: Index, guess: Array | None = None, least: float | None = None
    ) -> tuple[Array, Array]:
        """Return ||P_K(sigma A_g^T lam)|| for each chosen signed group, (k,), and multipliers (k, n) that prove it.

        guess: multipliers (k, n) near these. least: if given, norms below this, or below another norm, are only bounds.
        """
        own, gradients = self.group(chosen), self.gradients(lam, chosen)
        cones = Projections(self.groups, own, guess=guess)
        Z = self.groups.group_gradients(gradients, own)
        order, cones.bound = np.argsort(-np.linalg.norm(Z, axis=1)), 0.0 if least is None else least
        for some in (order[:FIRST], order[FIRST:]):
            largest = float(cones.project(some, Z[some], 1.0)[1].max(initial=0.0))
            cones.bound = 0.0 if least is None else max(cones.bound, largest)
        multipliers = cones.multipliers
        partial = ~self.groups.dimensions(own).all(axis=1) & (not self.groups.confined)
        for i in np.flatnonzero(partial):
            multipliers[i] = _within_the_span(self.groups, int(own[i]), gradients[i], multipliers[i])
        return self.bounds(lam, chosen, multipliers), multipliers

    def neuron(self, k: int, w: Array) -> Array | None:
        """Return base weights v in the cone of signed group k with F v = w, or None if neuron w has another pattern."""
        groups, g = self.groups, k % self.groups.count
        orientation = self.orientation(np.array([k]))[0]
        v = w if groups.transforms is None else groups.transforms[g] @ w
        # v is one of the base weights with F_g v = w; adding a null vector of D_g B gives the others
        slack = orientation * (groups.base @ v)
        if slack.min() >= 0.0:
            return v
        limit = -ROUNDING * float(np.linalg.norm(groups.base, axis=1).max() * np.linalg.norm(v))
        null = _null_space(groups, g)
        if null.shape[1] == 0:
            return v if slack.min() >= limit else None
        C = orientation[:, None] * groups.base
        # find z such that v + null z is in the cone: least squares for slack + C null z = h over z and h >= 0
        N = C @ null
        A = np.asfortranarray(np.hstack([N, -N, -np.eye(len(C))]))
        try:
            split = scipy.optimize.nnls(A, -slack, maxiter=30 * A.shape[1])[0]
        except RuntimeError as error:
            raise SolverError(f"a projection on a cone did not end: {error}") from error
        moved: Array = v + null @ (split[: N.shape[1]] - split[N.shape[1] : 2 * N.shape[1]])
        return moved if float((C @ moved).min()) >= limit else None

    def dual_bounds(
        self, lam: Array, images: DualImages, rows: Index, least: float, known: Multipliers
    ) -> tuple[Array, Multipliers]:
        """Return upper bounds on ||P_K(sigma A_g^T lam)|| of the given signed groups, and multipliers that prove them.

        Each bound is the gated norm, which no projection on a cone exceeds, or comes from the known multipliers, or,
        if both bounds are above `least`, from a projection that starts at the known multipliers.
        """
        bounds = images.norms[self.group(rows)]
        place = np.full(self.size, -1)
        place[known.chosen] = np.arange(len(known.chosen))
        # known multipliers are used below `least` too, because a reader of a certificate may ask for less
        needed = np.flatnonzero(((bounds > least) | (place[rows] >= 0)) & ~self.is_free(rows))
        values, proved = np.zeros((len(needed), self.groups.n)), np.zeros(len(needed), dtype=np.bool_)

        def take(some: Index, multipliers: Array, found: Array) -> None:
            lower = found < bounds[needed[some]]
            better = some[lower]
            values[better], bounds[needed[better]], proved[better] = multipliers[lower], found[lower], True

        given = np.flatnonzero(place[rows[needed]] >= 0)
        if len(given):
            chosen = rows[needed[given]]
            multipliers = known.values[place[chosen]]
            take(given, multipliers, self.bounds(lam, chosen, multipliers))
        above = np.flatnonzero(bounds[needed] > least)
        if len(above):
            floor = max(least, float(np.delete(bounds, needed[above]).max(initial=0.0)))
            found, multipliers = self.project(lam, rows[needed[above]], values[above], floor)
            take(above, multipliers, found)
        return bounds, Multipliers(rows[needed[proved]], values[proved])

    def coordinates_of(self, W: Array) -> Array:
        return self.coordinates(W, np.arange(self.size))

    @property
    def signs(self) -> Array:
        return self.sign(np.arange(self.size))

    def place(self, g: int, sign: float, w: Array, F: Array) -> tuple[int, Array]:
        groups = self.groups
        v = groups.base_weights(groups.neuron(g, w, F)[None], np.array([g]))[0] if groups.narrowed[g] else None
        return g + (0 if sign > 0 else groups.count), groups.coordinates @ w if v is None else v


ROUNDING = 1e-10
"""Multipliers and slacks below zero by at most this fraction of the largest count as zero: far above rounding errors of
least squares."""


def _within_the_span(groups: Groups, g: int, gradient: Array, multipliers: Array) -> Array:
    """Return multipliers mu (n,), 0 where `multipliers` are, with b(mu) in the span of group weights and ||b|| least.

    b(mu) = gradient + B^T (2 D_g - I) mu, and gradient is sigma B^T D_g lam. `multipliers` only keep the part of b
    outside the span small; they are returned if an entry of mu would be negative.
    """
    assert groups.transforms is not None
    support, T = np.flatnonzero(multipliers), groups.transforms[g]
    if not len(support):
        return multipliers
    Ct = (groups.orientations(np.array([g]))[0, support, None] * groups.base[support]).T
    # minimise ||T^T (gradient + Ct mu)|| subject to N mu = 0, where N is the part of Ct outside the span
    _, s, Vt = np.linalg.svd(_null_space(groups, g).T @ Ct, full_matrices=True)
    free = Vt[int(np.count_nonzero(s > RANK_TOLERANCE * s.max(initial=1.0))) :].T
    if not free.shape[1]:
        return np.zeros_like(multipliers)
    mu = free @ np.linalg.lstsq(T.T @ Ct @ free, -T.T @ gradient, rcond=None)[0]
    if mu.min() < -ROUNDING * np.abs(mu).max():
        return multipliers
    result = np.zeros_like(multipliers)
    result[support] = np.maximum(mu, 0.0)
    return result


def _null_space(groups: Groups, g: int) -> Array:
    """Return an orthonormal basis (r, m) of the base weights v with D_g B v = 0 that a neuron of the group may have."""
    if groups.transforms is None or groups.confined:
        return np.empty((groups.rank, 0))
    rows = groups.base[groups.patterns[:, g]]
    _, s, Vt = np.linalg.svd(rows, full_matrices=True)
    return Vt[int(np.count_nonzero(s > RANK_TOLERANCE)) :].T
