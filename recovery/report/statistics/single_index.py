"""The threshold of slices that have the same one, from one smooth curve through the cells of all slices.

The model is P(success) = Phi(z + a u + b u^2) with u = (value - threshold) y^k. Here y is the coordinate of the slices,
k is 0 or 1/2, and Phi(z) is the probability at the threshold. The curve is fitted where the success fraction is neither
near 0 nor near 1.
"""

from typing import NamedTuple

import numpy as np
import scipy

from recovery.report.statistics.crossings import Pool, freedom_of
from recovery.theory.normal import normal_reach
from recovery.types import Array

POWERS = (0.0, 0.5)
"""Powers k of y: transitions have the same width in the pooled value, or a width that falls as y^-1/2."""
WINDOW = 2.0
"""Largest distance, in probits, of the used cells from the threshold, by a fit of a straight line."""
REJECTED = 0.05
"""Level of the test of the curve against one with two more powers of u."""
DEPENDENT, REPEATED = 0.25, 0.1
"""Level of the test of independent trials: high, because a missed dependence makes the interval too short; lower in an
adaptive sweep, whose interim analyses repeat the test."""
FEWEST_TRIALS = 30
ROUNDS = 40
"""Steps of Fisher scoring."""


class SingleIndex(NamedTuple):
    """The threshold, its standard error from the likelihood, and from the scatter of the slices around the curve.

    dependent: the level of the test of independent trials.
    """

    estimate: float
    error: float
    scatter: float
    freedom: float
    dependent: float

    def reach(self, level: float) -> float:
        """Return half the length of the interval.

        The likelihood gives the error, unless a test rejects that the trials of a slice are independent. The
        scatter includes what these trials share.
        """
        excess = self.freedom * (self.scatter / self.error) ** 2
        if scipy.special.chdtrc(self.freedom, excess) > self.dependent:
            return normal_reach(level) * self.error
        return max(
            float(scipy.special.stdtrit(self.freedom, (1 + level) / 2)) * self.scatter, normal_reach(level) * self.error
        )


class _Cells(NamedTuple):
    """Cells of all slices: value, factor y^k, successes and trials, and the probit of the threshold's probability."""

    value: Array
    factor: Array
    rising: Array
    total: Array
    probit: float


class _Curve(NamedTuple):
    """A fit: the threshold and the coefficients of u, u^2, ...; per cell the derivatives by them, score and weight."""

    parameters: Array
    likelihood: float
    probit: Array
    slope: Array
    derivatives: Array
    score: Array
    weight: Array


def single_index(pool: Pool, dependent: float = DEPENDENT) -> SingleIndex | None:
    """Fit the curve; return None if a test rejects it, if it does not rise, or with too few cells.

    dependent: the level of the test of independent trials.
    """
    slices = pool.slices
    inside = np.arange(slices.x.shape[1]) < slices.cells[:, None]
    slice_of = np.nonzero(inside)[0]
    along = (pool.along - pool.weight @ pool.along)[slice_of]
    value, rising, total = (part[inside] for part in (slices.x, slices.rising, slices.total))
    start = np.array([pool.estimate, 1 / max(float(np.sqrt(pool.weight @ ((pool.at - pool.estimate) ** 2))), 1e-9)])
    probit = float(scipy.special.ndtri(slices.probability))
    lines = []
    for power in POWERS:
        cells = _Cells(value, np.exp(power * along), rising, total, probit)
        if (fit := _fit(cells, start)) is not None:
            lines.append((fit.likelihood, cells, fit))
    if not lines:
        return None
    _, cells, line = max(lines, key=lambda one: one[0])
    near = np.abs(line.probit - probit) <= WINDOW
    here = _Cells(value[near], cells.factor[near], rising[near], total[near], probit)
    found = _tested(here, line.parameters)
    if found is None:
        return None
    curve, spread = found
    # the efficient score is the score of the threshold, less its projection on the scores of the coefficients
    shape = curve.derivatives[1:]
    projection = np.linalg.lstsq((shape * curve.weight) @ shape.T, (shape * curve.weight) @ curve.derivatives[0])[0]
    efficient = curve.derivatives[0] - projection @ shape
    count = len(pool.weight)
    information = np.bincount(slice_of[near], curve.weight * efficient**2, count)
    moved = np.bincount(slice_of[near], curve.score * efficient, count)
    whole = float(information.sum())
    if not whole > 0 or information.max() > 0.9 * whole:
        return None
    share = information / whole
    scatter = float(np.sqrt(((moved / whole) ** 2 / (1 - share)).sum()))
    error = float(np.sqrt(spread / whole))
    return SingleIndex(float(curve.parameters[0]), error, scatter, freedom_of(share), dependent)


def _tested(cells: _Cells, parameters: Array) -> tuple[_Curve, float] | None:
    """Fit the curve from this straight line; return it with the dispersion, or None if a test rejects it."""
    freedom = len(cells.value) - 5
    if freedom < 1 or cells.total.sum() < FEWEST_TRIALS:
        return None
    curve = _fit(cells, np.append(parameters, 0.0))
    larger = None if curve is None else _fit(cells, np.append(curve.parameters, [0.0, 0.0]))
    if (
        curve is None
        or larger is None
        or ((curve.probit - cells.probit) * (cells.value - curve.parameters[0]) < 0).any()
    ):
        return None
    chance = scipy.special.ndtr(curve.probit)
    left = (cells.rising - cells.total * chance) ** 2 / np.maximum(cells.total * chance * (1 - chance), 1e-9)
    spread = max(float(left.sum()) / (freedom + 2), 1.0)
    gain = (larger.likelihood - curve.likelihood) / spread
    return None if scipy.special.fdtrc(2, freedom, gain) < REJECTED else (curve, spread)


def _fit(cells: _Cells, parameters: Array) -> _Curve | None:
    """Maximise the likelihood by Fisher scoring; None if a step cannot be computed."""
    curve = _curve(cells, parameters)
    for _ in range(ROUNDS):
        information = (curve.derivatives * curve.weight) @ curve.derivatives.T
        information += 1e-9 * np.diag(np.diag(information) + 1e-12)
        try:
            step = np.linalg.solve(information, curve.derivatives @ curve.score)
        except np.linalg.LinAlgError:
            return None
        tried = (_curve(cells, curve.parameters + step / 2**halvings) for halvings in range(14))
        better = next((one for one in tried if one.likelihood >= curve.likelihood), None)
        if better is None or better.likelihood - curve.likelihood < 1e-8:
            break
        curve = better
    return curve


def _curve(cells: _Cells, parameters: Array) -> _Curve:
    at, coefficients = parameters[0], parameters[1:]
    power = np.arange(1, len(parameters))[:, None]
    with np.errstate(all="ignore"):
        u = (cells.value - at) * cells.factor
        probit = cells.probit + coefficients @ u**power
        slope = coefficients @ (power * u ** (power - 1))
        yes, no = scipy.special.log_ndtr(probit), scipy.special.log_ndtr(-probit)
        failed = cells.total - cells.rising
        likelihood = float(cells.rising @ yes + failed @ no)
        # the ratios of the density to both tails, from logarithms, because each of them may underflow
        up, down = (np.exp(-(probit**2) / 2 - np.log(2 * np.pi) / 2 - tail) for tail in (yes, no))
        derivatives = np.vstack([-slope * cells.factor, u**power])
        score, weight = cells.rising * up - failed * down, cells.total * up * down
    return _Curve(parameters, likelihood, probit, slope, derivatives, score, weight)
