"""Linear systems of Newton steps: a factor of the n x n Hessian, or conjugate gradients with a low-rank
preconditioner.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy

from recovery.programs.groups import Groups
from recovery.types import Array, Index

Linear = Callable[[Array], Array]
SMALL, FEWER = 0.5, 0.4
"""Most columns of a low-rank root of H, as fractions of n: of the root of all blocks, and of their mean. Beyond them a
factor of H costs less (the first by flops, the second measured at 220 to 800 rows). The mean is also used if it has at
most the fraction FEWER of the columns of all blocks (measured at (742, 14) with 20 groups: a third of the time)."""
LOOSE = 0.1
"""Relative residual at which conjugate gradients stop. 0.01 saves two of 25 Newton steps, and each step costs more;
0.001 takes 20 to 50 % more time (measured)."""
ROUNDS = 12
"""Limit of conjugate-gradient iterations. Random data take 1 to 6; beyond 12 a factor of H costs less."""


RISEN, ROUGHLY, SHORTEST = 0.9, 0.02, 1e-9
"""A step is shortened to the approximate minimum of phi if phi' at its end exceeds RISEN times |phi'| at its start; the
minimum is bracketed to the relative width ROUGHLY, and no length is below SHORTEST."""


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


def descent(H: Array, shift: float, gradient: Array) -> Array | None:
    """Return -(H + shift I)^{-1} gradient, with a larger shift if singular, or None; overwrites H, a lower triangle.

    A matrix in Fortran order is factored in place; any other order takes 50 % longer.
    """
    diagonal = np.einsum("ii->i", H)  # a view of the diagonal of H: adding to the view changes H
    mean = float(diagonal.sum()) / len(H)
    # add the size of the rounding errors of H to the shift, because a smaller shift would have no effect
    shift = shift + 1e-15 * mean
    for _ in range(6):
        diagonal += shift
        factor, failed = scipy.linalg.lapack.dpotrf(H, lower=1, clean=0)
        if not failed:
            return -scipy.linalg.lapack.dpotrs(factor, gradient, lower=1)[0]
        shift = 100 * max(shift, 1e-14 * mean)
    return None


def step_length(change: Callable[[float], float], slope: float) -> float:
    """Return the length, at most 1, at which a convex phi is about least along a step.

    change: phi' at a length, up to a constant. slope: phi' at 0, negative.
    """
    flat = change(0.0) - slope
    if change(1.0) - flat <= RISEN * abs(slope):
        return 1.0
    low, high = 0.0, 1.0
    while high - low > ROUGHLY * high and high > SHORTEST:
        middle = (low + high) / 2
        low, high = (low, middle) if change(middle) > flat else (middle, high)
    return high


def loose_descent(H: Hessian, gradient: Array) -> Array | None:
    """Return -H^{-1} gradient by conjugate gradients to residual LOOSE, preconditioned with a root of few columns.

    The root covers all blocks if these have few columns, otherwise their mean and one direction per group, which has
    k + r columns for k groups. Returns None if there is no such root or conjugate gradients do not converge.
    """
    groups, c, (k, r), n = H.groups, H.c, H.directions.shape, len(gradient)
    if k * r <= SMALL * n and (groups.transforms is not None or k + r > FEWER * k * r):
        # for unit z, the root of a group's block c I + t z z^T is sqrt(c) I + (sqrt(c + t) - sqrt(c)) z z^T
        root, bent = groups.columns(H.active) * np.repeat(np.sqrt(c), r), np.sqrt(c + H.turns) - np.sqrt(c)
        root += np.einsum("nk,k,kr->nkr", H.images, bent, H.directions).reshape(root.shape)
        near = across(np.full(n, H.shift), root)
        return near and conjugate(lambda v: root @ (v @ root) + H.shift * v, near, gradient)
    if groups.transforms is not None or k + r > FEWER * n:
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

    return near and conjugate(product, near, gradient)


def conjugate(product: Linear, near: Linear, gradient: Array) -> Array | None:
    """Return -H^{-1} gradient by conjugate gradients to relative residual LOOSE.

    product: v -> H v. near: v -> about H^{-1} v, a preconditioner. Returns None if ROUNDS iterations are too few.
    """
    step, residual = np.zeros_like(gradient), -gradient
    towards = direction = near(residual)
    square, wanted = float(residual @ towards), LOOSE * math.sqrt(gradient @ gradient)
    for _ in range(ROUNDS):
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
