"""Claims about the exponent with which a number, a threshold, or the width of a transition grows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from recovery.config import ReportSpec
from recovery.config.claims import PowerClaim
from recovery.errors import ReportError
from recovery.interval import LEVEL, Interval
from recovery.report.claims.result import Judgement, against, concluded, replicates, undecided
from recovery.report.claims.threshold import stated_limits
from recovery.report.claims.trend import with_coordinate
from recovery.report.diagram import Diagram, as_numbers
from recovery.report.statistics import Estimates
from recovery.report.statistics.growth import growth
from recovery.text import many
from recovery.types import Array, Mask


def state_power(claim: PowerClaim) -> str:
    width = ""
    if len(claim.probabilities) == 2:
        first, last = (f"{100 * one:g}" for one in claim.probabilities)
        width = f"distance along {claim.threshold} from {first} % to {last} % of "
    what = f"power law of {width}'{claim.of}' in {claim.along.split('.')[-1]}"
    return f"{what}: exponent {stated_limits(claim)} (level {claim.level:g})"


def judge_power(estimates: Estimates, rows: Mask, claim: PowerClaim) -> tuple[str, Judgement]:
    """Judge the exponent of a number by its medians, and of an event by its thresholds. All panels share it."""
    diagram = with_coordinate(estimates.diagram, claim.along)
    if not diagram.proportion:
        return _judge_medians(_medians(diagram, rows, claim), claim)
    if claim.threshold == claim.along:
        raise ReportError(f"the threshold is along {claim.along}, so it is no power of {claim.along}")
    diagram = with_coordinate(diagram, claim.threshold).laid_out(
        ReportSpec(x=claim.threshold, y=claim.along, pool="none")
    )
    panels = [diagram.panels[i] for i in diagram.panels_where(claim.where)]
    found = growth(panels, diagram.along, claim.probabilities)
    if found is None:
        needed = f"grid cells on both sides of it along {claim.threshold} at two values of {claim.along}"
        return undecided(f"no two values of {claim.along} show where it is", needed)
    inner, outer = (found.interval(level) for level in (LEVEL, 1 - claim.level))
    text = f"exponent {inner.estimate:.2f}, {inner.words('.2f')}, {_count(found.lines)}"
    if len(found.lines) == 1:
        text += "; " + " to ".join(f"{value:.3g} at {claim.along} = {y:g}" for y, value in found.lines[0].T[[0, -1]])
    verdict = against(inner, outer, *claim.limits)
    return concluded(text, verdict, replicates(inner, outer, *claim.limits, f"more values of {claim.along}"))


def _count(lines: Sequence[Any]) -> str:
    """Return the number of points and of lines in words."""
    return f"{sum(len(line[0]) for line in lines)} points in {many(len(lines), 'line')}"


def _judge_medians(lines: list[tuple[Array, Array]], claim: PowerClaim) -> tuple[str, Judgement]:
    """Judge an exponent by least squares on logarithms, with a constant of its own in each line of cells.

    The t interval is from the scatter of the medians about the lines, so that it counts the misfit of a power, too.
    """
    lines = [one for one in lines if len(one[0]) > 1]
    x, y = (np.concatenate([part[i] - part[i].mean() for part in lines] or [np.empty(0)]) for i in (0, 1))
    freedom = len(x) - len(lines) - 1
    if freedom < 1:
        return undecided(f"{len(x)} points along {claim.along}", "three values of it in a line of cells")
    slope = float(x @ y / (x @ x))
    error = float(np.sqrt(np.sum((y - slope * x) ** 2) / freedom / (x @ x)))
    found, outer = (
        Interval(slope, slope - reach, slope + reach, level)
        for level in (LEVEL, 1 - claim.level)
        for reach in [error * float(scipy.stats.t.isf((1 - level) / 2, freedom))]
    )
    text = f"exponent of the median {slope:.2f}, {found.words('.2f')}, {_count(lines)}"
    return concluded(text, against(found, outer, *claim.limits), "more values of it, or more replicates")


def _medians(diagram: Diagram, rows: Mask, claim: PowerClaim) -> list[tuple[Array, Array]]:
    """Return the logarithms of the coordinate and of the median in each line of cells, where both have one."""
    frame = diagram.frame
    values = np.where(diagram.cells.finished, diagram.quantity.values(frame), np.nan)
    others = [name for name in diagram.layout.keys if name != claim.along]
    medians = frame.assign(median=values)[rows].groupby([*others, claim.along], dropna=False)["median"].median()
    points = medians[(medians > 0) & (medians < np.inf)].reset_index()
    positive = points[points[claim.along] > 0]
    lines = positive.groupby(others, dropna=False) if others else [((), positive)]
    return [(np.log(as_numbers(line[claim.along])), np.log(as_numbers(line["median"]))) for _, line in lines]
