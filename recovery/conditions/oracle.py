"""Proved bounds on the largest dual norm over all patterns, for a dual point lam of an exact or gated program.

With rows x_i of B, t = (1 - slope) lam and c = slope B^T lam, over all patterns
    the exact dual requires |lam.activation(B v)| <= penalty for all unit v: for each sign the maximum of
        f(v) = c.v + sum_i t_i (x_i.v)_+,        bounded from above by `recovery.conditions.branching`;
    the gated dual requires ||A_D^T lam|| <= penalty for all cells D = {i: x_i.h > 0}: the maximum of
        ||c + sum_{i in D} t_i x_i||,            bounded from above by `recovery.conditions.cell_search`.
For neurons normalised after the ReLU the maxima are those of lam.(B v)_+ / ||(B v)_+|| and of ||P_D lam||, with P_D the
projection on the range of the rows D. `recovery.conditions.normalised` and `projections` bound these.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from recovery.conditions.branching import branch
from recovery.conditions.cell_search import search_cells
from recovery.conditions.normalised import branch_normalised
from recovery.conditions.planes import planes_of
from recovery.conditions.projections import largest_projection
from recovery.errors import ParameterError
from recovery.programs.groups import Groups
from recovery.types import Array, Mask

TOLERANCE = 1e-8
"""Largest distance between the bounds, relative to sum_i |t_i| ||x_i|| + ||c||, which bounds f."""
ROUNDING = 1e-11
"""Rounding of a bound, relative to the same sum. After 20 sweeps the error of each coordinate of z is about 1e-14."""
LEAF_ROUNDING = 1e-12
"""Rounding of the bounds and sums of a leaf, relative to the same sum."""
RANK = 1e-12
"""Parts of rows below this, relative to the largest, are left out of a basis. The bounds include their largest effect
on f."""


@dataclass(frozen=True)
class Bounds:
    """Bounds lower <= maximum <= upper; `lower` is attained at the unit vector `point`, in its cell, or at 0.

    cones: number of cones, or of cells of all depths, examined.
    """

    lower: float
    upper: float
    point: Array
    cones: int

    def below(self, limit: float) -> bool:
        """Return whether the maximum is proved to be at most `limit`."""
        return self.upper <= limit


def exact_dual(
    groups: Groups, lam: Array, sign: float, *, limit: float, known: Mask | None = None, nodes: int, stop: bool = False
) -> Bounds:
    """Bound max {sign lam.activation(B v): ||v|| <= 1} over all v (r,); options as for `largest_neuron`.

    For neurons normalised after the ReLU the constraint is ||(B v)_+|| <= 1.
    """
    if groups.orthonormal:
        return _normalised_neuron(groups.base, sign * lam, limit, known, nodes, stop)
    weights, linear = dual_terms(groups, sign * lam)
    return largest_neuron(groups.base, weights, linear, limit=limit, known=known, nodes=nodes, stop=stop)


def gated_dual(
    groups: Groups, lam: Array, *, limit: float = 0.0, known: Mask | None = None, nodes: int, stop: bool = False
) -> Bounds:
    """Bound max ||A_D^T lam|| over all patterns D; options as for `largest_cell`.

    stop: for neurons normalised after the ReLU, end at the first value above the limit, without an upper bound.
    """
    if groups.orthonormal:
        known = np.empty((groups.n, 0), dtype=np.bool_) if known is None else known
        value, point, bound, count = largest_projection(groups.base, lam, known, limit, nodes, stop)
        return Bounds(value, bound, point, count)
    weights, linear = dual_terms(groups, lam)
    return largest_cell(groups.base, weights, linear, known=known, nodes=nodes)


def _normalised_neuron(base: Array, lam: Array, limit: float, known: Mask | None, nodes: int, stop: bool) -> Bounds:
    scale = float(np.linalg.norm(lam))
    # set entries of lam that are zero up to rounding to 0, because the search would split at them. Values change by
    # less than the sum of these entries
    lam = np.where((np.abs(lam) > RANK * scale) & base.any(axis=1), lam, 0.0)
    if not lam.any():
        return Bounds(0.0, 0.0, np.zeros(base.shape[1]), 0)
    cells = np.empty((0, len(base)), dtype=np.bool_) if known is None else np.ascontiguousarray(known.T)
    floor = max(limit / scale - TOLERANCE - 2 * ROUNDING, 0.0)
    value, point, bound, count, _, _ = branch_normalised(base, lam / scale, cells, floor, TOLERANCE, nodes, stop, False)
    # ||lam_+|| is an upper bound for every neuron
    upper = min(bound, float(np.linalg.norm(np.maximum(lam, 0.0))) / scale) + ROUNDING
    return Bounds(float(value) * scale, float(upper) * scale, point, int(count))


def count_roots(groups: Groups, lam: Array, sign: float) -> int:
    """Return the number of cones that the search of `exact_dual` starts from; 1 for neurons normalised after ReLU."""
    turned = None if groups.orthonormal else turn(groups.base, *dual_terms(groups, sign * lam))
    return 1 if turned is None else 2**turned.r


def dual_terms(groups: Groups, lam: Array) -> tuple[Array, Array]:
    """Return t (n,) and c (r,) of a dual point: the part that depends on the pattern, and the part that does not.

    Raises `ParameterError` for groups whose columns are orthonormal.
    """
    if groups.orthonormal:
        raise ParameterError("the dual norm of normalised neurons is not a sum over rows")
    return (1.0 - groups.slope) * lam, groups.slope * (groups.base.T @ lam)


def largest_neuron(
    rows: Array,
    weights: Array,
    linear: Array | None = None,
    *,
    limit: float = 0.0,
    known: Mask | None = None,
    nodes: int = 2_000_000,
    stop: bool = False,
) -> Bounds:
    """Bound max {c.u + sum_i t_i (x_i.u)_+ : ||u|| <= 1} for rows (n, d), weights t (n,) and linear c (d,).

    limit: smaller values are not resolved; the upper bound may exceed it by a tolerance. nodes: largest number of
    cones. stop: end at the first value above the limit, with a crude upper bound. known (n, k): excluded patterns D,
    each with all patterns that agree with it where t > 0: there f(u) <= (c + sum_{i in D} t_i x_i).u.
    """
    turned = turn(rows, weights, linear)
    if turned is None:
        return Bounds(0.0, 0.0, np.zeros(rows.shape[1]), 0)
    up, down, c, scale, lost = turned.up, turned.down, turned.c, turned.scale, turned.lost
    cells = turned.cells(known)
    floor = turned.floor(limit)
    crude = (_crude_bound(up, down, c) + lost + ROUNDING) * scale
    if 2**turned.r > nodes:  # the search needs a node for each of the 2^r roots, so it could not finish
        return Bounds(0.0, float(crude), np.zeros(rows.shape[1]), 0)
    value, point, bound, cones, left, _, _ = branch(
        up, down, c, (turned.r, 0, 2**turned.r), cells, floor, TOLERANCE, nodes, stop, False
    )
    if np.isfinite(bound) and len(left):
        # cells on which coordinate descent in `branch` did not converge are bounded again by an active-set method. Any
        # multipliers y within their limits give a valid bound
        solved = [_cell_bound(up, down, c, on) for on in np.unique(left, axis=0)]
        bound = max([max(value, floor) + TOLERANCE, *solved])
    upper = min(bound * scale + (lost + ROUNDING) * scale, crude)
    return Bounds(float(value) * scale, float(upper), point @ turned.basis, int(cones))


@dataclass(frozen=True)
class Turned:
    """f in the coordinates of `branch`: f(v) = scale (c.w + sum (up.w)_+ - sum (down.w)_+ +- lost), w = basis v.

    basis (k, d): rows that are orthonormal up to rounding; `up` is non-zero in the first r coordinates only. rising,
    falling (n,): the rows with weights above and below zero.
    """

    up: Array
    down: Array
    c: Array
    r: int
    basis: Array
    rising: Mask
    falling: Mask
    scale: float
    lost: float

    def floor(self, limit: float) -> float:
        """Return the limit for `branch` whose bound, with tolerance and rounding added, is at most `limit`."""
        return max(limit / self.scale - TOLERANCE - self.lost - 2 * ROUNDING, 0.0)

    def cells(self, known: Mask | None) -> Mask:
        """Return known patterns (n, k) as the cells (k, m) of the x_i that `branch` excludes."""
        if known is None:
            return np.empty((0, len(self.up)), dtype=np.bool_)
        return np.ascontiguousarray(known[self.rising].T)


def turn(rows: Array, weights: Array, linear: Array | None = None) -> Turned | None:
    """Transform the function of `largest_neuron` for `branch`; None where it is zero."""
    c = np.zeros(rows.shape[1]) if linear is None else linear
    sizes = np.abs(weights) * np.linalg.norm(rows, axis=1)
    # |f| <= scale on the unit ball. f is divided by this scale, so that all tolerances are absolute
    scale = float(sizes.sum()) + float(np.linalg.norm(c))
    if scale == 0.0:
        return None
    rising, falling = (weights > 0) & (sizes > 0), (weights < 0) & (sizes > 0)
    scaled = np.vstack([rows * weights[:, None], c]) / scale
    # the first r coordinates span the rows with t_i > 0, and `branch` starts from the 2^r orthants of these
    # coordinates; other rows may have more coordinates
    basis, r = _coordinates(scaled[:-1][rising], scaled)
    turned = scaled @ basis.T
    # lost: the parts of the rows outside this basis are dropped, which changes f by at most the sum of their lengths
    lost = float(np.linalg.norm(scaled - turned @ basis, axis=1).sum())
    lost += float(np.linalg.norm(turned[:-1][rising][:, r:], axis=1).sum())
    turned[:-1][rising, r:] = 0.0
    up, down = turned[:-1][rising], -turned[:-1][falling]
    return Turned(up, down, turned[-1], r, basis, rising, falling, scale, lost)


def _coordinates(up: Array, everything: Array) -> tuple[Array, int]:
    """Return orthonormal rows that span `everything`, and r: the first r of them span `up`."""
    # project on the complement of `first` twice: after one projection, rounding errors along `first` are not small
    # compared with a small remainder
    first = _basis(up)
    rest = everything - (everything @ first.T) @ first
    return np.vstack([first, _basis(rest - (rest @ first.T) @ first, RANK * float(np.abs(everything).max()))]), len(
        first
    )


def _basis(rows: Array, smallest: float = 0.0) -> Array:
    """Return orthonormal rows (r, d) that span `rows`, by pivoted QR; directions up to `smallest` are left out."""
    if not len(rows):
        return np.empty((0, rows.shape[1]))
    Q, R, _ = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.ascontiguousarray(Q.T[diagonal > max(RANK * diagonal[0], smallest)])


def _crude_bound(up: Array, down: Array, c: Array) -> float:
    """Bound f for a search that ends early: the sum of m terms (x_i.u)_+ is at most sqrt(m) times ||up||_2."""
    largest = float(np.linalg.norm(up, 2)) * np.sqrt(len(up)) if len(up) else 0.0
    return min(largest, float(np.linalg.norm(up, axis=1).sum())) + float(np.linalg.norm(c))


def _cell_bound(up: Array, down: Array, c: Array, on: Mask) -> float:
    """Bound f over a cell by the norm of c + sum y_i x_i - sum a_j z_j at the multipliers of `cell_multipliers`."""
    y = cell_multipliers(up, down, c, on)
    A = np.vstack([up, -down]).T
    return float(np.linalg.norm(c + A @ y)) + 1e-15 * len(y) * float(np.linalg.norm(A, axis=0) @ np.abs(y))


def cell_multipliers(up: Array, down: Array, c: Array, on: Mask) -> Array:
    """Return y, a of least ||c + sum y_i x_i - sum a_j z_j||, y_i >= 1 if `on`, otherwise y_i <= 0, a_j in [0, 1]."""
    lowest = np.concatenate([np.where(on, 1.0, -np.inf), np.zeros(len(down))])
    highest = np.concatenate([np.where(on, np.inf, 0.0), np.ones(len(down))])
    A = np.vstack([up, -down]).T
    nearest: Any = scipy.optimize.lsq_linear(A, -c, (lowest, highest), method="bvls", tol=1e-14)
    y: Array = np.clip(nearest.x, lowest, highest)
    return y


def largest_cell(
    rows: Array,
    weights: Array,
    linear: Array | None = None,
    *,
    limit: float = 0.0,
    known: Mask | None = None,
    nodes: int = 2_000_000,
) -> Bounds:
    """Bound max ||c + sum_{i in D} t_i x_i|| over cells D of rows (n, d), weights t (n,) and linear c (d,).

    limit: smaller values are not resolved; the upper bound may exceed it by rounding. nodes: largest number of cells of
    all depths; the bounds of cells not searched then enter the upper bound. known (n, k): excluded cells. Cells thinner
    than `THIN` do not count, but the upper bound includes cells if rounding decides whether they are that thin.
    """
    d = rows.shape[1]
    planes = planes_of(rows, weights, linear, known)
    if planes is None:
        return Bounds(0.0, 0.0, np.zeros(d), 0)
    value, point, bound, count = search_cells(
        planes.normals,
        planes.halves,
        planes.start,
        planes.vectors,
        planes.values,
        planes.excluded,
        limit / planes.scale,
        LEAF_ROUNDING,
        nodes,
    )
    return Bounds(float(value) * planes.scale, float(bound) * planes.scale, point, int(count))
