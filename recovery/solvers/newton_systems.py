"""Linear systems of Newton steps, by a factor of the n x n Hessian; and the length of a step."""

from collections.abc import Callable

import numpy as np
import scipy

from recovery.solvers.controls import Controls
from recovery.types import Array


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
