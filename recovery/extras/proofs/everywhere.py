"""Prove that planted weights are the unique optimum of the exact program over all activation patterns.

With lam such that M^T lam = u exactly (`unique_optimum`) and sigma = 1, -1, every unplanted neuron v must satisfy
    f(v) = sigma lam.act(X v) = sum_i t_i (x_i.v)_+ + c.v < ||v||,   t = sigma (1 - slope) lam, c = sigma slope X^T lam.
Lengths are those of the architecture; if it normalises before the ReLU, rows of X L^-T with X^T X = L L^T have them.
The search of `recovery.conditions.branching` returns y and a for each leaf of its tree, and the proof relies on nothing
else from it: if y_i >= 1 on rows that are on, y_i <= 0 on rows that are off, 0 <= a_j <= 1, t_i >= 0 and t_j <= 0, then
    f(v) <= (c + sum over open rows of t_i x_i / 2 + sum of y_i t_i x_i + sum of a_j t_j x_j).v + sum of |t_i x_i.v| / 2
(`recovery.conditions.cones`, `leaves`). Rows whose weights are zero up to rounding add their lengths, `rest` in sum.
On the planted cell of a group g, f(v) <= u_g.v + rest for ||v|| = 1: below 1 where ||v - u_g||^2 > 2 rest. Nearer to
u_g no row changes sign if |x_i.u_g|^2 > 2 rest ||x_i||^2 for all rows; then f(v) = u_g.v, which is 1 only at v = u_g.

If neurons are normalised after the ReLU, let u_g = (X w_g)_+ / ||(X w_g)_+||. Every unplanted neuron must satisfy
sigma lam.a < ||a||, a = (X v)_+. Rows of a leaf are on, off or open (`recovery.conditions.normalised`). Ball arithmetic
corrects its y such that X^T y = 0 exactly, and verifies y_i >= 0 on rows that are off or open. Then y.a >= y.X v = 0,
so the length of (lam + y)_+ over the rows that are not off bounds the ratio. In a planted leaf, rows with lam_i > 0
have the sign that they have in a planted pattern D, so that
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
    length,
    nearest_solution,
)
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.oracle import TOLERANCE, NeuronValues, image_values, neuron_values
from recovery.extras.proofs.dual_sums import DualSums, checked_sums
from recovery.extras.proofs.leaves import GOAL, Tree, bounds_of_leaves, grown_tree, search_tree
from recovery.programs.orthonormal import orthonormal_base
from recovery.types import Array, Index, Mask

KEPT = 1e-10
"""Entries of y up to this are set to zero: the correction of y could move them below zero."""


def prove_unique_everywhere(model: Model, lam: Array, nodes: int) -> float:
    """Return an upper bound below 1 on the dual norms, or ratios, of all neurons off the planted cells, and of an
    unplanted skip connection.

    nodes: limit of nodes per sign. Raises `Unproved`.
    """

    def bound(sign: int) -> float:
        f, tree = tree_of(model, lam, sign, nodes)
        return at_rising_precision(lambda: bound_of_tree(Balls(model), lam, sign, f, tree))

    return max(bound(1), bound(-1))


def tree_of(model: Model, lam: Array, sign: int, nodes: int) -> tuple[NeuronValues, Tree]:
    """Return the dual values of neurons of one sign, and the tree of their search. Raises `Unproved`."""
    sums = at_rising_precision(lambda: checked_sums(Balls(model), lam, sign).floats())
    if model.architecture.normalizes_after:
        f = image_values(orthonormal_base(model.X)[0], sums.weights)
    else:
        f = neuron_values(sums)
    return f, search_tree(f, model.planted_patterns(sign), nodes)


def bound_of_tree(balls: Balls, lam: Array, sign: int, f: NeuronValues, tree: Tree) -> float:
    """Return an upper bound below 1 on the dual values off the planted neurons, by the tree of `search_tree`, and on
    the skip connection. Raises `Unproved`."""
    sums, known = checked_sums(balls, lam, sign), f.cells(balls.model.planted_patterns(sign))
    if f.normalised:
        return below_one(largest([sums.skip(), *bounds_of_images(f, tree, sums, known)]))
    terms, rest = sums.terms(np.append(f.rising, f.falling))
    if not all(sums.weights[i] >= 0 for i in f.rising) or not all(sums.weights[i] <= 0 for i in f.falling):
        raise Unproved("rounding decides the sign of a row of the dual")
    bounds = bounds_of_tree(f, tree, terms, sums.linear, known)
    sums.check_own(rest)
    return below_one(largest([sums.skip(), *(bound + rest for bound in bounds)]))


def bounds_of_tree(
    f: NeuronValues, tree: Tree, terms: list[list[arb]], linear: list[arb], known: Mask, limit: float = GOAL
) -> list[arb]:
    """Return bounds on f over the leaves of `search_tree`, except those of known cells (k, m). Raises `Unproved`.

    terms: t_i x_i of the rising rows, then of the falling rows; linear: c.
    """
    m, goal = len(f.up), f.floor(limit) + TOLERANCE
    sides, bounded = grown_tree(tree, m)
    if not ((sides[~bounded, None] > 0) == known).all(axis=2).any(axis=1).all() or not sides[~bounded].all():
        raise Unproved("a cell is reported as known but is not")
    sides = sides[bounded]
    opened = np.pad(sides == 0, ((0, 0), (0, len(f.down))))
    factors = np.where(opened, 0.5, tree[1])
    y, a = factors[:, :m], factors[:, m:]
    allowed = np.where(sides > 0, y >= 1, (sides == 0) | (y <= 0)).all() and ((a >= 0) & (a <= 1)).all()
    if not allowed or not np.isfinite(factors).all():
        raise Unproved("the numbers of a leaf break their limits")
    for leaf in np.flatnonzero(~opened.any(axis=1)):
        if np.linalg.norm(f.c + factors[leaf] @ np.vstack([f.up, -f.down])) > goal:
            factors[leaf] = f.cell_numbers(sides[leaf] > 0)
    return bounds_of_leaves(terms, linear, opened, factors, goal * f.scale)


def bounds_of_images(f: NeuronValues, tree: Tree, sums: DualSums, known: Mask) -> list[arb]:
    """Return bounds on the ratios of normalised neurons over the leaves, except those of known cells (k, m)."""
    order = np.append(f.rising, f.falling)
    sides, bounded = grown_tree(tree, len(f.rising))
    free = np.array([bool(sums.weights[i] <= 0) for i in f.rising], dtype=np.bool_)
    if any(not sums.weights[i] <= 0 for i in f.falling) and not bounded.all():
        raise Unproved("rounding decides the sign of a row of the dual")
    if not ((np.where(known, 1, -1) == sides[~bounded, None]) | free).all(axis=2).any(axis=1).all():
        raise Unproved("a leaf is reported as planted but is not")
    sides = np.pad(sides[bounded], ((0, 0), (0, len(f.falling))))
    leaves = zip(sides, f.scale * tree[1][:, : len(order)], strict=True)
    X, rows, weights = sums.balls.model.X[order], [sums.rows[i] for i in order], [sums.weights[i] for i in order]
    return [_bound_of_images(X, rows, weights, side, y) for side, y in leaves]


def _bound_of_images(X: Array, rows: list[list[arb]], lam: list[arb], side: Index, y: Array) -> arb:
    """Return the bound on the ratios of a leaf by y, corrected such that X^T y = 0. Raises `Unproved`."""
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
    return length(dot(*[[a for a in sums if not a < 0]] * 2))
