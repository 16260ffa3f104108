"""Trees of a recorded search, and the bound of leaves in ball arithmetic.

With decided rows z_i times factors a_i, rows z_j that are open, v = c + sum a_i z_i + sum z_j / 2 and h_j = z_j / 2,
Q = (sum w) sum h h^T / w for any weights w > 0, any tau > 0 and M = mu I - Q / tau positive definite,
    max over ||u|| <= 1 of v.u + sum |h_j.u| <= 1/2 (v.M^{-1} v + mu + tau)      (`recovery.conditions.cell_search`).
Floating-point arithmetic chooses mu and tau.
"""

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, cholesky, column, dot, length, matrix, middle, solve
from recovery.conditions.branching import BOUND, KNOWN
from recovery.conditions.cell_search import bound_over_sides
from recovery.conditions.oracle import TINY, TOLERANCE, NeuronValues
from recovery.types import Array, Index, Mask

GOAL = 1.0 - 1e-9
"""Target of floating-point bounds: below 1 by more than rounding, and far less than the margins of verdicts."""
ABOVE = 1e-11
"""Added to mu, relative to the sum of all lengths: mu is then certainly above max q / tau."""
Tree = tuple[Index, Array]
"""How each node of a search ended, and the numbers of its leaves with a bound."""


def bounds_of_leaves(
    terms: list[list[arb]], linear: list[arb], opened: Mask, factors: Array, goal: float = GOAL
) -> list[arb]:
    """Return the bounds of k leaves. terms: the rows z (m). linear: c. opened (k, m): which rows are open.

    factors (k, m): a_i, 1/2 for open rows. goal: a bound of at most this need not be tight. Raises `Unproved`.
    """
    rows, c = np.array([*map(middle, terms)]).reshape(len(terms), len(linear)), middle(linear)
    sizes = np.linalg.norm(rows, axis=1)
    scale = float(sizes.sum() + np.linalg.norm(c))
    one, turned, bounds = matrix(np.eye(len(c))), np.empty(len(c)), list[arb]()
    for which in np.unique(opened, axis=0):
        chosen = np.flatnonzero((opened == which).all(axis=1))
        sums = [linear] * len(chosen)
        if terms:
            decided = arb_mat(factors[chosen].tolist()) * arb_mat(terms)
            sums = [[a + b for a, b in zip(row, linear, strict=True)] for row in decided.tolist()]
        large = np.flatnonzero(which & (sizes > TINY * scale))
        small = np.setdiff1d(np.flatnonzero(which), large)
        rest = sum((length(dot(terms[i], terms[i])) / 2 for i in small), arb(0))
        if not large.size:
            bounds += [length(dot(v, v)) + rest for v in sums]
            continue
        scaled = arb_mat([[a / (2 * arb(float(sizes[i])).sqrt()) for a in terms[i]] for i in large])
        Q = scaled.transpose() * scaled * arb(float(sizes[large].sum()))
        q, V = np.linalg.eigh(np.array([*map(middle, Q.tolist())]))
        found = [bound_over_sides(c + factors[leaf] @ rows, V.T, np.maximum(q, 0.0), turned, goal) for leaf in chosen]
        numbers = [(mu + ABOVE * scale, tau) for _, mu, tau in found]
        # if the least product mu tau exceeds the eigenvalues of Q, all do
        cholesky(one * min((arb(mu) * tau for mu, tau in numbers), key=lambda product: float(product.lower())) - Q)
        for v, (mu, tau) in zip(sums, numbers, strict=True):
            solved = solve(one * mu - Q / tau, column(v), "the open rows of a leaf").entries()
            bounds.append((dot(v, solved) + mu + tau) / 2 + rest)
    return bounds


def search_tree(f: NeuronValues, known: Mask | None, nodes: int, limit: float = GOAL) -> Tree:
    """Return the tree of the search for a value above `limit`, off the known patterns (n, k).

    Raises `Unproved` if there is such a value, or if `nodes` do not suffice.
    """
    floor = f.floor(limit)
    value, _, bound, _, _, ends, numbers = f.search(known, floor, nodes, stop=True, record=True)
    if not np.isfinite(bound):
        if value > floor + TOLERANCE:
            raise Unproved(f"the dual norm over all patterns reaches {value * f.scale:.9g}")
        raise Unproved("the search over all patterns reached the limit of nodes")
    return ends, numbers


def grown_tree(tree: Tree, m: int) -> tuple[Index, Mask]:
    """Rebuild the tree from how each node, in the order of the search, ended.

    Returns the sides (k, m) of the leaves: 1, -1, or 0 if open; and which have a bound: the others are known cells.
    Raises `Unproved` if the tree is inconsistent.
    """
    sides, bounded = [], []
    given = iter(tree[0].tolist())
    pending = [np.zeros(m, dtype=np.int8)]
    while pending:
        node, end = pending.pop(), next(given, None)
        if end is None:
            raise Unproved("the tree has too few nodes")
        if end in (BOUND, KNOWN):
            bounded.append(end == BOUND)
            sides.append(node)
            continue
        row, first = end % m, 1 if end >= m else -1
        if node[row]:
            raise Unproved("the tree splits at a row twice")
        ahead, behind = node.copy(), node
        ahead[row], behind[row] = first, -first
        pending += [behind, ahead]
    if next(given, None) is not None:
        raise Unproved("the tree has too many nodes")
    if sum(bounded) != len(tree[1]):
        raise Unproved("the number of leaves does not match the tree")
    return np.array(sides, dtype=np.intp).reshape(len(sides), m), np.array(bounded)
