"""Trials placed where they sharpen n50 most: c-optimal within a slice, even relative standard errors across slices.

Trial after trial goes to the slice whose n50 may be known worst for its size, and there to the n at which it lowers the
variance of n50 most. This greedy design converges to the c-optimal one (Wynn 1970; Silvey 1980, chapter 3), its counts
are whole as they come, and it starts from the trials that are there.

Estimates from few trials are rough, so variances are taken at four points that have the estimate's own mean and
covariance, and close up as rounds go by: at their geometric mean within a slice, so that a cell next to the supposed
transition is not starved; at the worst between slices, so that one is not passed over for seeming steeper than it is.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array

LOG_TAU = math.log(2 * math.pi)


@dataclass(frozen=True)
class Transition:
    """n50 and the slope a, negative where success becomes rarer with n.

    covariance: of (n50, log |a|), the inverse of the information of the trials, shape (2, 2).
    """

    half: float
    slope: float
    covariance: Array

    @property
    def error(self) -> float:
        """The standard error of n50."""
        return float(np.sqrt(self.covariance[0, 0]))


def estimate(n: ArrayLike, yes: ArrayLike, no: ArrayLike) -> Transition | None:
    """The transition of a slice from its counts at each n: P(yes) = Phi(a (n - n50) / sqrt n), as in the reports.

    A report fits by maximum likelihood, which has no maximum where a slice is separated, as it is early on. Here the
    likelihood is times Jeffreys' prior, the square root of the determinant of the information: then it always has one.

    None if all trials ended alike, or if n50 lies more than two standard errors beyond the least or greatest n.
    """
    n, yes, no = (np.asarray(values, dtype=np.float64) for values in (n, yes, no))
    drawn = yes + no > 0
    if not (yes.any() and no.any() and len(np.unique(n[drawn])) > 1):
        return None
    at, won, lost = n[drawn], yes[drawn], no[drawn]
    basis, triangle = np.linalg.qr(np.column_stack([np.sqrt(at), -1 / np.sqrt(at)]))
    products = (won + lost) * np.array([basis[:, 0] ** 2, basis[:, 1] ** 2, basis[:, 0] * basis[:, 1]])

    def loss(b: Array) -> float:
        eta = basis @ b
        above, below = scipy.special.log_ndtr(eta), scipy.special.log_ndtr(-eta)
        first, second, mixed = products @ np.exp(-(eta**2) - LOG_TAU - above - below)
        determinant = first * second - mixed**2
        return -float(won @ above + lost @ below) - math.log(determinant) / 2 if determinant > 0 else math.inf

    start = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    minimum = scipy.optimize.minimize(
        loss, start[0], method="Nelder-Mead", options={"initial_simplex": start, "xatol": 1e-6, "fatol": 1e-8}
    )
    slope, offset = np.linalg.solve(triangle, minimum.x)
    half = float(offset / slope)
    result = Transition(half, float(slope), covariance(n, yes + no, half, float(slope)))
    return result if n.min() - 2 * result.error <= half <= n.max() + 2 * result.error else None


def covariance(n: ArrayLike, trials: ArrayLike, half: float, slope: float) -> Array:
    """The inverse of the expected information about (n50, log |a|) of so many trials at each n."""
    directions, weight = gradients(n, half, slope)
    return np.linalg.inv((directions * (weight * np.asarray(trials))[:, None]).T @ directions)


def gradients(n: ArrayLike, half: float, slope: float) -> tuple[Array, Array]:
    """For eta = a (n - n50) / sqrt n: d eta / d (n50, log |a|), shape (cells, 2), and what one trial says about eta,
    phi(eta)^2 / (Phi(eta) (1 - Phi(eta))), shape (cells,)."""
    n = np.asarray(n, dtype=np.float64)
    eta = slope * (n - half) / np.sqrt(n)
    information = np.exp(-np.square(eta) - LOG_TAU - scipy.special.log_ndtr(eta) - scipy.special.log_ndtr(-eta))
    return np.column_stack([-slope / np.sqrt(n), eta]), information


STEPS = 4000
"""Steps that a placement takes at most: of many trials, several go to one cell at a time."""
ENOUGH = 300
"""Trials that, ending alike, put a cell's chance within 1 % of 0 or 1 (95 %, the rule of three)."""

SLOPE = np.diag([0.0, 1.0])
"""Information about (n50, log |a|) that is taken for granted: the slope is known to a factor of e."""


@dataclass(frozen=True)
class Slice:
    """The counts of one slice, an entry for each n, which rises."""

    n: Array
    yes: Array
    no: Array

    @property
    def transition(self) -> Transition | None:
        """None if there is nothing to sharpen: no transition between the least and greatest n, or one that is sharper
        than the grid: no cell has both outcomes, and the two around n50 have had `ENOUGH` trials."""
        estimated = estimate(self.n, self.yes, self.no)
        if estimated is None or np.any((self.yes > 0) & (self.no > 0)):
            return estimated
        right = int(np.clip(np.searchsorted(self.n, estimated.half), 1, len(self.n) - 1))
        return None if (self.yes + self.no)[right - 1 : right + 1].min() >= ENOUGH else estimated


def place(slices: Sequence[Slice], trials: int) -> list[tuple[Transition | None, list[int]]]:
    """For each slice the transition as it is known, and how many of `trials` more each of its n gets.

    They sum to `trials`, or to 0 if no slice has a transition.
    """
    transitions = [part.transition for part in slices]
    known = {i: _Design(slices[i], transition) for i, transition in enumerate(transitions) if transition is not None}
    added = [[0] * len(part.n) for part in slices]
    queue = [(-design.variance, i) for i, design in known.items()]
    heapq.heapify(queue)
    step = -(-trials // STEPS)
    while queue and trials > 0:
        step = min(step, trials)
        i = queue[0][1]
        added[i][known[i].add(step)] += step
        heapq.heapreplace(queue, (-known[i].variance, i))
        trials -= step
    return list(zip(transitions, added, strict=True))


def sharpen(slices: Sequence[Slice], factor: float, trials: int) -> list[tuple[Transition | None, list[int]]]:
    """For each slice the transition as it is known, and how many trials more each of its n gets, at most `trials` in
    all, so that the variance of the sum of n50 over the slices is smaller by `factor`.

    Of a sum, the next trial goes where it lowers the variance most; `place` would favour the smallest n50.
    """
    transitions = [part.transition for part in slices]
    known = {i: _Design(slices[i], transition) for i, transition in enumerate(transitions) if transition is not None}
    added = [[0] * len(part.n) for part in slices]
    # Of steps as long as a hundredth of what a slice has: in smaller ones the variance would be no better known.
    steps = {i: max(1, int((slices[i].yes + slices[i].no).sum()) // 100) for i in known}
    # As many as evenly placed ones would need are enough, whatever a curve that is no probit makes of the variance.
    trials = min(trials, math.ceil((factor - 1) * sum(float((part.yes + part.no).sum()) for part in slices)))
    first = total = sum(design.spread for design in known.values())
    queue = [(-design.gain(steps[i]) / steps[i], i) for i, design in known.items()]
    heapq.heapify(queue)
    while queue and trials > 0 and total > first / factor:
        i = queue[0][1]
        step = min(steps[i], trials)
        total -= known[i].spread
        added[i][known[i].add(step)] += step
        total += known[i].spread
        heapq.heapreplace(queue, (-known[i].gain(steps[i]) / steps[i], i))
        trials -= step
    return list(zip(transitions, added, strict=True))


class _Design:
    """The information about (n50, log |a|) of one slice, at each of the points, as it grows."""

    def __init__(self, part: Slice, transition: Transition) -> None:
        known = np.linalg.inv(np.linalg.inv(transition.covariance) + SLOPE)
        spread = np.sqrt(2) * np.linalg.cholesky(known).T
        ends = part.n.min(), part.n.max()
        halves = np.clip(transition.half + np.array([spread[:, 0], -spread[:, 0]]).ravel(), *ends)
        slopes = transition.slope * np.exp(np.array([spread[:, 1], -spread[:, 1]]).ravel())
        pairs = [gradients(part.n, half, slope) for half, slope in zip(halves, slopes, strict=True)]
        # of one trial at each n: entries 11, 12, 22 of the information matrix, shape (3, points, cells)
        self._one = np.array(
            [
                [weight * directions[:, i] * directions[:, j] for directions, weight in pairs]
                for i, j in ((0, 0), (0, 1), (1, 1))
            ]
        )
        self._sum = self._one @ (part.yes + part.no)
        self._sum[2] += SLOPE[1, 1]
        self._scale = 2 * np.log(np.clip(transition.half, *ends))
        self.variance = float(_log_variance(self._sum).max()) - self._scale
        """The logarithm of the relative variance of n50, at the point where it is greatest."""

    @property
    def spread(self) -> float:
        """The variance of n50, at that point."""
        return math.exp(self.variance + self._scale)

    def gain(self, trials: int) -> float:
        """By how much so many trials, where they help most, lower `spread`."""
        after = _log_variance(self._sum[:, :, None] + trials * self._one)
        return self.spread - math.exp(float(after[:, int(np.argmin(after.mean(axis=0)))].max()))

    def add(self, trials: int) -> int:
        """Draw `trials` where they help most; returns where."""
        after = _log_variance(self._sum[:, :, None] + trials * self._one)
        best = int(np.argmin(after.mean(axis=0)))
        self._sum += trials * self._one[:, :, best]
        self.variance = float(after[:, best].max()) - self._scale
        return best


def _log_variance(entries: Array) -> Array:
    """log (I^-1)_11 of symmetric 2 x 2 matrices given as (I_11, I_12, I_22) along the first axis."""
    first, mixed, second = entries
    return np.log(second) - np.log(first * second - mixed**2)
