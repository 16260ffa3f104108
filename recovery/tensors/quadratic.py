"""The polynomial of degree 2 that explains most of the labels, and its Hermite moments in closed form.

An average of y He_k(x) has the variance of y. What a polynomial of degree 2 explains has no moments of order above 2,
and those up to 2 are known: taking it off leaves all moments as they are, and some per cent of a ReLU network's
variance (a control variate).
"""

from dataclasses import dataclass
from math import comb

import numpy as np
import scipy

from recovery.types import Array

PER_FEATURE = 100
"""Rows a coefficient that are fitted: more would lower the variance by less than 1 %."""
LEAST = 10
"""Rows a coefficient that a degree needs; with fewer the fit would take moments of higher order off as well."""
EXACT, STEPS = 1e-15, 100
"""LSQR ends at rounding; with dependent columns it may not get there, and any polynomial near the best does."""


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
    """Least squares of y (n,) on 1, x and (x x^T - I) / sqrt 2, of the highest degree up to 2 with `LEAST` rows each.

    By LSQR on the first `PER_FEATURE` rows a coefficient: 2 n d^2 operations a step and no matrix of features. These
    are orthonormal over x ~ N(0, I), so some 30 steps reach rounding.
    """
    n, d = X.shape
    degree = max((q for q in (0, 1, 2) if n >= LEAST * comb(d + q, q)), default=None)
    if degree is None:
        return nothing(d)
    rows = X[: PER_FEATURE * comb(d + degree, degree)].astype(float)
    # degrees that have too few rows stay zero, in the features and in their adjoint
    used = np.repeat([1.0, float(degree > 0), float(degree > 1)], [1, d, d * d])

    def polynomial(theta: Array) -> Quadratic:
        c, v, Q = np.split(used * theta.ravel(), [1, 1 + d])
        Q = Q.reshape(d, d) / np.sqrt(2.0)
        return Quadratic(float(c[0]) - float(np.trace(Q)), v, Q)

    def adjoint(r: Array) -> Array:
        # (x x^T - I) / sqrt 2 summed with the residuals: I leaves only their sum
        second = ((rows.T * r.ravel()) @ rows - np.sum(r) * np.eye(d)) / np.sqrt(2.0)
        result: Array = used * np.concatenate([[np.sum(r)], rows.T @ r.ravel(), second.ravel()])
        return result

    features = scipy.sparse.linalg.LinearOperator(
        (len(rows), len(used)), lambda theta: polynomial(theta)(rows), adjoint, dtype=float
    )
    labels = y[: len(rows)].astype(float)
    return polynomial(scipy.sparse.linalg.lsqr(features, labels, atol=EXACT, btol=EXACT, conlim=0.0, iter_lim=STEPS)[0])
