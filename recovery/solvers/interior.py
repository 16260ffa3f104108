"""A structured interior point for exact programs on a working set of signed groups.

Each signed group has base weights v, their size t >= ||F v||, cone slack h = (2 D - I) B v >= 0, cone multipliers mu
and dual direction q, ||q|| <= b, with -F^T q = sigma B^T D lam + B^T (2 D - I) mu. Newton's equations reduce to
    M dv = sigma B^T D dlam + rhs,  M = F^T S F + B^T diag(mu / h) B          (r x r, one a signed group),
    (delta I + sum_g D B M^{-1} B^T D) dlam = rhs                             (n x n),
S the Schur complement of the second-order scaling. The orientations 2 D - I square to I and F^T F = B^T D B, so every
M comes from one product of weights of the rows with the rows' outer products, less a term of rank one. Source:
Mehrotra's predictor-corrector with Nesterov-Todd scaling; centrality correctors of Gondzio (Comput. Optim. Appl. 6,
1996), which pull the products of the pairs, for second-order cones the eigenvalues of theirs, towards their mean.
"""

from collections.abc import Callable

import numpy as np
import scipy

from recovery.programs.exact import ExactProgram
from recovery.solvers.centres import Centres
from recovery.solvers.gram import Gram, cholesky
from recovery.solvers.polish import INSIDE, Vicinity
from recovery.solvers.second_order import Scaling, dot, longest
from recovery.types import Array, Index, Mask

NEARLY_ALL = 0.99
"""How much of the way to the boundary a step goes."""
START_SIZE, START_SLACK, START_PULL = 10.0, 0.5, 0.5
"""The first t, h and mu, in units of an even share of the guessed size, and of the bound: fewest steps (measured)."""
SHIFT = 1e-15
ANSWERED = 0.8
"""How much of the bound the direction q of a new signed group uses against its pull: fewest steps (measured)."""
REFINEMENTS = 5
REFINED_BELOW = 1e-2
"""The gap from which Newton's equations are refined: before, they are well conditioned."""
REFINED_TO = 1e-3
"""Refinement ends at this fraction of the iterate's error: what is left is taken up by the next step."""
CORRECTORS = 3
REACH, SMALL, LARGE = 0.3, 0.1, 10.0
"""Correctors look this much further than the step, and bring products between these multiples of the centre."""
WORTH = 0.03
"""What a corrector must add to the step to be kept."""

Step = tuple[Array, Array, Array, Array, Array, Array, Array]


class InteriorPoint:
    """The iterate on a working set `chosen` of signed groups.

    error: the larger of the relative gap that this iterate proves on its working set, and of its relative residuals.
    """

    def __init__(self, program: ExactProgram, chosen: Index, size: float, centres: Centres) -> None:
        """size: a guess of sum_g ||v_g||, on which the starting point is centred; centres: those of the cones."""
        self.program = program
        groups = program.groups
        self.base, self.y, self.bound = groups.base, program.y, program.penalty
        self.delta = 0.0 if program.gated.interpolates else 1.0
        n, r = groups.n, groups.rank
        self._lower = np.tril_indices(r)
        self._outer = self.base[:, self._lower[0]] * self.base[:, self._lower[1]]
        self.row = float(np.sqrt(np.mean(np.square(self.base).sum(axis=1))))
        self._size = float(np.linalg.norm(self.y))
        self.lam: Array = np.zeros(n)
        k = len(chosen)
        lean = float(np.mean(np.linalg.norm(program.orientation(chosen) @ self.base, axis=1)))
        # multipliers that pull on v with about half the bound: their rows all lean to one side
        self._pull = START_PULL * self.bound / max(lean, np.finfo(float).tiny)
        self.chosen = chosen
        self.t: Array = np.full(k, START_SIZE * size / k)
        self.v, self.q = np.zeros((k, r)), np.zeros((k, r))
        self._centres = centres
        m = n if centres.rows is None else centres.rows.shape[1]
        self.h, self.mu = np.full((k, m), START_SLACK * size / k * self.row), np.full((k, m), self._pull)
        self._prepare()
        self._centre(size)

    def _centre(self, size: float) -> None:
        """Start groups that have a centre there."""
        found = self._centres.found[self._own]
        v = self._centres.points[self._own]
        f = self._apply(v)
        t = 0.5 + 0.5 * np.sqrt(1.0 + 4.0 * dot(f, f))
        unit = START_SIZE * size / float(t.sum())
        h = self._orientation * self._take(v @ self.base.T)
        self.v[found], self.t[found] = unit * v[found], unit * t[found]
        self.q[found] = -self.bound * f[found] / t[found, None]
        inside = (h > 0) & found[:, None]  # no row of zeros, and no row of a group without a cone
        self.h[inside] = unit * h[inside]
        self.mu[inside] = self.bound / h[inside]
        self.measure()

    def _take(self, x: Array) -> Array:
        return self._centres.take(x, self._own)

    def _spread(self, x: Array) -> Array:
        return self._centres.spread(x, self._own)

    @property
    def multipliers(self) -> Array:
        """Those of all rows, (k, n)."""
        return self._spread(self.mu)

    def add(self, others: Index, multipliers: Array) -> None:
        """Take in more signed groups, with `multipliers` that bound their projections, at the present tau."""
        k, m = len(others), self.h.shape[1]
        h = self.tau / self._pull
        self.chosen = np.concatenate([self.chosen, others])
        self.t = np.concatenate([self.t, np.full(k, START_SIZE / START_SLACK * h / self.row)])
        mu = self._pull + self._centres.take(multipliers, self.program.group(others))
        self.v, self.h = np.vstack([self.v, np.zeros((k, self.v.shape[1]))]), np.vstack([self.h, np.full((k, m), h)])
        self.q = np.vstack([self.q, self._inner(others, mu)])
        self.mu = np.vstack([self.mu, mu])
        self._prepare()

    def _inner(self, others: Index, mu: Array) -> Array:
        """Directions q that answer the pull of lam and mu as far as ANSWERED of the bound allows."""
        pulls = self.program.orientation(others) * self._centres.spread(mu, self.program.group(others))
        b = self.program.pulls(self.lam, others) + pulls @ self.base
        q = self.program.groups.group_pulls(b, self.program.group(others))
        size = np.linalg.norm(q, axis=1)
        return -q * (np.minimum(size, ANSWERED * self.bound) / np.where(size > 0, size, 1.0))[:, None]

    def keep(self, kept: Mask) -> None:
        """Drop the other signed groups."""
        self.chosen, self.t = self.chosen[kept], self.t[kept]
        self.v, self.q, self.h, self.mu = self.v[kept], self.q[kept], self.h[kept], self.mu[kept]
        self._prepare()

    def _prepare(self) -> None:
        program, groups = self.program, self.program.groups
        own = program.group(self.chosen)
        self._own = own
        self._orientation = self._take(program.orientation(self.chosen))
        self._cone = np.abs(self._orientation)
        free = program.is_free(self.chosen)
        self.h[free], self.mu[free] = 1.0, 0.0
        self._signed = groups.D[:, own].T * program.sign(self.chosen)[:, None]
        self._gram = Gram(groups, own, self._signed)
        self._F = None if program.factors is None else program.factors[own]
        self._T = None if groups.transforms is None else groups.transforms[own]
        self._count = len(own) + int(self._cone.sum())
        self.measure()

    def measure(self) -> None:
        """Residuals, gap and tau of the present iterate."""
        self.f = self._apply(self.v)
        values = self.v @ self.base.T
        self.r_h = (self._orientation * self._take(values) - self.h) * self._cone
        pulls = self._spread(self._orientation * self.mu) @ self.base
        self.r_v = -(self._gradient(self.lam) + pulls + self._adjoint(self.q))
        self.r_y = self.y - np.einsum("gn,gn->n", self._signed, values) - self.delta * self.lam
        total = self.bound * float(self.t.sum()) + float(dot(self.f, self.q).sum()) + float((self.h * self.mu).sum())
        self.tau = total / self._count
        unsolved = self.r_v if self._T is None else np.matmul(self.r_v[:, None, :], self._T)[:, 0]
        directions = self.q + unsolved
        excess = max(0.0, float(np.sqrt(dot(directions, directions)).max()) / self.bound - 1.0)
        self.objective = self.bound * float(self.t.sum()) + 0.5 * self.delta * float(self.lam @ self.lam)
        self.gap = total / self.objective
        cone = float(np.abs(self.r_h).max()) / (self.row * float(self.t.max()))
        fit = float(np.linalg.norm(self.r_y)) / self._size
        self.error = max(self.gap + excess, fit, cone)

    def vicinity(self) -> Vicinity:
        """Where this iterate stands, for a polish."""
        slack = self.program.orientation(self.chosen) * (self.v @ self.base.T)
        outside = np.maximum(slack, INSIDE * self.row * self.t[:, None])
        h = np.where(self._spread(np.ones_like(self.h)) > 0, self._spread(self.h), outside)
        at = self.chosen, self.v, self.t, h, self.multipliers, self.lam
        return Vicinity(*at, self.y, self.bound, self.delta, self.row)

    def _fit(self, v: Array) -> Array:
        return np.einsum("gn,gn->n", self._signed, v @ self.base.T)

    def _gradient(self, lam: Array) -> Array:
        return (self._signed * lam) @ self.base

    def _apply(self, v: Array) -> Array:
        return v if self._F is None else np.matmul(self._F, v[:, :, None])[:, :, 0]

    def _adjoint(self, q: Array) -> Array:
        return q if self._F is None else np.matmul(q[:, None, :], self._F)[:, 0]

    def advance(self) -> bool:
        """One predictor-corrector step; False where rounding leaves none to take."""
        try:
            with np.errstate(all="ignore"):
                step, length = self._step()
        except np.linalg.LinAlgError:
            return False
        if not (np.isfinite(length) and length > 1e-6 and all(np.isfinite(part).all() for part in step)):
            return False
        moved = [self.lam, self.v, self.f, self.t, self.q, self.h, self.mu]
        self.lam, self.v, _, self.t, self.q, self.h, self.mu = (
            x + length * dx for x, dx in zip(moved, step, strict=True)
        )
        self.measure()
        return True

    def _step(self) -> tuple[Step, float]:
        scaling = Scaling.at(self.t, self.f, self.bound, self.q)
        solve = self._factorise(scaling)
        square = scaling.l0**2 + dot(scaling.l, scaling.l), 2 * scaling.l0[:, None] * scaling.l
        predictor = solve(-square[0], -square[1], -self.mu * self.h)
        reached = self._complementarity(predictor, self._longest(predictor))
        centre = min(1.0, max(0.0, reached / self.tau)) ** 3 * self.tau
        _, _, df, dt, dq, dh, dmu = predictor
        a0, a = scaling.shrink(dt, df)
        b0, b = scaling.stretch(0.0, dq)
        r0, r = centre - square[0] - a0 * b0 - dot(a, b), -square[1] - a0[:, None] * b - b0[:, None] * a
        r_c = centre - self.mu * self.h - dh * dmu
        step = solve(r0, r, r_c)
        length = self._longest(step)
        for _ in range(CORRECTORS):
            if length > 0.9:
                break
            ahead = min(1.0, length + REACH)
            t0, t1, t_c = self._correction(scaling, step, ahead, centre)
            r0, r, r_c = r0 + t0, r + t1, r_c + t_c
            better = solve(r0, r, r_c)
            longer = self._longest(better)
            if longer < length + WORTH:
                break
            step, length = better, longer
        return step, min(1.0, NEARLY_ALL * length)

    def _correction(self, scaling: Scaling, step: Step, ahead: float, centre: float) -> tuple[Array, Array, Array]:
        """What brings the products of a step of length `ahead` into SMALL to LARGE times the centre."""
        _, _, df, dt, dq, dh, dmu = step
        low, high = SMALL * centre, LARGE * centre

        def missing(products: Array) -> Array:
            return np.maximum(np.clip(products, low, high) - products, -high)

        a0, a = scaling.shrink(ahead * dt, ahead * df)
        b0, b = scaling.stretch(0.0, ahead * dq)
        a0, a, b0, b = a0 + scaling.l0, a + scaling.l, b0 + scaling.l0, b + scaling.l
        product = a0[:, None] * b + b0[:, None] * a
        mean, size = a0 * b0 + dot(a, b), np.sqrt(dot(product, product))
        above, below = missing(mean + size), missing(mean - size)
        unit = product / np.where(size > 0, size, 1.0)[:, None]
        rows = missing((self.h + ahead * dh) * (self.mu + ahead * dmu)) * self._cone
        return 0.5 * (above + below), 0.5 * (above - below)[:, None] * unit, rows

    def _factorise(self, scaling: Scaling) -> Callable[[Array, Array, Array], Step]:
        theta = self.mu / self.h
        M = self._blocks(theta, scaling)
        U, K = self._gram.of(cholesky(M))
        n = len(self.y)
        K[np.diag_indices(n)] += self.delta
        K[np.diag_indices(n)] += SHIFT * float(np.trace(K)) / n
        factor = scipy.linalg.cho_factor(K, lower=False, overwrite_a=True, check_finite=False)

        def inverse(x: Array) -> Array:
            return np.matmul(U, np.matmul(x[:, None, :], U).transpose(0, 2, 1))[:, :, 0]

        def once(x_v: Array, x_y: Array) -> tuple[Array, Array]:
            start = inverse(x_v)
            dlam = scipy.linalg.cho_solve(factor, x_y - self._fit(start), check_finite=False)
            return start + inverse(self._gradient(dlam)), dlam

        def newton(x_v: Array, x_y: Array) -> tuple[Array, Array]:
            """Both blocks of Newton's equations, refined while that brings their residuals down."""
            dv, dlam = best = once(x_v, x_y)
            smallest = np.inf
            enough = REFINED_TO * self.error
            for _ in range(REFINEMENTS if self.gap < REFINED_BELOW else 0):
                image = self._spread(theta * self._take(dv @ self.base.T)) @ self.base
                image += self._adjoint(scaling.schur(self._apply(dv)))
                e_v = x_v - image + self._gradient(dlam)
                e_y = x_y - self._fit(dv) - self.delta * dlam
                error = float(np.abs(e_v).max()) / self.bound + float(np.abs(e_y).max()) / self._size
                if not error < 0.5 * smallest:
                    break
                smallest, best = error, (dv, dlam)
                if error < enough:
                    break
                more = once(e_v, e_y)
                dv, dlam = dv + more[0], dlam + more[1]
            return best

        def solve(r0: Array, r: Array, r_c: Array) -> Step:
            p0, p = scaling.shrink(*scaling.divide(r0, r))
            left = scaling.eliminated(p0, p)
            push = (r_c - self.mu * self.r_h) / self.h * self._orientation
            dv, dlam = newton(self._adjoint(left) + self._spread(push) @ self.base - self.r_v, self.r_y)
            df = self._apply(dv)
            dt = (p0 - dot(scaling.cross, df)) / scaling.corner
            dh = self._orientation * self._take(dv @ self.base.T) + self.r_h
            dmu = (r_c - self.mu * dh) / self.h * self._cone
            return dlam, dv, df, dt, left - scaling.schur(df), dh, dmu

        return solve

    def _blocks(self, theta: Array, scaling: Scaling) -> Array:
        """The lower triangle of every M; what is above is not M's."""
        k, r = self.v.shape
        w, diagonal = self._adjoint(scaling.w), scaling.diagonal[:, None]
        theta = self._spread(theta)
        M = np.zeros((k, r, r))
        if self._F is None:
            M[:, self._lower[0], self._lower[1]] = theta @ self._outer
            M[:, np.arange(r), np.arange(r)] += diagonal
        else:
            weights = theta + diagonal * np.abs(self._signed)
            M[:, self._lower[0], self._lower[1]] = weights @ self._outer
        w = w * np.sqrt(diagonal * scaling.dent[:, None])
        M -= w[:, :, None] * w[:, None, :]
        return M

    def _longest(self, step: Step) -> float:
        _, _, df, dt, dq, dh, dmu = step
        ratio = max(float((-dh / self.h).max()), float((-dmu / np.where(self.mu > 0, self.mu, 1.0)).max()))
        reach = 1.0 / max(1.0, ratio)
        return min(reach, longest(self.t, self.f, dt, df), longest(self.bound, self.q, 0.0, dq))

    def _complementarity(self, step: Step, length: float) -> float:
        _, _, df, dt, dq, dh, dmu = step
        total = self.bound * float((self.t + length * dt).sum())
        total += float(((self.f + length * df) * (self.q + length * dq)).sum())
        total += float(((self.h + length * dh) * (self.mu + length * dmu)).sum())
        return total / self._count
