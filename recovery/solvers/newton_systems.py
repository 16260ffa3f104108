"""Linear systems of Newton steps: a factor of the n x n Hessian, or conjugate gradients with a low-rank
preconditioner.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from recovery.programs.groups import Groups
from recovery.solvers.controls import Controls
from recovery.types import Array, Index

Linear = Callable[[Array], Array]


class Hessian(NamedTuple):
    """The matrix H = shift I + sum_g A_g (c_g I + turns_g z_g z_g^T) A_g^T over active groups, never formed.

    directions: the unit vectors z_g (k, r). images: A_g z_g (n, k). c, turns: (k,).
    """

    groups: Groups
    active: Index
    directions: Array
    images: Array
    c: Array
    turns: Array
    shift: float


def descent(H: Array, shift: float, gradient: Array, damping: float = 0.0) -> Array | None:
    """Return -(H + shift I)^{-1} gradient, with a larger shift if singular, or None; overwrites H, a lower triangle.

    damping: a further shift, relative to the mean of H's diagonal. A matrix in Fortran order is factored in place; any
    other order takes 50 % longer.
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
    """Return -H^{-1} gradient by conjugate gradients to residual `loose`, preconditioned with a root of few columns.

    The root covers all blocks if these have few columns, otherwise their mean and one direction per group, which has
    k + r columns for k groups. Returns None if there is no such root or conjugate gradients do not converge.
    """
    groups, c, (k, r), n = H.groups, H.c, H.directions.shape, len(gradient)
    if k * r <= controls.small * n and (groups.transforms is not None or k + r > controls.fewer * k * r):
        # for unit z, the root of a group's block c I + t z z^T is sqrt(c) I + (sqrt(c + t) - sqrt(c)) z z^T
        root, bent = groups.columns(H.active) * np.repeat(np.sqrt(c), r), np.sqrt(c + H.turns) - np.sqrt(c)
        root += np.einsum("nk,k,kr->nkr", H.images, bent, H.directions).reshape(root.shape)
        near = across(np.full(n, H.shift), root)
        return near and conjugate(lambda v: root @ (v @ root) + H.shift * v, near, gradient, controls)
    if groups.transforms is not None or k + r > controls.fewer * n:
        return None
    diagonal, mean = groups.mean_gram(H.active, c)
    near = across(diagonal + H.shift, mean, H.images * np.sqrt(H.turns))
    D, B = groups.diagonals(H.active), groups.base

    def product(v: Array) -> Array:
        adjoint = D.T @ (B * v[:, None])
        along = H.turns * np.einsum("kr,kr->k", H.directions, adjoint)
        weights = c[:, None] * adjoint + along[:, None] * H.directions
        # row i of sum_g D_g B u_g is row i of B times sum_g D_g,i u_g: summing over g first takes n x r entries instead
        # of n x k
        image: Array = np.einsum("nr,nr->n", B, D @ weights) + H.shift * v
        return image

    return near and conjugate(product, near, gradient, controls)


def conjugate(product: Linear, near: Linear, gradient: Array, controls: Controls) -> Array | None:
    """Return -H^{-1} gradient by conjugate gradients to a relative residual.

    product: v -> H v. near: v -> about H^{-1} v, a preconditioner. Returns None if `rounds` iterations are too few.
    """
    step, residual = np.zeros_like(gradient), -gradient
    towards = direction = near(residual)
    square, wanted = float(residual @ towards), controls.loose * math.sqrt(gradient @ gradient)
    for _ in range(controls.rounds):
        image = product(direction)
        length = square / float(direction @ image)
        step += length * direction
        residual = residual - length * image
        if math.sqrt(residual @ residual) <= wanted:
            return step
        towards = near(residual)
        last, square = square, float(residual @ towards)
        direction = towards + (square / last) * direction
    return None


def across(diagonal: Array, *roots: Array) -> Linear | None:
    """Return the map v -> (diag(diagonal) + C C^T)^{-1} v, by Woodbury's identity, or None if that fails.

    C (n, m) consists of the roots side by side. For diagonal 1 the map is v - C (I + C^T C)^{-1} C^T v, which takes an
    m x m factor.
    """
    scale, C = 1.0 / np.sqrt(diagonal), np.hstack(roots)
    C *= scale[:, None]
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
