"""Nesterov-Todd scaling of many second-order cones at once: points (t, f) with t >= ||f||, one a row.

With s = (t, f) primal and z = (b, q) dual, W is the scaling with W z = W^{-1} s =: l. The complementarity equation
l o (W dz + W^{-1} ds) = rhs then reads dz = -W^{-2} ds + W^{-1} (l \\ rhs). The dual's first entry is a constant here
(the factor of t in the objective), so dt is eliminated and W^{-2} enters only through its Schur complement
    S = eta^{-2} (I - 2 w w^T / (1 + 2 ||w||^2)),   W = eta (2 (w0, w)(w0, w)^T - J)^{1/2}.
Source: Nesterov and Todd 1997; Vandenberghe, "The CVXOPT linear and quadratic cone program solvers" (2010).
"""

from dataclasses import dataclass

import numpy as np

from recovery.types import Array


def dot(a: Array, b: Array) -> Array:
    """Row-wise inner products."""
    return np.einsum("gr,gr->g", a, b)


def interior(t: Array | float, f: Array) -> Array:
    """t^2 - ||f||^2 without cancellation; positive inside the cone."""
    size = np.sqrt(dot(f, f))
    return (t - size) * (t + size)


def longest(t: Array | float, f: Array, dt: Array | float, df: Array) -> float:
    """The largest step a <= 1 with every (t + a dt, f + a df) in its cone."""
    a = dt * dt - dot(df, df)
    b = t * dt - dot(f, df)
    c = interior(t, f)
    discriminant = b * b - a * c
    with np.errstate(all="ignore"):
        root = c / (np.sqrt(discriminant) - b)
    found = (discriminant >= 0) & (root > 0)
    return min(1.0, float(root[found].min(initial=1.0)))


@dataclass(frozen=True)
class Scaling:
    """The scaling at (t, f) and (bound, q); `diagonal` and `dent` give S = diagonal (I - dent w w^T)."""

    w0: Array
    w: Array
    eta: Array
    l0: Array
    l: Array  # noqa: E741  (the scaled point's letter)

    @classmethod
    def at(cls, t: Array, f: Array, bound: float, q: Array) -> "Scaling":
        size, dual_size = np.sqrt(interior(t, f)), np.sqrt(interior(bound, q))
        s0, s1 = t / size, f / size[:, None]
        z0, z1 = bound / dual_size, q / dual_size[:, None]
        half = 2 * np.sqrt((1 + s0 * z0 + dot(s1, z1)) / 2)
        w0, w = (s0 + z0) / half, (s1 - z1) / half[:, None]
        eta = np.sqrt(size / dual_size)
        l0, l1 = _shrink(w0, w, eta, t, f)
        return cls(w0, w, eta, l0, l1)

    @property
    def diagonal(self) -> Array:
        return self.eta**-2

    @property
    def dent(self) -> Array:
        return 2.0 / (1.0 + 2.0 * dot(self.w, self.w))

    def schur(self, x: Array) -> Array:
        """S x, the part along w on its own: there S is as small as 1 / (1 + 2 ||w||^2), which a difference loses."""
        square = dot(self.w, self.w)
        unit = self.w / np.sqrt(np.where(square > 0, square, 1.0))[:, None]
        along = dot(unit, x)
        across = x - along[:, None] * unit
        return self.diagonal[:, None] * (across + (along / (1.0 + 2.0 * square))[:, None] * unit)

    def shrink(self, x0: Array | float, x: Array) -> tuple[Array, Array]:
        """W^{-1} (x0, x)."""
        return _shrink(self.w0, self.w, self.eta, x0, x)

    def stretch(self, x0: Array | float, x: Array) -> tuple[Array, Array]:
        """W (x0, x)."""
        along = dot(self.w, x)
        y = x + (x0 + along / (1 + self.w0))[:, None] * self.w
        return (self.w0 * x0 + along) * self.eta, y * self.eta[:, None]

    def divide(self, r0: Array, r: Array) -> tuple[Array, Array]:
        """l \\ (r0, r), the solution x of l o x = r."""
        x0 = (self.l0 * r0 - dot(self.l, r)) / interior(self.l0, self.l)
        return x0, (r - x0[:, None] * self.l) / self.l0[:, None]

    def eliminated(self, p0: Array, p: Array) -> Array:
        """The part of W^{-1}(l \\ r) = (p0, p) left for dq once dt is eliminated."""
        return p - self.cross * (p0 / self.corner)[:, None]

    @property
    def corner(self) -> Array:
        """The first diagonal entry of W^{-2}."""
        return 2.0 * self.diagonal / self.dent

    @property
    def cross(self) -> Array:
        """The rest of the first column of W^{-2}."""
        return -(2.0 * self.diagonal * self.w0)[:, None] * self.w


def _shrink(w0: Array, w: Array, eta: Array, x0: Array | float, x: Array) -> tuple[Array, Array]:
    along = dot(w, x)
    y = x + (along / (1 + w0) - x0)[:, None] * w
    return (w0 * x0 - along) / eta, y / eta[:, None]
