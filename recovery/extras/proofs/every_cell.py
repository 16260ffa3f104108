"""Prove that planted weights are the unique optimum of the gated program over all cells of the arrangement.

With lam such that M^T lam = u exactly (`unique_optimum`), every unplanted cell D = {i: x_i.h > 0} must satisfy
    ||c + sum_{i in D} t_i x_i|| < 1,        t = (1 - slope) lam, c = slope X^T lam.
A tree over the signs s of rows covers all cells. Each leaf fixes the signs of the first rows, and is one of these:
- closed: with z = t x / 2, v = c + sum z + sum of s_i z_i over the rows whose signs it fixes, Q of the other rows
  (`recovery.conditions.cell_search`), any tau > 0 and M = mu I - Q / tau positive definite,
      1/2 (v.M^{-1} v + mu + tau) < 1;
- empty: integers y >= 0, not all zero, satisfy sum y_i s_i x_i = 0 (Gordan's theorem);
- a planted cell.
Floating-point arithmetic chooses the tree, mu, tau and y. Ball arithmetic verifies each bound, integers each y.
"""

from collections import defaultdict

import numpy as np
from flint import arb, arb_mat, fmpz_mat
from scipy.optimize import nnls

from recovery.conditions.balls import (
    Unproved,
    at_rising_precision,
    below_one,
    largest,
    middle,
)
from recovery.conditions.cell_search import THIN, bound_over_sides, cell_point
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.planes import spreads
from recovery.extras.proofs.dual_sums import DualSums
from recovery.extras.proofs.leaves import ABOVE, bounds_of_leaves
from recovery.programs.integers import integer_rows
from recovery.types import Array, Codes, Index, Mask

GOAL = 1.0 - 1e-10
"""Target of floating-point bounds: below 1 by far more than rounding, and far less than the margins of verdicts."""
Leaf = tuple[Codes, float, float]
"""Signs of the first rows, mu and tau."""


def prove_unique_in_every_cell(model: Model, lam: Array, nodes: int) -> float:
    """Return a bound below 1 on the dual norms of all cells that are not planted, and of an unplanted skip connection.

    nodes: limit of the size of the tree. Not for neurons normalised after the ReLU. Raises `Unproved`.
    """
    live = np.flatnonzero(model.X.any(axis=1))
    terms, start = at_rising_precision(lambda: _floats(DualSums(Balls(model), lam), live))
    # largest rows first, so that undecided rows can add least
    heaviest = np.argsort(-np.linalg.norm(terms, axis=1), kind="stable")
    order = live[heaviest]
    tree = _Tree(model.X[order], model.patterns[order][:, model.neuron_groups].T, terms[heaviest] / 2, start)
    tree.grow(nodes)
    return at_rising_precision(lambda: _bound(DualSums(Balls(model), lam), tree, order))


def _floats(sums: DualSums, rows: Index) -> tuple[Array, Array]:
    """Return t_i x_i of these rows (n, d), and c + their sum / 2 (d,), as floats."""
    c = middle(sums.linear)
    terms = np.array([middle(sums.weights[i] * a for a in sums.rows[i]) for i in rows]).reshape(len(rows), len(c))
    return terms, c + terms.sum(axis=0) / 2


class _Tree:
    """The tree over the signs of rows (m, d), none of them zero, with planted cells (k, m), halves z and start (d,).

    closed: the closed leaves by depth.
    """

    def __init__(self, rows: Array, planted: Mask, halves: Array, start: Array) -> None:
        self.planted, self.halves, self.start, self.turned = planted, halves, start, np.empty(len(start))
        self.normals = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.whole = integer_rows(rows)
        self.vectors, self.values = spreads(halves)
        self.closed: dict[int, list[Leaf]] = defaultdict(list)

    def grow(self, nodes: int) -> None:
        """Grow the tree until every leaf is closed, empty or planted. Raises `Unproved`."""
        m, point = len(self.normals), np.empty(self.normals.shape[1])
        pending: list[tuple[Codes, Array | None]] = [(np.zeros(0, dtype=np.int8), None)]
        while pending:
            nodes -= 1
            if nodes < 0:
                raise Unproved("the search over all patterns reached the limit of nodes")
            sides, inside = pending.pop()
            depth = len(sides)
            v = self.start + sides @ self.halves[:depth]
            above, mu, tau = bound_over_sides(v, self.vectors[depth], self.values[depth], self.turned, GOAL)
            if above <= GOAL:
                # mu + ABOVE is certainly above max q / tau, even if v is zero
                self.closed[depth].append((sides, mu + ABOVE, tau))
                continue
            if depth and inside is None:
                if cell_point(self.normals, sides, depth, point) == 1:
                    inside = point / np.linalg.norm(point)
                elif self._is_empty(sides):
                    continue
            if depth == m:
                if not (self.planted == (sides > 0)).all(axis=1).any():
                    raise Unproved(f"the dual norm over all patterns reaches {np.linalg.norm(v):.9g}")
                continue
            product = 0.0 if inside is None else float(self.normals[depth] @ inside)
            for side in (1, -1):
                kept = inside if side * product > THIN else None
                pending.append((np.append(sides, np.int8(side)), kept))

    def _is_empty(self, sides: Codes) -> bool:
        """Return whether integers prove that no point has these signs of its products with the first rows."""
        signed = self.normals[: len(sides)] * sides[:, None]
        # a convex combination equal to zero, with a minimal number of rows
        y, _ = nnls(np.vstack([signed.T, np.ones(len(sides))]), np.append(np.zeros(signed.shape[1]), 1.0))
        # for exactly dependent rows, rounding may leave small positive weights: try again without these rows
        return any(self._vanishes(sides, np.flatnonzero(y > least)) for least in (0.0, 1e-12))

    def _vanishes(self, sides: Codes, chosen: Index) -> bool:
        """Return whether these signed rows have exactly one linear dependence, whose weights share one sign."""
        columns = [[int(sides[i]) * a for a in self.whole[i]] for i in chosen]
        null, nullity = fmpz_mat([list(row) for row in zip(*columns, strict=True)]).nullspace()
        weights = [int(row[0]) for row in null.tolist()]
        return nullity == 1 and (min(weights) >= 0 or max(weights) <= 0)


def _bound(sums: DualSums, tree: _Tree, order: Index) -> float:
    """Return an upper bound on the dual norms of the closed leaves and of the skip connection. Raises `Unproved`."""
    halves = [[sums.weights[i] * a / 2 for a in sums.rows[i]] for i in order]
    start = [a + sum((row[j] for row in halves), arb(0)) for j, a in enumerate(sums.linear)]
    bounds = [sums.skip()]
    for depth, leaves in tree.closed.items():
        v = [start] * len(leaves)
        if depth:
            decided = arb_mat([[int(s) for s in sides] for sides, _, _ in leaves]) * arb_mat(halves[:depth])
            v = [[a + b for a, b in zip(row, start, strict=True)] for row in decided.tolist()]
        bounds += bounds_of_leaves(v, halves[depth:], tree.halves[depth:], [(mu, tau) for _, mu, tau in leaves])
    return below_one(largest(bounds))
