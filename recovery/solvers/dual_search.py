"""Search for a dual certificate of given weights, or for a proof that none exists.

Weights with support S and unit directions u are the unique interpolant of least norm if some lam has A_S^T lam = u
and ||A_g^T lam|| < 1 off S. On that affine set the search minimises
    phi(lam) = 1/2 sum_{g not in S} (||A_g^T lam|| - t)_+^2,     t just below 1,
by Newton's method. A zero of phi is a certificate. At a positive minimum, the excesses are weights off S that leave
the labels as they are once S gives way, which is a direction of descent. Either answer is checked by the caller
through `recovery.programs.uniqueness`. For an exact program the norms are those of the projections P_K(A_g^T lam) on
the cones of the signed groups off S, which ask less of lam. Source: P1, proof of Proposition 2; mathematics of exact
recovery.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.types import Array, Index

THRESHOLD = 1.0 - 1e-3
STEP_LIMIT = 100
SHIFTS = 8
NONE: Index = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class DualSearch:
    """The last lam (n,), the excess weights off the support there, as the program has them, and the Newton steps."""

    lam: Array
    excess: Array
    steps: int


@dataclass(frozen=True)
class _Point:
    """phi at one lam: value, gradient (n,), the groups above the threshold and their (projected) pulls and norms."""

    value: float
    gradient: Array
    active: Index
    pulls: Array
    norms: Array


class _Penalty(Protocol):
    """phi of a program: a function of the images A_g^T lam of all its groups."""

    def images(self, lam: Array) -> Array:
        """What phi is a function of, linear in lam."""

    def at(self, images: Array) -> _Point:
        """phi and its gradient."""

    def hessian(self, point: _Point) -> Array:
        """The Hessian of phi, (n, n)."""


class _GatedPenalty:
    """phi of a gated program, off the support."""

    def __init__(self, groups: Groups, left_out: Index, threshold: float) -> None:
        self.groups, self.threshold = groups, threshold
        self.others = np.ones(groups.count, dtype=np.bool_)
        self.others[left_out] = False

    def images(self, lam: Array) -> Array:
        return self.groups.adjoint(lam)

    def at(self, images: Array) -> _Point:
        norms = np.sqrt(np.einsum("gr,gr->g", images, images))
        active = np.flatnonzero(self.others & (norms > self.threshold))
        pulls, norms = images[active], norms[active]
        excess = norms - self.threshold
        gradient = self.groups.images(pulls * (excess / norms)[:, None], active).sum(axis=1)
        return _Point(0.5 * float(excess @ excess), gradient, active, pulls, norms)

    def hessian(self, point: _Point) -> Array:
        # across its direction a norm bends by t / ||.|| less than along it
        bend = self.threshold / point.norms
        H = self.groups.weighted_gram(point.active, 1.0 - bend)
        along = self.groups.images(point.pulls / point.norms[:, None], point.active)
        return H + (along * bend) @ along.T


class _ExactPenalty:
    """phi of an exact program, off the planted rows of W: with projections on cones, linear while tight rows stay."""

    def __init__(self, program: ExactProgram, rows: Index, threshold: float) -> None:
        from recovery.solvers.cone_projections import Projections  # loads compiled code

        self.program, self.threshold = program, threshold
        self.cones = Projections(program)
        self.cones.bound = threshold  # projections below it need not be exact
        members = program.members
        self.others = np.flatnonzero(~np.isin(members, rows))
        chosen = members[self.others]
        self.own = program.group(chosen)
        # both signs of a group see the same image, with the sign before it
        self.sign = program.sign(chosen)[:, None]
        self.signed = program.groups.D[:, self.own].T * self.sign

    def images(self, lam: Array) -> Array:
        return self.program.groups.adjoint(lam)[self.own] * self.sign

    def at(self, images: Array) -> _Point:
        points, norms = self.cones.project(self.others, images, 1.0)
        active = np.flatnonzero(norms > self.threshold)
        pulls, norms = points[active], norms[active]
        excess = norms - self.threshold
        weights = self.cones.weights(self.others[active], pulls * (excess / norms)[:, None])
        gradient = np.einsum("kn,kn->n", self.signed[active], weights @ self.cones.base.T)
        return _Point(0.5 * float(excess @ excess), gradient, active, pulls, norms)

    def hessian(self, point: _Point) -> Array:
        groups = self.others[point.active]
        roots = np.sqrt(1.0 - self.threshold / point.norms)
        columns = self.cones.columns(groups, point.pulls / point.norms[:, None], roots)
        columns *= np.repeat(self.signed[point.active], self.cones.freedom(groups), axis=0)
        H: Array = columns.T @ columns
        return H


def search_dual(
    groups: Groups, support: Index, frame: Array, start: Array, threshold: float = THRESHOLD, ignored: Index = NONE
) -> DualSearch:
    """Minimise phi of a gated program over start + {frame}^perp until it is zero, or no step descends.

    support: the planted groups S. ignored: groups that phi leaves out, as it does S. frame: (n, m), an orthonormal
    basis of range(A_S). start: lam with A_S^T lam = u.
    """
    lam, point, steps = _minimised(_GatedPenalty(groups, np.concatenate([support, ignored]), threshold), frame, start)
    excess = np.zeros((groups.count, groups.rank))
    excess[point.active] = point.pulls * (1.0 - threshold / point.norms)[:, None]
    return DualSearch(lam, excess, steps)


def search_exact_dual(
    program: ExactProgram, rows: Index, frame: Array, start: Array, threshold: float = THRESHOLD
) -> DualSearch:
    """As `search_dual` for an exact program and its planted rows of W."""
    phi = _ExactPenalty(program, rows, threshold)
    lam, point, steps = _minimised(phi, frame, start)
    excess = np.zeros((program.size, program.groups.rank))
    active = phi.others[point.active]
    weights = point.pulls * (1.0 - threshold / point.norms)[:, None]
    excess[program.members[active]] = phi.cones.weights(active, weights)
    return DualSearch(lam, excess, steps)


def _minimised(phi: _Penalty, frame: Array, start: Array) -> tuple[Array, _Point, int]:
    """Newton's method in the complement of the frame, with steps halved until phi falls."""
    lam, images = start, phi.images(start)
    point = phi.at(images)
    steps = 0
    # lam + {frame}^perp keeps A_S^T lam = u
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
            trial = phi.at(images + length * image)
            # Armijo's rule: a small share of the fall that the slope promises
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
    """The Newton step within the complement of the frame; a singular Hessian is shifted. Zero where none descends."""
    # (I - F F^T) H (I - F F^T) without forming the projection, then a multiple of F F^T to make it definite
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
