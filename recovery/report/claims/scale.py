"""Finite-size scaling of a threshold over its slices: claims about it, and its line in a report; and the width of a
transition."""

from dataclasses import replace

import numpy as np

from recovery.config.claims import ScalingClaim
from recovery.errors import ReportError
from recovery.interval import LEVEL
from recovery.report.claims.lines import Line, form_of, name_of
from recovery.report.claims.result import NO_CELLS, Judged, Judgement, Kinds, decided, undecided
from recovery.report.claims.threshold import stated_limits
from recovery.report.claims.trend import without_measuring
from recovery.report.diagram import PLAIN
from recovery.report.statistics import Estimates, Threshold
from recovery.report.statistics.differences import threshold_difference
from recovery.report.statistics.growth import places_of
from recovery.report.statistics.scaling import Scaling, scaling
from recovery.types import Mask


def state_scaling(claim: ScalingClaim) -> str:
    name = "limit for large sizes" if claim.quantity == "limit" else "exponent of the approach"
    return f"{name} of the threshold of '{claim.of}' at {claim.what} {stated_limits(claim, '= ')}"


def judge_scaling(estimates: Estimates, rows: Mask, claim: ScalingClaim) -> tuple[str, Judgement]:
    """Judge the limit or the exponent of each panel: supported if its interval is inside the limits."""
    shown = estimates.showing(claim.of, claim.probability, claim.what)
    if not shown.by_panel:
        raise ReportError(f"{claim.of} is no event along {claim.what}")
    about = [shown.by_panel[i] for i in shown.diagram.matching(shown.diagram.panels, claim.where)]
    if not about:
        return NO_CELLS
    if open_ended := without_measuring(shown.diagram, rows):
        return open_ended
    tests = list[Judged]()
    for one in about:
        first, second = (scale_of(one, level) for level in (LEVEL, 1 - claim.level))
        if first is None or second is None:
            needed = f"at least three values of {one.along.by} whose cells show the transition"
            return undecided("fewer than three slices have a threshold", needed)
        inner, outer = (fit.limit if claim.quantity == "limit" else fit.exponent for fit in (first, second))
        text, more = f"{claim.quantity} {inner:{form_of(one.along)}}; {_fit(first)}", f"more values of {one.along.by}"
        tests.append(Judged.of(one.panel.title, text, inner, outer, claim.limits, more))
    return decided(tests)


def _fit(found: Scaling) -> str:
    test = "three sizes do not test it" if np.isnan(found.p) else f"test of the power law: p = {found.p:.2g}"
    known = np.isfinite(found.exponent.high)  # otherwise the estimate may be the largest power that is tried
    power = f"the power {-found.exponent.estimate:.2g}" if known else "an unknown power"
    return f"approached as {power} of the size; {test}"


def scale_of(one: Threshold, level: float = LEVEL) -> Scaling | None:
    """Return the scaling of the thresholds of a panel's slices; None unless three slices with y > 0 have thresholds."""
    (y, x, error), _ = places_of(one, [one.along.probability], level)
    return scaling(y, x, x * error, level)


def limit_line(one: Threshold, value: str) -> Line | None:
    """Return the line of the limit of a threshold that changes with the size; None where the sizes do not bound it.

    An interval that reaches farther than the cells does not count as a bound. value: the event.
    """
    if not one.changes or one.extremes:
        return None
    found = scale_of(one, one.interval.level)
    if found is None or found.limit.low < one.places.min() or found.limit.high > one.places.max():
        return None
    form, name = form_of(one.along), f"{PLAIN.axis(one.along.by)} grows"
    what = f"{one.along.what} at {one.along.percent} as {name}"
    estimate, ends = f"{found.limit.estimate:{form}}", found.limit.entry(form)
    return Line(value, one.panel.title, what, estimate, ends, "power law", _fit(found), found=found.limit)


def width_line(first: Threshold, second: Threshold, value: str) -> Line | None:
    """Return the line of the distance between the thresholds at two probabilities; None if one has no estimate."""
    found = threshold_difference(*sorted((first.interval, second.interval), key=lambda at: at.estimate))
    if not found.known:
        return None
    found, along = replace(found, low=max(found.low, 0.0)), first.along
    what = f"{name_of(along)} from {along.percent} to {second.along.percent}"
    form = form_of(along)
    return Line(value, first.panel.title, what, f"{found.estimate:{form}}", found.entry(form), found=found)


SCALING: Kinds = {ScalingClaim: (state_scaling, judge_scaling)}
