"""Where an interior point starts: the analytic centres of the cones of patterns, and the rows that matter there.

With lam = 0 every group of an exact program stands alone, and its central point at tau = 1 and bound 1 minimises
    psi(v) = t - log(t^2 - ||F v||^2) / 2 - sum_i log h_i,   h_i = s_i R_i v,   t = (1 + sqrt(1 + 4 ||F v||^2)) / 2,
over the weights v inside its cone: slacks h, multipliers 1 / h and the direction -F v / t satisfy everything but the
labels. The leverage of a row there, R_i H^{-1} R_i^T / h_i^2 with H the Hessian of psi, says how near its hyperplane
is: rows of little leverage do not touch the cone, or next to nowhere. Newton's method starts at the point of largest
margin, which is a projection in one dimension more.
Source: Boyd and Vandenberghe, Convex Optimization (2004), section 8.5.3.
"""

from dataclasses import dataclass, replace

import numpy as np

from recovery.programs.exact import ExactProgram
from recovery.solvers.active_set import project
from recovery.types import Array, Index, Mask

NEAR = 0.01
"""Rows of less leverage are left out: none of 20 174 rows tight at four optima has less (n = 400, d = 10 to 40)."""
MARGIN = 1e-9
"""The least margin, relative to ||v|| and the rows, that counts as inside."""
LIFTED = 0.1
"""The weight of the further dimension: margins of cones are some hundredths."""
STEPS = 50
CENTRED = 0.1
"""Newton's decrement at which a centre is good enough."""
BOUNDARY, RIDGE = 0.95, 1e-13


@dataclass(frozen=True)
class Centres:
    """Of the groups asked for, in arrays of all: centres (p, r), whether there is one, (p,), and the rows that matter,
    (p, m); None for all n.
    """

    n: int
    points: Array
    found: Mask
    rows: Index | None

    def take(self, x: Array, own: Index) -> Array:
        """Of numbers (k, n) for every row those that matter, (k, m); own: the groups, (k,)."""
        return x if self.rows is None else np.take_along_axis(x, self.rows[own], 1)

    def spread(self, x: Array, own: Index) -> Array:
        """Numbers (k, m) of the rows that matter as (k, n), zero elsewhere."""
        if self.rows is None:
            return x
        result = np.zeros((len(x), self.n))
        np.put_along_axis(result, self.rows[own], x, 1)
        return result

    def everything(self) -> "Centres":
        """The same with all rows."""
        return replace(self, rows=None)


def find_centres(program: ExactProgram, chosen: Index) -> Centres:
    """Those of the chosen signed groups. Cones without an inside have none, nor do norms that are blind to weights."""
    groups, F = program.groups, program.factors
    asked = np.unique(program.group(chosen))
    S = program.orientation(asked) * (np.linalg.norm(groups.base, axis=1) > 0)
    free = ~S.any(axis=1)
    inside = np.zeros((len(asked), groups.rank))
    cones = np.flatnonzero(~free & groups.dimensions(asked).all(axis=1))
    inside[cones] = _inside(groups.base, S[cones])
    cones = cones[inside[cones].any(axis=1)]
    with np.errstate(all="ignore"):
        v, H = _centred(groups.base, S[cones], inside[cones], None if F is None else F[asked[cones]])
    centred = np.isfinite(v).all(axis=1)
    cones, v, H = cones[centred], v[centred], H[centred]
    leverage = np.zeros((groups.count, groups.n))
    for g, x, h in zip(cones, v, H, strict=True):
        A = S[g, :, None] * groups.base
        A /= np.where(S[g] != 0, A @ x, 1.0)[:, None]
        leverage[asked[g]] = np.einsum("nr,nr->n", A @ np.linalg.inv(h), A)
    points, found = np.zeros((groups.count, groups.rank)), np.zeros(groups.count, dtype=np.bool_)
    points[asked[cones]] = v
    found[asked[cones]] = found[asked[free]] = True
    many = int((leverage > NEAR).sum(axis=1).max(initial=0))
    if many >= groups.n or not found[asked].all():
        return Centres(groups.n, points, found, None)
    return Centres(groups.n, points, found, np.sort(np.argpartition(-leverage, many, axis=1)[:, :many], axis=1))


def _inside(base: Array, S: Array) -> Array:
    """Weights v (k, r) of largest margin min_i s_i R_i v / ||R_i||, ||v|| = 1; zero where there is none.

    The projection of (0, 1) on {(v, t): s_i R_i v / ||R_i|| >= LIFTED t} is a multiple of (v, t), t > 0, exactly where
    some v has a margin, and then v has the largest.
    """
    (n, r), sizes = base.shape, np.linalg.norm(base, axis=1)
    rows = np.empty((n, r + 1))
    rows[:, :r] = base / np.where(sizes > 0, sizes, 1.0)[:, None]
    lifted, v, mu, far = np.zeros(r + 1), np.empty(r + 1), np.empty(n), np.full(n, np.hypot(1.0, LIFTED))
    lifted[r] = 1.0
    result = np.zeros((len(S), r))
    for own, s in zip(result, S, strict=True):
        rows[:, r] = -LIFTED * s
        guess = np.empty(r + 1, dtype=np.intp), np.empty((r + 1, r + 1)), 0, False
        project(rows, s, far, lifted, *guess, 0.0, v, mu)
        size = float(np.linalg.norm(v[:r]))
        if size > 0 and float((s * (rows[:, :r] @ v[:r]))[s != 0].min()) > MARGIN * size:
            own[:] = v[:r] / size
    return result


def _centred(base: Array, S: Array, v: Array, F: Array | None) -> tuple[Array, Array]:
    """The minimisers (k, r) of psi, from points inside, and its Hessians there, (k, r, r); NaN where rounding wins.

    Newton steps, damped at the boundary, from where ||F v|| is the number of rows.
    """
    k, r = v.shape
    lower = np.tril_indices(r)
    outer = base[:, lower[0]] * base[:, lower[1]]
    sizes = np.linalg.norm(v if F is None else np.matmul(F, v[:, :, None])[:, :, 0], axis=1)
    v = v * (np.count_nonzero(S, axis=1) / sizes)[:, None]
    hessians = np.zeros((k, r, r))
    open_ = np.arange(k)
    for _ in range(STEPS):
        if not len(open_):
            break
        s, x = S[open_], v[open_]
        own = None if F is None else F[open_]
        f = x if own is None else np.matmul(own, x[:, :, None])[:, :, 0]
        square = np.einsum("kr,kr->k", f, f)
        t = 0.5 + 0.5 * np.sqrt(1.0 + 4.0 * square)
        slack = np.where(s != 0, s * (x @ base.T), 1.0)
        inverse = s / slack
        pull = f if own is None else np.matmul(f[:, None, :], own)[:, 0]
        gradient = pull / t[:, None] - inverse @ base
        H = np.zeros((len(open_), r, r))
        H[:, lower[0], lower[1]] = H[:, lower[1], lower[0]] = np.square(inverse) @ outer
        H += (np.eye(r) if own is None else np.matmul(own.transpose(0, 2, 1), own)) / t[:, None, None]
        H -= (2.0 / (t * t * (2.0 * t - 1.0)))[:, None, None] * pull[:, :, None] * pull[:, None, :]
        H[:, np.arange(r), np.arange(r)] *= 1.0 + RIDGE
        hessians[open_] = H
        step = -np.linalg.solve(H, gradient[:, :, None])[:, :, 0]
        decrement = np.sqrt(np.maximum(0.0, -np.einsum("kr,kr->k", step, gradient)))
        reach = np.maximum(-(s * (step @ base.T)) / slack, 0.0).max(axis=1)
        v[open_] = x + np.minimum(1.0, BOUNDARY / np.maximum(reach, BOUNDARY))[:, None] * step
        open_ = open_[decrement > CENTRED]
    v[open_] = np.nan
    return v, hessians
