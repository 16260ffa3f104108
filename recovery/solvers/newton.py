"""Semismooth Newton on the dual of proximal-point steps, for gated programs of every architecture.

With weights W and a step s > 0, each proximal-point step minimises over lam
    phi(lam) = delta/2 ||lam||^2 - y.lam + (1/2s) sum_g (||z_g|| - s b)_+^2,   z_g = w_g + s A_g^T lam,
with b the bound of the dual (1, or beta) and delta = 1 when regularised, 0 for interpolation. The new weights are the
proximal points (1 - s b / ||z_g||)_+ z_g, and grad phi = sum_g A_g w_g - y + delta lam. Gradient and Hessian touch
active groups only, ||z_g|| > s b:
    H = delta I + s sum_g [(1 - s b/||z_g||) A_g A_g^T + (s b/||z_g||) (A_g z^_g)(A_g z^_g)^T].
Source: the augmented-Lagrangian scheme of Li, Sun and Toh (SIAM J. Optim. 28, 2018), applied to group norms.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from recovery.programs.certificate import certify
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Outcome, Solution
from recovery.solvers.descent import Rows, descent, loose_descent
from recovery.types import Array, Index, Mask

TOLERANCE = 1e-10
STEP_GROWTH, RETREAT = 3.0, 0.05
"""Growth of s a step: 5 saves no Newton steps, 10 makes some inner problems fail (measured). After one that was not
solved s falls to the share RETREAT of itself: with columns in units far apart hardly any is, once s is large (measured:
192 programs with columns of 0.01 to 100, 141 solved where s grows on, 183 so, in two thirds of the time)."""
STRONG = 1e-2
"""Where beta is above this share of the least one without gated weights, s starts larger by the root of both: few
groups stay, and large steps leave the others out sooner. Beside a skip connection, which fits most, it starts larger by
both themselves. At a tenth 12 steps become 9, at 0.01 larger ones cost steps without a skip connection (measured)."""
INEXACTNESS, TIGHTER = 0.2, 0.1
"""An inner problem is solved to this fraction of the relative gap: 0.01 takes a fifth more steps; from 0.5 on some
problems take many (measured). After one that is solved where it begins, the fraction is TIGHTER of itself."""
DIGITS = 1e-12
"""What rounding leaves of a gradient, relative to the labels."""
RISEN, ROUGHLY, SHORTEST = 0.9, 0.02, 1e-9
"""A step is cut to where phi is least, roughly, if phi rises at its end by this share of its slope at the start."""
REACH, LEAST_REACH, FEW = 0.2, 1e-3, 0.85
"""Groups are left out of a proximal-point step that lie further below the bound than this share of the largest rise of
a norm in the step before, and than LEAST_REACH of the bound, if at most the share FEW remains."""
ROUGH, ROUGH_STEPS = 0.03, 6
"""Above this gap, the first steps of an inner problem have Hessians with projections in the mean, which cost much less.
Where rows are uneven or of low rank these are poor, and the later steps have the true ones."""
CLOSE = 0.1
"""Weights of groups in a Hessian may stay what they were in the one before, if they have changed by less than this."""
LONGEST_STEP = 1e5
PULL = 1e-2
PULL_DECAY = 5.0
WEAKEST_PULL = 1e-8
OUTER_LIMIT = 80
INNER_LIMIT = 60


@dataclass
class _State:
    """An iterate: weights W, dual lam, its image At = A^T lam, step s, Newton steps taken.

    rough: whether it is so far from the optimum that a rough Hessian serves. loose: whether conjugate gradients do.
    """

    W: Array
    lam: Array
    At: Array
    s: float
    pull: float
    anchor: Array
    rough: bool = True
    loose: bool = True
    steps: int = 0


@dataclass(frozen=True)
class _Point:
    """phi at one lam: value, gradient (n,), new weights; active groups, their ||z_g||, z^_g (k, r), A_g z^_g (n, k)."""

    value: float
    gradient: Array
    W: Array
    active: Index
    norms: Array
    directions: Array
    images: Array


def solve_newton(program: GatedProgram, start: Solution | None = None, tolerance: float = TOLERANCE) -> Solution:
    """Solve a gated program to relative gap and residual `tolerance`; warm-started where `start` is given.

    The outcome says what the residuals say: SOLVED, NEARLY_SOLVED (gap within 1e-6), INFEASIBLE with a proof,
    NUMERICAL_TROUBLE or ITERATION_LIMIT. Raises nothing on ill-conditioned data.
    """
    groups, y = program.groups, program.y
    if not y.any() or groups.count == 0:
        outcome = Outcome.SOLVED if not y.any() or not program.interpolates else Outcome.INFEASIBLE
        return Solution(np.zeros((groups.count, groups.rank)), np.zeros(groups.n), outcome, 0, "newton")
    state = _start(program, start)
    longest, weakest = LONGEST_STEP * state.s, WEAKEST_PULL * state.pull
    best: tuple[float, Array, Array] = (np.inf, state.W, state.lam)
    outcome, gap, scale = Outcome.ITERATION_LIMIT, 1.0, np.inf
    reach, inexactness = np.inf, INEXACTNESS
    for outer in range(OUTER_LIMIT):
        # a group without weight takes part only if its norm may pass the bound within the step
        norms = np.linalg.norm(state.At, axis=1)
        near = state.W.any(axis=1) | (norms > (1 - reach) * program.penalty)
        before, wanted = state.steps, _accuracy(program, scale, inexactness * max(gap, tolerance))
        with np.errstate(all="ignore"):
            W, left = _near(program, state, near, wanted)
        if not (np.isfinite(W).all() and np.isfinite(state.lam).all()):
            outcome = Outcome.NUMERICAL_TROUBLE
            break
        state.W = W
        certificate = certify(program, Solution(state.W, state.lam))
        state.At = groups.adjoint(state.lam)  # the product that the certificate asked for
        rise = float((np.linalg.norm(state.At, axis=1) - norms).max()) / program.penalty
        reach = max(REACH * rise, LEAST_REACH)
        error = certificate.error
        if error < best[0]:
            best = (error, state.W, state.lam)
        if error <= tolerance:
            outcome = Outcome.SOLVED
            break
        # an eigendecomposition of n x n: only where eight steps have not brought the residual down
        if outer == 8 and certificate.primal_residual > 1e-6 and _infeasible(program):
            outcome = Outcome.INFEASIBLE
            break
        gap, scale, solved = min(1.0, error), abs(certificate.objective), left <= max(wanted, DIGITS)
        inexactness *= TIGHTER if state.steps == before else 1.0
        state.rough, state.loose, state.anchor = gap > ROUGH, solved, state.lam
        # the augmented-Lagrangian scheme: s grows, the pull to the last lam fades, so that late steps are nearly the
        # dual's own
        if solved:
            state.s = min(state.s * STEP_GROWTH, longest)
            state.pull = max(state.pull / PULL_DECAY, weakest)
        else:
            state.s *= RETREAT
    if outcome in (Outcome.ITERATION_LIMIT, Outcome.NUMERICAL_TROUBLE) and best[0] <= 1e-6:
        outcome = Outcome.NEARLY_SOLVED
    return Solution(best[1], best[2], outcome, state.steps, "newton")


def _accuracy(program: GatedProgram, objective: float, wanted: float) -> float:
    """The ||grad phi|| / ||y|| to reach: a part of the gap, also in what its square adds to the objective."""
    # phi's gradient is what F(W) + lam - y misses: its square over 2 is what that adds to the objective
    if not program.interpolates:
        wanted = min(wanted, float(np.sqrt(2 * wanted * objective) / np.linalg.norm(program.y)))
    return max(wanted, 1e-15)


def _start(program: GatedProgram, start: Solution | None) -> _State:
    """That of `start`, else lam = y scaled to the dual's boundary; s of the size of the weights over the bound."""
    groups, y, bound = program.groups, program.y, program.penalty
    column = float(np.sqrt(np.mean(np.square(groups.base).sum(axis=0)))) if groups.rank else 1.0
    # weights of ||y|| / column over norms of size b; a column's norm stands for that of A_g
    s = float(np.linalg.norm(y)) / (bound * max(column, np.finfo(float).tiny))
    if start is not None and start.W.any() and start.lam.any():
        s = float(np.linalg.norm(start.W, axis=1).max()) / bound
        return _State(start.W, start.lam, groups.adjoint(start.lam), s, PULL * s * column**2, start.lam)
    # a start just outside the dual's boundary: at least one group is active in the first step
    At = groups.adjoint(y)
    norms = np.linalg.norm(At, axis=1)
    largest, gated = float(norms.max()), float(norms[int(groups.linear) :].max(initial=0.0))
    scale = 1.01 * bound / largest if largest > 0 else 0.0
    strong = 1.0
    if not program.interpolates:
        scale = min(scale, 1.0)  # where y is within the boundary it is the dual itself, and no weights are left
    if not program.interpolates and gated > 0:
        strong = max(1.0, float(np.sqrt(min(1.01 * bound / gated, 1.0) / STRONG)))
    s *= strong
    pull = PULL * s * column**2
    if groups.linear:
        s *= strong
    return _State(np.zeros((groups.count, groups.rank)), y * scale, At * scale, s, pull, y * scale)


def _near(program: GatedProgram, state: _State, near: Mask, tolerance: float) -> tuple[Array, float]:
    """The new weights (p, r) of a proximal-point step in which only the groups `near` (p,) take part, and the
    ||grad phi|| / ||y|| at its end.

    What is left out has no weight. If the step takes its norm above the bound, it is near in the next one.
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
    """Newton's method on phi, steps cut where it rises, until ||grad phi|| <= tolerance ||y|| or no step descends.

    The new weights and ||grad phi|| / ||y||. A step lowers phi, or brings the gradient below the smallest so far: so it
    meets no point again.
    """
    size, least = float(np.linalg.norm(program.y)), np.inf
    point = _evaluate(program, state, state.lam, state.At)
    for count in range(INNER_LIMIT):
        error = float(np.linalg.norm(point.gradient)) / size
        if not error > tolerance:
            break
        least = min(least, error)
        step = _newton_direction(program, state, point, state.rough and count < ROUGH_STEPS)
        if step is None:
            break
        state.steps += 1
        image = program.groups.adjoint(step)
        slope = float(point.gradient @ step)
        for length in _lengths(program, state, step, image, slope):
            lam, At = state.lam + length * step, state.At + length * image
            trial = _evaluate(program, state, lam, At)
            # Armijo's rule; where rounding hides how far phi falls, the gradient still says that a step was good
            if trial.value <= point.value + 1e-4 * length * slope or (
                float(np.linalg.norm(trial.gradient)) <= 0.9 * least * size
            ):
                break
        else:
            break
        state.lam, state.At, point = lam, At, trial
    return point.W, float(np.linalg.norm(point.gradient)) / size


def _lengths(program: GatedProgram, state: _State, step: Array, image: Array, slope: float) -> tuple[float, ...]:
    """The lengths of the step to try: 1, and first where phi is least if it has risen again by then.

    Along the step the norms ||z_g|| are roots of quadratics, so phi' at another length costs no product.
    """
    s, threshold = state.s, state.s * program.penalty
    Z = state.W + s * state.At
    squares = np.einsum("gr,gr->g", Z, Z)
    rates = s * np.einsum("gr,gr->g", Z, image)
    turns = s * s * np.einsum("gr,gr->g", image, image)
    bend = (state.pull + (0.0 if program.interpolates else 1.0)) * float(step @ step)

    def change(length: float) -> float:
        # below the threshold a group adds nothing: the maximum makes its share zero
        norms = np.sqrt(np.maximum(squares + length * (2 * rates + length * turns), threshold**2))
        return length * bend + float((1 - threshold / norms) @ (rates + length * turns)) / s

    flat = change(0.0) - slope
    if change(1.0) - flat <= RISEN * abs(slope):
        return (1.0,)
    low, high = 0.0, 1.0
    while high - low > ROUGHLY * high and high > SHORTEST:
        middle = (low + high) / 2
        low, high = (low, middle) if change(middle) > flat else (middle, high)
    return high, 1.0


def _evaluate(program: GatedProgram, state: _State, lam: Array, At: Array) -> _Point:
    s, threshold = state.s, state.s * program.penalty
    Z = state.W + s * At
    norms = np.sqrt(np.einsum("gr,gr->g", Z, Z))
    active = np.flatnonzero(norms > threshold)
    norms = norms[active]
    directions = Z[active] / norms[:, None]
    excess = norms - threshold
    W = np.zeros_like(Z)
    W[active] = directions * excess[:, None]
    value = float(excess @ excess) / (2 * s) - float(program.y @ lam)
    move = lam - state.anchor
    value += 0.5 * state.pull * float(move @ move)
    # A_g of unit directions: times the excesses they are A_g w_g of the gradient, and the Hessian wants them too
    images = program.groups.images(directions, active)
    gradient = images @ excess - program.y + state.pull * move
    if not program.interpolates:
        value += 0.5 * float(lam @ lam)
        gradient = gradient + lam
    return _Point(value, gradient, W, active, norms, directions, images)


def _newton_direction(program: GatedProgram, state: _State, point: _Point, rough: bool) -> Array | None:
    """-H^{-1} grad phi: loosely where few groups are active, else by H, rough or true.

    A singular H (few active directions) is shifted.
    """
    groups, s = program.groups, state.s
    pull = s * program.penalty / point.norms
    c = s * (1.0 - pull)
    shift = state.pull + (0.0 if program.interpolates else 1.0)
    if state.loose and len(point.active):
        system = Rows(groups, point.active, point.directions, point.images, c, s * pull, shift)
        step = loose_descent(system, point.gradient)
        if step is not None:
            return step
        state.loose = False
    H = groups.rough_gram(point.active, c) if rough else groups.weighted_gram(point.active, c, CLOSE)
    if len(point.active):  # BLAS does not take a matrix without columns
        images = point.images * np.sqrt(s * pull)
        H = scipy.linalg.blas.dsyrk(1.0, images.T, beta=1.0, c=H.T, trans=1, lower=1, overwrite_c=1).T
    return descent(H.T, shift, point.gradient)


def _infeasible(program: GatedProgram) -> bool:
    """Whether y has a part outside the range of all groups, the range of K = sum_g A_g A_g^T."""
    groups = program.groups
    # K's eigenvalues are squares of singular values: 1e-13 is as small as rounding lets them be told from 0
    K = groups.weighted_gram(np.arange(groups.count), np.ones(groups.count))
    values, vectors = np.linalg.eigh(K)
    null = vectors[:, values <= 1e-13 * groups.n * values[-1]]
    return float(np.linalg.norm(null.T @ program.y)) > 1e-8 * float(np.linalg.norm(program.y))
