"""Compiled passes over the arrays of training, which read and write each array once."""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array

_in_any_order = compiled(fastmath=SUMS_IN_ANY_ORDER, error_model="numpy")
_as_written = compiled(error_model="numpy")


@_in_any_order
def forward(Z: Array, V: Array, gamma: Array | None, norms: Array, smallest: float, F: Array) -> None:
    """Replace Z = W X^T (k, n) by its positive part and write the outputs F = V^T Z (r, n), V (k, r).

    With gamma (k,) row i is also multiplied by gamma_i and divided by its norm, or by `smallest` if the norm is
    smaller; the divisors are written to norms (k,). NaN stays NaN.
    """
    k, n = Z.shape
    zero = Z.dtype.type(0)
    F[:] = zero
    for i in range(k):
        row, factor = Z[i], Z.dtype.type(1)
        if gamma is None:
            for j in range(n):
                row[j] = zero if row[j] <= zero else row[j]
        else:
            square = zero
            for j in range(n):
                row[j] = zero if row[j] <= zero else row[j]
                square += row[j] * row[j]
            norms[i] = max(np.sqrt(square), Z.dtype.type(smallest))
            factor = gamma[i] / norms[i]
        for o in range(V.shape[1]):
            weight = V[i, o] * factor
            for j in range(n):
                F[o, j] += weight * row[j]


@_in_any_order
def backward(
    Z: Array,
    V: Array,
    gamma: Array | None,
    norms: Array,
    smallest: float,
    R: Array,
    dV: Array,
    dgamma: Array | None,
) -> None:
    """Write dV = Z R^T for R, the gradient in F, and replace Z (k, n) by the gradient in W X^T, 1[Z > 0] o (V R).

    With gamma, u = z/||z|| and b = V R: dV = gamma u R^T, dgamma = <u, b>, and the gradient is
    gamma (b - u dgamma)/||z|| where z > 0. At `smallest` the divisor is constant, so the term with u is absent.
    """
    k, n = Z.shape
    zero = Z.dtype.type(0)
    b = np.empty(n, Z.dtype)
    for i in range(k):
        row, factor, along = Z[i], Z.dtype.type(1), zero
        b[:] = zero
        for o in range(V.shape[1]):
            weight, product = V[i, o], zero
            for j in range(n):
                product += row[j] * R[o, j]
                b[j] += weight * R[o, j]
            dV[i, o] = product
        if gamma is not None and dgamma is not None:
            slope = zero
            for o in range(V.shape[1]):
                dV[i, o] /= norms[i]
                slope += V[i, o] * dV[i, o]
                dV[i, o] *= gamma[i]
            dgamma[i] = slope
            factor = gamma[i] / norms[i]
            along = slope / norms[i] if norms[i] > Z.dtype.type(smallest) else zero
        for j in range(n):
            row[j] = factor * (b[j] - along * row[j]) if row[j] > zero else zero


@_as_written
def adam(
    theta: Array,
    gradient: Array,
    first: Array,
    second: Array,
    scale: Array,
    rates: Array,
    decay: float,
    decoupled: bool,
    betas: tuple[float, float],
    count: int,
    epsilon: float,
) -> None:
    """Take step `count` of Adam on theta (m,) and its moments; write scale = sqrt(s / (1 - b2^t)) + eps.

    `rates` divides theta into equal parts, one for each rate. Numbers are rounded to theta's precision before use.
    """
    kind = theta.dtype.type
    b1, b2 = kind(betas[0]), kind(betas[1])
    c1, c2 = kind(1.0 - betas[0]), kind(1.0 - betas[1])
    root, small = kind(1.0 / np.sqrt(1.0 - betas[1] ** count)), kind(epsilon)
    width = len(theta) // len(rates)
    for i in range(len(rates)):
        part = slice(i * width, (i + 1) * width)
        t, g, m, s, w = theta[part], gradient[part], first[part], second[part], scale[part]
        rate = kind(rates[i] / kind(1.0 - betas[0] ** count))
        term = kind(0.0 if decoupled else decay)
        keep = kind(1.0 - rates[i] * decay if decoupled else 1.0)
        for j in range(width):  # three loops, because one loop for all three takes six times as long
            slope = g[j] + term * t[j]
            m[j] = m[j] * b1 + slope * c1
            s[j] = s[j] * b2 + slope * slope * c2
        for j in range(width):
            w[j] = np.sqrt(s[j]) * root + small
        for j in range(width):
            t[j] = t[j] * keep - m[j] / w[j] * rate
