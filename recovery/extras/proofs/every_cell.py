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

For neurons normalised after the ReLU the cells are enumerated in integers, however thin, and the norms of all of them
bounded (`unique_optimum`).
"""

from dataclasses import replace

import numpy as np

from recovery.conditions.balls import Unproved, at_rising_precision, below_one, largest
from recovery.conditions.cell_search import THIN, bound_over_sides, cell_point
from recovery.conditions.exact_model import Balls, Model
from recovery.conditions.planes import Planes, planes_of
from recovery.extras.proofs.dual_sums import DualSums, cleared
from recovery.extras.proofs.leaves import GOAL, bounds_of_leaves
from recovery.extras.proofs.unique_optimum import prove_unique
from recovery.instances.all_ones import decide_exactly
from recovery.instances.arrangements import enumerate_cells
from recovery.types import Array, Codes


def prove_unique_in_every_cell(model: Model, lam: Array, nodes: int) -> float:
    """Return a bound below 1 on the dual norms of all cells that are not planted, and of an unplanted skip connection.

    nodes: limit of the size of the tree, or of the number of cells. Raises `Unproved`.
    """
    if model.architecture.normalizes_after:
        return _by_enumeration(model, cleared(lam, model.X), nodes)
    planes = at_rising_precision(lambda: planes_of(DualSums(Balls(model), lam).floats()))
    sides = _grow(model, planes, nodes)

    def bound() -> float:
        sums = DualSums(Balls(model), lam)
        terms, rest = sums.terms(planes.order)
        factors = np.where(sides == 0, 0.5, sides > 0)
        bounds = bounds_of_leaves(terms, sums.linear, sides == 0, factors)
        return below_one(largest([sums.skip(), *(bound + rest for bound in bounds)]))

    return at_rising_precision(bound)


def _by_enumeration(model: Model, lam: Array, nodes: int) -> float:
    cells, live = enumerate_cells(model.X, artefacts=True)[0], model.X.any(axis=1)
    if cells.shape[1] > nodes:
        raise Unproved("the search over all patterns reached the limit of nodes")
    known = model.patterns[live, int(model.linear) :]
    others = [cell for cell in cells.T if cell[live].any() and not (known == cell[live, None]).all(axis=0).any()]
    return prove_unique(replace(model, patterns=np.column_stack([model.patterns, *others])), lam)


def _grow(model: Model, planes: Planes, nodes: int) -> Codes:
    """Grow the tree until every leaf is closed, empty or planted; return the sides (k, m) of the closed leaves, 0 if
    open. Raises `Unproved`.
    """
    rows, planted = model.X[planes.order], model.patterns[planes.order][:, model.neuron_groups].T
    (m, d), normals, closed = rows.shape, planes.normals, list[Codes]()
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
        if bound_over_sides(v, planes.vectors[depth], planes.values[depth], turned, goal)[0] <= goal:
            closed.append(np.pad(sides, (0, m - depth)))
            continue
        if depth and inside is None:
            if cell_point(normals, sides, depth, point) == 1:
                inside = point / np.linalg.norm(point)
            elif not decide_exactly(rows[:depth] * sides[:, None]).exists:
                continue
        if depth == m:
            if not (planted == (sides > 0)).all(axis=1).any():
                raise Unproved(f"the dual norm over all patterns reaches {planes.scale * np.linalg.norm(v):.9g}")
            continue
        product = 0.0 if inside is None else float(normals[depth] @ inside)
        for side in (1, -1):
            kept = inside if side * product > THIN else None
            pending.append((np.append(sides, np.int8(side)), kept))
    return np.array(closed, dtype=np.int8).reshape(len(closed), m)
