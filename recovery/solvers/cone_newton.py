"""Semismooth Newton on the dual of proximal-point steps, for exact programs: the gated method with projections.

With weights v_g in their cones K_g and a step s > 0, each proximal-point step minimises over lam
    phi(lam) = delta/2 ||lam||^2 - y.lam + (1/2s) sum_g (||p_g|| - s b)_+^2,  p_g = P_{K_g}(v_g + s A_g^T lam),
and the new weights are (1 - s b / ||p_g||)_+ p_g. A projection on a cone is linear as long as its tight rows stay: with
Z_g a basis of the face, the Hessian is that of the gated program with Z_g^T A_g^T for A_g^T, over active groups only.
Faces are small, so that it is one product of a few columns a group. Projections: `recovery.solvers.cone_projections`.
Source: as `recovery.solvers.newton`.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from recovery.programs.certificate import relative
from recovery.programs.exact import ExactProgram
from recovery.programs.solution import Multipliers, Outcome, Solution
from recovery.solvers.cone_projections import UNSEEN, Projections
from recovery.solvers.descent import descent
from recovery.types import Array, Index

FIRST, NEXT, SMALLEST = 0.4, 0.6, 30
"""The share of the signed groups, by their projections, that take part in the first proximal-point step, and at most in
the next ones, beside those in use (measured: with all of them 10 to 30 % slower, with 0.25 many more steps)."""
STEP_GROWTH, HARD_GROWTH, HARD = 2.0, 1.41, 20
"""Growth of s after an inner problem that was solved: 3 takes more Newton steps, the more the more rows a variable
there are (measured). After one of more than HARD steps it is HARD_GROWTH."""
RETREAT = 0.02
"""After one inner problem that was not solved s stays, after each further one in a row it falls to this share: thin
cones, of few rows or of columns in units far apart, have next to only rays for faces, and with s for ever as large one
inner problem after another fails (measured: columns of 0.01 to 100, 72 programs, 51 solved where s stays, 72 so; in
the papers' figures as fast)."""
INEXACTNESS, TIGHTER, STRICT = 0.2, 0.1, 1e-2
"""Inner problems are solved to this fraction of the error, below STRICT also in what misfit adds to the objective; to
TIGHTER of it from where one is that already."""
PULL, PULL_DECAY, WEAKEST_PULL = 1e-2, 5.0, 1e-8
"""The pull of lam towards its last value: at first, what it is divided by in each step, and its least share of that."""
RISEN, ROUGHLY, SHORTEST = 0.9, 0.02, 1e-9
"""A step is cut to where a lower bound of phi is least, roughly, if it rises at its end by this share of its slope."""
LENGTHS, SHORTER, SHORTER_AT_MOST = 12, 0.1, 0.7
"""How often a step is shortened, and to which part of it at least and at most."""
ROUGH, ROUGH_STEPS, ROUGH_RANK = 0.03, 4, 10
"""Above this error, the first steps of an inner problem have Hessians with faces in the mean, which cost much less; not
below so many variables a group, where faces differ too much: 64 normalised neurons of 4 to 12 variables take 9 922
steps with it everywhere, 5 514 without (measured)."""
OUTER_LIMIT, INNER_LIMIT, STEP_LIMIT = 200, 40, 3000
DIGITS = 1e-12
"""What rounding leaves of a gradient, relative to the labels."""
NEARLY = 1e-6
"""The error at which a solve that stopped counts as nearly solved."""


@dataclass(frozen=True)
class _Point:
    """phi at one lam: value, gradient (n,); active groups as places, their projections, norms and new weights."""

    value: float
    gradient: Array
    active: Index
    points: Array
    norms: Array
    W: Array


class ConeNewton:
    """The iterate: lam, the weights W (k, r) of every signed group, and the projections on their cones."""

    def __init__(self, program: ExactProgram, unseen: float = UNSEEN[0]) -> None:
        groups, members = program.groups, program.members
        self.program, self.members, self.y, self.bound = program, members, program.y, program.penalty
        self.cones = Projections(program, unseen)
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
        """Solve to the relative gap and residual `tolerance`; else the best iterate, with how it ended."""
        y, size, everyone = self.y, float(np.linalg.norm(self.y)), np.arange(len(self.members))
        start = self._begin(gated)
        if start is None:
            return self._solution(self.W, self.lam, Outcome.NUMERICAL_TROUBLE)
        near, At = start
        # weights are of the size ||y|| / column where norms A^T lam are of the size b: s is the one over the other;
        # pull is a share of what one group of step s adds to the Hessian
        s, error, best = size / (self.bound * self.column), 1.0, np.inf
        pull = PULL * s * self.column**2
        weakest, objective = WEAKEST_PULL * pull, np.inf
        W, lam, outcome, inexactness, unsolved = self.W.copy(), self.lam, Outcome.ITERATION_LIMIT, INEXACTNESS, 0
        for _ in range(OUTER_LIMIT):
            wanted = inexactness * max(error, tolerance)
            if self.delta and error < STRICT:
                # ||grad phi||^2 / 2 is what the misfit adds to a regularised objective: hold it below the gap too
                wanted = min(wanted, float(np.sqrt(2 * wanted * objective)) / size)
            before, wanted = self.steps, max(wanted, DIGITS) * size
            point = self._inner(near, At, s, pull, wanted, self._roughly and error > ROUGH)
            if point is None:
                outcome = Outcome.NUMERICAL_TROUBLE
                break
            self.W[:] = 0.0
            self.W[near[point.active]] = point.W
            misfit = self._fit(near[point.active], point.W) - y + self.delta * self.lam
            # all groups, not the near ones alone: what bounds the dual has to hold everywhere
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
            # the certificate has what the weights leave of the labels, lam less the misfit, where the gap has lam
            excess = self.delta * float(misfit @ (0.5 * misfit - self.lam))
            if max(error, abs(gap + relative(excess, objective))) <= tolerance:
                # lam inside the bounds, so that the multipliers of these projections prove it
                self.cones.scale(1.0 / max(1.0, largest))
                return self._solution(self.W, inside, Outcome.SOLVED, self.cones.multipliers)
            if error < best:
                best, W, lam = error, self.W.copy(), inside
            if self.steps >= STEP_LIMIT:
                break
            error = min(1.0, error)
            # groups with weights stay, whatever their norms are at this lam
            norms[self.W.any(axis=1) | self.free] = np.inf
            near = _largest(norms, NEXT)
            # what rose by `largest - 1` in this step is not left out if it may rise as much in the next
            near = near[norms[near] > 2.0 - largest]
            At = At[near]
            self.cones.forget_others(near)
            inner = self.steps - before
            if inner == 0:  # asked for so little that nothing moved: where labels hardly fit the gap stays 1 for long
                inexactness *= TIGHTER
            if float(np.linalg.norm(point.gradient)) <= wanted:
                unsolved = 0
                pull = max(pull / PULL_DECAY, weakest)
                s *= STEP_GROWTH if inner <= HARD else HARD_GROWTH
            else:
                unsolved += 1
                s *= 1.0 if unsolved == 1 else RETREAT
        return self._solution(W, lam, Outcome.NEARLY_SOLVED if best <= NEARLY else outcome)

    def _begin(self, gated: Solution) -> tuple[Index, Array] | None:
        """lam on the dual's boundary along the gated one; the groups of the first step and their A_g^T lam.

        None where no multiple of the gated dual is on the boundary: then no weights in the cones fit the labels.
        """
        everyone = np.arange(len(self.members))
        At = self._images(everyone, gated.lam)
        bounds = self.cones.project(everyone, At, 1.0)[1]
        largest = float(bounds.max())
        if not largest > DIGITS * self.bound:
            return None
        scale = self.bound / largest
        # projections are shorter than what they project: the gated dual is stretched until one is as long as b
        self.lam = gated.lam * scale
        self.cones.scale(scale)
        bounds[np.any(gated.W, axis=1)[self.own] | self.free] = np.inf
        near = _largest(bounds, FIRST)
        return near, At[near] * scale

    def _inner(self, near: Index, At: Array, s: float, pull: float, tolerance: float, rough: bool) -> _Point | None:
        """Newton's method on phi, until ||grad phi|| <= tolerance or no step descends; None at the limit of steps.

        A step lowers phi, or brings the gradient below the smallest so far: so it meets no point again.
        """
        anchor, W, least = self.lam, self.W[near], np.inf
        point = self._evaluate(near, At, W, s, pull, anchor, self.lam)
        for count in range(INNER_LIMIT):
            error = float(np.linalg.norm(point.gradient))
            if not error > tolerance:
                break
            least = min(least, error)
            step = self._direction(near, point, s, pull, rough and count < ROUGH_STEPS)
            if step is None:
                return None
            self.steps += 1
            # linear in lam: one product for all lengths of the step
            image = self._images(near, step)
            slope = float(point.gradient @ step)
            length = self._length(near, At, W, s, pull, step, image, slope)
            for _ in range(LENGTHS):
                lam = self.lam + length * step
                trial = self._evaluate(near, At + length * image, W, s, pull, anchor, lam)
                if trial.value <= point.value + 1e-4 * length * slope or (
                    float(np.linalg.norm(trial.gradient)) <= 0.9 * least
                ):
                    break
                # to where phi' would be zero if it were linear between both ends
                steepness = float(trial.gradient @ step)
                root = -slope / (steepness - slope) if steepness > slope else 0.5
                length *= min(max(root, SHORTER), SHORTER_AT_MOST)
            else:
                break
            self.lam, At, point = lam, At + length * image, trial
        return point

    def _length(
        self, near: Index, At: Array, W: Array, s: float, pull: float, step: Array, image: Array, slope: float
    ) -> float:
        """1, or where phi is least if every group keeps its direction, which bounds phi from below."""
        U = self.cones.directions[near]
        sizes = np.einsum("gr,gr->g", U, W + s * At) - s * self.bound
        rates = s * np.einsum("gr,gr->g", U, image)
        # the norms of projections are at least their parts along the last directions: linear in the length
        bend = (pull + self.delta) * float(step @ step)

        def change(length: float) -> float:
            return length * bend + float(np.maximum(sizes + length * rates, 0.0) @ rates) / s

        # `change` is phi' of that bound but for a constant, and rises: bisection finds where phi' is zero
        flat = change(0.0) - slope
        if change(1.0) - flat <= RISEN * abs(slope):
            return 1.0
        low, high = 0.0, 1.0
        while high - low > ROUGHLY * high and high > SHORTEST:
            middle = (low + high) / 2
            low, high = (low, middle) if change(middle) > flat else (middle, high)
        return high

    def _evaluate(self, near: Index, At: Array, W: Array, s: float, pull: float, anchor: Array, lam: Array) -> _Point:
        threshold = s * self.bound
        points, norms = self.cones.project(near, W + s * At, s, keep=True)
        places = np.flatnonzero(norms > threshold)
        points, norms = points[places], norms[places]
        # the proximal point of the norm on the cone: project, then shorten by the threshold
        excess = norms - threshold
        new = points * (excess / norms)[:, None]
        move = lam - anchor
        value = float(excess @ excess) / (2 * s) - float(self.y @ lam)
        value += 0.5 * self.delta * float(lam @ lam) + 0.5 * pull * float(move @ move)
        gradient = self._fit(near[places], new) - self.y + self.delta * lam + pull * move
        return _Point(value, gradient, places, points, norms, new)

    def _direction(self, near: Index, point: _Point, s: float, pull: float, rough: bool) -> Array | None:
        """-H^{-1} grad phi; a singular H is shifted. rough: every face taken for a share of all directions."""
        groups, threshold = near[point.active], s * self.bound / point.norms
        # the derivative of the shortened projection: I along p, (1 - s b / ||p||) I across it, on the face; 0 off the
        # face
        units, freedom = point.points / point.norms[:, None], self.cones.freedom(groups)
        if rough:
            shares = (1.0 - threshold) * freedom / units.shape[1]
            H = self.program.groups.rough_gram(self.own[groups], s * shares)
            along = self.cones.weights(groups, units) @ self.base.T
            along *= self.signed[groups] * np.sqrt(s * threshold)[:, None]
            H = (H + along.T @ along).T
        else:
            columns = self.cones.columns(groups, units, np.sqrt(1.0 - threshold))
            columns *= np.repeat(self.signed[groups], freedom, axis=0)
            n = len(self.y)
            H = scipy.linalg.blas.dsyrk(s, columns.T, lower=1) if len(columns) else np.zeros((n, n), order="F")
        return descent(H, pull + self.delta, point.gradient)

    def _images(self, chosen: Index, lam: Array) -> Array:
        """A_g^T lam of the chosen groups, with signs, (k, r)."""
        groups, wanted = self.program.groups, self.own[chosen]
        # both signs of a group share one product
        pairs = np.zeros(groups.count, dtype=np.bool_)
        pairs[wanted] = True
        own = np.flatnonzero(pairs)
        gradients = groups.group_gradients((self.diagonals[own] * lam) @ self.base, own)
        return gradients[np.searchsorted(own, wanted)] * self.sign[chosen]

    def _fit(self, chosen: Index, W: Array) -> Array:
        return np.einsum("kn,kn->n", self.signed[chosen], self.cones.weights(chosen, W) @ self.base.T)

    def _solution(self, W: Array, lam: Array, outcome: Outcome, multipliers: Array | None = None) -> Solution:
        """W (k, r) in base weights of every row of the program; multipliers (k, n) that bound the dual there."""
        V = np.zeros((self.program.size, self.base.shape[1]))
        active = np.flatnonzero(W.any(axis=1))
        V[self.members[active]] = self.cones.weights(active, W[active])
        known = (
            Multipliers.none(self.program.groups.n) if multipliers is None else Multipliers(self.members, multipliers)
        )
        return Solution(V, lam, outcome, self.steps, "newton", known)


def _largest(norms: Array, share: float) -> Index:
    """Places of this share of the norms, the largest, at least SMALLEST, and all that are infinite."""
    count = max(SMALLEST, int(share * len(norms)), int(np.isinf(norms).sum()))
    return np.sort(np.argsort(-norms, kind="stable")[:count])
