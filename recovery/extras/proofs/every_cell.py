"""Prove that planted weights are the unique optimum of the gated program over all cells of the arrangement.

With lam such that M^T lam = u exactly (`unique_optimum`), every unplanted cell D = {i: x_i.h > 0} must satisfy
    ||c + sum_{i in D} t_i x_i|| < 1,        t = (1 - slope) lam, c = slope X^T lam.
A tree over the signs s of rows covers all cells. With z = t x / 2, each leaf, which fixes the signs of the first rows,
is one of the following:
- closed: with v = c + sum z + sum of s_i z_i over these rows, Q of the other rows (`recovery.conditions.cell_search`),
  any tau > 0, mu > max q / tau, orthonormal V, and q >= 0 with Q = V^T diag(q) V,
      1/2 (sum_j (V v)_j^2 / (mu - q_j / tau) + mu + tau) < 1;
- empty: integers y >= 0, not all zero, satisfy sum y_i s_i x_i = 0 (Gordan's theorem);
- a planted cell.
Floating-point arithmetic chooses the tree and all these numbers, but the proof does not rely on it: integers verify
each y, and ball arithmetic verifies each bound. V^T V = I + F and Q = V^T diag(q) V + E add
1/2 (mu ||F|| + ||E|| / tau) + ||F|| ||v|| to the bound.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat, fmpz_mat
from scipy.optimize import nnls

from recovery.conditions.cell_search import THIN, bound_over_sides, cell_point
from recovery.conditions.planes import spreads
from recovery.extras.proofs.balls import Unproved, at_rising_precision, dot, largest, length, matrix
from recovery.extras.proofs.everywhere import DualSums
from recovery.extras.proofs.exact_model import Balls, Model
from recovery.instances.arrangements import integer_rows
from recovery.types import Array, Codes, Index, Mask

GOAL = 1.0 - 1e-10
"""Target of floating-point bounds: below 1 by far more than rounding, and far less than the margins of verdicts."""
ABOVE = 1e-11


def prove_unique_in_every_cell(model: Model, lam: Array, nodes: int) -> float:
    """An upper bound below 1 on the dual norms of all cells that are not planted, and of an unplanted skip connection.

    nodes: limit of the size of the tree. Not for neurons normalised after the ReLU. Raises `Unproved`.
    """
    if model.architecture.normalizes_after:
        raise Unproved("proofs over all patterns cover one neuron normalised after the ReLU, not several")
    live = np.flatnonzero(model.X.any(axis=1))
    terms, start = at_rising_precision(lambda: _floats(DualSums(Balls(model), lam), live))
    # largest rows first, so that undecided rows can add least
    heaviest = np.argsort(-np.linalg.norm(terms, axis=1), kind="stable")
    order = live[heaviest]
    own = [g for g in model.support if not (model.linear and g == 0)]
    search = _Search(model.X[order], terms[heaviest] / 2, start, model.patterns[order][:, own].T)
    search.run(nodes)
    return at_rising_precision(lambda: _bound(DualSums(Balls(model), lam), search, order))


def _floats(sums: DualSums, rows: Index) -> tuple[Array, Array]:
    """t_i x_i of these rows (n, d), and c + their sum / 2 (d,), as floats."""
    terms = np.array([[float((sums.weights[i] * a).mid()) for a in sums.rows[i]] for i in rows])
    c = np.array([float(a.mid()) for a in sums.linear])
    return terms.reshape(len(rows), len(c)), c + terms.sum(axis=0) / 2


@dataclass
class _Search:
    """The tree over the signs of rows (m, d), with halves z (m, d), start (d,) and planted cells (k, m).

    closed: signs, mu and tau of the closed leaves, by depth. Empty leaves are verified as they are found.
    """

    rows: Array
    halves: Array
    start: Array
    planted: Mask
    closed: dict[int, list[tuple[Codes, float, float]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.vectors, self.values = spreads(self.halves)
        self.normals = self.rows / np.linalg.norm(self.rows, axis=1, keepdims=True)
        self.whole = integer_rows(self.rows)

    def run(self, nodes: int) -> None:
        """Grow the tree until every leaf is closed, empty or planted. Raises `Unproved`."""
        m, turned, point = len(self.rows), np.empty(len(self.start)), np.empty(self.rows.shape[1])
        pending: list[tuple[Codes, Array | None]] = [(np.zeros(0, dtype=np.int8), None)]
        while pending:
            nodes -= 1
            if nodes < 0:
                raise Unproved("the search over all patterns reached the limit of nodes")
            sides, inside = pending.pop()
            depth = len(sides)
            v = self.start + sides @ self.halves[:depth]
            above, mu, tau = bound_over_sides(v, self.vectors[depth], self.values[depth], turned, GOAL)
            if above <= GOAL:
                # mu + ABOVE is certainly above max q / tau, even if v is zero
                self.closed[depth].append((sides, mu + ABOVE, tau))
                continue
            if depth and inside is None:
                if cell_point(self.normals, sides, depth, point) == 1:
                    inside = point / np.linalg.norm(point)
                elif self.is_empty(sides):
                    continue
            if depth == m:
                if not (self.planted == (sides > 0)).all(axis=1).any():
                    raise Unproved(f"the dual norm over all patterns reaches {np.linalg.norm(v):.9g}")
                continue
            product = 0.0 if inside is None else float(self.normals[depth] @ inside)
            for side in (1, -1):
                kept = inside if side * product > THIN else None
                pending.append((np.append(sides, np.int8(side)), kept))

    def is_empty(self, sides: Codes) -> bool:
        """Whether integers prove that no point has these signs."""
        signed = self.normals[: len(sides)] * sides[:, None]
        # a convex combination equal to zero, with a minimal number of rows
        y, _ = nnls(np.vstack([signed.T, np.ones(len(sides))]), np.append(np.zeros(signed.shape[1]), 1.0))
        # for exactly dependent rows, rounding may leave small positive weights: try again without these rows
        return any(self._vanishes(sides, np.flatnonzero(y > least)) for least in (0.0, 1e-12))

    def _vanishes(self, sides: Codes, chosen: Index) -> bool:
        """Whether these signed rows have exactly one linear dependence, whose weights share one sign."""
        columns = [[int(sides[i]) * a for a in self.whole[i]] for i in chosen]
        null, nullity = fmpz_mat([list(row) for row in zip(*columns, strict=True)]).nullspace()
        weights = [int(row[0]) for row in null.tolist()]
        return nullity == 1 and (min(weights) >= 0 or max(weights) <= 0)


def _bound(sums: DualSums, search: _Search, order: Index) -> float:
    """An upper bound on the dual norms of the closed leaves and of the skip connection. Raises `Unproved`."""
    halves = [[sums.weights[i] * a / 2 for a in sums.rows[i]] for i in order]
    start = [a + sum((row[j] for row in halves), arb(0)) for j, a in enumerate(sums.linear)]
    bounds = [sums.skip()]
    for depth, leaves in search.closed.items():
        bounds += _closed(halves, start, search, depth, leaves)
    worst = largest(bounds)
    if not worst < 1:
        raise Unproved(f"the bound on the dual norm over all patterns is {worst:.8g}, not below 1")
    return worst


def _closed(
    halves: list[list[arb]], start: list[arb], search: _Search, depth: int, leaves: list[tuple[Codes, float, float]]
) -> list[arb]:
    """Upper bounds on the dual norms of the closed leaves (signs, mu, tau) of one depth (see the module).

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
