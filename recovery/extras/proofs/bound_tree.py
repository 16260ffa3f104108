"""Bound a difference of convex functions over the ball, leaf by leaf, with rigorous rounding errors.

    f(w) = c.w + sum_i (x_i.w)_+ - sum_j (z_j.w)_+,        ||w|| <= 1,        rows x_i of `up`, z_j of `down`,
whose coefficients are the given floats. `recovery.conditions.branching` reports how each node of its tree ended, and
returns numbers y, a, m for each leaf; the proof relies on nothing else from it. On the cone of a leaf, with undecided
rows O, m >= 0, a in [0, 1], y_i >= 1 where x_i.w >= 0 there and y_i <= 0 where it is not above 0,
    f(w) <= z.w,    z = c + sum_k (m_k + sum_{i in O} (s_k x_ik)_+) s_k e_k + sum_{i not in O} y_i x_i - sum_j a_j z_j,
so ||z|| bounds f. The leaves cover the ball: the tree is rebuilt from its splits.

Rounding (Higham 2002, section 3.1): a sum of products of K floats, in any order, has an error of at most
gamma_K = K u / (1 - K u) times the sum of absolute values, u = 2^-53. Here K <= m + q + 4 for each entry of z; twice
(m + q + 8) u times the computed sum of absolute values exceeds this error plus the rounding of the sum itself. Products
below 1e-308 may lose 2^-1074 each; `TINY` exceeds their total.
"""

import math

import numpy as np

from recovery.conditions.balls import Unproved
from recovery.conditions.branching import BOUND, CELL, KNOWN, branch
from recovery.conditions.oracle import TOLERANCE, Turned, cell_multipliers
from recovery.types import Array, Index, Mask

UNIT = 2.0**-53
TINY = 1e-290
ROOTS = 1024
"""Number of roots per batch, so that the leaves of a batch fit into memory."""


def prove_bound(turned: Turned, known: Mask, limit: float, nodes: int) -> float:
    """Bound max {f(w): ||w|| <= 1} from above off the `known` cells (k, m) of the x_i, with at most `nodes` cones.

    limit: the target of the search; the bound may exceed it, or be infinite. Cells and f are those of the floats in
    `turned`. Raises `Unproved` if f exceeds `limit` off these cells, if `nodes` cones do not suffice, or if the
    recorded search is inconsistent.
    """
    largest = 0.0
    for first in range(0, 2**turned.r, ROOTS):
        last = min(first + ROOTS, 2**turned.r)
        up, down, c = turned.up, turned.down, turned.c
        found = branch(up, down, c, (turned.r, first, last), known, limit, TOLERANCE, nodes, True, True)
        count, ends, leaves = found[3], found[5], found[6]
        nodes -= count
        if not np.isfinite(found[2]):
            if found[0] > limit + TOLERANCE:
                raise Unproved(f"the dual norm over all patterns reaches {found[0] * turned.scale:.9g}")
            raise Unproved("the search over all patterns reached the limit of nodes")
        roots, sides = grown_trees(ends, first, last, len(up))
        ends = ends[(ends == BOUND) | (ends > len(up))]
        largest = max(largest, _checked(turned, known, ends, roots, sides, leaves, limit))
    return largest


def grown_trees(ends: Index, first: int, last: int, m: int) -> tuple[Index, Index]:
    """Rebuild the trees of the roots first, ..., last - 1 from how each node, in the order of the search, ended.

    Returns the root of each leaf and its sides (leaves, m): 1, -1, or 0 if undecided. Raises `Unproved` if a node is
    missing or left over, or splits at a row twice.
    """
    roots, sides = [], []
    given = iter(ends.tolist())
    for root in range(first, last):
        pending = [np.zeros(m, dtype=np.int8)]
        while pending:
            node, end = pending.pop(), next(given, None)
            if end is None:
                raise Unproved("the tree has too few nodes")
            if end == BOUND or end > m:
                roots.append(root)
                sides.append(node)
                continue
            row = abs(end) - 1
            if node[row]:
                raise Unproved("the tree splits at a row twice")
            ahead, behind = node.copy(), node
            ahead[row], behind[row] = (1, -1) if end > 0 else (-1, 1)
            pending += [behind, ahead]
    if next(given, None) is not None:
        raise Unproved("the tree has too many nodes")
    return np.array(roots, dtype=np.intp), np.array(sides, dtype=np.intp).reshape(len(sides), m)


def _checked(
    turned: Turned, known: Mask, ends: Index, roots: Index, sides: Index, numbers: Array, limit: float
) -> float:
    """Return the largest bound over these leaves, except those of known cells. It may exceed `limit`: cells whose bound
    does get better multipliers first. Raises `Unproved` if the recorded search is inconsistent."""
    m, q, r = len(turned.up), len(turned.down), turned.r
    S = np.where((roots[:, None] >> np.arange(r)) & 1, 1.0, -1.0)
    whole = ends > m
    axes = turned.up[:, :r]
    above = ((S > 0) @ (axes > 0).T.astype(float) + (S < 0) @ (axes < 0).T.astype(float)) > 0
    below = ((S > 0) @ (axes < 0).T.astype(float) + (S < 0) @ (axes > 0).T.astype(float)) > 0
    if (whole[:, None] & (sides == 0) & above & below).any():
        raise Unproved("a leaf that is reported as a cell has an undecided row")
    on = (sides > 0) | ((sides == 0) & above)
    seen = ends == m + KNOWN
    for pattern in np.unique(on[seen], axis=0):
        if not (known == pattern).all(axis=1).any():
            raise Unproved("a cell is reported as known but is not")
    opened = (sides == 0) & ~whole[:, None]
    S, on, opened, cell = S[~seen], on[~seen], opened[~seen], (ends == m + CELL)[~seen]
    if len(S) != len(numbers):
        raise Unproved("the number of leaves does not match the tree")
    y, a, mu = numbers[:, :m], numbers[:, m : m + q], numbers[:, m + q :]
    bounds = leaf_bounds(turned, S, on, opened, y, a, mu)
    # where the descent of the search did not reach the limit, an active-set method finds better multipliers
    for leaf in np.flatnonzero(cell & (bounds > limit + TOLERANCE)):
        better = cell_multipliers(turned.up, turned.down, turned.c, on[leaf])[None]
        one = slice(leaf, leaf + 1)
        bounds[one] = leaf_bounds(turned, S[one], on[one], opened[one], better[:, :m], better[:, m:], 0.0 * mu[one])
    return float(bounds.max(initial=0.0))


def leaf_bounds(turned: Turned, S: Array, on: Mask, opened: Mask, y: Array, a: Array, mu: Array) -> Array:
    """Return upper bounds on ||z|| of the leaves; infinite where y, a or m break a condition of the module.

    S (leaves, r): signs s_k. on, opened (leaves, rows): active and undecided rows x_i. y, a, mu: y, a, m of the module.
    """
    up, down, r = turned.up, turned.down, turned.r
    allowed = (np.where(on, y >= 1.0, y <= 0.0) | opened).all(axis=1)
    allowed &= ((a >= 0.0) & (a <= 1.0)).all(axis=1) & (mu >= 0.0).all(axis=1) & np.isfinite(y).all(axis=1)
    y, open_ = np.where(opened, 0.0, y), opened.astype(float)
    axes = up[:, :r]
    steep = mu + np.where(S > 0, open_ @ np.maximum(axes, 0.0), open_ @ np.maximum(-axes, 0.0))
    Z = turned.c + y @ up - a @ down
    Z[:, :r] += S * steep
    weight = np.abs(turned.c) + np.abs(y) @ np.abs(up) + a @ np.abs(down)
    weight[:, :r] += steep
    entries = np.abs(Z) + 2 * (len(up) + len(down) + 8) * UNIT * weight + TINY
    lengths = np.sqrt(np.einsum("lk,lk->l", entries, entries)) * (1 + 2 * (Z.shape[1] + 8) * UNIT)
    return np.where(allowed, lengths, math.inf)
