"""The polynomial of degree 2 that explains most of the labels, and its Hermite moments in closed form.

An average of y He_k(x) has the variance of y. What a polynomial of degree 2 explains has no moments of order above 2,
and those up to 2 are known: taking it off leaves all moments as they are, and some per cent of a ReLU network's
variance (a control variate).
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from recovery.types import Array

PER_FEATURE = 100
"""Rows a coefficient that are fitted: more would lower the variance by less than 1 %."""
LEAST = 10
"""Rows a coefficient that a degree needs; with fewer the fit would take moments of higher order off as well."""


@dataclass(frozen=True)
class Quadratic:
    """q(x) = c + v.x + x^T Q x for v (d,) and symmetric Q (d, d)."""

    c: float
    v: Array
    Q: Array

    def __call__(self, X: Array) -> Array:
        """q(X) for X (n, d); shape (n,)."""
        values: Array = self.c + X @ self.v + np.einsum("ni,ni->n", X @ self.Q, X)
        return values

    def moments(self) -> tuple[Array, Array, Array]:
        """T_0 = c + tr Q, T_1 = v, T_2 = 2 Q over x ~ N(0, I); all others are zero."""
        return np.asarray(self.c + np.trace(self.Q)), self.v, 2.0 * self.Q


def nothing(d: int) -> Quadratic:
    """q = 0."""
    return Quadratic(0.0, np.zeros(d), np.zeros((d, d)))


def explaining(X: Array, y: Array) -> Quadratic:
    """Least squares of y (n,) on the monomials of X (n, d), of the highest degree up to 2 with `LEAST` rows each.

    Only the first `PER_FEATURE` rows a monomial are fitted.
    """
    n, d = X.shape
    degree = max((q for q in (0, 1, 2) if n >= LEAST * comb(d + q, q)), default=None)
    if degree is None:
        return nothing(d)
    rows = X[: PER_FEATURE * comb(d + degree, degree)]
    members = [pair for q in range(degree + 1) for pair in combinations_with_replacement(range(d), q)]
    design = np.column_stack([np.prod(rows[:, pair], axis=1) for pair in members])
    solution = np.linalg.lstsq(design, y[: len(rows)], rcond=None)[0]
    v, Q = np.zeros(d), np.zeros((d, d))
    v[: len(solution[1 : 1 + d])] = solution[1 : 1 + d]
    for (i, j), value in zip(members[1 + d :], solution[1 + d :], strict=True):
        Q[i, j] += 0.5 * value
        Q[j, i] += 0.5 * value
    return Quadratic(float(solution[0]), v, Q)
