"""A semismooth Newton method on the dual of proximal-point steps, for exact programs: `newton` with projections on
cones.

With weights v_g in their cones K_g and a step s > 0, each proximal-point step minimises over lam
    phi(lam) = delta/2 ||lam||^2 - y.lam + (1/2s) sum_g (||p_g|| - s b)_+^2,  p_g = P_{K_g}(v_g + s A_g^T lam),
and the new weights are (1 - s b / ||p_g||)_+ p_g. A projection on a cone is linear as long as the same rows are tight.
With a basis Z_g of the face, it has the Hessian of the gated program with Z_g^T A_g^T instead of A_g^T, over active
groups only. Faces are small, so it is one product with a few columns per group. Projections:
`recovery.programs.projections`. Source: as `recovery.solvers.newton`.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.programs.certificate import relative
from recovery.programs.exact import ExactProgram
from recovery.programs.projections import UNSEEN, Projections
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers.newton_systems import descent, step_length
from recovery.types import Array, Index

FIRST, NEXT, SMALLEST = 0.4, 0.6, 30
"""Largest fraction of the signed groups, in order of their projections, that take part in the first proximal-point step
and in the later ones, and the least number (measured: with all groups 10 to 30 % slower, with 0.25 many more steps)."""
STEP_GROWTH, HARD_GROWTH, HARD = 2.0, 1.41, 20
"""Growth of s after an inner problem that was solved; HARD_GROWTH if it took more than HARD steps. A growth of 3 takes
more Newton steps, and more so the more rows per variable there are (measured)."""
RETREAT = 0.02
"""After the first inner problem that failed, s stays; after each further one in a row, it falls to this fraction. Most
faces of thin cones (few rows, or columns in units far apart) are rays, and with a large s one inner problem after the
other fails (measured: of 72 programs with columns of 0.01 to 100, 51 are solved without the retreat and all with it;
the papers' figures take the same time)."""
INEXACTNESS, TIGHTER, STRICT = 0.2, 0.1, 1e-2
"""Inner problems are solved to this fraction of the error and, below STRICT, of what the misfit adds to the objective;
multiplied by TIGHTER if a start already satisfies it."""
PROXIMAL_WEIGHT, DECAY, LEAST_WEIGHT = 1e-2, 5.0, 1e-8
"""Weight of ||lam - anchor||^2 / 2: its first value, its divisor in each step, and its least fraction of the first
value."""
LENGTHS, SHORTER, SHORTER_AT_MOST = 12, 0.1, 0.7
"""How often a step is shortened, and the least and largest factor of one shortening."""
ROUGH, ROUGH_STEPS, ROUGH_RANK = 0.03, 4, 10
"""Above this error, the first steps of an inner problem use average faces in the Hessian, which cost much less. Not
below ROUGH_RANK variables per group, where faces differ too much: on 64 normalised networks of 4 to 12 variables it
takes 9 922 steps with rough Hessians, and 5 514 without (measured)."""
OUTER_LIMIT, INNER_LIMIT, STEP_LIMIT = 200, 40, 3000
DIGITS = 1e-12
"""Rounding error of a gradient, relative to the labels."""
NEARLY = 1e-6
"""Largest error at which a solve that stopped counts as nearly solved."""


@dataclass(frozen=True)
class _Step:
    """One proximal-point step: the groups `near` that take part, their weights W, s, and lam at its start (`anchor`).

    phi contains proximal_weight / 2 times ||lam - anchor||^2.
    """

    near: Index
    W: Array
    s: float
    proximal_weight: float
    anchor: Array


@dataclass(frozen=True)
class _Point:
    """The function phi at one lam: value, gradient (n,); the active groups (places in `near`), their projections,
    norms and new weights.
    """

    value: float
    gradient: Array
    active: Index
    points: Array
    norms: Array
    W: Array


class ConeNewton:
    """Newton's method on one exact program: lam, the weights W (k, r) of its signed groups, projections on cones."""

    def __init__(self, program: ExactProgram, unseen: float = UNSEEN[0]) -> None:
        groups, members = program.groups, program.members
        self.program, self.members, self.y, self.bound = program, members, program.y, program.penalty
        self.cones = Projections(groups, program.group(members), program.penalty, unseen)
        self.base, self.free, self.own = self.cones.base, self.cones.free, self.cones.own
        self.sign = program.sign(members)[:, None]
        self.diagonals = np.ascontiguousarray(groups.D.T)
        self.signed = self.diagonals[self.own] * self.sign
        self.delta = 0.0 if program.gated.interpolates else 1.0
        self.column = float(np.sqrt(np.mean(np.square(self.base).sum(axis=0))))
        self.W = np.zeros((len(members), groups.rank))
        self._roughly = groups.rank >= ROUGH_RANK
        self.lam: Array = np.zeros(groups.n)
        self.steps = 0

    def solve(self, gated: Solution, tolerance: float) -> Solution:
        """Solve from a gated solution to relative gap and residual `tolerance`, or return the best iterate found."""
        y, size, everyone = self.y, float(np.linalg.norm(self.y)), np.arange(len(self.members))
        start = self._begin(gated)
        if start is None:
            if self.delta and self.cones.project(everyone, self._images(everyone, y), 1.0)[1].max() <= self.bound:
                return self._solution(self.W, y, Outcome.SOLVED, self.cones.multipliers)
            return self._solution(self.W, self.lam, Outcome.NUMERICAL_TROUBLE)
        near, At = start
        # first s: the expected size of the weights, ||y|| / column, divided by b, the size of the norms of A^T lam;
        # the proximal weight is a fraction of what one group adds to the Hessian at step s
        s, error, best = size / (self.bound * self.column), 1.0, np.inf
        weight = PROXIMAL_WEIGHT * s * self.column**2
        least_weight, objective = LEAST_WEIGHT * weight, np.inf
        W, lam, outcome, inexactness, unsolved = self.W.copy(), self.lam, Outcome.ITERATION_LIMIT, INEXACTNESS, 0
        for _ in range(OUTER_LIMIT):
            wanted = inexactness * max(error, tolerance)
            if self.delta and error < STRICT:
                # a residual grad phi adds ||grad phi||^2 / 2 to a regularised objective: keep this below the gap as
                # well
                wanted = min(wanted, float(np.sqrt(2 * wanted * objective)) / size)
            before, wanted = self.steps, max(wanted, DIGITS) * size
            step = _Step(near, self.W[near], s, weight, self.lam)
            point = self._inner(step, At, wanted, self._roughly and error > ROUGH)
            if point is None:
                outcome = Outcome.NUMERICAL_TROUBLE
                break
            self.W[:] = 0.0
            self.W[near[point.active]] = point.W
            misfit = self._fit(near[point.active], point.W) - y + self.delta * self.lam
            # project the images of all groups, not only of those in `near`, because the bound on the dual must hold for
            # each
            At = self._images(everyone, self.lam)
            norms = self.cones.project(everyone, At, 1.0)[1] / self.bound
            largest = float(norms.max())
            inside = self.lam / max(1.0, largest)
            objective = self.bound * float(np.linalg.norm(self.W, axis=1).sum())
            objective += 0.5 * self.delta * float(self.lam @ self.lam)
            gap = relative(objective - float(y @ inside) + 0.5 * self.delta * float(inside @ inside), objective)
            error = max(abs(gap), float(np.linalg.norm(misfit)) / size)
            if np.isnan(error):
                outcome = Outcome.NUMERICAL_TROUBLE
                break
            # the certificate takes the residual y - F(W) = lam - misfit, where `gap` takes lam. `excess` is the
            # difference that this makes to the objective
            excess = self.delta * float(misfit @ (0.5 * misfit - self.lam))
            if max(error, abs(gap + relative(excess, objective))) <= tolerance:
                # lam is scaled into the bounds: scale the projections with it, so that their multipliers prove that
                # `inside` is feasible
                self.cones.scale(1.0 / max(1.0, largest))
                return self._solution(self.W, inside, Outcome.SOLVED, self.cones.multipliers)
            if error < best:
                best, W, lam = error, self.W.copy(), inside
            if self.steps >= STEP_LIMIT:
                break
            error = min(1.0, error)
            # groups with weights, and groups without a cone, stay in `near`, whatever their norms at this lam
            norms[self.W.any(axis=1) | self.free] = np.inf
            near = _largest(norms, NEXT)
            # the largest norm exceeds 1 by `largest - 1`: keep only groups whose norms would exceed 1 if as much were
            # added to them
            near = near[norms[near] > 2.0 - largest]
            At = At[near]
            self.cones.forget_others(near)
            inner = self.steps - before
            # if no Newton step was needed, the tolerance was too loose, as happens while the weights hardly fit the
            # labels and the gap stays at 1
            if inner == 0:
                inexactness *= TIGHTER
            if float(np.linalg.norm(point.gradient)) <= wanted:
                unsolved = 0
                weight = max(weight / DECAY, least_weight)
                s *= STEP_GROWTH if inner <= HARD else HARD_GROWTH
            else:
                unsolved += 1
                s *= 1.0 if unsolved == 1 else RETREAT
        return self._solution(W, lam, Outcome.NEARLY_SOLVED if best <= NEARLY else outcome)

    def _begin(self, gated: Solution) -> tuple[Index, Array] | None:
        """Scale the gated dual to a lam on the dual's boundary; return the groups of the first step, and A_g^T lam.

        Returns None if no multiple of the gated dual is on the boundary: then no weights in the cones fit the labels.
        """
        everyone = np.arange(len(self.members))
        At = self._images(everyone, gated.lam)
        bounds = self.cones.project(everyone, At, 1.0)[1]
        largest = float(bounds.max())
        if not largest > DIGITS * self.bound:
            return None
        scale = self.bound / largest
        # projections are shorter than the projected vectors, so scale the gated dual until the longest projection has
        # norm b
        self.lam = gated.lam * scale
        self.cones.scale(scale)
        bounds[np.any(gated.W, axis=1)[self.own] | self.free] = np.inf
        near = _largest(bounds, FIRST)
        return near, At[near] * scale

    def _inner(self, step: _Step, At: Array, tolerance: float, rough: bool) -> _Point | None:
        """Minimise phi by Newton's method until ||grad phi|| <= tolerance or no step descends; None if a system fails.

        Each step lowers phi, or brings the gradient below the smallest so far, so no point recurs.
        """
        least = np.inf
        point = self._evaluate(step, At, self.lam)
        for count in range(INNER_LIMIT):
            error = float(np.linalg.norm(point.gradient))
            if not error > tolerance:
                break
            least = min(least, error)
            direction = self._direction(step, point, rough and count < ROUGH_STEPS)
            if direction is None:
                return None
            self.steps += 1
            # one product A_g^T direction serves all lengths of the step, because A_g^T lam is linear in lam
            image = self._images(step.near, direction)
            slope = float(point.gradient @ direction)
            length = self._length(step, At, direction, image, slope)
            for _ in range(LENGTHS):
                lam = self.lam + length * direction
                trial = self._evaluate(step, At + length * image, lam)
                if trial.value <= point.value + 1e-4 * length * slope or (
                    float(np.linalg.norm(trial.gradient)) <= 0.9 * least
                ):
                    break
                # the next length is the zero that phi' would have if it were linear between 0 and this length, within
                # limits
                steepness = float(trial.gradient @ direction)
                root = -slope / (steepness - slope) if steepness > slope else 0.5
                length *= min(max(root, SHORTER), SHORTER_AT_MOST)
            else:
                break
            self.lam, At, point = lam, At + length * image, trial
        return point

    def _length(self, step: _Step, At: Array, direction: Array, image: Array, slope: float) -> float:
        """Return the length, at most 1, that minimises the lower bound of phi in which projections keep directions."""
        s, U = step.s, self.cones.directions[step.near]
        # a projection on a cone is at least as long as the component of its point along any unit vector of the cone.
        # Along the group's last direction this component is linear in the length of the step
        sizes = np.einsum("gr,gr->g", U, step.W + s * At) - s * self.bound
        rates = s * np.einsum("gr,gr->g", U, image)
        curvature = (step.proximal_weight + self.delta) * float(direction @ direction)

        def change(length: float) -> float:
            return length * curvature + float(np.maximum(sizes + length * rates, 0.0) @ rates) / s

        return step_length(change, slope)

    def _evaluate(self, step: _Step, At: Array, lam: Array) -> _Point:
        s, threshold = step.s, step.s * self.bound
        points, norms = self.cones.project(step.near, step.W + s * At, s, keep=True)
        places = np.flatnonzero(norms > threshold)
        points, norms = points[places], norms[places]
        # the proximal point of the norm on the cone: project the point on the cone, then shorten the projection by the
        # threshold
        excess = norms - threshold
        new = points * (excess / norms)[:, None]
        move = lam - step.anchor
        value = float(excess @ excess) / (2 * s) - float(self.y @ lam)
        value += 0.5 * self.delta * float(lam @ lam) + 0.5 * step.proximal_weight * float(move @ move)
        gradient = self._fit(step.near[places], new) - self.y + self.delta * lam + step.proximal_weight * move
        return _Point(value, gradient, places, points, norms, new)

    def _direction(self, step: _Step, point: _Point, rough: bool) -> Array | None:
        """Return -H^{-1} grad phi, H shifted if singular, or None. rough: faces become shares of all directions."""
        s, groups = step.s, step.near[point.active]
        shrinkage = s * self.bound / point.norms
        # new weights are projections p shortened by s b. On the face of p their derivative is I along p, and (1 - s b /
        # ||p||) I across p
        units, freedom = point.points / point.norms[:, None], self.cones.freedom(groups)
        if rough:
            shares = (1.0 - shrinkage) * freedom / units.shape[1]
            H = self.program.groups.rough_gram(self.own[groups], s * shares)
            along = self.cones.weights(groups, units) @ self.base.T
            along *= self.signed[groups] * np.sqrt(s * shrinkage)[:, None]
            H = (H + along.T @ along).T
        else:
            columns = self.cones.columns(groups, units, np.sqrt(1.0 - shrinkage))
            columns *= np.repeat(self.signed[groups], freedom, axis=0)
            n = len(self.y)
            H = scipy.linalg.blas.dsyrk(s, columns.T, lower=1) if len(columns) else np.zeros((n, n), order="F")
        return descent(H, step.proximal_weight + self.delta, point.gradient)

    def _images(self, chosen: Index, lam: Array) -> Array:
        """Return A_g^T lam of the chosen signed groups, times their signs, (k, r)."""
        groups, wanted = self.program.groups, self.own[chosen]
        # both signs of a group share one product; the sign is applied at the end
        pairs = np.zeros(groups.count, dtype=np.bool_)
        pairs[wanted] = True
        own = np.flatnonzero(pairs)
        gradients = groups.group_gradients((self.diagonals[own] * lam) @ self.base, own)
        return gradients[np.searchsorted(own, wanted)] * self.sign[chosen]

    def _fit(self, chosen: Index, W: Array) -> Array:
        return np.einsum("kn,kn->n", self.signed[chosen], self.cones.weights(chosen, W) @ self.base.T)

    def _solution(self, W: Array, lam: Array, outcome: Outcome, multipliers: Array | None = None) -> Solution:
        """Return the solution with base weights for every row of the program; multipliers (k, n) bound its dual."""
        V = np.zeros((self.program.size, self.base.shape[1]))
        active = np.flatnonzero(W.any(axis=1))
        V[self.members[active]] = self.cones.weights(active, W[active])
        known = (
            Multipliers.none(self.program.groups.n) if multipliers is None else Multipliers(self.members, multipliers)
        )
        return Solution(V, lam, outcome, self.steps, "newton", known)


def _largest(norms: Array, share: float) -> Index:
    """Return, in order, the places of the largest norms: this share of them, at least SMALLEST, and all infinite."""
    count = max(SMALLEST, int(share * len(norms)), int(np.isinf(norms).sum()))
    return np.sort(np.argsort(-norms, kind="stable")[:count])
