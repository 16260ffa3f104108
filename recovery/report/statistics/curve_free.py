"""Where a success probability crosses one half, if it only rises with x, or only falls: no curve is fitted.

n50 lies between two cells, left of it no probability is above one half, right of it none below.
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
"""The 95 % quantile of the likelihood ratio at a point of a rising curve, in the limit (Banerjee and Wellner 2001)."""
SURE = 3.8363
"""Its 99 % quantile (the same)."""


def rise(level: float) -> float:
    """Its quantile at a level of 95 % or more, as a share of that of chi-squared with one degree of freedom.

    The share is 0.591 at 95 % and 0.578 at 99 %; beyond, where it goes on falling, it is held, which errs to be wide.
    """
    known = np.array([0.95, 0.99])
    shares = np.array([RISE_OF_RISING, SURE]) / np.array([normal_reach(one) for one in known]) ** 2
    return float(np.interp(-log(1 - level), -np.log(1 - known), shares) * normal_reach(level) ** 2)


def crossing(x: Array, yes: Array, no: Array, level: float = LEVEL) -> Interval:
    """Isotonic estimate of n50, and the x that a likelihood ratio under monotonicity does not reject.

    The estimate joins the last fitted fraction below one half with the first above. The set holds x if
    2 (log L of the best rising fractions - log L of the best that rise and cross one half at x) <= `rise(level)`.
    Its ends are cells, or infinite. Falling counts: exchange yes and no.
    """
    x, yes, no = _tied(x, yes, no)
    if not len(x):
        return Interval(np.nan, -np.inf, np.inf, level)
    ratio, fitted = _ratios(yes, no)
    # The likelihood is constant between two cells, so the set is a union of gaps; its hull has a cell at either end.
    kept = np.flatnonzero(ratio <= rise(level))
    ends = np.concatenate([[-np.inf], x, [np.inf]])
    return Interval(_crossed(x, fitted), float(ends[kept[0]]), float(ends[kept[-1] + 1]), level)


def _tied(x: Array, yes: Array, no: Array) -> tuple[Array, Array, Array]:
    """Cells with trials in the order of x, those of one x put together."""
    there = yes + no > 0
    values, which = np.unique(x[there], return_inverse=True)
    won, lost = np.zeros(len(values)), np.zeros(len(values))
    np.add.at(won, which, yes[there])
    np.add.at(lost, which, no[there])
    return values, won, lost


def _ratios(yes: Array, no: Array) -> tuple[Array, Array]:
    """(2 log likelihood ratio against one half being crossed before the first cell, before the second, ..., after the
    last; the isotonic fractions)."""
    # The best rising fractions below a cap are the best rising ones, capped. So all constrained fits come from two runs
    # of pooling, one from either end, in linear time.
    left, _ = _rising(yes, no, 0.5)
    right, _ = _rising(no[::-1], yes[::-1], 0.5)
    free, fitted = _rising(yes, no, 1.0)
    return 2 * (free[-1] - np.array(left) - np.array(right)[::-1]), fitted


def _rising(yes: Array, no: Array, most: float) -> tuple[list[float], Array]:
    """(log likelihood of the best non-decreasing fractions up to `most` for the first 0, 1, 2, ... cells; the fractions
    of all cells), by pooling adjacent violators."""
    blocks: list[tuple[float, float, int, float]] = []  # yes, trials, cells, log likelihood up to here
    likelihood = [0.0]
    for won, lost in zip(yes.tolist(), no.tolist(), strict=True):
        total, width = won + lost, 1
        # cross-multiplied, since counts are whole numbers and equal fractions must pool exactly
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
    """Where the line through rising fractions crosses one half; the middle, where cells are fitted at one half."""
    below, above = np.flatnonzero(fitted < 0.5), np.flatnonzero(fitted > 0.5)
    if not len(below) or not len(above):
        return float("nan")
    last, first = below[-1], above[0]
    if first > last + 1:
        return float(x[last + 1] + x[first - 1]) / 2
    return float(np.interp(0.5, fitted[[last, first]], x[[last, first]]))


@dataclass(frozen=True)
class CrossedRow:
    """One value of y, None without one, and where its fractions cross one half along x."""

    y: Any
    half: Interval


def has_rows(diagram: Diagram) -> bool:
    """Whether the diagram is a proportion along numbers."""
    return diagram.proportion and all(Axis(panel.x).kind != "even" for panel in diagram.panels)


def rows(panel: Panel) -> list[CrossedRow]:
    """The crossing at each y; on a log axis, fractions are joined by lines along log x."""
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
    """Positive where yes becomes more frequent along x: the covariance of x and outcome."""
    total = yes + no
    share = float(yes.sum() / total.sum()) if total.sum() else 0.0
    return float(np.sum((at - at.mean()) * (yes - share * total)))


def _back(half: Interval) -> Interval:
    """From log x to x; what lies beyond the cells stays infinite."""
    low = np.exp(half.low) if np.isfinite(half.low) else half.low
    return Interval(float(np.exp(half.estimate)), float(low), float(np.exp(half.high)), half.level)
