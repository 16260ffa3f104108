"""Prove that planted weights are the unique optimum of the exact program over all activation patterns.

With lam such that M^T lam = u exactly (`unique_optimum`) and sigma = 1, -1, every unplanted neuron v must satisfy
    f(v) = sigma lam.act(X v) = sum_i t_i (x_i.v)_+ + c.v < ||v||,   t = sigma (1 - slope) lam, c = sigma slope X^T lam.
Lengths are those of the architecture; if it normalises before the ReLU, rows of X L^-T with X^T X = L L^T have them.
The search of `recovery.conditions.branching` returns y and a for each leaf of its tree, and the proof relies on nothing
else from it: if y_i >= 1 where x_i.v >= 0, y_i <= 0 where x_i.v <= 0, 0 <= a_j <= 1, t_i >= 0 and t_j <= 0, then
    f(v) <= (c + sum over open rows of t_i x_i / 2 + sum of y_i t_i x_i + sum of a_j t_j x_j).v + sum of |t_i x_i.v| / 2
(`recovery.conditions.cones`, `leaves`). Rows whose weights are zero up to rounding add their lengths, `rest` in sum.
On the planted cell of a group g, f(v) <= u_g.v + rest for ||v|| = 1: below 1 where ||v - u_g||^2 > 2 rest. Nearer to
u_g no row changes sign if |x_i.u_g|^2 > 2 rest ||x_i||^2 for all rows; then f(v) = u_g.v, which is 1 only at v = u_g.
"""

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, at_rising_precision, below_one, dot, largest, length
from recovery.conditions.cell_search import bound_over_sides
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.oracle import TOLERANCE, Difference, difference
from recovery.conditions.planes import spreads
from recovery.extras.proofs.dual_sums import check_own, checked_sums
from recovery.extras.proofs.leaves import ABOVE, bounds_of_leaves, check_search, grown_tree
from recovery.types import Array, Index, Mask


def prove_unique_everywhere(model: Model, lam: Array, nodes: int) -> float:
    """Return an upper bound below 1 on the dual norms of all neurons off the planted cells, and of an unplanted skip
    connection.

    nodes: limit of nodes per sign. Not for neurons normalised after the ReLU. Raises `Unproved`.
    """
    return max(_bound(model, lam, sign, nodes) for sign in (1, -1))


def _bound(model: Model, lam: Array, sign: int, nodes: int) -> float:
    own = model.planted_patterns(sign)
    f = at_rising_precision(lambda: difference(checked_sums(Balls(model), lam, sign).floats()))
    floor = 0.0 if f is None else f.floor(1.0)
    tree = None if f is None else search_tree(f, own, floor, nodes)

    def bound() -> float:
        sums = checked_sums(Balls(model), lam, sign)
        bounds, rest = [sums.skip()], arb(0)
        if f is not None and tree is not None:
            kept = [*f.rising, *f.falling]
            terms = [[sums.weights[i] * a for a in sums.rows[i]] for i in range(len(sums.rows))]
            rest = sum((length(dot(terms[i], terms[i])) for i in set(range(len(terms))) - set(kept)), arb(0))
            if not all(sums.weights[i] >= 0 for i in f.rising) or not all(sums.weights[i] <= 0 for i in f.falling):
                raise Unproved("rounding decides the sign of a row of the dual")
            leaves = bounds_of_tree(f, tree, floor, [terms[i] for i in kept], sums.linear, f.cells(own))
            bounds += [bound + rest for bound in leaves]
        check_own(sums, rest)
        return below_one(largest(bounds))

    return at_rising_precision(bound)


def search_tree(f: Difference, known: Mask | None, floor: float, nodes: int) -> tuple[Index, Array]:
    """Return how each node of the search for a value above `floor` ended, and y, a of its leaves.

    known (n, k): the planted patterns. Raises `Unproved` if there is such a value, or if `nodes` do not suffice.
    """
    value, _, bound, _, _, ends, numbers = f.search(known, floor, nodes, stop=True, record=True)
    check_search(value, bound, floor + TOLERANCE, f.scale)
    return ends, numbers


def bounds_of_tree(
    f: Difference, tree: tuple[Index, Array], floor: float, terms: list[list[arb]], linear: list[arb], known: Mask
) -> list[arb]:
    """Return bounds on f over the leaves of `search_tree`, except those of known cells (k, m). Raises `Unproved`.

    terms: t_i x_i of the rising rows, then of the falling rows; linear: c.
    """
    goal = floor + TOLERANCE + ABOVE
    m, numbers = len(f.up), tree[1]
    sides, bounded = grown_tree(tree[0], m, len(numbers))
    if not ((sides[~bounded, None] > 0) == known).all(axis=2).any(axis=1).all() or not sides[~bounded].all():
        raise Unproved("a cell is reported as known but is not")
    sides = sides[bounded]
    factors = np.where(np.pad(sides == 0, ((0, 0), (0, len(f.down)))), 0.5, numbers)
    y, a = factors[:, :m], factors[:, m:]
    allowed = np.where(sides > 0, y >= 1, (sides == 0) | (y <= 0)).all() and ((a >= 0) & (a <= 1)).all()
    if not allowed or not np.isfinite(factors).all():
        raise Unproved("the numbers of a leaf break their limits")
    bounds: list[arb] = []
    for opened in np.unique(sides == 0, axis=0):
        chosen = np.flatnonzero(((sides == 0) == opened).all(axis=1))
        halves, left = spreads(f.up[opened] / 2), [[a / 2 for a in terms[i]] for i in np.flatnonzero(opened)]
        for leaf in chosen:
            z = f.c + factors[leaf] @ np.vstack([f.up, -f.down])
            above, mu, tau = bound_over_sides(z, halves[0][0], halves[1][0], np.empty(len(z)), goal)
            if not opened.any() and above > goal:
                factors[leaf] = f.cell_numbers(sides[leaf] > 0)
            sums = arb_mat([factors[leaf].tolist()]) * arb_mat(terms) if terms else arb_mat(1, len(linear))
            v = [a + b for a, b in zip(sums.entries(), linear, strict=True)]
            scaled = [(f.scale * (mu + ABOVE), f.scale * tau)]
            bounds += bounds_of_leaves([v], left, f.up[opened], scaled)
    return bounds
