"""Finite-size scaling of a threshold over its slices: claims about it, and its line in a report."""

from typing import NamedTuple

import numpy as np

from recovery.config.claims import ScalingClaim
from recovery.errors import ReportError
from recovery.interval import LEVEL, Interval
from recovery.report.claims.lines import Line, form_of
from recovery.report.claims.result import NO_CELLS, Judged, Judgement, decided, undecided
from recovery.report.claims.threshold import stated_limits
from recovery.report.diagram import PLAIN
from recovery.report.statistics import Estimates, Threshold
from recovery.report.statistics.growth import growth, is_positive, place
from recovery.report.statistics.panels import slice_thresholds
from recovery.report.statistics.scaling import Scaling, scaling
from recovery.types import Mask

WIDTH = (0.1, 0.9)
"""Probabilities between which a transition is measured."""


class Measured(NamedTuple):
    """What is measured: inner and outer interval, and the text."""

    inner: Interval
    outer: Interval
    text: str


def state_scaling(claim: ScalingClaim) -> str:
    name = {"limit": "limit for large sizes", "exponent": "exponent of the approach", "width": "exponent of the width"}
    return f"{name[claim.quantity]} of the threshold of '{claim.of}' at {claim.what} {stated_limits(claim, '= ')}"


def judge_scaling(estimates: Estimates, rows: Mask, claim: ScalingClaim) -> tuple[str, Judgement]:
    """Judge the limit or the exponent of each panel: supported if its interval is inside the limits."""
    shown = estimates.showing(claim.of, claim.probability, claim.what)
    if not shown.by_panel:
        raise ReportError(f"{claim.of} is no event along {claim.what}")
    about = [shown.by_panel[i] for i in shown.diagram.panels_where(claim.where)]
    if not about:
        return NO_CELLS
    tests = list[Judged]()
    for one in about:
        found = _measured(one, claim)
        if isinstance(found, str):
            return undecided(found, f"at least three values of {one.along.by} whose cells show the transition")
        more = f"more values of {one.along.by}"
        tests.append(Judged.of(one.panel.title, found.text, found.inner, found.outer, claim.limits, more))
    return decided(tests)


def _measured(one: Threshold, claim: ScalingClaim) -> Measured | str:
    if claim.quantity == "width":
        grown = growth([one.panel], one.along, WIDTH)
        if grown is None:
            return "fewer than two slices show the width of the transition"
        inner, outer = (grown.interval(level) for level in (LEVEL, 1 - claim.level))
        left_out = f"; without {'; '.join(grown.missing)}" if grown.missing else ""
        return Measured(inner, outer, f"width from 10 to 90 %: exponent {inner:.2f}{left_out}")
    fits = [scale_of(one, level) for level in (LEVEL, 1 - claim.level)]
    if fits[0] is None or fits[1] is None:
        return "fewer than three slices have a threshold"
    inner, outer = (fit.limit if claim.quantity == "limit" else fit.exponent for fit in fits if fit)
    return Measured(inner, outer, f"{claim.quantity} {inner:{form_of(one.along)}}; {_fit(fits[0])}")


def _fit(found: Scaling) -> str:
    test = "three sizes do not test it" if np.isnan(found.p) else f"test of the power law: p = {found.p:.2g}"
    return f"approached as the power {-found.exponent.estimate:.2g} of the size; {test}"


def scale_of(one: Threshold, level: float = LEVEL) -> Scaling | None:
    """Return the scaling of the thresholds of a panel's slices, if three have one and their coordinate is positive."""
    found = [
        (float(part.parts[0].y), at.value, at.value * at.error)
        for part in slice_thresholds(one, lambda title: level)
        if is_positive(part.parts[0].y) and not isinstance(at := place(part, [one.along.probability]), str)
    ]
    if len(found) < 3:
        return None
    y, x, error = np.array(found).T
    return scaling(y, x, error, level)


def limit_line(one: Threshold, value: str) -> Line | None:
    """Return the line of the limit of a pooled threshold for large sizes; None where the sizes do not bound it.

    An interval longer than the range of the cells says nothing and is left out.
    """
    if one.along.pool is None or one.along.by is None or len(one.parts) < 3 or one.found is None or not one.monotone:
        return None
    found = scale_of(one, one.interval.level)
    places = np.concatenate([part.places for part in one.parts])
    span = float(np.ptp(np.exp(places) if one.log else places))
    if found is None or not found.limit.bounded or found.limit.high - found.limit.low > span:
        return None
    form, name = form_of(one.along), f"{PLAIN.axis(one.along.by)} grows"
    what = f"{one.along.what} at {one.along.percent} as {name}"
    estimate, ends = f"{found.limit.estimate:{form}}", found.limit.entry(form)
    return Line(value, one.panel.title, what, estimate, ends, "power law", _fit(found))
