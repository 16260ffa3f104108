"""The linear system of a Newton step: factored in all n rows, or by conjugate gradients from a root of few columns."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from recovery.programs.groups import Groups
from recovery.types import Array, Index

Linear = Callable[[Array], Array]
SMALL, FEWER = 0.5, 0.4
"""The shares of n columns at most from which a root is taken, for all blocks and for their mean: beyond, a factor of H
costs less (the first by flops, the second measured at 220 to 800 rows)."""
LOOSE = 0.1
"""What conjugate gradients may leave of a system: 0.01 saves two of 25 Newton steps, and each costs as much more; 0.001
takes a fifth to a half more time (measured)."""
ROUNDS = 12
"""Conjugate gradients of random data take 1 to 6 rounds; where they take more, a factor of H costs less."""


@dataclass(frozen=True)
class Rows:
    """H = shift I + sum_g A_g (c_g I + turns_g z_g z_g^T) A_g^T over active groups, never formed.

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
    """-(H + shift I)^{-1} gradient from the lower triangle of H, which is changed; a singular one is shifted more.

    H in Fortran order is factored as it lies; another order costs half as much again.
    """
    diagonal = np.einsum("ii->i", H)  # a view
    mean = float(diagonal.sum()) / len(H)
    # rounding of H is of this size: a smaller shift would be lost in it
    shift = shift + 1e-15 * mean
    for _ in range(6):
        diagonal += shift
        factor, failed = scipy.linalg.lapack.dpotrf(H, lower=1, clean=0)
        if not failed:
            return -scipy.linalg.lapack.dpotrs(factor, gradient, lower=1)[0]
        shift = 100 * max(shift, 1e-14 * mean)
    return None


def loose_descent(H: Rows, gradient: Array) -> Array | None:
    """-H^{-1} gradient, to LOOSE of it, by conjugate gradients that begin with a root of few columns.

    The root is that of all blocks where these are few columns; else of their mean, and of a direction a group. None
    where there is no such root, or it is not near H.
    """
    groups, c, (k, r), n = H.groups, H.c, H.directions.shape, len(gradient)
    if k * r <= SMALL * n:
        # the root of c I + t z z^T, for unit z, is sqrt(c) I + (sqrt(c + t) - sqrt(c)) z z^T
        root, bent = groups.columns(H.active) * np.repeat(np.sqrt(c), r), np.sqrt(c + H.turns) - np.sqrt(c)
        root += np.einsum("nk,k,kr->nkr", H.images, bent, H.directions).reshape(root.shape)
        near = across(np.full(n, H.shift), root)
        return near and conjugate(lambda v: root @ (v @ root) + H.shift * v, near, gradient)
    if groups.transforms is not None or k + r > FEWER * n:
        return None
    diagonal, mean = groups.mean_gram(H.active, c)
    near = across(diagonal + H.shift, np.hstack([mean, H.images * np.sqrt(H.turns)]))
    D, B = groups.diagonals(H.active), groups.base

    def product(v: Array) -> Array:
        pulls = D.T @ (B * v[:, None])
        along = H.turns * np.einsum("kr,kr->k", H.directions, pulls)
        weights = c[:, None] * pulls + along[:, None] * H.directions
        # row i of sum_g D_g B u_g is that of B times the sum of D_g,i u_g: n x r entries, where images are n x k
        image: Array = np.einsum("nr,nr->n", B, D @ weights) + H.shift * v
        return image

    return near and conjugate(product, near, gradient)


def conjugate(product: Linear, near: Linear, gradient: Array) -> Array | None:
    """-H^{-1} gradient, to LOOSE of it, for H v = product(v) and near(v) close to H^{-1} v; None beyond ROUNDS."""
    step, residual = np.zeros_like(gradient), -gradient
    towards = direction = near(residual)
    square, wanted = float(residual @ towards), LOOSE * float(np.linalg.norm(gradient))
    for _ in range(ROUNDS):
        image = product(direction)
        length = square / float(direction @ image)
        step += length * direction
        residual = residual - length * image
        if float(np.linalg.norm(residual)) <= wanted:
            return step
        towards = near(residual)
        last, square = square, float(residual @ towards)
        direction = towards + (square / last) * direction
    return None


def across(diagonal: Array, C: Array) -> Linear | None:
    """v -> (diag(diagonal) + C C^T)^{-1} v for C (n, m) of few columns, by Woodbury's identity; None where it fails.

    With diagonal 1 that is v - C (I + C^T C)^{-1} C^T v: a factor of m x m.
    """
    scale = 1.0 / np.sqrt(diagonal)
    C = C * scale[:, None]
    K = scipy.linalg.blas.dsyrk(1.0, C.T, lower=1)  # rows of C are columns to BLAS: no copy
    np.einsum("ii->i", K)[:] += 1.0
    factor, failed = scipy.linalg.lapack.dpotrf(K, lower=1, clean=0)
    if failed:
        return None

    def solve(v: Array) -> Array:
        u = v * scale
        solved: Array = (u - C @ scipy.linalg.lapack.dpotrs(factor, u @ C, lower=1)[0]) * scale
        return solved

    return solve
