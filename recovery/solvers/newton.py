"""Gated programs of every architecture by the proximal-point Newton method: where it starts, and when it ends."""

import math

import numpy as np

from recovery.programs.certificate import RESIDUAL_TOLERANCE, certify
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Outcome, Solution
from recovery.solvers.controls import GATED, Controls
from recovery.solvers.families import GatedFamily
from recovery.solvers.proximal_newton import DualProblem, JudgedPoint, Start, proximal_newton
from recovery.types import Array, Index


class GatedProblem(DualProblem):
    """A gated program, judged by its certificate."""

    fits = False

    def __init__(self, program: GatedProgram, controls: Controls) -> None:
        self.program, self.controls, self.y = program, controls, program.y
        self.delta = 0.0 if program.interpolates else 1.0
        self.pinned = np.arange(program.groups.count) < int(program.groups.linear)
        self.norms: Array | None = None

    def family(self, near: Index) -> GatedFamily:
        return GatedFamily(self.program.groups, near, self.program.penalty, self.controls.close)

    def judge(self, W: Array, lam: Array, misfit: Array, tolerance: float) -> JudgedPoint:
        del misfit, tolerance
        images = self.program.groups.dual_images(lam)
        certificate, norms = certify(self.program, Solution(W, lam), images=images), images.norms / self.program.penalty
        rise = np.inf if self.norms is None else float((norms - self.norms).max())
        self.norms = norms
        return JudgedPoint(certificate.error, abs(certificate.objective), norms, rise, images.values, lam)

    def solution(self, W: Array, lam: Array, outcome: Outcome, steps: int) -> Solution:
        return Solution(W, lam, outcome, steps, "newton")

    def infeasible(self) -> bool:
        """Return whether y has a component outside the range of all groups, which is the range of K = sum_g A_g A_g^T.

        False for a regularised program, and where that component is as small as a solution's residual.
        """
        groups, y = self.program.groups, self.y
        if self.delta:
            return False
        # eigenvalues of K are squared singular values: those below about 1e-13 n times the largest are rounding errors
        K = groups.weighted_gram(np.arange(groups.count), np.ones(groups.count))
        values, vectors = np.linalg.eigh(K)
        null = vectors[:, values <= 1e-13 * groups.n * values[-1]]
        return float(np.linalg.norm(null.T @ y)) > RESIDUAL_TOLERANCE * float(np.linalg.norm(y))


def solve_newton(
    program: GatedProgram, start: Solution | None = None, tolerance: float = GATED.tolerance, controls: Controls = GATED
) -> Solution:
    """Solve a gated program to relative gap and residual `tolerance`, with a warm start from `start` if given.

    The outcome follows from the residuals: SOLVED, NEARLY_SOLVED (error within 1e-6), INFEASIBLE (y is not in
    the range of the groups), NUMERICAL_TROUBLE or ITERATION_LIMIT. Ill-conditioned data raise nothing.
    """
    groups, y = program.groups, program.y
    if not y.any() or groups.count == 0:
        return Solution.zero((groups.count, groups.rank), y, program.interpolates, "newton")
    problem, first = GatedProblem(program, controls), gated_start(program, start)
    problem.norms = np.linalg.norm(first.At, axis=1) / program.penalty
    return proximal_newton(problem, first, tolerance, controls)


def gated_start(program: GatedProgram, start: Solution | None) -> Start:
    """Return the start from `start`, if its weights and its dual are not zero.

    Otherwise lam is y scaled to near the boundary of the dual, and weights are zero. A regularised program with a
    linear group starts from the optimum over this group, which is often the whole optimum if beta is large.
    """
    groups, y, bound, everyone = program.groups, program.y, program.penalty, np.arange(program.groups.count)
    column = (float(np.sqrt(np.mean(np.square(groups.base).sum(axis=0)))) if groups.rank else 0.0) or 1.0
    # s is the expected size of the weights, ||y|| / column, divided by b, the size of the norms of A^T lam. `column`, a
    # typical column norm of B, approximates ||A_g||
    s = float(np.linalg.norm(y)) / (bound * column)
    if start is not None and start.W.any() and start.lam.any():
        s = float(np.linalg.norm(start.W, axis=1).max()) / bound
        return Start(start.W, start.lam, groups.adjoint(start.lam), everyone, s, column**2)
    W, lam = np.zeros((groups.count, groups.rank)), y
    if groups.linear and not program.interpolates:
        # groups with equal matrices share the weights equally, as they do from a start at zero
        A, same = groups.block(0), groups.patterns.all(axis=0)
        w = _linear(A, y, bound)
        W[same], lam = w / same.sum(), y - A @ w
    images, fitted = groups.dual_images(lam), bool(W[0].any())
    # lam starts as y, or as what the linear group alone does not fit, scaled to just outside the boundary of the dual,
    # so that at least one other group is active in the first step
    largest = float(images.norms[~W.any(axis=1)].max(initial=0.0))
    outside = GATED.outside_fitted if program.interpolates or fitted else GATED.outside
    scale = outside * bound / largest if largest > 0 else float(not program.interpolates)
    if not program.interpolates:
        # a feasible lam is the optimum of the dual: do not scale it up
        scale = min(scale, 1.0)
        s *= GATED.fitted if fitted else max(1.0, math.sqrt(scale / GATED.strong))
    return Start(W, lam * scale, images.values * scale, everyone, s, column**2)


def _linear(A: Array, y: Array, beta: float) -> Array:
    """Return the minimiser w of 1/2 ||A w - y||^2 + beta ||w||: w = (A^T A + m I)^{-1} A^T y with m ||w|| = beta.

    Zero if A^T A overflows or underflows.
    """
    gram, c = A.T @ A, y @ A
    unit, size = float(np.trace(gram)), float(np.linalg.norm(c))
    if not (0 < unit < np.inf and size > 0 and beta / size < 1.0):
        return np.zeros(len(c))
    values, vectors = np.linalg.eigh(gram / unit)
    values, c, least = np.maximum(values, 0.0), c @ vectors / size, beta / size
    # 1 / ||w|| - m / beta is concave in m, so Newton's method decreases to its root from an upper bound
    m, last, w = least / (1.0 - least), np.inf, c
    while m < last:
        w, last = c / (values + m), m
        norm = float(np.linalg.norm(w))
        slope = float(w @ (w / (values + m))) / norm**3 - 1 / least
        if not slope < 0:  # only by rounding, where beta is nearly the largest one
            break
        m -= (1 / norm - m / least) / slope
    return vectors @ w * (size / unit)
