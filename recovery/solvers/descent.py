"""The linear system of a Newton step, (H + shift I) x = -gradient: in all n rows, or in the columns of a root of H."""

import numpy as np
import scipy

from recovery.types import Array


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


def descent_across(C: Array, shift: float, gradient: Array) -> Array | None:
    """-(C C^T + shift I)^{-1} gradient for C (n, m) of few columns, by Woodbury's identity; None where it fails.

    That is -(gradient - C (shift I + C^T C)^{-1} C^T gradient) / shift: a factor of m x m.
    """
    K = scipy.linalg.blas.dsyrk(1.0, C, trans=1, lower=1)
    np.einsum("ii->i", K)[:] += shift
    factor, failed = scipy.linalg.lapack.dpotrf(K, lower=1, clean=0)
    if failed:
        return None

    def solve(b: Array) -> Array:
        # products by C from the left and from the right read it as it lies
        solved: Array = (b - C @ scipy.linalg.lapack.dpotrs(factor, b @ C, lower=1)[0]) / shift
        return solved

    step = solve(gradient)
    # the difference is one of nearly equal numbers where C C^T is large beside the shift: refined once
    return -(step + solve(gradient - shift * step - C @ (step @ C)))
