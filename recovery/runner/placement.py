"""Adaptive allocation of trials: c-optimal for the sum of n50 over slices.

n50 is the n where the event has the probability of the threshold. Along another axis than n, the place of a value on
the grid stands for n. Each trial goes to the slice and the n that lower the variance of the sum most. The greedy design
converges to the c-optimal one (Wynn 1970; Silvey 1980, chapter 3), has integer counts, and starts from the existing
trials.

Estimates from few trials are rough. Variances are therefore evaluated at four points with the mean and covariance of
the estimate, which contract as trials accumulate. Within a slice their geometric mean is used, so that cells next to
the estimated transition get trials too; across slices their maximum is used, so that a slice whose estimated slope is
too steep is not neglected.
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
class TransitionCurve:
    """The model of a slice, P(yes) = Phi(a (n - n50) / w + q); q is the normal quantile of the probability at n50.

    grows: whether the transition is sqrt n wide, w = sqrt n; otherwise w = 1.
    """

    grows: bool = True
    probability: float = 0.5

    def width(self, n: Array) -> Array:
        """Return the width w of the transition at each n: sqrt n if `grows`, otherwise 1."""
        return np.sqrt(n) if self.grows else np.ones(len(n))

    @property
    def quantile(self) -> float:
        """The normal quantile q of the probability at n50; 0 for probability 1/2."""
        return float(scipy.special.ndtri(self.probability))


WENDEL = TransitionCurve()
"""The curve along n with probability 1/2 at n50."""


@dataclass(frozen=True)
class Transition:
    """The estimated transition of a slice: n50 (`half`) and the slope a, negative if success becomes rarer with n.

    covariance: of (n50, log |a|), the inverse of the Fisher information of the trials, shape (2, 2).
    """

    half: float
    slope: float
    covariance: Array

    @property
    def error(self) -> float:
        """The standard error of n50."""
        return float(np.sqrt(self.covariance[0, 0]))


def estimate(n: ArrayLike, yes: ArrayLike, no: ArrayLike, curve: TransitionCurve = WENDEL) -> Transition | None:
    """Fit the transition of a slice to its counts at each n.

    Reports maximise the likelihood, which has no maximum if the slice is separated, as is common early on. Here the
    likelihood is multiplied by Jeffreys' prior, the square root of the determinant of the information, so that a
    maximum always exists. Return None if all trials had the same outcome or the same n, or if n50 is more than two
    standard errors outside the range of n.
    """
    n, yes, no = (np.asarray(values, dtype=np.float64) for values in (n, yes, no))
    drawn = yes + no > 0
    if not (yes.any() and no.any() and len(np.unique(n[drawn])) > 1):
        return None
    at, won, lost = n[drawn], yes[drawn], no[drawn]
    width = curve.width(at)
    basis, triangle = np.linalg.qr(np.column_stack([at / width, -1 / width]))
    products = (won + lost) * np.array([basis[:, 0] ** 2, basis[:, 1] ** 2, basis[:, 0] * basis[:, 1]])

    def loss(b: Array) -> float:
        eta = basis @ b + curve.quantile
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
    result = Transition(half, float(slope), covariance(n, yes + no, half, float(slope), curve))
    return result if n.min() - 2 * result.error <= half <= n.max() + 2 * result.error else None


def covariance(n: ArrayLike, trials: ArrayLike, half: float, slope: float, curve: TransitionCurve = WENDEL) -> Array:
    """Return the inverse expected information about (n50, log |a|) of `trials` trials at each n, shape (2, 2)."""
    directions, weight = gradients(n, half, slope, curve)
    return np.linalg.inv((directions * (weight * np.asarray(trials))[:, None]).T @ directions)


def gradients(n: ArrayLike, half: float, slope: float, curve: TransitionCurve = WENDEL) -> tuple[Array, Array]:
    """Return, for eta = a (n - n50) / w + q, the gradient d eta / d (n50, log |a|), shape (cells, 2), and the
    information of one trial about eta, phi(eta)^2 / (Phi(eta) (1 - Phi(eta))), shape (cells,)."""
    n = np.asarray(n, dtype=np.float64)
    width = curve.width(n)
    rise = slope * (n - half) / width
    eta = rise + curve.quantile
    information = np.exp(-np.square(eta) - LOG_TAU - scipy.special.log_ndtr(eta) - scipy.special.log_ndtr(-eta))
    return np.column_stack([-slope / width, rise]), information


LEAST = 0.2
"""Least share of the stored trials that a round adds, since each round has costs of its own."""
ENOUGH = 300
"""Trials with equal outcomes after which a probability is within 1 % of 0 or 1 (95 % confidence, rule of three)."""

SLOPE = np.diag([0.0, 1.0])
"""Prior information about (n50, log |a|): the slope is known to within a factor of e."""


@dataclass(frozen=True)
class Slice:
    """The outcomes of one slice: an entry for each n, in increasing order."""

    n: Array
    yes: Array
    no: Array
    curve: TransitionCurve = WENDEL

    @property
    def transition(self) -> Transition | None:
        """The estimated transition, or None if more trials cannot improve it.

        That is the case without a transition in the range of n, and with one that is sharper than the grid: no cell has
        both outcomes, and the two cells around n50 have at least `ENOUGH` trials each.
        """
        estimated = estimate(self.n, self.yes, self.no, self.curve)
        if estimated is None or np.any((self.yes > 0) & (self.no > 0)):
            return estimated
        right = int(np.clip(np.searchsorted(self.n, estimated.half), 1, len(self.n) - 1))
        return None if (self.yes + self.no)[right - 1 : right + 1].min() >= ENOUGH else estimated


def sharpen(slices: Sequence[Slice], factor: float, trials: int) -> list[tuple[Transition | None, list[int]]]:
    """Allocate up to `trials` more trials so that the variance of the sum of n50 over the slices is divided by
    `factor`.

    Return, for each slice, its estimated transition and the number of trials for each n. Each trial goes where it
    lowers the variance of the sum most. A slice whose n50 is outside its n gets no trials if another one is inside,
    because the grid cuts off its transition, so it is not pooled.
    """
    transitions = [part.transition for part in slices]
    fitted = {i: transition for i, transition in enumerate(transitions) if transition is not None}
    inside = {i for i, transition in fitted.items() if slices[i].n.min() < transition.half < slices[i].n.max()}
    known = {i: _Design(slices[i], fitted[i]) for i in (inside or fitted)}
    added = [[0] * len(part.n) for part in slices]
    # trials are added to a slice in steps of a hundredth of its existing trials: smaller steps would not give a better
    # estimate of the variance
    steps = {i: max(1, int((slices[i].yes + slices[i].no).sum()) // 100) for i in known}
    # add at most as many trials as would reach the factor if placed evenly, also if the true curve is not a probit
    stored = sum(float((part.yes + part.no).sum()) for part in slices)
    trials = min(trials, math.ceil((factor - 1) * stored))
    surplus = trials - math.ceil(LEAST * stored)
    first = total = sum(design.spread for design in known.values())

    def urgency(i: int) -> tuple[float, int]:
        """Return minus the decrease of the variance per trial of a step in slice i, least for the best slice; and i."""
        return -(known[i].spread - known[i].best(steps[i])[1]) / steps[i], i

    queue = [urgency(i) for i in known]
    heapq.heapify(queue)
    while queue and trials > 0 and (total > first / factor or trials > surplus):
        i = queue[0][1]
        step = min(steps[i], trials)
        total -= known[i].spread
        added[i][known[i].add(step)] += step
        total += known[i].spread
        heapq.heapreplace(queue, urgency(i))
        trials -= step
    return list(zip(transitions, added, strict=True))


class _Design:
    """The information about (n50, log |a|) of a slice at the module's four points, updated as trials are added."""

    def __init__(self, part: Slice, transition: Transition) -> None:
        known = np.linalg.inv(np.linalg.inv(transition.covariance) + SLOPE)
        spread = np.sqrt(2) * np.linalg.cholesky(known).T
        ends = part.n.min(), part.n.max()
        halves = np.clip(transition.half + np.array([spread[:, 0], -spread[:, 0]]).ravel(), *ends)
        slopes = transition.slope * np.exp(np.array([spread[:, 1], -spread[:, 1]]).ravel())
        pairs = [gradients(part.n, half, slope, part.curve) for half, slope in zip(halves, slopes, strict=True)]
        # the information of one trial at each n: entries 11, 12, 22 of the information matrix, shape (3, points, cells)
        self._one = np.array(
            [
                [weight * directions[:, i] * directions[:, j] for directions, weight in pairs]
                for i, j in ((0, 0), (0, 1), (1, 1))
            ]
        )
        self._sum = self._one @ (part.yes + part.no)
        self._sum[2] += SLOPE[1, 1]
        self.spread = math.exp(float(_log_variance(self._sum).max()))
        """The variance of n50, the maximum over the points."""

    def best(self, trials: int) -> tuple[int, float]:
        """Return the index of the best n for this number of further trials, and `spread` after these."""
        after = _log_variance(self._sum[:, :, None] + trials * self._one)
        best = int(np.argmin(after.mean(axis=0)))
        return best, math.exp(float(after[:, best].max()))

    def add(self, trials: int) -> int:
        """Add this number of trials at the best n, and return the index of this n."""
        best, self.spread = self.best(trials)
        self._sum += trials * self._one[:, :, best]
        return best


def _log_variance(entries: Array) -> Array:
    """Return log (I^-1)_11 of symmetric 2 x 2 matrices given as (I_11, I_12, I_22) along the first axis."""
    first, mixed, second = entries
    return np.log(second) - np.log(first * second - mixed**2)
