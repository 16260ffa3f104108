"""Prove that planted weights are the unique optimum of the gated program over all cells of the arrangement.

With lam such that M^T lam = u exactly (`unique_optimum`), every unplanted cell D = {i: x_i.h > 0} must satisfy
    ||c + sum_{i in D} t_i x_i|| < 1,        t = (1 - slope) lam, c = slope X^T lam.
Each closed leaf of a tree over the signs s of rows (`cell_tree`) has a bound: with z = t x / 2, v = c + sum z + sum of
s_i z_i over the rows whose signs it fixes, Q of the other rows (`recovery.conditions.cell_search`), any tau > 0,
mu > max q / tau, orthonormal V, and q >= 0 with Q = V^T diag(q) V,
    1/2 (sum_j (V v)_j^2 / (mu - q_j / tau) + mu + tau) < 1.
Floating-point arithmetic chooses these numbers, and ball arithmetic verifies each bound. V^T V = I + F and
Q = V^T diag(q) V + E add 1/2 (mu ||F|| + ||E|| / tau) + ||F|| ||v|| to the bound.
"""

from collections import defaultdict

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import Unproved, at_rising_precision, below_one, dot, largest, length, matrix, middle
from recovery.conditions.cell_search import bound_over_sides
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.planes import spreads
from recovery.extras.proofs.cell_tree import CellTree
from recovery.extras.proofs.everywhere import DualSums
from recovery.types import Array, Codes, Index, Mask

GOAL = 1.0 - 1e-10
"""Target of floating-point bounds: below 1 by far more than rounding, and far less than the margins of verdicts."""
ABOVE = 1e-11


def prove_unique_in_every_cell(model: Model, lam: Array, nodes: int) -> float:
    """Return a bound below 1 on the dual norms of all cells that are not planted, and of an unplanted skip connection.

    nodes: limit of the size of the tree. Not for neurons normalised after the ReLU. Raises `Unproved`.
    """
    live = np.flatnonzero(model.X.any(axis=1))
    terms, start = at_rising_precision(lambda: _floats(DualSums(Balls(model), lam), live))
    # largest rows first, so that undecided rows can add least
    heaviest = np.argsort(-np.linalg.norm(terms, axis=1), kind="stable")
    order = live[heaviest]
    planted = model.patterns[order][:, model.neuron_groups].T
    search = _Search(model.X[order], planted, terms[heaviest] / 2, start)
    search.run(nodes)
    return at_rising_precision(lambda: _bound(DualSums(Balls(model), lam), search, order))


def _floats(sums: DualSums, rows: Index) -> tuple[Array, Array]:
    """Return t_i x_i of these rows (n, d), and c + their sum / 2 (d,), as floats."""
    c = middle(sums.linear)
    terms = np.array([middle(sums.weights[i] * a for a in sums.rows[i]) for i in rows]).reshape(len(rows), len(c))
    return terms, c + terms.sum(axis=0) / 2


class _Search(CellTree):
    """The tree over the signs of rows, with halves z (m, d) of its rows and start (d,).

    closed: signs, mu and tau of the closed leaves, by depth.
    """

    def __init__(self, rows: Array, planted: Mask, halves: Array, start: Array) -> None:
        super().__init__(rows, planted)
        self.halves, self.start, self.turned = halves, start, np.empty(len(start))
        self.vectors, self.values = spreads(halves)
        self.closed: dict[int, list[tuple[Codes, float, float]]] = defaultdict(list)

    def close(self, sides: Codes) -> bool:
        depth = len(sides)
        v = self.start + sides @ self.halves[:depth]
        above, mu, tau = bound_over_sides(v, self.vectors[depth], self.values[depth], self.turned, GOAL)
        if above <= GOAL:
            # mu + ABOVE is certainly above max q / tau, even if v is zero
            self.closed[depth].append((sides, mu + ABOVE, tau))
        return above <= GOAL

    def value(self, sides: Codes) -> float:
        return float(np.linalg.norm(self.start + sides @ self.halves))


def _bound(sums: DualSums, search: _Search, order: Index) -> float:
    """Return an upper bound on the dual norms of the closed leaves and of the skip connection. Raises `Unproved`."""
    halves = [[sums.weights[i] * a / 2 for a in sums.rows[i]] for i in order]
    start = [a + sum((row[j] for row in halves), arb(0)) for j, a in enumerate(sums.linear)]
    bounds = [sums.skip()]
    for depth, leaves in search.closed.items():
        bounds += _closed(halves, start, search, depth, leaves)
    return below_one(largest(bounds))


def _closed(
    halves: list[list[arb]], start: list[arb], search: _Search, depth: int, leaves: list[tuple[Codes, float, float]]
) -> list[arb]:
    """Return upper bounds on the dual norms of the closed leaves (signs, mu, tau) of one depth (see the module).

    Raises `Unproved`.
    """
    d, opened = len(start), halves[depth:]
    sums = [start] * len(leaves)
    if depth:
        decided = arb_mat([[int(s) for s in sides] for sides, _, _ in leaves]) * arb_mat(halves[:depth])
        sums = [[a + b for a, b in zip(row, start, strict=True)] for row in decided.tolist()]
    lengths = [length(dot(v, v)) for v in sums]
    if not search.halves[depth:].any():
        rest = sum((length(dot(z, z)) for z in opened), arb(0))
        return [size + rest for size in lengths]
    weights = [arb(float(w)) for w in np.linalg.norm(search.halves[depth:], axis=1)]
    for z, w in zip(opened, weights, strict=True):
        if not w > 0 and not all(a.is_zero() for a in z):
            raise Unproved("the dual of a row is zero up to rounding")
    scaled = arb_mat([[a / w.sqrt() for a in z] for z, w in zip(opened, weights, strict=True) if w > 0])
    V, q = matrix(search.vectors[depth]), [arb(float(a)) for a in search.values[depth]]
    diagonal = arb_mat([[q[i] if i == j else arb(0) for j in range(d)] for i in range(d)])
    E = scaled.transpose() * scaled * sum(weights, arb(0)) - V.transpose() * diagonal * V
    F = V.transpose() * V - matrix(np.eye(d))
    off_Q, off_V = length(dot(E.entries(), E.entries())), length(dot(F.entries(), F.entries()))
    bounds = []
    turned = (arb_mat(sums) * V.transpose()).tolist()
    for row, size, (_, mu, tau) in zip(turned, lengths, leaves, strict=True):
        gaps = [mu - a / tau for a in q]
        if not all(gap > 0 for gap in gaps):
            raise Unproved("mu is too small for the bound of a leaf")
        total = sum((a * a / gap for a, gap in zip(row, gaps, strict=True)), arb(0))
        bounds.append((total + mu * (1 + off_V) + tau + off_Q / tau) / 2 + off_V * size)
    return bounds
