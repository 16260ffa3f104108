"""Prove that planted weights are the unique optimum of the gated program over all cells of the arrangement.

With lam such that M^T lam = u exactly (`unique_optimum`), every unplanted cell D = {i: x_i.h > 0} must satisfy
    ||c + sum_{i in D} t_i x_i|| < 1,        t = (1 - slope) lam, c = slope X^T lam.
A tree over the signs s of rows covers all cells. Each leaf fixes the signs of the first rows, and is one of these:
- closed: with z = t x / 2, v = c + sum z + sum of s_i z_i over the rows whose signs it fixes, Q of the other rows
  (`recovery.conditions.cell_search`), any tau > 0 and M = mu I - Q / tau positive definite,
      1/2 (v.M^{-1} v + mu + tau) < 1;
- empty: some y >= 0, y != 0 has sum y_i s_i x_i = 0 (Gordan's theorem, in integers: `recovery.instances.hulls`);
- a planted cell.
Floating-point arithmetic chooses the tree, mu and tau. Ball arithmetic verifies each bound.
"""

from collections import defaultdict

import numpy as np
from flint import arb, arb_mat
from scipy.optimize import nnls

from recovery.conditions.balls import Unproved, at_rising_precision, below_one, dot, largest, length
from recovery.conditions.cell_search import THIN, bound_over_sides, cell_point
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.planes import Planes, planes_of
from recovery.extras.proofs.dual_sums import DualSums
from recovery.extras.proofs.leaves import ABOVE, bounds_of_leaves
from recovery.instances.hulls import separate
from recovery.types import Array, Codes

GOAL = 1.0 - 1e-10
"""Target of floating-point bounds: below 1 by far more than rounding, and far less than the margins of verdicts."""
Leaves = dict[int, list[tuple[Codes, float, float]]]
"""Depth -> its closed leaves: signs of the first rows, mu and tau."""


def prove_unique_in_every_cell(model: Model, lam: Array, nodes: int) -> float:
    """Return a bound below 1 on the dual norms of all cells that are not planted, and of an unplanted skip connection.

    nodes: limit of the size of the tree. Not for neurons normalised after the ReLU. Raises `Unproved`.
    """
    planes = at_rising_precision(lambda: planes_of(DualSums(Balls(model), lam).floats()))
    if planes is None:
        raise Unproved("the dual is zero")
    closed = _grow(model, planes, nodes)
    return at_rising_precision(lambda: _bound(DualSums(Balls(model), lam), planes, closed))


def _grow(model: Model, planes: Planes, nodes: int) -> Leaves:
    """Grow the tree until every leaf is closed, empty or planted. Raises `Unproved`."""
    rows, planted = model.X[planes.order], model.patterns[planes.order][:, model.neuron_groups].T
    (m, d), normals, closed = rows.shape, planes.normals, defaultdict(list)
    point, turned = np.empty(d), np.empty(len(planes.start))
    pending: list[tuple[Codes, Array | None]] = [(np.zeros(0, dtype=np.int8), None)]
    while pending:
        nodes -= 1
        if nodes < 0:
            raise Unproved("the search over all patterns reached the limit of nodes")
        sides, inside = pending.pop()
        depth = len(sides)
        v = planes.start + sides @ planes.halves[:depth]
        goal = GOAL / planes.scale
        above, mu, tau = bound_over_sides(v, planes.vectors[depth], planes.values[depth], turned, goal)
        if above <= goal:
            # mu + ABOVE is certainly above max q / tau, even if v is zero
            closed[depth].append((sides, planes.scale * (mu + ABOVE), planes.scale * tau))
            continue
        if depth and inside is None:
            if cell_point(normals, sides, depth, point) == 1:
                inside = point / np.linalg.norm(point)
            elif _is_empty(rows[:depth] * sides[:, None], normals[:depth] * sides[:, None]):
                continue
        if depth == m:
            if not (planted == (sides > 0)).all(axis=1).any():
                raise Unproved(f"the dual norm over all patterns reaches {planes.scale * np.linalg.norm(v):.9g}")
            continue
        product = 0.0 if inside is None else float(normals[depth] @ inside)
        for side in (1, -1):
            kept = inside if side * product > THIN else None
            pending.append((np.append(sides, np.int8(side)), kept))
    return closed


def _is_empty(signed: Array, units: Array) -> bool:
    """Return whether integers prove that no point has positive products with the signed rows (k, d)."""
    # a convex combination of the unit rows that is zero up to rounding has a minimal number of rows
    y, _ = nnls(np.vstack([units.T, np.ones(len(units))]), np.append(np.zeros(units.shape[1]), 1.0))
    chosen = np.flatnonzero(y > 0)
    return chosen.size > 0 and not separate(signed[chosen], np.arange(len(chosen)))[0]


def _bound(sums: DualSums, planes: Planes, closed: Leaves) -> float:
    """Return an upper bound on the dual norms of the closed leaves and of the skip connection. Raises `Unproved`."""
    terms = [[sums.weights[i] * a / 2 for a in row] for i, row in enumerate(sums.rows)]
    halves = [terms[i] for i in planes.order]
    # rows whose length underflows have no plane: their terms are added to every bound
    left_out = np.setdiff1d(np.arange(len(terms)), planes.order)
    rest = sum((2 * length(dot(terms[i], terms[i])) for i in left_out), arb(0))
    start = [a + sum((row[j] for row in halves), arb(0)) for j, a in enumerate(sums.linear)]
    bounds: list[arb] = []
    for depth, leaves in closed.items():
        v = [start] * len(leaves)
        if depth:
            decided = arb_mat([[int(s) for s in sides] for sides, _, _ in leaves]) * arb_mat(halves[:depth])
            v = [[a + b for a, b in zip(row, start, strict=True)] for row in decided.tolist()]
        bounds += bounds_of_leaves(v, halves[depth:], planes.halves[depth:], [(mu, tau) for _, mu, tau in leaves])
    return below_one(largest([sums.skip(), *(bound + rest for bound in bounds)]))
