"""Prove that planted weights are the unique optimum over all patterns, for neurons normalised after the ReLU.

Let lam satisfy M^T lam = u exactly (`unique_optimum`), and let u_g = (X w_g)_+ / ||(X w_g)_+|| for a planted group g.

Gated program: the norms of all cells are bounded (`unique_optimum`). They are enumerated in integers, however thin.

Exact program: for sigma = 1, -1, every unplanted neuron v must have sigma lam.a < ||a||, a = (X v)_+. The search of
`recovery.conditions.normalised` returns y for each leaf of its tree, whose rows are on, off or open. Ball arithmetic
corrects y such that X^T y = 0 exactly, and verifies y_i >= 0 on rows that are off or open. Then y.a >= y.X v = 0, so
the length of (lam + y)_+ over the rows that are not off bounds the ratio. In a known leaf, rows with lam_i > 0 have the
sign that they have in a planted pattern D, so that
    lam.a <= sum over D of lam_i x_i.v = u_g.D X v <= ||a||,
with equality only if D X v is a multiple of u_g. If D X has the rank of X and no row is orthogonal to w_g, then v is a
multiple of w_g.
"""

from dataclasses import dataclass, replace

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
from recovery.conditions.branching import BOUND, branch
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.oracle import ROUNDING, TOLERANCE, image_rows
from recovery.extras.proofs.dual_sums import DualSums, check_own, checked_sums, cleared
from recovery.extras.proofs.leaves import check_search, grown_tree
from recovery.extras.proofs.unique_optimum import prove_unique
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.orthonormal import orthonormal_base
from recovery.types import Array, Index, Mask

GOAL = 1.0 - 1e-9
"""Target of floating-point bounds: below 1 by more than rounding, and far less than the margins of verdicts."""
KEPT = 1e-10
"""Entries of y up to this are set to zero: the correction of y could move them below zero."""


def prove_unique_on_ranges(model: Model, lam: Array, nodes: int) -> float:
    """Return an upper bound below 1 on the dual norms of the gated program off its planted cells.

    nodes: limit of the number of cells. Raises `Unproved`.
    """
    cells, live = enumerate_cells(model.X, artefacts=True)[0], model.X.any(axis=1)
    if cells.shape[1] > nodes:
        raise Unproved("the search over all patterns reached the limit of nodes")
    known = model.patterns[live, int(model.linear) :]
    others = [cell for cell in cells.T if cell[live].any() and not (known == cell[live, None]).all(axis=0).any()]
    return prove_unique(replace(model, patterns=np.column_stack([model.patterns, *others])), cleared(lam, model.X))


def prove_unique_off_images(model: Model, lam: Array, nodes: int) -> float:
    """Return an upper bound below 1 on the dual ratios of the exact program off its planted neurons.

    nodes: limit of nodes per sign. Raises `Unproved`.
    """

    def bound(sign: int) -> float:
        found = search_images(model, lam, sign, nodes)
        return at_rising_precision(lambda: bound_of_tree(Balls(model), lam, sign, found))

    return max(bound(1), bound(-1))


def _checked(balls: Balls, lam: Array, sign: int) -> DualSums:
    """Return the sums of a dual. Raises `Unproved` unless planted neurons have unique images and are in no other
    cell."""
    sums = checked_sums(balls, lam, sign)
    if any(len(balls.coordinates(g)) < len(balls.base_columns) for g in balls.model.neuron_groups):
        raise Unproved("a planted neuron has too few active rows: others have its activations")
    check_own(sums, arb(0))
    return sums


@dataclass(frozen=True)
class ImageTree:
    """The search of one sign: how each node ended, and y (k, n) of its leaves with a bound.

    order: the non-zero rows, first those at which nodes may split; there are `splits` of them.
    """

    order: Index
    splits: int
    ends: Index
    ys: Array


def search_images(model: Model, lam: Array, sign: int, nodes: int) -> ImageTree:
    """Return the tree of one sign. Raises `Unproved` if a ratio is above 1, or if `nodes` do not suffice."""
    live = np.flatnonzero(model.X.any(axis=1))
    weights = at_rising_precision(lambda: middle(_checked(Balls(model), lam, sign).weights))[live]
    scale = float(np.linalg.norm(weights))
    if scale == 0.0:
        return ImageTree(live, 0, np.full(1, BOUND), np.zeros((1, len(live))))
    order = np.concatenate([live[weights > 0], live[weights <= 0]])
    given = image_rows(orthonormal_base(model.X)[0][live], weights / scale, model.planted_patterns(sign)[live])
    floor = max(GOAL / scale - TOLERANCE - ROUNDING, 0.0)
    value, _, bound, _, _, ends, numbers = branch(*given, floor, TOLERANCE, nodes, True, True)
    check_search(value, bound, floor + TOLERANCE, scale)
    return ImageTree(order, len(given[0]), ends, scale * numbers[:, : len(live)])


def bound_of_tree(balls: Balls, lam: Array, sign: int, tree: ImageTree) -> float:
    """Return an upper bound below 1 on the ratios off the planted neurons, by the tree of `search_images`, and on the
    skip connection. Raises `Unproved`."""
    order, m = tree.order, tree.splits
    sums, X, known = DualSums(balls, lam, sign), balls.model.X[order], balls.model.planted_patterns(sign)[order].T
    rows, weights = [sums.rows[i] for i in order], [sums.weights[i] for i in order]
    split, bounded = grown_tree(tree.ends, m, len(tree.ys))
    sides = np.pad(split, ((0, 0), (0, len(order) - m)))
    for side in sides[~bounded]:
        _check_known(weights, side, known)
    leaves = zip(sides[bounded], tree.ys, strict=True)
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
