"""A semismooth Newton method on the dual of proximal-point steps, for gated programs of every architecture.

With weights W and a step s > 0, each proximal-point step minimises over lam
    phi(lam) = delta/2 ||lam||^2 - y.lam + (1/2s) sum_g (||z_g|| - s b)_+^2,   z_g = w_g + s A_g^T lam,
where b is the bound of the dual (1, or beta), and delta = 1 if regularised, 0 for interpolation. The new weights are
the proximal points (1 - s b / ||z_g||)_+ z_g, and grad phi = sum_g A_g w_g - y + delta lam. Gradient and Hessian
involve active groups only, ||z_g|| > s b:
    H = delta I + s sum_g [(1 - s b/||z_g||) A_g A_g^T + (s b/||z_g||) (A_g z^_g)(A_g z^_g)^T].
A small multiple of ||lam - anchor||^2 / 2, the proximal weight, is added, with the lam of the previous step as anchor.
Source: the augmented-Lagrangian scheme of Li, Sun and Toh (SIAM J. Optim. 28, 2018), applied to group norms.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from recovery.programs.certificate import certify
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Outcome, Solution
from recovery.solvers.newton_systems import Hessian, descent, loose_descent, step_length
from recovery.types import Array, Index, Mask

TOLERANCE = 1e-10
STEP_GROWTH, RETREAT = 3.0, 0.05
"""Growth of s after an inner problem that was solved: 5 saves no Newton steps, 10 makes some inner problems fail
(measured). After an inner problem that failed, s falls to the fraction RETREAT: with columns in units far apart nearly
all fail once s is large (measured: of 192 programs with columns of 0.01 to 100, 141 are solved without the retreat and
183 with it, in two thirds of the time)."""
STRONG, FITTED = 1e-2, 0.8
"""If beta exceeds the fraction STRONG of the least beta without weights, s starts larger, by the root of the ratio: few
groups stay active, and large steps exclude the others sooner (at a tenth, 12 steps become 9, measured). If the linear
group has weights at the start, s starts as the fraction FITTED (of 0.5 to 1, 3 to 6 % fewer steps than 1, measured)."""
START = 1e-3
"""A solution of this gap or more only serves as a start."""
OUTSIDE = (1.3, 1.01)
"""The largest norm of A^T lam at the start, over the bound: without weights, and for interpolation or if the linear
group has weights (measured at a gap of 1e-6: 3 % fewer steps, and 6 % more in the second case)."""
INEXACTNESS, TIGHTER = 0.2, 0.1
"""Inner problems are solved to this fraction of the relative gap. 0.01 takes 20 % more steps; from 0.5 on some problems
take many (measured). If a start already satisfies it, the fraction is multiplied by TIGHTER."""
DIGITS = 1e-12
"""Rounding error of a gradient, relative to the labels."""
REACH, LEAST_REACH, FEW = 0.2, 1e-3, 0.85
"""A group is excluded from a proximal-point step if its norm is below the bound by more than REACH times the largest
increase of a norm in the previous step, and by more than LEAST_REACH of the bound, provided that at most the fraction
FEW of all groups remains."""
ROUGH, ROUGH_STEPS = 0.03, 6
"""Above this gap, the first steps of an inner problem use `rough_gram`, which costs much less. It is inaccurate for
uneven rows and for low rank, so later steps use the true Hessian."""
CLOSE = 0.1
"""Weights of groups in a Hessian keep their previous value if they changed by less than this fraction."""
LONGEST_STEP = 1e5
PROXIMAL_WEIGHT = 1e-2
DECAY = 5.0
LEAST_WEIGHT = 1e-8
OUTER_LIMIT = 80
INNER_LIMIT = 60


@dataclass
class _State:
    """An iterate: weights W, dual lam, its image At = A^T lam, step s, proximal weight and its anchor, Newton steps so
    far.

    rough: whether it is far enough from the optimum for a rough Hessian. loose: whether to use conjugate gradients.
    """

    W: Array
    lam: Array
    At: Array
    s: float
    proximal_weight: float
    anchor: Array
    rough: bool = True
    loose: bool = True
    steps: int = 0


class _Point(NamedTuple):
    """The function phi at a lam and its gradient (n,); z_g (p, r) and ||z_g||^2 of all groups; of the active groups
    ||z_g||, z^_g (k, r), A_g z^_g (n, k), and the norms ||z_g|| - s b of their new weights.
    """

    value: float
    gradient: Array
    Z: Array
    squares: Array
    active: Index
    norms: Array
    directions: Array
    images: Array
    excess: Array


def solve_newton(program: GatedProgram, start: Solution | None = None, tolerance: float = TOLERANCE) -> Solution:
    """Solve a gated program to relative gap and residual `tolerance`, with a warm start from `start` if given.

    The outcome follows from the residuals: SOLVED, NEARLY_SOLVED (gap within 1e-6), INFEASIBLE (y is not in
    the range of the groups), NUMERICAL_TROUBLE or ITERATION_LIMIT. Ill-conditioned data raise nothing.
    """
    groups, y = program.groups, program.y
    if not y.any() or groups.count == 0:
        return Solution.zero((groups.count, groups.rank), y, program.interpolates, "newton")
    # starts of exact programs keep their path, on which stored numbers of neurons depend
    direct = tolerance < START
    state = _start(program, start, direct)
    longest, least_weight = LONGEST_STEP * state.s, LEAST_WEIGHT * state.proximal_weight
    best: tuple[float, Array, Array] = (np.inf, state.W, state.lam)
    outcome, gap, scale = Outcome.ITERATION_LIMIT, 1.0, 0.5 * float(y @ y)
    reach, inexactness = np.inf, INEXACTNESS
    for outer in range(OUTER_LIMIT):
        # a group without weights is left out of this step unless its norm may exceed the bound within the step
        norms = np.linalg.norm(state.At, axis=1)
        near = state.W.any(axis=1) | (norms > (1 - reach) * program.penalty)
        before, wanted = state.steps, inexactness * max(gap, tolerance)
        wanted = _accuracy(program, scale, wanted, inexactness / INEXACTNESS * tolerance if direct else 0.0)
        with np.errstate(all="ignore"):
            W, left = _near(program, state, near, wanted)
        if not (np.isfinite(W).all() and np.isfinite(state.lam).all()):
            outcome = Outcome.NUMERICAL_TROUBLE
            break
        state.W = W
        certificate = certify(program, Solution(state.W, state.lam))
        # `adjoint` computes no product here, because the groups keep the images of this lam from the certificate
        state.At = groups.adjoint(state.lam)
        rise = float((np.linalg.norm(state.At, axis=1) - norms).max()) / program.penalty
        reach = max(REACH * rise, LEAST_REACH)
        error = certificate.error
        if error < best[0]:
            best = (error, state.W, state.lam)
        if error <= tolerance:
            outcome = Outcome.SOLVED
            break
        # `_infeasible` needs an n x n eigendecomposition, so it runs only once: after nine outer steps, if the residual
        # is still above 1e-6
        if outer == 8 and certificate.primal_residual > 1e-6 and _infeasible(program):
            outcome = Outcome.INFEASIBLE
            break
        gap, scale, solved = min(1.0, error), abs(certificate.objective), left <= max(wanted, DIGITS)
        inexactness *= TIGHTER if state.steps == before else 1.0
        state.rough, state.loose, state.anchor = gap > ROUGH, solved, state.lam
        # as in augmented-Lagrangian methods, s grows and the proximal weight decays, so that late steps are nearly
        # exact dual steps
        if solved:
            state.s = min(state.s * STEP_GROWTH, longest)
            state.proximal_weight = max(state.proximal_weight / DECAY, least_weight)
        else:
            state.s *= RETREAT
    if outcome in (Outcome.ITERATION_LIMIT, Outcome.NUMERICAL_TROUBLE) and best[0] <= 1e-6:
        outcome = Outcome.NEARLY_SOLVED
    return Solution(best[1], best[2], outcome, state.steps, "newton")


def _accuracy(program: GatedProgram, objective: float, wanted: float, gap: float) -> float:
    """Return the ||grad phi|| / ||y|| to reach: `wanted`, or as much less or more as a regularised objective needs."""
    # if regularised, the gradient of phi is F(W) + lam - y, and half of its squared norm is added to the objective: it
    # may not add more than the fraction `wanted`, and need not add less than half of the fraction `gap`
    if not program.interpolates:
        size = float(np.linalg.norm(program.y))
        wanted = min(wanted, float(np.sqrt(2 * wanted * objective)) / size)
        wanted = max(wanted, float(np.sqrt(gap * objective)) / size)
    return max(wanted, 1e-15)


def _start(program: GatedProgram, start: Solution | None, direct: bool) -> _State:
    """Return the state of `start`.

    Without it, lam is y scaled to the boundary of the dual, and weights are zero. A regularised program with a linear
    group starts from the optimum over this group, which is often the whole optimum if beta is large.
    """
    groups, y, bound = program.groups, program.y, program.penalty
    column = (float(np.sqrt(np.mean(np.square(groups.base).sum(axis=0)))) if groups.rank else 0.0) or 1.0
    # s is the expected size of the weights, ||y|| / column, divided by b, the size of the norms of A^T lam. `column`, a
    # typical column norm of B, approximates ||A_g||
    s = float(np.linalg.norm(y)) / (bound * column)
    if start is not None and start.W.any() and start.lam.any():
        s = float(np.linalg.norm(start.W, axis=1).max()) / bound
        return _State(start.W, start.lam, groups.adjoint(start.lam), s, PROXIMAL_WEIGHT * s * column**2, start.lam)
    W, lam = np.zeros((groups.count, groups.rank)), y
    if groups.linear and not program.interpolates:
        # groups with equal matrices share the weights equally, as they do from a start at zero
        A, same = groups.block(0), groups.patterns.all(axis=0)
        w = _linear(A, y, bound)
        W[same], lam = w / same.sum(), y - A @ w
    At, fitted = groups.adjoint(lam), bool(W[0].any())
    # lam starts as y, or as what the linear group alone does not fit, scaled to just outside the boundary of the dual,
    # so that at least one other group is active in the first step
    largest = float(groups.adjoint_norms(lam)[~W.any(axis=1)].max(initial=0.0))
    outside = OUTSIDE[program.interpolates or fitted or not direct]
    scale = outside * bound / largest if largest > 0 else float(not program.interpolates)
    if not program.interpolates:
        # inside the boundary of the dual, lam is its optimum: do not scale it up
        scale = min(scale, 1.0)
        s *= FITTED if fitted else max(1.0, math.sqrt(scale / STRONG))
    return _State(W, lam * scale, At * scale, s, PROXIMAL_WEIGHT * s * column**2, lam * scale)


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


def _near(program: GatedProgram, state: _State, near: Mask, tolerance: float) -> tuple[Array, float]:
    """Take a proximal-point step with the groups `near` (p,) only; returns new weights (p, r) and ||grad phi|| / ||y||.

    The other groups have no weight. If the step raises a norm above the bound, its group takes part in the next one.
    """
    groups = program.groups
    near[: int(groups.linear)] = True
    if near.mean() > FEW:
        return _inner(program, state, tolerance)
    state.W, state.At = state.W[near], state.At[near]
    W = np.zeros((groups.count, groups.rank))
    W[near], left = _inner(replace(program, groups=groups.subset(near)), state, tolerance)
    return W, left


def _inner(program: GatedProgram, state: _State, tolerance: float) -> tuple[Array, float]:
    """Minimise phi by Newton's method until ||grad phi|| <= tolerance ||y|| or no step descends.

    Returns the new weights and ||grad phi|| / ||y||. Each step lowers phi, or brings the gradient below the smallest so
    far, so no point recurs.
    """
    size, least = math.sqrt(program.y @ program.y), np.inf
    point = _evaluate(program, state, state.lam, state.At)
    for count in range(INNER_LIMIT):
        error = math.sqrt(point.gradient @ point.gradient) / size
        if not error > tolerance:
            break
        least = min(least, error)
        step = _newton_direction(program, state, point, state.rough and count < ROUGH_STEPS)
        if step is None:
            break
        state.steps += 1
        image = program.groups.transposed(step)
        slope = float(point.gradient @ step)
        for length in _lengths(program, state, point, step, image, slope):
            lam, At = state.lam + length * step, state.At + length * image
            trial = _evaluate(program, state, lam, At)
            # accept a step by Armijo's rule. Rounding can hide the decrease of phi, so a gradient clearly below the
            # smallest so far is accepted too
            if trial.value <= point.value + 1e-4 * length * slope or (
                math.sqrt(trial.gradient @ trial.gradient) <= 0.9 * least * size
            ):
                break
        else:
            break
        state.lam, state.At, point = lam, At, trial
    W = np.zeros_like(state.W)
    W[point.active] = point.directions * point.excess[:, None]
    return W, math.sqrt(point.gradient @ point.gradient) / size


def _lengths(
    program: GatedProgram, state: _State, point: _Point, step: Array, image: Array, slope: float
) -> tuple[float, ...]:
    """Return the lengths of the step to try: 1, after the approximate minimum of phi if that is shorter.

    Along the step each ||z_g||^2 is a quadratic, so phi' at another length costs no product.
    """
    s, threshold, squares = state.s, state.s * program.penalty, point.squares
    rates = s * np.einsum("gr,gr->g", point.Z, image)
    turns = s * s * np.einsum("gr,gr->g", image, image)
    # ||z_g||^2 is convex in the length, so a group that is active nowhere is inactive at both ends
    active = np.maximum(squares, squares + 2 * rates + turns) > threshold**2
    squares, rates, turns = squares[active], rates[active], turns[active]
    curvature = (state.proximal_weight + (0.0 if program.interpolates else 1.0)) * float(step @ step)

    def change(length: float) -> float:
        # the maximum makes groups with norms below the threshold contribute zero
        steeper = rates + length * turns
        norms = np.sqrt(np.maximum(squares + length * (rates + steeper), threshold**2))
        return length * curvature + float((1 - threshold / norms) @ steeper) / s

    length = step_length(change, slope)
    return (length,) if length == 1.0 else (length, 1.0)


def _evaluate(program: GatedProgram, state: _State, lam: Array, At: Array) -> _Point:
    s, threshold = state.s, state.s * program.penalty
    Z = state.W + s * At
    squares = np.einsum("gr,gr->g", Z, Z)
    active = np.flatnonzero(squares > threshold**2)
    norms = np.sqrt(squares[active])
    directions = Z[active] / norms[:, None]
    excess = norms - threshold
    value = float(excess @ excess) / (2 * s) - float(program.y @ lam)
    move = lam - state.anchor
    value += 0.5 * state.proximal_weight * float(move @ move)
    # A_g times the unit directions of active groups: the gradient needs these images times the excesses, and the
    # Hessian needs them as they are
    images = program.groups.images(directions, active)
    gradient = images @ excess - program.y + state.proximal_weight * move
    if not program.interpolates:
        value += 0.5 * float(lam @ lam)
        gradient = gradient + lam
    return _Point(value, gradient, Z, squares, active, norms, directions, images, excess)


def _newton_direction(program: GatedProgram, state: _State, point: _Point, rough: bool) -> Array | None:
    """Return -H^{-1} grad phi: by `loose_descent` while that works, otherwise from a factor of a rough or true H.

    A singular H (few active directions) is shifted; None if no shift suffices.
    """
    groups, s = program.groups, state.s
    shrinkage = s * program.penalty / point.norms
    c = s * (1.0 - shrinkage)
    shift = state.proximal_weight + (0.0 if program.interpolates else 1.0)
    if state.loose and len(point.active):
        system = Hessian(groups, point.active, point.directions, point.images, c, s * shrinkage, shift)
        step = loose_descent(system, point.gradient)
        if step is not None:
            return step
        state.loose = False
    H = groups.rough_gram(point.active, c) if rough else groups.weighted_gram(point.active, c, CLOSE)
    if len(point.active):  # skip this if no group is active: BLAS rejects matrices without columns
        images = point.images * np.sqrt(s * shrinkage)
        H = scipy.linalg.blas.dsyrk(1.0, images.T, beta=1.0, c=H.T, trans=1, lower=1, overwrite_c=1).T
    return descent(H.T, shift, point.gradient)


def _infeasible(program: GatedProgram) -> bool:
    """Return whether y has a component outside the range of all groups, which is the range of K = sum_g A_g A_g^T."""
    groups = program.groups
    # eigenvalues of K are squared singular values: those below about 1e-13 n times the largest are rounding errors
    K = groups.weighted_gram(np.arange(groups.count), np.ones(groups.count))
    values, vectors = np.linalg.eigh(K)
    null = vectors[:, values <= 1e-13 * groups.n * values[-1]]
    return float(np.linalg.norm(null.T @ program.y)) > 1e-8 * float(np.linalg.norm(program.y))
