"""The exact program as data: the convex problem that training the network itself is equivalent to.

Two copies of every group's weights, one a sign, each in the cone of its pattern: with base weights v (what multiplies
the base B) the neuron (B v)_+ has pattern D_g exactly where (2 D_g - I) B v >= 0, and then equals D_g B v. So
    min sum_{g, sigma} ||v_{g,sigma}||_g   s.t.  sum sigma D_g B v_{g,sigma} = y,  (2 D_g - I) B v_{g,sigma} >= 0,
with ||v||_g = ||v||, or ||D_g B v|| under `relu_norm`; the skip connection has one copy and no cone. Source: P1, (6),
(11), (14), (16), (25), (211), (212). Where D_g X has less than full rank, (16) also confines v to the row space of
D_g X, v = T_g w with the group weights w: that is `groups.confined`. It shuts out neurons (a planted one, for n < 2d);
over all patterns of (5) it is no restriction: move v along what D_g X does not see until enough rows are at zero, and
it is in a pattern of full rank with the same outputs.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recovery.programs.program import GatedProgram, Program, Row
from recovery.programs.projection import cone_multipliers, cone_point
from recovery.programs.solution import Multipliers, Solution
from recovery.types import Array, Index, Mask

FEASIBLE = 1.0 + 1e-10
"""Bounds up to this multiple of the penalty need no projection."""
SETTLED = 1.0 - 1e-7
"""Gated norms below this leave a projection no room to matter: the margin of `recovery.programs.uniqueness`."""


@dataclass(frozen=True)
class ExactProgram(Program):
    """The exact counterpart of a gated program; a signed group k < 2 p is group k mod p, positive for k < p.

    Weights are arrays V (2 p, r) of base weights.
    """

    kind = "exact"
    gap_tolerance = 1e-6
    has_cones = True

    @cached_property
    def gated(self) -> GatedProgram:
        """Its relaxation: the program without the cones."""
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
        cone = S[:, None] * groups.base if S.any() else None
        if groups.narrowed[g]:
            assert groups.transforms is not None
            # the variables are those of P1's (16): w, with base weights T_g w
            assert cone is not None
            lift = groups.transforms[g][:, groups.dimensions(np.array([g]))[0]]
            return Row(np.arange(lift.shape[1]), operator @ lift, None, cone @ lift, lift)
        norm = None if self.factors is None else self.factors[g]
        return Row(np.arange(groups.rank), operator, norm, cone)

    def group(self, chosen: Index) -> Index:
        """The group of each signed group."""
        return chosen % self.groups.count

    def sign(self, chosen: Index) -> Array:
        """+1 or -1: the sign of each signed group's second layer."""
        return np.where(chosen < self.groups.count, 1.0, -1.0)

    def is_free(self, chosen: Index) -> Mask:
        """Which signed groups have no cone: the skip connection."""
        free: Mask = (self.group(chosen) == 0) & self.groups.linear
        return free

    def orientation(self, chosen: Index) -> Array:
        """The diagonals of 2 D_g - I, a row a signed group, (k, n); zero for the skip connection."""
        # P1's 2 D_g - I
        S = 2.0 * self.groups.patterns[:, self.group(chosen)].T - 1.0
        S[self.is_free(chosen)] = 0.0
        return S

    @cached_property
    def factors(self) -> Array | None:
        """F_g (p, r, r) with ||v||_g = ||F_g v|| and group weights w_g = F_g v; None where both are v itself."""
        groups = self.groups
        if groups.transforms is None:
            return None
        F = np.empty_like(groups.transforms)
        for g in range(groups.count):
            rows = groups.base[groups.patterns[:, g]]
            # A_g has orthonormal columns, so that F_g = A_g^T D_g B = T_g^T B^T D_g B
            F[g] = groups.transforms[g].T @ (rows.T @ rows)
        return F

    @cached_property
    def metrics(self) -> tuple[Array, Array] | None:
        """T_g T_g^T (p, r, r), ||T_g^T b|| = (b . T_g T_g^T b)^{1/2}, and their norms (p,); None for identities."""
        if self.groups.transforms is None:
            return None
        # ||T_g^T b||^2 = b . T_g T_g^T b needs one product a group for many b
        products = np.matmul(self.groups.transforms, self.groups.transforms.transpose(0, 2, 1))
        return products, np.linalg.eigvalsh(products)[:, -1]

    def coordinates(self, V: Array, chosen: Index) -> Array:
        """Group weights w = F_g v of base weights V (k, r) of the chosen signed groups."""
        if self.factors is None:
            return V
        return np.matmul(self.factors[self.group(chosen)], V[:, :, None])[:, :, 0]

    def norms(self, V: Array) -> Array:
        result = np.zeros(len(V))
        active = np.flatnonzero(V.any(axis=1))
        result[active] = np.linalg.norm(self.coordinates(V[active], active), axis=1)
        return result

    def gated_weights(self, V: Array) -> Array:
        """w_g = F_g (v_{g,+} - v_{g,-})."""
        p = self.groups.count
        difference = V[:p] - V[p:]
        return self.coordinates(difference, np.arange(p))

    def forward(self, V: Array) -> Array:
        active = np.flatnonzero(V.any(axis=1))
        # sum of sigma D_g B v over the groups that have weights, one product with B
        E = self.groups.D[:, self.group(active)] * self.sign(active)
        return np.einsum("nk,nk->n", E, self.groups.base @ V[active].T)

    def cone_violation(self, V: Array) -> float:
        """The largest -(2 D_g - I) B v over rows and signed groups, relative to max ||v|| and to max ||row of B||.

        Where rows are uneven, each is relative to its own norm. Of confined groups also how far v is from T_g F_g v.
        """
        active = np.flatnonzero(V.any(axis=1))
        if not len(active):
            return 0.0
        scales = self.groups.scales
        slack = self.orientation(active) * (V[active] @ self.groups.base.T) / scales
        # row i's slack is (B v)_i: as large as ||row|| ||v||, which it is measured by
        size = (np.linalg.norm(self.groups.base, axis=1) / scales).max() * np.linalg.norm(V[active], axis=1).max()
        outside = max(0.0, -float(slack.min()) / max(float(size), np.finfo(float).tiny))
        own = self.group(active)
        narrowed = np.flatnonzero(self.groups.narrowed[own])
        if not len(narrowed):
            return outside
        v = V[active[narrowed]]
        # T_g F_g is the projection on the confined weights
        astray = v - self.groups.base_weights(self.coordinates(v, active[narrowed]), own[narrowed])
        return max(outside, float(np.linalg.norm(astray, axis=1).max() / np.linalg.norm(V[active], axis=1).max()))

    def pulls(self, lam: Array, chosen: Index) -> Array:
        """sigma B^T D_g lam: the slope of y.lam along the base weights of the chosen signed groups, (k, r)."""
        E = self.groups.D[:, self.group(chosen)].T * self.sign(chosen)[:, None]
        return (E * lam) @ self.groups.base

    def bounds(self, lam: Array, chosen: Index, multipliers: Array) -> Array:
        """An upper bound on max {sigma lam . D_g B v : ||v||_g <= 1, v in the cone} for each chosen signed group.

        With multipliers mu >= 0 (k, n) of the cone's rows and b = sigma B^T D_g lam + B^T (2 D_g - I) mu, it is ||b||,
        or ||T_g^T b|| plus the part of b that no group weight sees. At the best mu it is ||P_K(sigma A_g^T lam)||.
        """
        # weak duality: for v in the cone mu . (2 D_g - I) B v >= 0, so that adding it to sigma lam . D_g B v only
        # raises it
        b = self.pulls(lam, chosen) + (self.orientation(chosen) * multipliers) @ self.groups.base
        if self.groups.transforms is None:
            return np.linalg.norm(b, axis=1)
        own = self.group(chosen)
        q = self.groups.group_pulls(b, own)
        result = np.linalg.norm(q, axis=1)
        partial = np.flatnonzero(~self.groups.dimensions(own).all(axis=1))
        if len(partial) and not self.groups.confined:
            assert self.factors is not None
            # F_g^T T_g^T is the projection on what the rows of the pattern see: what it leaves of b adds to the bound
            unseen = b[partial] - np.matmul(q[partial, None, :], self.factors[own[partial]])[:, 0]
            result[partial] += np.linalg.norm(unseen, axis=1)
        return result

    def project(self, lam: Array, chosen: Index) -> tuple[Array, Array]:
        """||P_K(sigma A_g^T lam)|| for each chosen signed group, (k,), and the multipliers that prove it, (k, n)."""
        multipliers = np.zeros((len(chosen), self.groups.n))
        pulls, orientation = self.pulls(lam, chosen), self.orientation(chosen)
        for i, g in enumerate(self.group(chosen)):
            # a skip connection's cone is everything: its norm is the gated one
            if orientation[i].any():
                multipliers[i] = cone_multipliers(self.groups, int(g), pulls[i], orientation[i])
        return self.bounds(lam, chosen, multipliers), multipliers

    def neuron(self, k: int, w: Array) -> Array | None:
        """Base weights in the cone of signed group k with F v = w, or None where the neuron w has another pattern."""
        return cone_point(self.groups, k % self.groups.count, w, self.orientation(np.array([k]))[0])

    def dual_norms(self, solution: Solution) -> Array:
        """Bounds on ||P_K(sigma A_g^T lam)|| for every signed group that exists, projecting where it is needed.

        Each is bounded by the gated norm, by the solution's multipliers where they do, else by its own projection.
        """
        lam, members, given = solution.lam, self.members, solution.multipliers
        # a projection on a cone is no longer than its point: the gated norms bound all
        bounds = self.groups.adjoint_norms(lam)[self.group(members)]
        if len(given.chosen):
            place = np.full(self.size, -1)
            place[members] = np.arange(len(members))
            # the solver's own multipliers settle some; each of the others costs a non-negative least-squares problem
            at = place[given.chosen]
            bounds[at] = np.minimum(bounds[at], self.bounds(lam, given.chosen, given.values))
        open_ = np.flatnonzero((bounds > FEASIBLE * self.penalty) & ~self.is_free(members))
        if len(open_):
            bounds[open_] = np.minimum(bounds[open_], self.project(lam, members[open_])[0])
        return bounds

    def coordinates_of(self, W: Array) -> Array:
        return self.coordinates(W, np.arange(self.size))

    @property
    def signs(self) -> Array:
        return self.sign(np.arange(self.size))

    def place(self, g: int, sign: float, w: Array, F: Array) -> tuple[int, Array]:
        groups = self.groups
        v = groups.base_weights(groups.neuron(g, w, F)[None], np.array([g]))[0] if groups.narrowed[g] else None
        return g + (0 if sign > 0 else groups.count), groups.coordinates @ w if v is None else v

    def off_support(self, lam: Array, norms: Array, support: Index) -> tuple[Array, Multipliers]:
        """Bounds on the projections ||P_K(sigma A_g^T lam)||, exact where the gated norm does not settle them."""
        others = np.setdiff1d(self.members, support)
        bounds = norms[self.group(others)]
        open_ = np.flatnonzero((bounds >= SETTLED) & ~self.is_free(others))
        if not len(open_):
            return bounds, Multipliers.none(self.groups.n)
        projected, multipliers = self.project(lam, others[open_])
        bounds[open_] = np.minimum(bounds[open_], projected)
        return bounds, Multipliers(others[open_], multipliers)
