"""The x at which a monotone success probability crosses a given probability, without a parametric curve.

The success fractions are fitted by isotonic regression. The crossing lies between two neighbouring grid cells: the
probability is at most the given one left of it, and at least the given one right of it.
"""

from math import log

import numpy as np

from recovery.interval import LEVEL, Interval
from recovery.theory.normal import normal_reach
from recovery.types import Array

RISE_OF_RISING = 2.2692
"""The 95 % quantile of the likelihood ratio at a point of a monotone curve, in the limit of many trials (Banerjee and
Wellner 2001)."""
SURE = 3.8363
"""Its 99 % quantile (the same source)."""


def rise(level: float) -> float:
    """Return the quantile of the likelihood ratio at a point of a monotone curve, at a level of at least 95 %.

    It is a share of the quantile of chi-squared with one degree of freedom: 0.591 at 95 % and 0.578 at 99 %. The share
    keeps falling beyond 99 %; it is held constant there, which makes intervals slightly too wide.
    """
    known = np.array([0.95, 0.99])
    shares = np.array([RISE_OF_RISING, SURE]) / np.array([normal_reach(one) for one in known]) ** 2
    return float(np.interp(-log(1 - level), -np.log(1 - known), shares) * normal_reach(level) ** 2)


def crossing(x: Array, yes: Array, no: Array, level: float = LEVEL, probability: float = 0.5) -> Interval:
    """Return the isotonic estimate of the crossing and a confidence interval from the likelihood ratio.

    The estimate interpolates between the last fitted fraction below `probability` and the first above. It is NaN where
    the cells lie on one side of it. The interval holds every x for which 2 (log L of the isotonic fit - log L of the
    isotonic fit that crosses `probability` at x) <= `rise(level)`. Its ends are cells, or infinite. For counts that
    fall with x, exchange yes and no, and take one minus the probability.
    """
    x, yes, no = _tied(x, yes, no)
    if not len(x):
        return Interval(np.nan, -np.inf, np.inf, level)
    ratio, fitted = _ratios(yes, no, probability)
    # the likelihood is constant while the crossing moves between two neighbouring cells, so the accepted x are a union
    # of gaps between cells; the interval spans them all
    kept = np.flatnonzero(ratio <= rise(level))
    ends = np.concatenate([[-np.inf], x, [np.inf]])
    return Interval(_crossed(x, fitted, probability), float(ends[kept[0]]), float(ends[kept[-1] + 1]), level)


def _tied(x: Array, yes: Array, no: Array) -> tuple[Array, Array, Array]:
    """Return the cells that have trials in the order of x, with cells of equal x merged."""
    there = yes + no > 0
    values, which = np.unique(x[there], return_inverse=True)
    won, lost = np.zeros(len(values)), np.zeros(len(values))
    np.add.at(won, which, yes[there])
    np.add.at(lost, which, no[there])
    return values, won, lost


def _ratios(yes: Array, no: Array, probability: float) -> tuple[Array, Array]:
    """Return the likelihood ratios and the isotonic fractions.

    Entry j of the ratios is 2 log of the likelihood ratio against a crossing just before cell j; the last entry is for
    a crossing after the last cell.
    """
    # the isotonic fit with fractions below a cap is the capped isotonic fit. Two passes of pooling, one from each end,
    # therefore give the constrained fits for all crossings in linear time
    left, _ = _rising(yes, no, probability)
    right, _ = _rising(no[::-1], yes[::-1], round(1 - probability, 12))
    free, fitted = _rising(yes, no, 1.0)
    return 2 * (free[-1] - np.array(left) - np.array(right)[::-1]), fitted


def _rising(yes: Array, no: Array, most: float) -> tuple[list[float], Array]:
    """Fit non-decreasing fractions of at most `most` by pooling adjacent violators.

    Returns the log likelihood of the fit to the first 0, 1, 2, ... cells, and the fractions of all cells.
    """
    # for each block: successes, trials, number of cells, and the log likelihood of all cells up to its end
    blocks: list[tuple[float, float, int, float]] = []
    likelihood = [0.0]
    for won, lost in zip(yes.tolist(), no.tolist(), strict=True):
        total, width = won + lost, 1
        # fractions are compared by cross-multiplication: counts are integers, and equal fractions must pool exactly
        while blocks and blocks[-1][0] * total >= won * blocks[-1][1]:
            other = blocks.pop()
            won, total, width = won + other[0], total + other[1], width + other[2]
        before = blocks[-1][3] if blocks else 0.0
        blocks.append((won, total, width, before + _log_likelihood(won, total, min(won / total, most))))
        likelihood.append(blocks[-1][3])
    return likelihood, np.repeat([won / total for won, total, _, _ in blocks], [width for _, _, width, _ in blocks])


def _log_likelihood(won: float, total: float, chance: float) -> float:
    first = won * log(chance) if won else 0.0
    return first + ((total - won) * log(1 - chance) if total > won else 0.0)


def _crossed(x: Array, fitted: Array, probability: float) -> float:
    """Return where isotonic fractions cross a probability: interpolated, or the middle of the cells fitted at it."""
    below, above = np.flatnonzero(fitted < probability), np.flatnonzero(fitted > probability)
    if not len(below) or not len(above):
        return float("nan")
    last, first = below[-1], above[0]
    if first > last + 1:
        return float(x[last + 1] + x[first - 1]) / 2
    return float(np.interp(probability, fitted[[last, first]], x[[last, first]]))
