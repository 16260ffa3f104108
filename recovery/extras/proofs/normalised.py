"""Prove that planted weights are the unique optimum over all patterns, for neurons normalised after the ReLU.

Let lam satisfy M^T lam = u exactly (`unique_optimum`), and let u_g = (X w_g)_+ / ||(X w_g)_+|| for a planted group g.

Gated program: every unplanted cell D must have a projection ||P_D lam|| < 1 on the range of D X. A leaf of the tree
over the signs of rows (`cell_tree`), with rows `on` and rows without a sign, is closed by
    ||P_on lam||^2 + sum of lam_i^2 over the rows without a sign < 1,
because further rows add at most their part of lam to a projection. With as many rows as columns, ||lam_on|| may serve.

Exact program: for sigma = 1, -1, every unplanted neuron v must have sigma lam.a < ||a||, a = (X v)_+. The search of
`recovery.conditions.normalised` returns y for each leaf of its tree, whose rows are on, off or open. Ball arithmetic
corrects y such that X^T y = 0 exactly, and verifies y_i >= 0 on rows that are off or open. Then y.a >= y.X v = 0, so
the length of (lam + y)_+ over the rows that are not off bounds the ratio. In a known leaf, rows with lam_i > 0 have the
sign that they have in a planted pattern D, so that
    lam.a <= sum over D of lam_i x_i.v = u_g.D X v <= ||a||,
with equality only if D X v is a multiple of u_g. If D X has the rank of X and no row is orthogonal to w_g, then v is a
multiple of w_g.
"""

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import (
    Unproved,
    at_rising_precision,
    below_one,
    column,
    dot,
    largest,
    middle,
    nearest_solution,
)
from recovery.conditions.branching import BOUND
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.normalised import branch_normalised
from recovery.conditions.oracle import RANK, ROUNDING, TOLERANCE
from recovery.extras.proofs.bound_tree import grown_trees
from recovery.extras.proofs.cell_tree import CellTree
from recovery.extras.proofs.everywhere import DualSums
from recovery.extras.proofs.unique_optimum import check_signs
from recovery.programs.orthonormal import orthonormal_base
from recovery.types import Array, Codes, Index, Mask

GOAL = 1.0 - 1e-9
"""Target of floating-point bounds: below 1 by more than rounding, and far less than the margins of verdicts."""
KEPT = 1e-10
"""Entries of y up to this are set to zero: the correction of y could move them below zero."""


def prove_unique_on_ranges(model: Model, lam: Array, nodes: int) -> float:
    """Return an upper bound below 1 on the dual norms of the gated program off its planted cells.

    nodes: limit of the size of the tree. Raises `Unproved`.
    """
    live, lam = np.flatnonzero(model.X.any(axis=1)), _cleared(lam)
    dual = at_rising_precision(lambda: middle(DualSums(Balls(model), lam).dual))
    order = live[np.argsort(-np.abs(dual[live]), kind="stable")]
    search = _Ranges(model, order, model.patterns[order][:, model.neuron_groups].T, dual[order])
    search.run(nodes)
    return at_rising_precision(lambda: _bound_of_ranges(DualSums(Balls(model), lam), search.closed, order))


class _Ranges(CellTree):
    """The tree over the signs of the rows `order`, with their part of lam; closed: signs of the closed leaves."""

    def __init__(self, model: Model, order: Index, planted: Mask, lam: Array) -> None:
        super().__init__(model.X[order], planted)
        self.base, self.lam = orthonormal_base(model.X)[0][order], lam
        self.rest = np.append(np.cumsum(lam[::-1] ** 2)[::-1], 0.0)
        self.closed: list[Codes] = []

    def close(self, sides: Codes) -> bool:
        on, rest = np.flatnonzero(sides > 0), self.rest[len(sides)]
        closed = self.lam[on] @ self.lam[on] + rest <= GOAL or self.value(sides) ** 2 + rest <= GOAL
        if closed:
            self.closed.append(sides)
        return bool(closed)

    def value(self, sides: Codes) -> float:
        on = np.flatnonzero(sides > 0)
        part, target = self.base[on], self.lam[on]
        return float(np.linalg.norm(part @ np.linalg.lstsq(part, target, rcond=RANK)[0]))


def _bound_of_ranges(sums: DualSums, closed: list[Codes], order: Index) -> float:
    """Return an upper bound on the dual norms of the closed leaves and of the skip connection. Raises `Unproved`."""
    balls, squares = sums.balls, [sums.skip() ** 2]
    for sides in closed:
        on = np.sort(order[np.flatnonzero(sides > 0)])
        rest = dot(*[[sums.dual[i] for i in order[len(sides) :]]] * 2)
        square = rest + dot(*[[sums.dual[i] for i in on]] * 2)
        squares.append(square if square < 1 else rest + balls.projection(on, sums.dual))
    return below_one(float(np.sqrt(largest(squares))))


def prove_unique_off_images(model: Model, lam: Array, nodes: int) -> float:
    """Return an upper bound below 1 on the dual ratios of the exact program off its planted neurons.

    nodes: limit of nodes per sign. Raises `Unproved`.
    """
    lam = _cleared(lam)

    def bound(sign: int) -> float:
        found = search_images(model, lam, sign, nodes)
        return at_rising_precision(lambda: bound_of_tree(Balls(model), lam, sign, *found))

    return max(bound(1), bound(-1))


def _checked(balls: Balls, lam: Array, sign: int) -> DualSums:
    """Return the sums of a dual. Raises `Unproved` unless planted neurons have unique images and are in no other
    cell."""
    model = balls.model
    balls.check_cones()
    check_signs(model)
    weights = balls.weights()
    for g in model.neuron_groups:
        if len(balls.coordinates(g)) < len(balls.base_columns):
            raise Unproved("a planted neuron has too few active rows: others have its activations")
        z = balls.images(weights[g])
        for i in np.flatnonzero(model.X.any(axis=1)):
            side = model.sign(g) if model.patterns[i, g] else -model.sign(g)
            if not side * z[i] > 0:
                raise Unproved(f"the product of a planted neuron with row {i + 1} is zero up to rounding")
    return DualSums(balls, lam, sign)


def search_images(model: Model, lam: Array, sign: int, nodes: int) -> tuple[Index, Array]:
    """Return the tree of one sign: how each of its nodes ended, and y (k, m) of its leaves with a bound.

    Raises `Unproved` if a ratio is above 1, or if `nodes` do not suffice.
    """
    live = np.flatnonzero(model.X.any(axis=1))
    weights = at_rising_precision(lambda: middle(_checked(Balls(model), lam, sign).weights))[live]
    scale = float(np.linalg.norm(weights))
    if scale == 0.0:
        return np.full(1, BOUND), np.zeros((1, len(live)))
    base, floor = orthonormal_base(model.X)[0][live], max(GOAL / scale - TOLERANCE - ROUNDING, 0.0)
    known = np.ascontiguousarray(model.planted_patterns(sign)[live].T)
    value, _, bound, _, ends, ys = branch_normalised(base, weights / scale, known, floor, TOLERANCE, nodes, True, True)
    if not np.isfinite(bound):
        if value > floor + TOLERANCE:
            raise Unproved(f"the dual norm over all patterns reaches {value * scale:.9g}")
        raise Unproved("the search over all patterns reached the limit of nodes")
    return ends, scale * ys


def bound_of_tree(balls: Balls, lam: Array, sign: int, ends: Index, ys: Array) -> float:
    """Return an upper bound below 1 on the ratios off the planted neurons, by the tree of `search_images`, and on the
    skip connection. Raises `Unproved`."""
    live = np.flatnonzero(balls.model.X.any(axis=1))
    sums, X, known = DualSums(balls, lam, sign), balls.model.X[live], balls.model.planted_patterns(sign)[live].T
    rows, weights = [sums.rows[i] for i in live], [sums.weights[i] for i in live]
    sides, bounded = grown_trees(ends, 0, 1, len(live))[1], ends[(ends == BOUND) | (ends > len(live))] == BOUND
    if len(ys) != np.count_nonzero(bounded):
        raise Unproved("the number of leaves does not match the tree")
    for side in sides[~bounded]:
        _check_known(weights, side, known)
    leaves = zip(sides[bounded], ys, strict=True)
    squares = [sums.skip() ** 2, *(_leaf(X, rows, weights, side, y) for side, y in leaves)]
    return below_one(float(np.sqrt(largest(squares))))


def _check_known(lam: list[arb], side: Index, known: Mask) -> None:
    """Check that rows with lam_i > 0 have the side that they have in a planted pattern. Raises `Unproved`."""
    free = np.array([bool(t <= 0) for t in lam])
    if not ((np.where(known, 1, -1) == side) | free).all(axis=1).any():
        raise Unproved("a leaf is reported as planted but is not")


def _leaf(X: Array, rows: list[list[arb]], lam: list[arb], side: Index, y: Array) -> arb:
    """Return the squared bound on the ratios of a leaf by y, corrected such that X^T y = 0. Raises `Unproved`."""
    on = side > 0
    held = np.flatnonzero(on | (y > KEPT))
    exact = [arb(0)] * len(lam)
    if held.size:
        chosen = Balls.spanning_columns(X[held])
        A = arb_mat([[rows[i][j] for i in held] for j in chosen])
        start, zero = column(arb(a) for a in y[held].tolist()), arb_mat(len(chosen), 1)
        corrected = nearest_solution(A, zero, start, "the rows of a leaf") if chosen.size else start
        for i, a in zip(held.tolist(), corrected.entries(), strict=True):
            exact[i] = a
    if any(not exact[i] >= 0 for i in held[~on[held]].tolist()):
        raise Unproved("the multipliers of a leaf depend on rounding")
    sums = [lam[i] + exact[i] for i in np.flatnonzero(side >= 0).tolist()]
    return dot(*[[a for a in sums if not a < 0]] * 2)


def _cleared(lam: Array) -> Array:
    """Set entries that are zero up to rounding to zero: rows that no planted neuron sees then keep lam_i = 0."""
    return np.where(np.abs(lam) > RANK * np.linalg.norm(lam), lam, 0.0)
