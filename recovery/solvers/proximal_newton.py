"""Proximal-point steps on the dual of a program, each solved by Newton's method: one loop for every family of groups.

A step minimises phi (`recovery.solvers.inner`) roughly, which moves the weights W and the dual lam; s grows from one
step to the next and the proximal weight decays, as in augmented-Lagrangian methods, so that late steps are nearly exact
dual steps. Only groups whose dual norm may pass its bound take part in a step (`near_rows`). An inner problem that
fails makes s fall (`StepControl`). The loop ends once the gap and the residual of W, lam are small: both are measured
anew, so a rough step costs time but no truth. One Newton step costs a product with the groups that take part, their
projections, and an n x n Hessian and factor. Source: Li, Sun and Toh (SIAM J. Optim. 28, 2018), applied to
group norms; by projections on cones also to exact programs.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from recovery.programs.solution import Outcome, Solution
from recovery.solvers.controls import Controls
from recovery.solvers.families import Family
from recovery.solvers.inner import Inner
from recovery.types import Array, Index, Mask


@dataclass(frozen=True)
class JudgedPoint:
    """W and lam judged: their error, the objective, the dual norms over the bound (k,), how much these may rise, the
    images of lam (k, r), and the dual to return.
    """

    error: float
    objective: float
    norms: Array
    rise: float
    At: Array
    lam: Array


@dataclass(frozen=True)
class Start:
    """A start: W (k, r), lam (n,), its images (k, r), the rows of the first step, s, and a typical ||A_g||^2."""

    W: Array
    lam: Array
    At: Array
    near: Index
    s: float
    curvature: float


class DualProblem(ABC):
    """A program as the loop sees it: rows of weights (k, r) with a family for each subset of them.

    delta: 1 if regularised, otherwise 0. fits: whether the error counts the misfit of a regularised program too.
    pinned (k,): rows that take part in every step.
    """

    y: Array
    delta: float
    fits: bool
    pinned: Mask

    @abstractmethod
    def family(self, near: Index) -> Family:
        """Return the family of these rows."""

    @abstractmethod
    def judge(self, W: Array, lam: Array, misfit: Array, tolerance: float) -> JudgedPoint:
        """Judge W (k, r) and lam, with misfit = F(W) - y + delta lam (n,)."""

    @abstractmethod
    def solution(self, W: Array, lam: Array, outcome: Outcome, steps: int) -> Solution:
        """Return the solution of the program; if SOLVED, W and lam are the last that were judged."""

    def infeasible(self) -> bool:
        """Return whether no weights fit the labels."""
        return False


@dataclass(frozen=True)
class StepControl:
    """The step s, the proximal weight with its least value, and the number of inner problems in a row that failed."""

    s: float
    weight: float
    least: float
    longest: float
    failed: int = 0

    @classmethod
    def of(cls, start: Start, controls: Controls) -> "StepControl":
        weight = controls.weight * start.s * start.curvature
        return cls(start.s, weight, weight * controls.least_weight, start.s * controls.longest)

    def after(self, solved: bool, steps: int, controls: Controls) -> "StepControl":
        """Return the control after an inner problem that took `steps` Newton steps, `solved` or failed."""
        if solved:
            growth = controls.growth if steps <= controls.hard else controls.hard_growth
            s, weight = min(self.s * growth, self.longest), max(self.weight / controls.decay, self.least)
            return replace(self, s=s, weight=weight, failed=0)
        failed = self.failed + 1
        return replace(self, s=self.s * (controls.retreat if failed > controls.patience else 1.0), failed=failed)


def near_rows(controls: Controls, norms: Array, always: Mask, rise: float, share: float = 1.0) -> Index:
    """Return the rows that take part in a step: all of `always` (k,), and those whose norm (k,) may pass its bound.

    share: at most this fraction of the rows (or `smallest`) is returned, those of largest norm, or more if `always` has
    more. rise: how much a norm, relative to its bound, may rise within the step.
    """
    keys = np.where(always, np.inf, norms)
    near = keys > 1.0 - max(controls.reach * rise, controls.least_reach)
    if near.mean() > controls.few:
        near[:] = True
    count = max(controls.smallest, int(share * len(keys)), int(always.sum()))
    if near.sum() > count:
        near[np.argsort(-keys, kind="stable")[count:]] = False
    return np.flatnonzero(near)


def accuracy(
    error: float, objective: float, size: float, problem: DualProblem, controls: Controls, least: float
) -> float:
    """Return the ||grad phi|| / size to reach, about `error`. size: ||y||. objective: the present one.

    In a regularised program half the square of the gradient is added to the objective: this may add no more than the
    fraction `error`, and unless the error counts the misfit, need add no less than half of the fraction `least`.
    """
    wanted = error
    if problem.delta and np.isfinite(objective):
        wanted = min(wanted, math.sqrt(2 * wanted * objective) / size)
        if not problem.fits:
            wanted = max(wanted, math.sqrt(least * objective) / size)
    return max(wanted, controls.digits)


def proximal_newton(problem: DualProblem, start: Start, tolerance: float, controls: Controls) -> Solution:
    """Solve to an error of at most `tolerance`, or return the best W and lam found."""
    y, size = problem.y, math.sqrt(problem.y @ problem.y)
    W, lam, At, near = start.W, start.lam, start.At, start.near
    control = StepControl.of(start, controls)
    error, objective, steps, solved, fraction = 1.0, 0.5 * size**2, 0, True, controls.inexactness
    best, outcome = (np.inf, W, lam), Outcome.ITERATION_LIMIT
    for outer in range(controls.outer_limit):
        least = fraction / controls.inexactness * tolerance
        known = objective if error < controls.strict or not problem.fits else np.inf
        wanted = accuracy(fraction * max(error, tolerance), known, size, problem, controls, least)
        inner = Inner(
            problem.family(near),
            y,
            W[near],
            control.s,
            controls,
            problem.delta,
            control.weight,
            lam,
            rough=error > controls.rough and W.shape[1] >= controls.rough_rank,
            loose=solved,
        )
        with np.errstate(all="ignore"):
            point = inner.minimise(lam, At[near], wanted * size)
        if point is None or not (np.isfinite(point.lam).all() and np.isfinite(point.excess).all()):
            outcome = Outcome.NUMERICAL_TROUBLE
            break
        steps += inner.steps
        W = np.zeros_like(W)
        W[near] = point.weights((len(near), W.shape[1]))
        misfit = point.gradient - control.weight * (point.lam - lam)
        lam = point.lam
        judged = problem.judge(W, lam, misfit, tolerance)
        At = judged.At
        if np.isnan(judged.error):
            outcome = Outcome.NUMERICAL_TROUBLE
            break
        if judged.error <= tolerance:
            return problem.solution(W, judged.lam, Outcome.SOLVED, steps)
        if judged.error < best[0]:
            best = (judged.error, W, judged.lam)
        # `infeasible` needs an n x n eigendecomposition, so it runs only once
        if outer == 8 and problem.infeasible():
            outcome = Outcome.INFEASIBLE
            break
        if steps >= controls.step_limit:
            break
        error, objective = min(1.0, judged.error), judged.objective
        # if no Newton step was needed, the tolerance was too loose, which happens if the weights hardly fit the labels
        fraction *= 1.0 if inner.steps else controls.tighter
        solved = point.size <= max(wanted, controls.digits) * size
        control = control.after(solved, inner.steps, controls)
        near = near_rows(controls, judged.norms, problem.pinned | W.any(axis=1), judged.rise)
    if outcome is not Outcome.INFEASIBLE and best[0] <= controls.nearly:
        outcome = Outcome.NEARLY_SOLVED
    return problem.solution(best[1], best[2], outcome, steps)
