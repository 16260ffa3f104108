"""The x at which a monotone success probability crosses one half, without a parametric curve.

The success fractions are fitted by isotonic regression. The crossing lies between two neighbouring grid cells: no
probability left of it is above one half, and none right of it is below.
"""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from recovery.interval import LEVEL, Interval
from recovery.report.diagram import Axis, Diagram, Panel
from recovery.report.statistics.transition import numbers
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


def crossing(x: Array, yes: Array, no: Array, level: float = LEVEL) -> Interval:
    """Return the isotonic estimate of the crossing and a confidence interval from the likelihood ratio.

    The estimate interpolates between the last fitted fraction below one half and the first above. It is NaN where the
    cells lie on one side of one half. The interval holds every x for which 2 (log L of the isotonic fit - log L of the
    isotonic fit that crosses one half at x) <= `rise(level)`. Its ends are cells, or infinite. For counts that fall
    with x, exchange yes and no.
    """
    x, yes, no = _tied(x, yes, no)
    if not len(x):
        return Interval(np.nan, -np.inf, np.inf, level)
    ratio, fitted = _ratios(yes, no)
    # The likelihood is constant between neighbouring cells, so the set is a union of gaps between cells.
    kept = np.flatnonzero(ratio <= rise(level))
    ends = np.concatenate([[-np.inf], x, [np.inf]])
    return Interval(_crossed(x, fitted), float(ends[kept[0]]), float(ends[kept[-1] + 1]), level)


def _tied(x: Array, yes: Array, no: Array) -> tuple[Array, Array, Array]:
    """Return the cells that have trials in the order of x, with cells of equal x merged."""
    there = yes + no > 0
    values, which = np.unique(x[there], return_inverse=True)
    won, lost = np.zeros(len(values)), np.zeros(len(values))
    np.add.at(won, which, yes[there])
    np.add.at(lost, which, no[there])
    return values, won, lost


def _ratios(yes: Array, no: Array) -> tuple[Array, Array]:
    """Return the likelihood ratios and the isotonic fractions.

    Entry j of the ratios is 2 log of the likelihood ratio against a crossing just before cell j; the last entry is for
    a crossing after the last cell.
    """
    # The isotonic fit below a cap is the capped isotonic fit. Two passes of pooling, one from each end, therefore give
    # all constrained fits in linear time.
    left, _ = _rising(yes, no, 0.5)
    right, _ = _rising(no[::-1], yes[::-1], 0.5)
    free, fitted = _rising(yes, no, 1.0)
    return 2 * (free[-1] - np.array(left) - np.array(right)[::-1]), fitted


def _rising(yes: Array, no: Array, most: float) -> tuple[list[float], Array]:
    """Fit non-decreasing fractions of at most `most` by pooling adjacent violators.

    Returns the log likelihood of the fit to the first 0, 1, 2, ... cells, and the fractions of all cells.
    """
    blocks: list[tuple[float, float, int, float]] = []  # yes, trials, cells, cumulative log likelihood
    likelihood = [0.0]
    for won, lost in zip(yes.tolist(), no.tolist(), strict=True):
        total, width = won + lost, 1
        # Cross-multiplied: counts are integers, and equal fractions must pool exactly.
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


def _crossed(x: Array, fitted: Array) -> float:
    """Return where isotonic fractions cross one half: interpolated, or the middle of the cells fitted at one half."""
    below, above = np.flatnonzero(fitted < 0.5), np.flatnonzero(fitted > 0.5)
    if not len(below) or not len(above):
        return float("nan")
    last, first = below[-1], above[0]
    if first > last + 1:
        return float(x[last + 1] + x[first - 1]) / 2
    return float(np.interp(0.5, fitted[[last, first]], x[[last, first]]))


@dataclass(frozen=True)
class CrossedRow:
    """One value of y (None without a y axis) and the x at which its fractions cross one half."""

    y: Any
    half: Interval


def has_rows(diagram: Diagram) -> bool:
    """Return whether the diagram shows a proportion along a numeric x axis."""
    return diagram.proportion and all(Axis(panel.x).kind != "even" for panel in diagram.panels)


def rows(panel: Panel) -> list[CrossedRow]:
    """Return the crossing at each y. On a log axis the fractions are interpolated along log x."""
    axis, cells = Axis(panel.x), panel.cells
    at = np.log(axis.at) if axis.kind == "log" else axis.at
    yes, no = numbers(cells, "yes"), numbers(cells, "no")
    falling = _trend(at[cells["ix"]], yes, no) < 0
    won, lost = (no, yes) if falling else (yes, no)
    crossed = []
    for i, y in enumerate(panel.y):
        here = (cells["iy"] == i).to_numpy()
        half = crossing(at[cells["ix"][here]], won[here], lost[here])
        crossed.append(CrossedRow(y, _back(half) if axis.kind == "log" else half))
    return crossed


def _trend(at: Array, yes: Array, no: Array) -> float:
    """Return the covariance of x and success: positive where success becomes more frequent along x."""
    total = yes + no
    share = float(yes.sum() / total.sum()) if total.sum() else 0.0
    return float(np.sum((at - at.mean()) * (yes - share * total)))


def _back(half: Interval) -> Interval:
    """Convert an interval from log x to x; infinite ends stay infinite."""
    low = np.exp(half.low) if np.isfinite(half.low) else half.low
    return Interval(float(np.exp(half.estimate)), float(low), float(np.exp(half.high)), half.level)
