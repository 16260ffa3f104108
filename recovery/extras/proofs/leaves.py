"""Trees of a recorded search, and the bound of their leaves in ball arithmetic.

With v the sum of decided rows, open half rows z, Q = (sum w) sum z z^T / w for any weights w > 0, any tau > 0, and
M = mu I - Q / tau positive definite,
    max over ||u|| <= 1 of v.u + sum |z.u| <= 1/2 (v.M^{-1} v + mu + tau)      (`recovery.conditions.cell_search`).
"""

from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, cholesky, column, dot, length, matrix, solve
from recovery.conditions.branching import BOUND, KNOWN
from recovery.types import Array, Index, Mask

ABOVE = 1e-11
"""Added to mu, which is then certainly above max q / tau."""


def bounds_of_leaves(
    sums: Sequence[Sequence[arb]], opened: list[list[arb]], floats: Array, numbers: Sequence[tuple[float, float]]
) -> list[arb]:
    """Return the bounds of leaves with sums v, mu and tau, and the same open half rows z. Raises `Unproved`.

    floats: the rows z, rounded; rows that are zero there add their length.
    """
    kept = [z for z, rounded in zip(opened, floats, strict=True) if rounded.any()]
    rest = sum((length(dot(z, z)) for z, rounded in zip(opened, floats, strict=True) if not rounded.any()), arb(0))
    if not kept:
        return [length(dot(v, v)) + rest for v in sums]
    weights = [arb(length(dot(z, z)).mid()) for z in kept]
    scaled = arb_mat([[a / w.sqrt() for a in z] for z, w in zip(kept, weights, strict=True)])
    Q, one, bounds = scaled.transpose() * scaled * sum(weights, arb(0)), matrix(np.eye(len(kept[0]))), []
    # if the least product mu tau exceeds the eigenvalues of Q, all do
    cholesky(one * min((arb(mu) * tau for mu, tau in numbers), key=lambda product: float(product.lower())) - Q)
    for v, (mu, tau) in zip(sums, numbers, strict=True):
        solved = solve(one * mu - Q / tau, column(v), "the open rows of a leaf").entries()
        bounds.append((dot(v, solved) + mu + tau) / 2 + rest)
    return bounds


def check_search(value: float, bound: float, limit: float, scale: float) -> None:
    """Raise `Unproved` if a search ended early, at a value above the limit or at the limit of nodes."""
    if not np.isfinite(bound):
        if value > limit:
            raise Unproved(f"the dual norm over all patterns reaches {value * scale:.9g}")
        raise Unproved("the search over all patterns reached the limit of nodes")


def grown_tree(ends: Index, m: int, leaves: int) -> tuple[Index, Mask]:
    """Rebuild the tree from how each node, in the order of the search, ended.

    Returns the sides (k, m) of the leaves: 1, -1, or 0 if open; and which are bounded, of which there have to be
    `leaves`. The others are said to be known. Raises `Unproved` if the tree is inconsistent.
    """
    sides, bounded = [], []
    given = iter(ends.tolist())
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
    if sum(bounded) != leaves:
        raise Unproved("the number of leaves does not match the tree")
    return np.array(sides, dtype=np.intp).reshape(len(sides), m), np.array(bounded)
