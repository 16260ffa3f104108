"""Compiled passes over the arrays of training, which read and write each array once."""

import numpy as np

from recovery.compiled import SUMS_IN_ANY_ORDER, compiled
from recovery.types import Array

SMALLEST_NORM = 1e-12
"""Normalisation divides by max(norm, this), as the code of P1 does."""

_in_any_order = compiled(fastmath=SUMS_IN_ANY_ORDER, error_model="numpy")
_as_written = compiled(error_model="numpy")


@_in_any_order
def forward(Z: Array, V: Array, gamma: Array | None, norms: Array, F: Array) -> None:
    """Replace Z = W X^T (k, n) by its positive part and write the outputs F = V^T Z (r, n), V (k, r).

    With gamma (k,) row i is also multiplied by gamma_i and divided by its norm, or by SMALLEST_NORM if the norm is
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
            norms[i] = max(np.sqrt(square), Z.dtype.type(SMALLEST_NORM))
            factor = gamma[i] / norms[i]
        for o in range(V.shape[1]):
            weight = V[i, o] * factor
            for j in range(n):
                F[o, j] += weight * row[j]


@_in_any_order
def backward(Z: Array, V: Array, gamma: Array | None, norms: Array, R: Array, dV: Array, dgamma: Array | None) -> None:
    """Write dV = Z R^T for R, the gradient in F, and replace Z (k, n) by the gradient in W X^T, 1[Z > 0] o (V R).

    With gamma, u = z/||z|| and b = V R: dV = gamma u R^T, dgamma = <u, b>, and the gradient is
    gamma (b - u dgamma)/||z|| where z > 0. At SMALLEST_NORM the divisor is constant, so the term with u is absent.
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
            along = slope / norms[i] if norms[i] > Z.dtype.type(SMALLEST_NORM) else zero
        for j in range(n):
            row[j] = factor * (b[j] - along * row[j]) if row[j] > zero else zero


BETAS, EPSILON = (0.9, 0.999), 1e-8
"""Constants of Adam, by Kingma and Ba 2015."""


@_as_written
def adam(theta: Array, gradient: Array, state, rates: Array, decay: float, decoupled: bool, count: int) -> None:  # type: ignore[no-untyped-def]
    """Take step `count` of Adam on theta (m,) and its state: moments, and scale = sqrt(s / (1 - b2^t)) + eps.

    `rates` divides theta into equal parts, one for each rate. Numbers are rounded to theta's precision before use.
    """
    first, second, scale = state
    kind = theta.dtype.type
    b1, b2 = kind(BETAS[0]), kind(BETAS[1])
    c1, c2 = kind(1.0 - BETAS[0]), kind(1.0 - BETAS[1])
    root, small = kind(1.0 / np.sqrt(1.0 - BETAS[1] ** count)), kind(EPSILON)
    width = len(theta) // len(rates)
    for i in range(len(rates)):
        part = slice(i * width, (i + 1) * width)
        t, g, m, s, w = theta[part], gradient[part], first[part], second[part], scale[part]
        rate = kind(rates[i] / kind(1.0 - BETAS[0] ** count))
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


@_as_written
def heavy_ball(theta: Array, slope: Array, state, rate: float, decay: float, momentum: float, first: bool) -> None:  # type: ignore[no-untyped-def]
    """Take a step of gradient descent with momentum, l2 term and scaling: `recovery.training.optimizers`."""
    velocity, _, scaling = state
    kind = theta.dtype.type
    m, w, step = kind(momentum), kind(decay), kind(rate)
    for j in range(len(theta)):
        g = slope[j] + w * theta[j]
        if momentum != 0.0:
            velocity[j] = g if first else m * velocity[j] + g
            g = velocity[j]
        theta[j] -= step * (g * scaling[j])


@_as_written
def update(theta: Array, slope: Array, state, rates: Array, rule, count: int) -> None:  # type: ignore[no-untyped-def]
    """Take step `count` of a rule, as `recovery.training.optimizers.Optimizer` has it, on theta and the state."""
    adaptive, decoupled, decay, momentum = rule
    if adaptive:
        adam(theta, slope, state, rates, decay, decoupled, count)
    else:
        heavy_ball(theta, slope, state, rates[0], decay, momentum, count == 1)


@_in_any_order
def empirical(  # type: ignore[no-untyped-def]
    flat: Array, gradient: Array, parts, slopes, data, work, factor: float, penalty: float
) -> float:
    """Return the loss c ||f(X) - Y||^2 + b/2 ||theta||^2 and write its gradient: `recovery.training.models.Empirical`.

    parts, slopes: W, V, gamma, w0, a0 as views of the flat arrays; gamma is None, and w0, a0 are empty, where there is
    none. data: X, Y. work: Z, norms, the residual, and w0 X^T.
    """
    W, V, gamma, w0, a0 = parts
    dW, dV, dgamma, dw0, da0 = slopes
    X, Y = data
    Z, norms, R, linear = work
    np.dot(W, X.T, Z)
    forward(Z, V, gamma, norms, R)
    skip = len(w0) > 0
    if skip:
        np.dot(w0, X.T, linear)
    r, n = R.shape
    loss = 0.0
    for o in range(r):
        for j in range(n):
            R[o, j] -= Y[o, j]
            if skip:
                R[o, j] += a0[o, 0] * linear[0, j]
            loss += R[o, j] * R[o, j]
            R[o, j] *= R.dtype.type(2.0 * factor)
    if skip:
        np.dot(R, linear.T, da0)
        np.dot(np.dot(a0.T, R), X, dw0)
    backward(Z, V, gamma, norms, R, dV, dgamma)
    np.dot(Z, X, dW)
    loss *= factor
    if penalty != 0.0:
        square = 0.0
        for j in range(len(flat)):
            gradient[j] += flat.dtype.type(penalty) * flat[j]
            square += flat[j] * flat[j]
        loss += 0.5 * penalty * square
    return loss


@_in_any_order
def train(  # type: ignore[no-untyped-def]
    theta: Array, slope: Array, flat: Array, gradient: Array, network, terms, optimizer, rates: Array, span, limits
):
    """Train by full-batch steps of one rule until a limit is met.

    Return the epoch, the loss and the norm of the gradient there, and the number of steps.

    theta, slope: the trained parts of flat and gradient. network: the parts, slopes, data and work of `empirical`;
    terms: its factor and penalty. optimizer: state and rule of `update`, the number of steps taken, and whether to
    forget the state at each epoch. rates: from epoch span[0] on. span: the first epoch, the last one, and whether the
    gradient there is known. limits: target loss, tolerance, and the loss above which training diverges.
    """
    parts, slopes, data, work = network
    state, rule, count, forgets = optimizer
    epoch, known = span[0], span[2]
    loss, size, rate = 0.0, 0.0, np.empty(1, theta.dtype)
    while True:
        if not known:
            loss = empirical(flat, gradient, parts, slopes, data, work, terms[0], terms[1])
            size = 0.0
            for j in range(len(slope)):
                size += slope[j] * slope[j]
            size = np.sqrt(size)
            lost = not (np.isfinite(loss) and np.isfinite(size)) or loss > limits[2]
            if lost or loss <= limits[0] or size <= limits[1] or epoch == span[1]:
                return epoch, loss, size, count
        known = False
        if forgets:
            count = 0
            state[0][:] = 0.0
            state[1][:] = 0.0
        rate[0] = rates[epoch - span[0]]
        count += 1
        update(theta, slope, state, rate, rule, count)
        epoch += 1
