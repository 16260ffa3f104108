"""Proved bounds on the largest dual norm over all patterns, for a dual point lam of an exact or gated program.

With rows x_i of B, t = (1 - slope) lam and c = slope B^T lam, over all patterns
    the exact dual requires |lam.activation(B v)| <= penalty for all unit v: for each sign the maximum of
        f(v) = c.v + sum_i t_i (x_i.v)_+,        bounded from above by `recovery.conditions.branching`;
    the gated dual requires ||A_D^T lam|| <= penalty for all cells D = {i: x_i.h > 0}: the maximum of
        ||c + sum_{i in D} t_i x_i||,            bounded from above by `recovery.conditions.cell_search`.
For neurons normalised after the ReLU the maxima are those of lam.(B v)_+ / ||(B v)_+||, which
`branching` bounds too, and of ||P_D lam||, with P_D the projection on the range of the rows D. A partial cell bounds
the latter hardly better than ||lam||, so all cells are enumerated.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from recovery.conditions.branching import branch
from recovery.conditions.cell_search import search_cells
from recovery.conditions.planes import RowSum, planes_of, spreads
from recovery.errors import ParameterError
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.groups import Groups
from recovery.programs.orthonormal import PROJECTED, projection_norms, range_is_sure
from recovery.types import Array, Index, Mask

TOLERANCE = 1e-8
"""Largest distance between the bounds, relative to sum_i |t_i| ||x_i|| + ||c||, which bounds f."""
ROUNDING = 1e-11
"""Rounding of a bound, relative to the same sum."""
LEAF_ROUNDING = 1e-12
"""Rounding of the bounds and sums of a leaf, relative to the same sum."""
RANK = 1e-12
"""Entries of lam below this, relative to its norm, count as zero for neurons normalised after the ReLU."""
TINY = 1e-30
"""Rows with |t_i| ||x_i|| up to this, relative to the sum, are left out; their squares could underflow."""
NO_SPREAD = np.empty((0, 0, 0)), np.empty((0, 0))


@dataclass(frozen=True)
class Bounds:
    """Bounds lower <= maximum <= upper; `lower` is attained at the unit vector `point`, in its cell, or at 0.

    cones: number of cones, or of cells of all depths, examined.
    """

    lower: float
    upper: float
    point: Array
    cones: int


def exact_dual(
    groups: Groups, lam: Array, sign: float, *, limit: float, known: Mask | None = None, nodes: int, stop: bool = False
) -> Bounds:
    """Bound max {sign lam.activation(B v): ||v|| <= 1} over all v (r,); options as for `largest_neuron`.

    For neurons normalised after the ReLU the constraint is ||(B v)_+|| <= 1.
    """
    f = image_values(groups.base, sign * lam) if groups.orthonormal else neuron_values(RowSum.of(groups, sign * lam))
    return largest_neuron(f, limit=limit, known=known, nodes=nodes, stop=stop)


def gated_dual(groups: Groups, features: Array, lam: Array, *, known: Mask | None = None, nodes: int) -> Bounds:
    """Bound max ||A_D^T lam|| over all patterns D of the features (n, d'); options as for `largest_cell`."""
    if groups.orthonormal:
        return _largest_projection(groups, features, lam, known, nodes)
    return largest_cell(RowSum.of(groups, lam), known=known, nodes=nodes)


def _largest_projection(groups: Groups, features: Array, lam: Array, known: Mask | None, nodes: int) -> Bounds:
    """Bound max ||P_D lam|| over all patterns D: from above by ||lam|| if these are too many, or more than `nodes`.

    Where rounding decides the range of D, ||D lam|| is an upper bound.
    """
    live = groups.base.any(axis=1)
    scale = float(np.linalg.norm(lam[live]))
    unknown = Bounds(0.0, scale, np.zeros(groups.rank), 0)
    if scale == 0.0:
        return unknown
    try:
        cells, points = _cells(groups.base.tobytes(), groups.rank)
    except ParameterError:  # there could be too many cells
        return unknown
    if cells.shape[1] > nodes:
        return unknown
    unsure = np.zeros(cells.shape[1], dtype=np.bool_)
    values = projection_norms(groups.base, cells, lam, unsure)
    lengths = np.linalg.norm(cells * (lam * live)[:, None], axis=0)
    for column in () if known is None else known.T:
        excluded = (cells == column[:, None])[live].all(axis=0)
        values[excluded] = lengths[excluded] = 0.0
    best = int(np.argmax(values))
    value, point = float(values[best]), points[:, best] / np.linalg.norm(points[:, best])
    more = [lengths[j] for j in np.flatnonzero(unsure & (lengths > value)) if not range_is_sure(features, cells[:, j])]
    return Bounds(value, max([value, *more]) + PROJECTED * scale, point, cells.shape[1])


@lru_cache(maxsize=1)
def _cells(base: bytes, rank: int) -> tuple[Mask, Array]:
    """Return `enumerate_cells` of the bytes of a base (n, rank), cached because column generation repeats the call."""
    return enumerate_cells(np.frombuffer(base).reshape(-1, rank))


@dataclass(frozen=True)
class NeuronValues:
    """A function of neurons u divided by `scale`, for `branch`: c.u + sum (up.u)_+ - sum (down.u)_+ for ||u|| <= 1, or
    c.a / ||a|| if `normalised`.

    scale bounds it, so that tolerances are absolute, and `most` is another bound, divided by scale. rising, falling:
    the rows in `up`, with t_i > 0 or lam_i > 0, and in `down`. rounding: of a bound.
    """

    up: Array
    down: Array
    c: Array
    rising: Index
    falling: Index
    scale: float
    normalised: bool = False
    most: float = 1.0
    rounding: float = ROUNDING

    def floor(self, limit: float) -> float:
        """Return the limit for `branch` such that its bound, with tolerance and rounding added, is at most `limit`."""
        return max(limit / self.scale - TOLERANCE - 2 * self.rounding, 0.0)

    def cells(self, known: Mask | None) -> Mask:
        """Return known patterns (n, k) as the cells (k, m) of the x_i that `branch` excludes."""
        if known is None:
            return np.empty((0, len(self.up)), dtype=np.bool_)
        return np.ascontiguousarray(known[self.rising].T)

    def search(self, known: Mask | None, floor: float, nodes: int, *, stop: bool, record: bool = False) -> Any:
        """Return the result of `branch`, off the known patterns (n, k)."""
        spread = NO_SPREAD if self.normalised else spreads(self.up / 2)
        given = self.up, self.down, self.c, spread, self.normalised, self.cells(known)
        return branch(*given, floor, TOLERANCE, nodes, stop, record)

    def cell_bound(self, on: Mask) -> float:
        """Bound the function over a cell of the x_i by the norm that `cell_numbers` minimises."""
        y = self.cell_numbers(on)
        A = np.vstack([self.up, -self.down]).T
        return float(np.linalg.norm(self.c + A @ y)) + 1e-15 * len(y) * float(np.linalg.norm(A, axis=0) @ np.abs(y))

    def cell_numbers(self, on: Mask) -> Array:
        """Return y, a of least ||c + sum y_i x_i - sum a_j z_j||; y_i >= 1 if `on`, otherwise y_i <= 0."""
        lowest = np.concatenate([np.where(on, 1.0, -np.inf), np.zeros(len(self.down))])
        highest = np.concatenate([np.where(on, np.inf, 0.0), np.ones(len(self.down))])
        A = np.vstack([self.up, -self.down]).T
        nearest: Any = scipy.optimize.lsq_linear(A, -self.c, (lowest, highest), method="bvls", tol=1e-14)
        y: Array = np.clip(nearest.x, lowest, highest)
        return y


def neuron_values(total: RowSum) -> NeuronValues:
    """Return (c.u + sum_i t_i (x_i.u)_+) / scale. `branch` splits large rows of `up` first: they are sorted by norm."""
    weights, sizes, scale = total.weights, total.sizes, total.scale
    rising, falling = (np.flatnonzero((sign * weights > 0) & (sizes > TINY * scale)) for sign in (1, -1))
    rising = rising[np.argsort(-sizes[rising], kind="stable")]
    scaled = total.rows * (weights / scale)[:, None]
    return NeuronValues(scaled[rising], -scaled[falling], total.linear / scale, rising, falling, scale)


def image_values(base: Array, lam: Array) -> NeuronValues:
    """Return lam.a / ||a||, a = (B v)_+, for neurons normalised after the ReLU, and B (n, r) of orthonormal columns."""
    scale = float(np.linalg.norm(lam)) or 1.0
    # set entries of lam that are zero up to rounding to 0, because the search would split at them. Values change by
    # less than the norm of these entries, at most sqrt(n) RANK of the norm of lam
    lam = np.where(np.abs(lam) > RANK * scale, lam / scale, 0.0)
    live = base.any(axis=1)
    rising, falling = np.flatnonzero(live & (lam > 0)), np.flatnonzero(live & (lam <= 0))
    c, most = lam[np.append(rising, falling)], float(np.linalg.norm(np.maximum(lam, 0.0)))
    rounding = ROUNDING + RANK * float(np.sqrt(len(lam)))
    return NeuronValues(base[rising], base[falling], c, rising, falling, scale, True, most, rounding)


def largest_neuron(
    f: NeuronValues, *, limit: float = 0.0, known: Mask | None = None, nodes: int = 2_000_000, stop: bool = False
) -> Bounds:
    """Bound the largest value of a neuron.

    limit: smaller values are not resolved; the upper bound may exceed it by a tolerance. nodes: largest number of
    cones. stop: end at the first value above the limit, with a crude upper bound. known (n, k): excluded patterns D,
    each with all patterns that agree with it where t > 0: there f(u) <= (c + sum_{i in D} t_i x_i).u.
    """
    floor = f.floor(limit)
    value, point, bound, count, left, _, _ = f.search(known, floor, nodes, stop=stop)
    if np.isfinite(bound) and len(left) and not f.normalised:
        # cells on which coordinate descent in `branch` did not converge are bounded again by an active-set method. Any
        # numbers within their limits give a valid bound
        bound = max([max(value, floor) + TOLERANCE, *(f.cell_bound(on) for on in np.unique(left, axis=0))])
    return Bounds(float(value) * f.scale, (min(float(bound), f.most) + f.rounding) * f.scale, point, int(count))


def largest_cell(total: RowSum, *, known: Mask | None = None, nodes: int = 2_000_000) -> Bounds:
    """Bound max ||c + sum_{i in D} t_i x_i|| over cells D.

    nodes: largest number of cells of all depths; the bounds of cells not searched then enter the upper bound. known
    (n, k): excluded cells. Cells thinner than `THIN` do not count, but the upper bound includes cells if rounding
    decides whether they are that thin.
    """
    p = planes_of(total, known)
    value, point, bound, count = search_cells(
        p.normals, p.halves, p.start, p.vectors, p.values, p.excluded, LEAF_ROUNDING, nodes
    )
    return Bounds(float(value) * p.scale, float(bound) * p.scale, point, int(count))
