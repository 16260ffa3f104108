"""Convex programs as data: the gated program, and what exact programs share with it. They do not depend on solvers.

    beta None: min sum_k N_k(W_k) subject to F(W) = y,      beta > 0: min 1/2 ||F(W) - y||^2 + beta sum_k N_k(W_k),
with a linear map F and norms N_k of the rows of W, Euclidean unless a gated program is given another `Norm`.
Any lam (n,) whose dual norms are at most `penalty` proves the lower bound `dual_objective` on the optimum. P1 prints
(27), (28), (211), (212) without the factor 1/2: its beta is twice the beta here.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.groups import DualImages, Groups
from recovery.programs.norms import L2, Norm
from recovery.programs.solution import Multipliers, Solution
from recovery.types import Array, Index

FEASIBLE = 1.0 + 1e-10
"""Dual norms up to this multiple of the penalty count as feasible."""


@dataclass(frozen=True)
class Row:
    """One row of W with explicit matrices. It is lift @ w for a vector w (m,), adds operator @ w to F, has the norm
    ||norm @ w||, and is confined to cone @ w >= 0.

    lift (r, m), operator (n, m), norm (q, m) and cone (n, m). norm None: the identity; cone None: no cone.
    """

    lift: Array
    operator: Array
    norm: Array | None = None
    cone: Array | None = None


@dataclass(frozen=True)
class Program:
    """A convex program over groups A_g and labels y (n,). Without cones it is `GatedProgram`.

    norm: of the weights of each group. kind: its name in configs. gap_tolerance: largest relative gap of a proof.
    has_cones: whether cones confine rows of W.
    """

    groups: Groups
    y: Array
    beta: float | None = None
    norm: Norm = L2

    kind: ClassVar[Literal["gated", "exact"]]
    gap_tolerance: ClassVar[float]
    has_cones: ClassVar[bool]

    def __post_init__(self) -> None:
        if self.y.shape != (self.groups.n,):
            raise ParameterError(f"y must have shape ({self.groups.n},), found {self.y.shape}")
        if self.beta is not None and not 0 < self.beta < np.inf:
            raise ParameterError(f"beta must be positive and finite, found {self.beta}")
        if self.norm is not L2 and (self.has_cones or self.groups.orthonormal):
            raise ParameterError("norms other than l2 are for gated programs without normalised ReLU neurons")

    @property
    def interpolates(self) -> bool:
        return self.beta is None

    @property
    def penalty(self) -> float:
        """The factor of the norms: 1 for interpolation, otherwise beta."""
        return 1.0 if self.beta is None else self.beta

    @property
    def size(self) -> int:
        """The number of rows of W; each has `groups.rank` entries."""
        return self.groups.count

    @property
    def members(self) -> Index:
        """The rows of W that may be non-zero."""
        return np.arange(self.size)

    @property
    def signs(self) -> Array:
        """The sign of each row of W in a network, (size,)."""
        return np.ones(self.size)

    def row(self, k: int) -> Row:
        """Return row k with its matrices formed, for solvers that need them."""
        lift = np.eye(self.groups.rank)[:, self.groups.dimensions(np.array([k]))[0]]
        return Row(lift, self.groups.block(k) @ lift)

    def forward(self, W: Array) -> Array:
        """Return F(W), the network's outputs, shape (n,)."""
        return self.groups.forward(W)

    def norms(self, W: Array) -> Array:
        """Return the norm N_k of each row of W, shape (size,)."""
        return self.norm.values(W)

    def dual_bounds(
        self, lam: Array, images: DualImages, rows: Index, least: float, known: Multipliers
    ) -> tuple[Array, Multipliers]:
        """Return upper bounds on the dual norms at lam of the given rows of W, and multipliers that prove them.

        images: those of lam. least: bounds of at most this may be rough. known: multipliers to try first.
        """
        del lam, least, known
        norms = images.norms if self.norm is L2 else self.norm.dual_values(images.values)
        return norms[rows], Multipliers.none(self.groups.n)

    def proved_norms(self, solution: Solution, images: DualImages | None = None) -> tuple[Array, Multipliers]:
        """Return upper bounds on the dual norms of the existing rows at the solution's lam, and multipliers as proof.

        images: those of lam, where they are known.
        """
        lam = solution.lam
        images = self.groups.dual_images(lam) if images is None else images
        return self.dual_bounds(lam, images, self.members, FEASIBLE * self.penalty, solution.multipliers)

    def cone_violation(self, W: Array) -> float:
        """Return the relative distance of the rows of W from their cones; 0 without cones."""
        return 0.0

    def gated_weights(self, W: Array) -> Array:
        """Return W as weights (p, r) of the gated program, in group coordinates: copies of both signs become one."""
        return W

    def coordinates_of(self, W: Array) -> Array:
        """Return the rows of W in group coordinates, in which N_k is the Euclidean norm; same shape as W."""
        return W

    def place(self, g: int, sign: float, w: Array, F: Array) -> tuple[int, Array]:
        """Return the index and value of the row of W with which group g represents sign times w on features F."""
        return g, sign * self.groups.neuron(g, w, F)

    def balanced(self) -> "Program":
        """Return the same program with uneven rows of (B, y) divided by `groups.scales`, or the program itself.

        Scaling a row changes neither the interpolants nor their norms. It does change a regularised fit, and norms over
        rows, so these programs stay as they are. A dual of the balanced program, divided by the scales, is a dual of
        this one.
        """
        scales, groups = self.groups.scales, self.groups
        if not self.interpolates or groups.orthonormal or (scales == 1.0).all():
            return self
        even = replace(groups, base=groups.base / scales[:, None])
        return replace(self, groups=even, y=self.y / scales)

    def residual(self, W: Array) -> Array:
        """Return F(W) - y."""
        return self.forward(W) - self.y

    def objective(self, W: Array) -> float:
        """Return the primal objective at W. For interpolation, the constraint is not checked."""
        value = self.penalty * float(self.norms(W).sum())
        if self.interpolates:
            return value
        residual = self.residual(W)
        return value + 0.5 * float(residual @ residual)

    def dual_objective(self, lam: Array) -> float:
        """Return y.lam, minus 1/2 ||lam||^2 if regularised: a lower bound on the optimum if every dual norm is at most
        `penalty`.
        """
        value = float(self.y @ lam)
        return value if self.interpolates else value - 0.5 * float(lam @ lam)


@dataclass(frozen=True)
class GatedProgram(Program):
    """The group lasso: F(W) = sum_g A_g w_g for W (p, r), N_g(w_g) = ||w_g||. Source: P1, (12), (15), (17).

    groups: the operators A_g. y: labels (n,). beta: factor of the norms, or None for interpolation. norm: of the
    weights of a group; with another norm than the Euclidean, dual norms are those of A_g^T lam.
    """

    kind = "gated"
    gap_tolerance = 1e-8
    has_cones = False
