"""Search for a dual certificate of given weights, or for evidence that there is none.

Weights with support S and unit directions u are the unique interpolant of least norm if some lam has A_S^T lam = u
and ||A_g^T lam|| < 1 outside S. On this affine set the search minimises
    phi(lam) = 1/2 sum_{g not in S} (||A_g^T lam|| - t)_+^2,     t just below 1,
by Newton's method. A zero of phi is a certificate. At a positive minimum, the excesses are weights outside S that
keep the labels if the weights of S change too: a direction of descent. The caller checks either result through
`recovery.programs.uniqueness`. For an exact program the norms are those of the projections P_K(A_g^T lam) on the cones
of the signed groups outside S, which is a weaker condition. Source: P1, proof of Proposition 2; mathematics of exact
recovery.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.projections import Projections
from recovery.programs.solution import Multipliers
from recovery.types import Array, Index

THRESHOLD = 1.0 - 1e-3
STEP_LIMIT = 100
SHIFTS = 8
NONE: Index = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class DualSearch:
    """Result of a search: its last lam (n,), the excess weights outside the support, the number of Newton steps.

    multipliers: of an exact program, those of the last projections, which may bound the dual norms at lam.
    """

    lam: Array
    excess: Array
    steps: int
    multipliers: Multipliers | None = None


@dataclass(frozen=True)
class _Point:
    """The function phi at one lam: value, gradient (n,); groups above the threshold, (projected) images and norms."""

    value: float
    gradient: Array
    active: Index
    images: Array
    norms: Array


class GatedPenalty:
    """phi = 1/2 sum over groups outside the support of (||A_g^T lam|| - t)_+^2, for a gated program."""

    def __init__(self, groups: Groups, left_out: Index, threshold: float) -> None:
        self.groups, self.threshold = groups, threshold
        self.others = np.ones(groups.count, dtype=np.bool_)
        self.others[left_out] = False

    def images(self, lam: Array) -> Array:
        """Return the images A_g^T lam of all groups, before any projection."""
        return self.groups.adjoint(lam)

    def at(self, images: Array) -> _Point:
        """Return phi, its gradient, and the groups above the threshold, at the lam with these images."""
        norms = np.sqrt(np.einsum("gr,gr->g", images, images))
        active = np.flatnonzero(self.others & (norms > self.threshold))
        images, norms = images[active], norms[active]
        excess = norms - self.threshold
        gradient = self.groups.images(images * (excess / norms)[:, None], active).sum(axis=1)
        return _Point(0.5 * float(excess @ excess), gradient, active, images, norms)

    def hessian(self, point: _Point) -> Array:
        """Return the Hessian of phi at this point, (n, n)."""
        # phi has the curvature 1 along the image of an active group, and 1 - t / ||image|| across it
        bend = self.threshold / point.norms
        H = self.groups.weighted_gram(point.active, 1.0 - bend)
        along = self.groups.images(point.images / point.norms[:, None], point.active)
        return H + (along * bend) @ along.T


class ExactPenalty(GatedPenalty):
    """phi for an exact program, which projects A_g^T lam on cones, over the rows of W that are not planted."""

    def __init__(self, program: ExactProgram, rows: Index, threshold: float) -> None:
        self.program, self.threshold = program, threshold
        self.chosen = np.setdiff1d(program.members, rows)
        self.own = program.group(self.chosen)
        # projections shorter than the threshold do not count in phi, so they need not be exact
        self.cones = Projections(program.groups, self.own, threshold)
        self.everyone = np.arange(len(self.own))
        # the image of a signed group is the image A_g^T lam of its group times the sign
        self.sign = program.sign(self.chosen)[:, None]
        self.signed = program.groups.D[:, self.own].T * self.sign

    def images(self, lam: Array) -> Array:
        return self.program.groups.adjoint(lam)[self.own] * self.sign

    def at(self, images: Array) -> _Point:
        points, norms = self.cones.project(self.everyone, images, 1.0, keep=True)
        active = np.flatnonzero(norms > self.threshold)
        points, norms = points[active], norms[active]
        excess = norms - self.threshold
        weights = self.cones.weights(active, points * (excess / norms)[:, None])
        gradient = np.einsum("kn,kn->n", self.signed[active], weights @ self.cones.base.T)
        return _Point(0.5 * float(excess @ excess), gradient, active, points, norms)

    def hessian(self, point: _Point) -> Array:
        groups = point.active
        roots = np.sqrt(1.0 - self.threshold / point.norms)
        columns = self.cones.columns(groups, point.images / point.norms[:, None], roots)
        columns *= np.repeat(self.signed[point.active], self.cones.freedom(groups), axis=0)
        H: Array = columns.T @ columns
        return H


def search_dual(
    groups: Groups, support: Index, frame: Array, start: Array, threshold: float = THRESHOLD, ignored: Index = NONE
) -> DualSearch:
    """Minimise phi of a gated program over start + {frame}^perp until it is zero or no step descends.

    support: the planted groups S. ignored: further groups to leave out of phi. frame: (n, m), an orthonormal basis of
    range(A_S). start: lam with A_S^T lam = u.
    """
    lam, point, steps = _minimised(GatedPenalty(groups, np.concatenate([support, ignored]), threshold), frame, start)
    excess = np.zeros((groups.count, groups.rank))
    excess[point.active] = point.images * (1.0 - threshold / point.norms)[:, None]
    return DualSearch(lam, excess, steps)


def search_exact_dual(
    program: ExactProgram, rows: Index, frame: Array, start: Array, threshold: float = THRESHOLD
) -> DualSearch:
    """Minimise phi of an exact program as `search_dual` does, for the planted `rows` of W."""
    phi = ExactPenalty(program, rows, threshold)
    lam, point, steps = _minimised(phi, frame, start)
    excess = np.zeros((program.size, program.groups.rank))
    weights = point.images * (1.0 - threshold / point.norms)[:, None]
    excess[phi.chosen[point.active]] = phi.cones.weights(point.active, weights)
    return DualSearch(lam, excess, steps, Multipliers(phi.chosen, phi.cones.multipliers))


def _minimised(phi: GatedPenalty, frame: Array, start: Array) -> tuple[Array, _Point, int]:
    """Minimise phi over start + {frame}^perp by Newton's method; return lam, its point and the number of steps."""
    lam, images = start, phi.images(start)
    point = phi.at(images)
    steps = 0
    # steps orthogonal to the frame keep A_S^T lam = u; `free` is the dimension of the space of such steps
    free = len(start) - frame.shape[1]
    while point.value > 0 and free > 0 and steps < STEP_LIMIT:
        gradient = point.gradient - frame @ (frame.T @ point.gradient)
        step = _direction(phi.hessian(point), gradient, frame)
        slope = float(gradient @ step)
        if not slope < 0:
            break
        image = phi.images(step)
        length = 1.0
        while length > 1e-8:
            # phi may overflow at a long step; that step is halved, too
            with np.errstate(over="ignore", invalid="ignore"):
                trial = phi.at(images + length * image)
            # Armijo's rule: accept the step if phi decreases by a small fraction of what the slope predicts
            if trial.value <= point.value + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break
        lam, images = lam + length * step, images + length * image
        flat = trial.value > point.value * (1 - 1e-12)
        point = trial
        steps += 1
        if flat:
            break
    return lam, point, steps


def _direction(H: Array, gradient: Array, frame: Array) -> Array:
    """Return the Newton step orthogonal to the frame, with a singular Hessian shifted; zero if no shift suffices."""
    # H becomes (I - F F^T) H (I - F F^T), computed without the projection matrix, plus a multiple of F F^T that makes
    # it definite
    HQ = H @ frame
    H = H - (HQ @ frame.T + frame @ HQ.T - frame @ (frame.T @ HQ) @ frame.T)
    mean = max(float(np.trace(H)) / len(H), np.finfo(float).tiny)
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
