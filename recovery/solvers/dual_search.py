"""Search for a dual certificate of given weights, or for a proof that none exists.

Weights with support S and unit directions u are the unique interpolant of least norm if some lam has A_S^T lam = u
and ||A_g^T lam|| < 1 off S. On that affine set the search minimises
    phi(lam) = 1/2 sum_{g not in S} (||A_g^T lam|| - t)_+^2,     t just below 1,
by Newton's method. A zero of phi is a certificate. At a positive minimum, the excesses are weights off S that leave
the labels as they are once S gives way, which is a direction of descent. Either answer is checked by the caller
through `recovery.programs.uniqueness`. Source: P1, proof of Proposition 2; mathematics of exact recovery.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.programs.groups import Groups
from recovery.types import Array, Index, Mask

THRESHOLD = 1.0 - 1e-3
STEP_LIMIT = 100
SHIFTS = 8
NONE: Index = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class DualSearch:
    """The last lam (n,), the excess weights off the support there (p, r), and the Newton steps taken."""

    lam: Array
    excess: Array
    steps: int


def search_dual(
    groups: Groups, support: Index, frame: Array, start: Array, threshold: float = THRESHOLD, ignored: Index = NONE
) -> DualSearch:
    """Minimise phi over start + {frame}^perp until it is zero, or no step descends.

    support: the planted groups S. ignored: groups that phi leaves out, as it does S. frame: (n, m), an orthonormal
    basis of range(A_S). start: lam with A_S^T lam = u.
    """
    others = np.ones(groups.count, dtype=np.bool_)
    others[support] = False
    others[ignored] = False
    lam = start
    At = groups.adjoint(lam)
    value, gradient, active, norms, excess = _evaluate(groups, others, At, frame, threshold)
    steps = 0
    free = groups.n - frame.shape[1]
    while value > 0 and free > 0 and steps < STEP_LIMIT:
        step = _direction(groups, At, active, norms, gradient, frame, threshold)
        slope = float(gradient @ step)
        if not slope < 0:
            break
        image = groups.adjoint(step)
        length = 1.0
        while length > 1e-8:
            trial = _evaluate(groups, others, At + length * image, frame, threshold)
            if trial[0] <= value + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break
        lam, At = lam + length * step, At + length * image
        flat = trial[0] > value * (1 - 1e-12)
        value, gradient, active, norms, excess = trial
        steps += 1
        if flat:
            break
    return DualSearch(lam, excess, steps)


def _evaluate(
    groups: Groups, others: Mask, At: Array, frame: Array, threshold: float
) -> tuple[float, Array, Index, Array, Array]:
    """phi, its gradient projected off the frame, the active groups, their norms, and the excess weights."""
    norms = np.sqrt(np.einsum("gr,gr->g", At, At))
    active = np.flatnonzero(others & (norms > threshold))
    norms = norms[active]
    excess = np.zeros_like(At)
    excess[active] = At[active] * (1.0 - threshold / norms)[:, None]
    gradient = groups.forward(excess)
    gradient = gradient - frame @ (frame.T @ gradient)
    return 0.5 * float(np.square(norms - threshold).sum()), gradient, active, norms, excess


def _direction(
    groups: Groups, At: Array, active: Index, norms: Array, gradient: Array, frame: Array, threshold: float
) -> Array:
    """The Newton step within the complement of the frame; a singular Hessian is shifted. Zero where none is found."""
    pull = threshold / norms
    H = groups.weighted_gram(active, 1.0 - pull)
    directions = At[active] / norms[:, None]
    images = groups.images(directions, active)
    H += (images * pull) @ images.T
    HQ = H @ frame
    H -= HQ @ frame.T + frame @ HQ.T - frame @ (frame.T @ HQ) @ frame.T
    mean = max(float(np.trace(H)) / groups.n, np.finfo(float).tiny)
    H += mean * (frame @ frame.T)
    shift = 1e-10 * mean
    for _ in range(SHIFTS):
        H[np.diag_indices_from(H)] += shift
        try:
            factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            shift *= 100
            continue
        step = -scipy.linalg.cho_solve(factor, gradient, check_finite=False)
        return step - frame @ (frame.T @ step)
    return np.zeros_like(gradient)
