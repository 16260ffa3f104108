"""How far a dual point of an exact program is from feasible, over all neurons in every pattern: with a proof.

Over all patterns the dual says |lam.activation(B v)| <= penalty for all unit v. Its two signs are maxima of
    f(v) = c.v + sum_i t_i (x_i.v)_+
with rows x_i of B, t = (1 - slope) lam and c = slope B^T lam, which `recovery.conditions.branching` bounds from above.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from recovery.conditions.branching import branch
from recovery.errors import ParameterError
from recovery.programs.groups import Groups
from recovery.types import Array, Mask

TOLERANCE = 1e-8
"""How far the bounds may lie apart, relative to sum_i |t_i| ||x_i||, which bounds f."""
ROUNDING = 1e-11
"""Of the same sum: z is off by some 1e-14 of it after 20 sweeps, and by as much in each of r coordinates."""
RANK = 1e-12
"""Parts of rows this small, relative to the largest, are left out of a basis; what they can be worth is added."""


@dataclass(frozen=True)
class Bounds:
    """lower <= maximum <= upper; f is `lower` at the unit vector `point`, or at 0. cones: those looked at."""

    lower: float
    upper: float
    point: Array
    cones: int

    def below(self, limit: float) -> bool:
        """Whether the maximum is proved to be at most `limit`."""
        return self.upper <= limit


def exact_dual(
    groups: Groups, lam: Array, sign: float, *, limit: float, known: Mask | None = None, nodes: int, stop: bool = False
) -> Bounds:
    """Bounds on max {sign lam.activation(B v): ||v|| <= 1} over all v (r,); options as `largest_neuron`.

    Not for normalised neurons, whose norm is not that of v. Raises `ParameterError`.
    """
    if groups.orthonormal:
        raise ParameterError("the dual of normalised neurons is not bounded over all patterns")
    t = sign * lam
    linear = groups.slope * (groups.base.T @ t) if groups.slope else None
    return largest_neuron(
        groups.base, (1.0 - groups.slope) * t, linear, limit=limit, known=known, nodes=nodes, stop=stop
    )


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
    """Bounds on max {c.u + sum_i t_i (x_i.u)_+ : ||u|| <= 1} for rows (n, d), weights t (n,) and linear c (d,).

    limit: up to where the value is of no interest: the upper bound stays above it by a tolerance. nodes: the most
    cones. stop: end at the first value above the limit, without an upper bound. known (n, k): patterns D that are left
    out, and with each all that agree with it where t > 0: there f(u) <= (c + sum_{i in D} t_i x_i).u.
    """
    d = rows.shape[1]
    c = np.zeros(d) if linear is None else linear
    sizes = np.abs(weights) * np.linalg.norm(rows, axis=1)
    scale = float(sizes.sum()) + float(np.linalg.norm(c))
    if scale == 0.0:
        return Bounds(0.0, 0.0, np.zeros(d), 0)
    rising, falling = (weights > 0) & (sizes > 0), (weights < 0) & (sizes > 0)
    scaled = np.vstack([rows * weights[:, None], c]) / scale
    basis, r = _coordinates(scaled[:-1][rising], scaled)
    turned = scaled @ basis.T
    lost = float(np.linalg.norm(scaled - turned @ basis, axis=1).sum())
    lost += float(np.linalg.norm(turned[:-1][rising][:, r:], axis=1).sum())
    turned[:-1][rising, r:] = 0.0
    up, down, c = turned[:-1][rising], -turned[:-1][falling], turned[-1]
    cells = np.empty((0, len(up)), dtype=np.bool_) if known is None else np.ascontiguousarray(known[rising].T)
    floor = max(limit / scale - TOLERANCE - lost - 2 * ROUNDING, 0.0)
    value, point, bound, cones, left = branch(up, down, c, r, cells, floor, TOLERANCE, nodes, stop)
    if np.isfinite(bound) and len(left):
        solved = [_cell_bound(up, down, c, on) for on in np.unique(left, axis=0)]
        bound = max([max(value, floor) + TOLERANCE, *solved])
    upper = min(bound, _crude_bound(up, down, c)) * scale + (lost + ROUNDING) * scale
    return Bounds(float(value) * scale, float(upper), point @ basis, int(cones))


def _coordinates(up: Array, everything: Array) -> tuple[Array, int]:
    """Orthonormal rows that span `everything`, the first r of them the rows `up`, which are triangular there."""
    first = _basis(up)
    rest = everything - (everything @ first.T) @ first
    return np.vstack([first, _basis(rest - (rest @ first.T) @ first, RANK * float(np.abs(everything).max()))]), len(
        first
    )


def _basis(rows: Array, smallest: float = 0.0) -> Array:
    """Orthonormal rows (r, d) that span these, in which the largest rows come first and are triangular."""
    if not len(rows):
        return np.empty((0, rows.shape[1]))
    Q, R, _ = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.ascontiguousarray(Q.T[diagonal > max(RANK * diagonal[0], smallest)])


def _crude_bound(up: Array, down: Array, c: Array) -> float:
    """||sum of (x_i.u)_+|| is at most sqrt(sum of ones) times the operator's norm; for a search that ends early."""
    largest = float(np.linalg.norm(up, 2)) * np.sqrt(len(up)) if len(up) else 0.0
    return min(largest, float(np.linalg.norm(up, axis=1).sum())) + float(np.linalg.norm(c))


def _cell_bound(up: Array, down: Array, c: Array, on: Mask) -> float:
    """The norm of the shortest c + sum y_i x_i - sum a_j z_j, y_i >= 1 where `on`, else <= 0, 0 <= a_j <= 1."""
    lowest = np.concatenate([np.where(on, 1.0, -np.inf), np.zeros(len(down))])
    highest = np.concatenate([np.where(on, np.inf, 0.0), np.ones(len(down))])
    A = np.vstack([up, -down]).T
    found: Any = scipy.optimize.lsq_linear(A, -c, (lowest, highest), method="bvls", tol=1e-14)
    y = np.clip(found.x, lowest, highest)
    return float(np.linalg.norm(c + A @ y)) + 1e-15 * len(y) * float(np.linalg.norm(A, axis=0) @ np.abs(y))
