"""Linear systems of Newton steps, by a factor of the n x n Hessian or by conjugate gradients; the length of a step."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from recovery.solvers.controls import Controls
from recovery.types import Array

Linear = Callable[[Array], Array]


class Hessian(NamedTuple):
    """H = shift I + sum_g A_g (c_g I + turns_g u_g u_g^T) A_g^T over k groups, A_g = D_g B, as an operator.

    D (n, k): the D_g as columns. base: B (n, r). units: u_g (k, r). labels: A_g u_g (k, n). c, turns: (k,).
    """

    D: Array
    base: Array
    units: Array
    labels: Array
    c: Array
    turns: Array
    shift: float

    def __call__(self, v: Array) -> Array:
        """Return H v."""
        adjoint = self.D.T @ (self.base * v[:, None])
        along = self.turns * np.einsum("kr,kr->k", self.units, adjoint)
        # summing D_g,i w_g over g first takes n x r entries instead of n x k
        weights = self.D @ (self.c[:, None] * adjoint + along[:, None] * self.units)
        image: Array = np.einsum("nr,nr->n", self.base, weights) + self.shift * v
        return image

    def estimate(self) -> tuple[Array, Array]:
        """Return a positive diagonal (n,) and C (n, k + r): H is about the diagonal + C C^T.

        The sum of c_g A_g A_g^T is (B B^T) o M, M = D diag(c) D^T. With m = M 1 / sqrt(1^T M 1), M - m m^T is positive
        semidefinite and is replaced by its diagonal; diag(m) B represents m m^T exactly.
        """
        D, B = self.D, self.base
        m = D @ (self.c * D.sum(axis=0))
        m /= np.sqrt(max(float(m.sum()), np.finfo(float).tiny))
        rest = np.maximum(D**2 @ self.c - m * m, 0.0) * np.einsum("nr,nr->n", B, B)
        return rest + self.shift, np.hstack([B * m[:, None], self.labels.T * np.sqrt(self.turns)])


def descent(H: Array, shift: float, gradient: Array, damping: float = 0.0) -> Array | None:
    """Return -(H + shift I)^{-1} gradient, with a larger shift if singular, or None. H is a lower triangle.

    damping: a further shift, relative to the mean of H's diagonal. The diagonal is overwritten. An H in another order
    than Fortran's takes 50 % longer.
    """
    diagonal = np.einsum("ii->i", H)  # a view of the diagonal of H: adding to the view changes H
    mean = float(diagonal.sum()) / len(H)
    # add the size of the rounding errors of H to the shift, because a smaller shift would have no effect
    shift = shift + max(damping, 1e-15) * mean
    for _ in range(6):
        diagonal += shift
        factor, failed = scipy.linalg.lapack.dpotrf(H, lower=1, clean=0)
        if not failed:
            return -scipy.linalg.lapack.dpotrs(factor, gradient, lower=1)[0]
        shift = 100 * max(shift, 1e-14 * mean)
    return None


def descent_across(H: Array, damping: float, gradient: Array, frame: Array) -> Array | None:
    """Return -H^{-1} gradient among the vectors orthogonal to the frame (n, m), with a singular H shifted; or None.

    H is a lower triangle; the gradient is orthogonal to the frame.
    """
    H = np.tril(H) + np.tril(H, -1).T
    # H becomes (I - F F^T) H (I - F F^T), computed without the projection matrix, plus a multiple of F F^T that makes
    # it definite
    HQ = H @ frame
    H = H - (HQ @ frame.T + frame @ HQ.T - frame @ (frame.T @ HQ) @ frame.T)
    mean = max(float(np.trace(H)) / len(H), np.finfo(float).tiny)
    step = descent((H + mean * (frame @ frame.T)).T, 0.0, gradient, damping)
    return None if step is None else step - frame @ (frame.T @ step)


def step_length(change: Callable[[float], float], slope: float, controls: Controls) -> float:
    """Return the length, at most 1, at which a convex phi is about least along a step.

    change: phi' at a length, up to a constant. slope: phi' at 0, negative.
    """
    flat = change(0.0) - slope
    if change(1.0) - flat <= controls.risen * abs(slope):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > controls.bracket * high and high > controls.shortest:
        middle = (low + high) / 2
        low, high = (low, middle) if change(middle) > flat else (middle, high)
    return high


def loose_descent(H: Hessian, gradient: Array, controls: Controls) -> Array | None:
    """Return -H^{-1} gradient by conjugate gradients, to a relative residual of `loose`.

    The preconditioner inverts `H.estimate`. Returns None if that has too many columns, or `rounds` are too few.
    """
    (k, r), wanted = H.units.shape, controls.loose * math.sqrt(gradient @ gradient)
    if k + r > controls.fewer * len(gradient):
        return None
    near = across(*H.estimate())
    if near is None:
        return None
    step, residual = np.zeros_like(gradient), -gradient
    towards = direction = near(residual)
    square = float(residual @ towards)
    for _ in range(controls.rounds):
        image = H(direction)
        length = square / float(direction @ image)
        step += length * direction
        residual = residual - length * image
        if math.sqrt(residual @ residual) <= wanted:
            return step
        towards = near(residual)
        last, square = square, float(residual @ towards)
        direction = towards + (square / last) * direction
    return None


def across(diagonal: Array, C: Array) -> Linear | None:
    """Return the map v -> (diag(diagonal) + C C^T)^{-1} v for C (n, m), by Woodbury's identity; None if that fails.

    For diagonal 1 it is v - C (I + C^T C)^{-1} C^T v, which takes an m x m factor.
    """
    scale = 1.0 / np.sqrt(diagonal)
    C = C * scale[:, None]
    K = scipy.linalg.blas.dsyrk(1.0, C.T, lower=1)  # K = C^T C; BLAS reads the rows of C as columns, without a copy
    np.einsum("ii->i", K)[:] += 1.0
    factor, failed = scipy.linalg.lapack.dpotrf(K, lower=1, clean=0)
    if failed:
        return None

    def solve(v: Array) -> Array:
        u = v * scale
        solved: Array = (u - C @ scipy.linalg.lapack.dpotrs(factor, u @ C, lower=1)[0]) * scale
        return solved

    return solve
