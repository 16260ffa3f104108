"""A structured interior point for exact programs on a working set of signed groups.

Each signed group has base weights v, their size t >= ||F v||, cone slack h = (2 D - I) B v >= 0, cone multipliers mu
and dual direction q, ||q|| <= b, with -F^T q = sigma B^T D lam + B^T (2 D - I) mu. Newton's equations reduce to
    M dv = sigma B^T D dlam + rhs,  M = F^T S F + B^T diag(mu / h) B          (r x r, one a signed group),
    (delta I + sum_g D B M^{-1} B^T D) dlam = rhs                             (n x n),
S the Schur complement of the second-order scaling. The orientations 2 D - I square to I, so every M comes from one
product of mu / h with the rows' outer products. Source: Mehrotra's predictor-corrector with Nesterov-Todd scaling.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.lapack import dtrtri

from recovery.programs.exact import ExactProgram
from recovery.solvers.second_order import Scaling, dot, longest
from recovery.types import Array, Index, Mask

NEARLY_ALL = 0.99
"""How much of the way to the boundary a step goes."""
START_SIZE, START_SLACK, START_PULL = 3.0, 0.5, 0.5
"""The first t, h and mu, in units of an even share of the guessed size, and of the bound: fewest steps (measured)."""
SHIFT = 1e-14
REFINEMENTS = 5
REFINED_BELOW = 1e-2
"""The gap from which Newton's equations are refined: before, they are well conditioned."""
ALL_AT_ONCE = 100_000
"""Products n^2 r up to which the blocks of all groups are multiplied in one call (measured)."""

Step = tuple[Array, Array, Array, Array, Array, Array, Array]


class InteriorPoint:
    """The iterate on a working set `chosen` of signed groups.

    error: the larger of the relative gap that this iterate proves on its working set, and of its relative residuals.
    """

    def __init__(self, program: ExactProgram, chosen: Index, size: float) -> None:
        """size: a guess of sum_g ||v_g||, on which the starting point is centred."""
        self.program, self.chosen = program, chosen
        groups = program.groups
        self.base, self.y, self.bound = groups.base, program.y, program.penalty
        self.delta = 0.0 if program.gated.interpolates else 1.0
        k, n, r = len(chosen), groups.n, groups.rank
        self._lower = np.tril_indices(r)
        self._outer = self.base[:, self._lower[0]] * self.base[:, self._lower[1]]
        self.row = float(np.sqrt(np.mean(np.square(self.base).sum(axis=1))))
        self._size = float(np.linalg.norm(self.y))
        self.lam = np.zeros(n)
        self.v, self.q = np.zeros((k, r)), np.zeros((k, r))
        self.t = np.full(k, START_SIZE * size / k)
        self.h = np.full((k, n), START_SLACK * size / k * self.row)
        # multipliers that pull on v with about half the bound: their rows all lean to one side
        lean = float(np.mean(np.linalg.norm(program.orientation(chosen) @ self.base, axis=1)))
        self.mu = np.full((k, n), START_PULL * self.bound / max(lean, np.finfo(float).tiny))
        self._prepare()

    def keep(self, kept: Mask) -> None:
        """Drop the other signed groups."""
        self.chosen, self.t = self.chosen[kept], self.t[kept]
        self.v, self.q, self.h, self.mu = self.v[kept], self.q[kept], self.h[kept], self.mu[kept]
        self._prepare()

    def _prepare(self) -> None:
        program, groups = self.program, self.program.groups
        own = program.group(self.chosen)
        self._orientation = program.orientation(self.chosen)
        self._cone = np.abs(self._orientation)
        free = program.is_free(self.chosen)
        self.h[free], self.mu[free] = 1.0, 0.0
        self._signed = groups.D[:, own].T * program.sign(self.chosen)[:, None]
        self._copies = [np.flatnonzero(own == g) for g in np.unique(own)]
        self._rows = [np.flatnonzero(groups.patterns[:, own[copies[0]]]) for copies in self._copies]
        self._F = None if program.factors is None else program.factors[own]
        self._T = None if groups.transforms is None else groups.transforms[own]
        self._count = len(own) + int((~free).sum()) * groups.n
        self.measure()

    def measure(self) -> None:
        """Residuals, gap and tau of the present iterate."""
        self.f = self._apply(self.v)
        values = self.v @ self.base.T
        self.r_h = (self._orientation * values - self.h) * self._cone
        self.r_v = -(self._gradient(self.lam) + (self._orientation * self.mu) @ self.base + self._adjoint(self.q))
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
                scaling = Scaling.at(self.t, self.f, self.bound, self.q)
                solve = self._factorise(scaling)
                square = scaling.l0**2 + dot(scaling.l, scaling.l), 2 * scaling.l0[:, None] * scaling.l
                predictor = solve(-square[0], -square[1], -self.mu * self.h)
                reached = self._complementarity(predictor, self._longest(predictor))
                centre = min(1.0, max(0.0, reached / self.tau)) ** 3 * self.tau
                _, _, df, dt, dq, dh, dmu = predictor
                a0, a = scaling.shrink(dt, df)
                b0, b = scaling.stretch(0.0, dq)
                step = solve(
                    centre - square[0] - a0 * b0 - dot(a, b),
                    -square[1] - a0[:, None] * b - b0[:, None] * a,
                    centre - self.mu * self.h - dh * dmu,
                )
                length = min(1.0, NEARLY_ALL * self._longest(step))
        except LinAlgError:
            return False
        if not (np.isfinite(length) and length > 1e-6 and all(np.isfinite(part).all() for part in step)):
            return False
        moved = [self.lam, self.v, self.f, self.t, self.q, self.h, self.mu]
        self.lam, self.v, _, self.t, self.q, self.h, self.mu = (
            x + length * dx for x, dx in zip(moved, step, strict=True)
        )
        self.measure()
        return True

    def _factorise(self, scaling: Scaling) -> Callable[[Array, Array, Array], Step]:
        theta = self.mu / self.h
        M = self._blocks(theta, scaling)
        U, K = self._gram(_cholesky(M))
        n = len(self.y)
        K[np.diag_indices(n)] += self.delta
        shifted = K.copy()
        shifted[np.diag_indices(n)] += SHIFT * float(np.trace(K)) / n
        factor = cho_factor(shifted, lower=True, check_finite=False)

        def inverse(x: Array) -> Array:
            return np.matmul(U, np.matmul(x[:, None, :], U).transpose(0, 2, 1))[:, :, 0]

        def once(x_v: Array, x_y: Array) -> tuple[Array, Array]:
            start = inverse(x_v)
            dlam = cho_solve(factor, x_y - self._fit(start), check_finite=False)
            return start + inverse(self._gradient(dlam)), dlam

        def newton(x_v: Array, x_y: Array) -> tuple[Array, Array]:
            """Both blocks of Newton's equations, refined while that brings their residuals down."""
            dv, dlam = best = once(x_v, x_y)
            smallest = np.inf
            for _ in range(REFINEMENTS if self.gap < REFINED_BELOW else 0):
                image = self._adjoint(scaling.schur(self._apply(dv))) + (theta * (dv @ self.base.T)) @ self.base
                e_v = x_v - image + self._gradient(dlam)
                e_y = x_y - self._fit(dv) - self.delta * dlam
                error = float(np.abs(e_v).max()) / self.bound + float(np.abs(e_y).max()) / self._size
                if not error < 0.5 * smallest:
                    break
                smallest, best = error, (dv, dlam)
                more = once(e_v, e_y)
                dv, dlam = dv + more[0], dlam + more[1]
            return best

        def solve(r0: Array, r: Array, r_c: Array) -> Step:
            p0, p = scaling.shrink(*scaling.divide(r0, r))
            left = scaling.eliminated(p0, p)
            push = (r_c - self.mu * self.r_h) / self.h * self._orientation
            dv, dlam = newton(self._adjoint(left) + push @ self.base - self.r_v, self.r_y)
            df = self._apply(dv)
            dt = (p0 - dot(scaling.cross, df)) / scaling.corner
            dh = self._orientation * (dv @ self.base.T) + self.r_h
            dmu = (r_c - self.mu * dh) / self.h * self._cone
            return dlam, dv, df, dt, left - scaling.schur(df), dh, dmu

        return solve

    def _gram(self, factors: Array) -> tuple[Array, Array]:
        """Every L^{-T} of M = L L^T, and sum_g D B M^{-1} B^T D."""
        n, r = self.base.shape
        if n * n * r <= ALL_AT_ONCE:
            U = np.linalg.inv(factors).transpose(0, 2, 1)
            Z = (np.matmul(self.base, U) * np.abs(self._signed)[:, :, None]).transpose(1, 0, 2).reshape(n, -1)
            return U, Z @ Z.T
        U, flat = np.empty_like(factors), np.zeros(n * n)
        for copies, rows in zip(self._copies, self._rows, strict=True):  # both signs of a pattern share its rows
            for g in copies:
                U[g] = dtrtri(factors[g].T)[0]
            Z = np.concatenate([self.base[rows] @ U[g] for g in copies], axis=1)
            np.add.at(flat, np.add.outer(rows * n, rows).ravel(), (Z @ Z.T).ravel())  # 5 times np.ix_
        return U, flat.reshape(n, n)

    def _blocks(self, theta: Array, scaling: Scaling) -> Array:
        """The lower triangle of every M; what is above is not M's."""
        k, r = self.v.shape
        M = np.zeros((k, r, r))
        M[:, self._lower[0], self._lower[1]] = theta @ self._outer
        w = self._adjoint(scaling.w)
        if self._F is None:
            M[:, np.arange(r), np.arange(r)] += scaling.diagonal[:, None]
        else:
            M += scaling.diagonal[:, None, None] * np.matmul(self._F.transpose(0, 2, 1), self._F)
        M -= ((scaling.diagonal * scaling.dent)[:, None] * w)[:, :, None] * w[:, None, :]
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


def _cholesky(M: Array) -> Array:
    try:
        return np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        r = M.shape[1]
        M[:, np.arange(r), np.arange(r)] += 1e-12 * np.trace(M, axis1=1, axis2=2)[:, None]
        return np.linalg.cholesky(M)
