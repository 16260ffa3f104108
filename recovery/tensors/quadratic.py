"""Control variate for Hermite moments: the best polynomial of degree 2 for the labels, and its exact moments.

The variance of an average of y He_k(x) is proportional to the variance of y. A polynomial of degree 2 has known moments
up to order 2 and none above. Subtracting it leaves a few per cent of the variance of a ReLU network.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
import scipy

from recovery.types import Array

PER_FEATURE = 100
"""Rows per coefficient used for the fit: more would lower the variance by less than 1 %."""
LEAST = 10
"""Rows per coefficient that a degree needs; with fewer, the fit would also subtract moments of higher order."""
EXACT, STEPS = 1e-15, 100
"""Tolerance and limit of LSQR. Dependent columns may not reach the tolerance; any polynomial near the best is fine."""


@dataclass(frozen=True)
class Quadratic:
    """The polynomial q(x) = c + v.x + x^T Q x for v (d,) and symmetric Q (d, d)."""

    c: float
    v: Array
    Q: Array

    def __call__(self, X: Array) -> Array:
        """Return q(X) for X (n, d), shape (n,)."""
        values: Array = self.c + X @ self.v + np.einsum("ni,ni->n", X @ self.Q, X)
        return values

    def moments(self) -> tuple[Array, Array, Array]:
        """Return T_0 = c + tr Q, T_1 = v, T_2 = 2 Q over x ~ N(0, I); all others are zero."""
        return np.asarray(self.c + np.trace(self.Q)), self.v, 2.0 * self.Q


def zero(d: int) -> Quadratic:
    """Return the zero polynomial of d variables."""
    return Quadratic(0.0, np.zeros(d), np.zeros((d, d)))


def explaining(X: Array, y: Array) -> Quadratic:
    """Fit y (n,) by least squares on 1, x, (x x^T - I) / sqrt 2, up to the degree with `LEAST` rows per coefficient.

    LSQR on the first `PER_FEATURE` rows per coefficient takes 2 n d^2 operations per step and forms no feature matrix.
    The features are orthonormal over x ~ N(0, I), so about 30 steps reach rounding.
    """
    n, d = X.shape
    degree = max((q for q in (0, 1, 2) if n >= LEAST * comb(d + q, q)), default=None)
    if degree is None:
        return zero(d)
    rows = X[: PER_FEATURE * comb(d + degree, degree)].astype(float)
    # `used` is zero for the features of degrees with too few rows; it removes them from the polynomial and from the
    # adjoint
    used = np.repeat([1.0, float(degree > 0), float(degree > 1)], [1, d, d * d])

    def polynomial(theta: Array) -> Quadratic:
        c, v, Q = np.split(used * theta.ravel(), [1, 1 + d])
        Q = Q.reshape(d, d) / np.sqrt(2.0)
        return Quadratic(float(c[0]) - float(np.trace(Q)), v, Q)

    def adjoint(r: Array) -> Array:
        # the identity in (x x^T - I) / sqrt 2 contributes only the sum of the residuals times I to the adjoint
        second = ((rows.T * r.ravel()) @ rows - np.sum(r) * np.eye(d)) / np.sqrt(2.0)
        result: Array = used * np.concatenate([[np.sum(r)], rows.T @ r.ravel(), second.ravel()])
        return result

    features = scipy.sparse.linalg.LinearOperator(
        (len(rows), len(used)), lambda theta: polynomial(theta)(rows), adjoint, dtype=float
    )
    labels = y[: len(rows)].astype(float)
    return polynomial(scipy.sparse.linalg.lsqr(features, labels, atol=EXACT, btol=EXACT, conlim=0.0, iter_lim=STEPS)[0])
