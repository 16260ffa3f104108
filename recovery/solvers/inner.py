"""The inner problem of a proximal-point step, and Newton's method on it.

With weights W, a step s > 0 and z_g = w_g + s A_g^T lam, it is to minimise over lam, or over lam + {frame}^perp,
    phi(lam) = delta/2 ||lam||^2 - y.lam + (1/2s) sum_g (||P_g z_g|| - s b)_+^2 + weight/2 ||lam - anchor||^2,
with P_g the projections of a `Family`. The new weights are the proximal points (1 - s b/||P_g z_g||)_+ P_g z_g, and
grad phi = sum_g A_g w_g - y + delta lam + weight (lam - anchor). Each step lowers phi by Armijo's rule, or brings the
gradient clearly below the smallest so far, so it cannot cycle.
"""

import math
from dataclasses import dataclass

import numpy as np

from recovery.solvers.controls import Controls
from recovery.solvers.families import Active, Family
from recovery.solvers.newton_systems import descent, descent_across, loose_descent, step_length
from recovery.types import Array


@dataclass(frozen=True)
class Iterate:
    """phi at a lam (n,) with images At (k, r): its value and gradient (n,), z (k, r), and the active rows."""

    lam: Array
    At: Array
    value: float
    gradient: Array
    Z: Array
    active: Active
    excess: Array

    @property
    def size(self) -> float:
        """The norm of the gradient."""
        return math.sqrt(self.gradient @ self.gradient)

    def weights(self, shape: tuple[int, int]) -> Array:
        """Return the new weights of every row."""
        W = np.zeros(shape)
        W[self.active.rows] = self.active.units * self.excess[:, None]
        return W


@dataclass
class Inner:
    """One inner problem. steps: Newton steps so far. rough: whether the first steps use rough Hessians.

    loose: whether conjugate gradients are tried. frame: (n, m), orthonormal; steps are orthogonal to it.
    """

    family: Family
    y: Array
    W: Array
    s: float
    controls: Controls
    delta: float = 0.0
    weight: float = 0.0
    anchor: Array | float = 0.0
    rough: bool = False
    loose: bool = False
    frame: Array | None = None
    steps: int = 0
    damping: float = 0.0

    def at(self, lam: Array, At: Array) -> Iterate:
        """Return phi at a lam with these images."""
        s, Z = self.s, self.W + self.s * At
        active = self.family.project(Z, s)
        excess, move = active.norms - s * self.family.bound, lam - self.anchor
        value = float(excess @ excess) / (2 * s) - float(self.y @ lam)
        value += 0.5 * self.delta * float(lam @ lam) + 0.5 * self.weight * float(move @ move)
        gradient = excess @ active.labels - self.y + self.delta * lam + self.weight * move
        if self.frame is not None:
            gradient -= self.frame @ (self.frame.T @ gradient)
        return Iterate(lam, At, value, gradient, Z, active, excess)

    def minimise(self, lam: Array, At: Array, tolerance: float) -> Iterate | None:
        """Return the last point: ||grad phi|| <= tolerance, no step accepted, or none left; None if a system fails."""
        controls, least = self.controls, np.inf
        point = self.at(lam, At)
        while point.size > tolerance and self.steps < controls.inner_limit:
            least = min(least, point.size)
            step = self.direction(point)
            if step is None:
                return None
            new = self._along(point, step, controls.sufficient * least)
            if new is None:
                break
            self.steps += 1
            # in a search for a zero of phi, which has no tolerance, rounding alone may go on for long
            flat = self.frame is not None and new.value > point.value * (1 - controls.digits)
            point = new
            if flat:
                break
        return point

    def direction(self, point: Iterate) -> Array | None:
        """Return the Newton step at a point by `loose_descent` while it gives one, by `descent_across` with a frame, or
        by `descent`; None if that fails.
        """
        shift = self.weight + self.delta
        if self.loose and (system := self.family.system(point.active, self.s, shift)) is not None:
            if (step := loose_descent(system, point.gradient, self.controls)) is not None:
                return step
            self.loose = False
        H = self.family.hessian(point.active, self.s, self.rough and self.steps < self.controls.rough_steps)
        if self.frame is not None:
            return descent_across(H, self.controls.damping, point.gradient, self.frame)
        return descent(H, shift, point.gradient, self.damping)

    def _along(self, point: Iterate, step: Array, enough: float) -> Iterate | None:
        """Return the point at the first length with lower phi or with ||grad phi|| <= enough; None if there is none."""
        controls = self.controls
        with np.errstate(over="ignore", invalid="ignore"):
            slope, square = float(point.gradient @ step), float(step @ step)
        # a nearly singular Hessian may give a step whose square overflows
        if not (slope < 0 and square < np.inf):
            return None
        # one product A_g^T step serves all lengths, because A_g^T lam is linear in lam
        image = self.family.images(step)
        slopes, curvature = self.family.slopes(point.Z, self.s * image, self.s), self.weight + self.delta
        curvature *= square
        length = step_length(lambda t: t * curvature + slopes(t), slope, controls)
        for _ in range(controls.lengths):
            # phi may overflow at a long step, which is then shortened
            with np.errstate(over="ignore", invalid="ignore"):
                new = self.at(point.lam + length * step, point.At + length * image)
            if new.value <= point.value + controls.armijo * length * slope or new.size <= enough:
                self._damp(length)
                return new
            # the zero that phi' would have if it were linear between 0 and this length, within limits
            steepness = float(new.gradient @ step)
            root = -slope / (steepness - slope) if steepness > slope else 0.5
            length *= min(max(root, controls.shorter), controls.shorter_at_most)
        return None

    def _damp(self, length: float) -> None:
        controls = self.controls
        if length < controls.damped:
            self.damping = max(self.damping * controls.eased, controls.damping)
        elif length == 1.0:
            self.damping = self.damping / controls.eased if self.damping > controls.damping / controls.eased else 0.0
