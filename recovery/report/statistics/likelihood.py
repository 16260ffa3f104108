"""Binomial counts along two covariates, and the one-parameter fits from which profiles are made."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri, erfcx, log_ndtr, xlogy

from recovery.types import Array, Mask

MOST_STEPS = 200
CONVERGED = 1e-12
"""Of the log likelihood: what one more step may win."""
RISE = float(chdtri(1, 0.05))
"""A 95 % profile interval ends where the deviance has risen by so much (Wilks)."""


def mills(x: Array) -> Array:
    """phi(x) / Phi(x); the scaled error function keeps it exact in both tails, where Phi is 0 or phi is."""
    ratio: Array = np.sqrt(2 / np.pi) / erfcx(x / -np.sqrt(2))
    return ratio


@dataclass(frozen=True)
class Counts:
    """Binomial counts with P(yes) = Phi(slope (u - theta v)), v > 0, so that u / v = theta is even odds.

    All arrays have one entry a cell; cells without an answer are dropped.
    """

    u: Array
    v: Array
    yes: Array
    no: Array

    @classmethod
    def of(cls, u: ArrayLike, v: ArrayLike, yes: ArrayLike, no: ArrayLike) -> "Counts":
        """Counts with the empty cells dropped and scalars spread."""
        arrays: list[Array] = list(np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (u, v, yes, no))))
        kept = arrays[2] + arrays[3] > 0
        return cls(*(a[kept] for a in arrays))

    def __len__(self) -> int:
        return len(self.u)

    def flipped(self) -> "Counts":
        """Yes and no exchanged."""
        return Counts(self.u, self.v, self.no, self.yes)

    def at(self, which: Mask) -> "Counts":
        """The cells of a mask."""
        return Counts(self.u[which], self.v[which], self.yes[which], self.no[which])

    def between(self) -> tuple[float, float]:
        """The largest u/v with a no and the smallest with a yes: in this order exactly when a line separates them."""
        ratio = self.u / self.v
        return (
            float(ratio[self.no > 0].max(initial=-np.inf)),
            float(ratio[self.yes > 0].min(initial=np.inf)),
        )

    @cached_property
    def saturated(self) -> Array:
        """The largest log likelihood of each cell."""
        return _saturated(self.yes, self.no)

    def deviance(self, eta: Array) -> float:
        """Twice the log likelihood that the saturated model has more than P(yes) = Phi(eta)."""
        return float(2 * (self.saturated - _fitted(self.yes, self.no, eta)).sum())


def cell_deviance(yes: Array, no: Array, eta: Array) -> Array:
    """The deviance of each cell from P(yes) = Phi(eta)."""
    yes, no, eta = np.broadcast_arrays(yes, no, eta)
    deviances: Array = 2 * (_saturated(yes, no) - _fitted(yes, no, eta))
    return deviances


def _saturated(yes: Array, no: Array) -> Array:
    total = yes + no
    best: Array = xlogy(yes, yes / total) + xlogy(no, no / total)
    return best


def _fitted(yes: Array, no: Array, eta: Array) -> Array:
    fitted = np.zeros(eta.shape)
    for count, side in ((yes, eta), (no, -eta)):
        some = count > 0
        fitted[some] += count[some] * log_ndtr(side[some])
    return fitted


def least_deviance(
    counts: Counts, z: Array, offset: Array | None = None, near: float | None = None
) -> tuple[float, float]:
    """(deviance, c) minimised over c >= 0 in P(yes) = Phi(offset + c z). near: a guess of c, which saves steps.

    The likelihood is concave in c, so its score has one root. Without offset it may rise for ever: then c is infinite
    and the deviance its limit, in which only cells with z = 0 are left to chance.
    """
    base = np.zeros_like(z) if offset is None else offset

    won, lost = counts.yes > 0, counts.no > 0  # most cells are pure, and need one hazard only
    sides = [(z[won], base[won], counts.yes[won]), (-z[lost], -base[lost], counts.no[lost])]

    def score(c: float) -> tuple[float, float]:
        """The derivative of the log likelihood, and its own."""
        value = slope = 0.0
        for s, b, k in sides:
            eta = b + c * s
            hazard = mills(eta)
            pull = k * s * hazard
            value += float(pull.sum())
            slope -= float(pull @ (s * (hazard + eta)))
        return value, slope

    if score(0.0)[0] <= 0:
        return counts.deviance(base), 0.0
    if offset is None and not np.any(counts.yes * (z < 0) + counts.no * (z > 0)):
        even = counts.at(z == 0)
        return even.deviance(np.zeros(len(even))), np.inf
    start = near if near is not None and 0 < near < np.inf else 1.0 / float(np.abs(z).max())
    c = _root(score, start)
    return counts.deviance(base + c * z), c


def _root(function: Callable[[float], tuple[float, float]], start: float) -> float:
    """Where a falling function, positive at 0 and given with its derivative, is zero; a guess of it is positive.

    Newton's steps; in place of one that leaves what is known to hold the root, half of that, or twice as far. It ends
    where the integral of the function has no more than `CONVERGED` to win.
    """
    low, high, at = 0.0, np.inf, start
    for _ in range(MOST_STEPS):
        value, slope = function(at)
        low, high = (at, high) if value > 0 else (low, at)
        step = -value / slope if slope < 0 else np.nan
        if value * value <= CONVERGED * -slope:
            return max(at + step, low) if slope < 0 else at
        at = at + step if low < at + step < high else (low + high) / 2 if high < np.inf else 2 * low
    return at


def least_deviance_any(counts: Counts, z: Array, offset: Array | None = None) -> float:
    """Least deviance over c of either sign in P(yes) = Phi(offset + c z)."""
    return min(least_deviance(counts, z, offset)[0], least_deviance(counts, -z, offset)[0])
