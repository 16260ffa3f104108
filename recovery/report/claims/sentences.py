"""Sentences about thresholds."""

import numpy as np

from recovery.interval import Interval, percent
from recovery.report.diagram import PLAIN, ThresholdAxis, greek
from recovery.report.statistics import Crossing, Drift, SliceValue, Threshold
from recovery.text import many


def in_words(pooled: Threshold) -> str:
    """Return `50 % at n/d = 1.993 (95 % interval 1.955 to 2.030)`, or why there is no threshold.

    Where the panel shows a number, the sentence begins with the values before and after its jump.
    """
    if pooled.jump is None:
        return greek(_threshold(pooled, pooled.along.percent))
    if not pooled.interval.known:
        return jump_words(pooled)
    return f"{jump_words(pooled)}; {_threshold(pooled, 'the midpoint')}"


def jump_words(pooled: Threshold) -> str:
    """Return `falls from 1 to 0.47 with n, a quarter and three quarters of the way at n/d = 2.61 and 3.10`."""
    jump = pooled.jump
    if jump is None or np.isnan(jump.before):
        few = jump is not None and jump.few
        return _too_early(pooled) or ("too few trials to see a jump along n" if few else "does not jump along n")
    verb = "rises" if jump.after > jump.before else "falls"
    words = f"{verb} from {jump.before:.3g} to {jump.after:.3g} with n"
    ends = [part.interval.estimate for part in jump.quarters]
    if not ends or np.isnan(ends).any():
        return words
    return f"{words}, a quarter and three quarters of the way at n/d = {ends[0]:.3f} and {ends[1]:.3f}"


def _threshold(pooled: Threshold, what: str) -> str:
    if not pooled.interval.known:
        return unknown_words(pooled, what)
    return f"{what} at {at(pooled)}{left_out(pooled)}" + (f", falling with {pooled.along.x}" if pooled.falling else "")


def left_out(pooled: Threshold) -> str:
    """Return `; without d = 5, whose grid cells do not span the transition` for slices that are not pooled."""
    by, inside = pooled.along.by, {one.y for one in pooled.each}
    others = [one.y for one in pooled.slices if one.y not in inside]
    if by is None or not inside or not others:
        return ""
    names = ", ".join([PLAIN.pair(by, others[0]), *map(PLAIN.value, others[1:])])
    return f"; without {names}, whose grid cells do not span the transition"


def at(pooled: Threshold) -> str:
    """Return `n/d = 1.993 (95 % interval 1.955 to 2.030)`, or `n/d = 1.3 at d = 10 to 1.1 at d = 100` if it changes.

    A constant is followed by a large change that is not excluded, and a change by the mean, unless the change is large.
    """
    what, form, drift = pooled.along.what, form_of(pooled.along), pooled.drift
    if drift is None or pooled.constant:
        return f"{what} = {pooled.interval:{form}}{possible_change(pooled)}"
    span = " to ".join(f"{one.interval.estimate:{form}} at {drift.by} = {one.y:g}" for one in _ends(pooled))
    span = f"{what} = {span}"
    apart = f"the intervals of the values of {drift.by} have no point in common"
    if drift.large:
        change = f"the change is {_change(drift)} ({percent(drift.change.level)} interval)" if drift.shown else apart
        return f"{span}; no mean, because {change}"
    return f"{span}; {drift_words(pooled) or apart}; mean {pooled.interval:{form}}, changes with {drift.by}"


def possible_change(pooled: Threshold) -> str:
    """Return `; a change of -39% to +66% over d is not excluded`; empty if a change is shown, or cannot be large."""
    drift = pooled.drift
    if drift is None or not pooled.constant or not drift.large:
        return ""
    return f"; a change of {_change(drift)} over {drift.by} is not excluded"


def _change(drift: Drift) -> str:
    return f"{drift.change.low:+.0%} to {drift.change.high:+.0%}"


def _ends(pooled: Threshold) -> tuple[SliceValue, SliceValue]:
    """Return the values of the first and of the last slice."""
    return pooled.each[0], pooled.each[-1]


def form_of(along: ThresholdAxis) -> str:
    """Return the format of estimates: three decimals for a ratio n/d, six digits for other quantities."""
    return ".3f" if along.what == "n/d" else ".6g"


def unknown_words(pooled: Threshold, what: str) -> str:
    """Return the reason why there is no threshold. what: how the sentence calls the threshold, such as `50 %`."""
    low, high = pooled.interval.low, pooled.interval.high
    if early := _too_early(pooled):
        return early
    if np.isfinite(high):
        return f"the grid begins beyond the transition: {what} lies below {pooled.along.what} = {high:.3g}"
    if np.isfinite(low):
        return f"the grid ends before the transition: {what} lies above {pooled.along.what} = {low:.3g}"
    return f"the grid does not show where {what} lies"


def _too_early(pooled: Threshold) -> str:
    """Return why nothing is said about a threshold: no trials, or planned grid cells without trials; otherwise ''."""
    panel = pooled.panel
    if panel.undefined:
        return "not measured; --value chooses a quantity that these trials measure"
    if panel.unstarted and not len(panel.cells):
        return f"no trials yet (0 of {many(len(panel.unstarted), 'grid cell')})"
    if panel.unstarted:
        started = f"{len(panel.cells)} of {len(panel.cells) + len(panel.unstarted)} grid cells have trials"
        return f"no threshold yet ({started})"
    return "" if panel.answers else "no finished trials"


def drift_words(pooled: Threshold) -> str:
    """Describe the change from the first to the last slice; empty without an estimate or if the interval includes 0."""
    drift = pooled.drift
    if drift is None or not drift.shown or not pooled.interval.known:
        return ""
    (first, _), (last, _) = drift.ends
    change = drift.change
    low, high = sorted((abs(change.low), abs(change.high)))
    size = Interval(abs(change.estimate), low, high, change.level)
    verb = "rises" if change.estimate > 0 else "falls"
    return f"{pooled.along.what} {verb} by {size:.0%} from {drift.by} = {first:g} to {drift.by} = {last:g}"


def measured(pooled: Threshold) -> str:
    """Return the estimate, `1.993`; `1.3 to 1.1` if it changes over the slices; or why there is none."""
    interval, drift = pooled.interval, pooled.drift
    if drift is not None and not pooled.constant:
        return " to ".join(f"{one.interval.estimate:{form_of(pooled.along)}}" for one in _ends(pooled))
    if interval.known:
        return f"{interval.estimate:{form_of(pooled.along)}}"
    outside = np.isfinite([interval.low, interval.high]).any() and not pooled.panel.unstarted
    return "outside the grid" if outside else "undetermined"


def slices_in_words(slices: tuple[Crossing, ...], along: ThresholdAxis) -> str:
    """Return `50 % at tau = 0.5: n = 2000 (95 % interval 1000 to 3000); ...` for each slice with an estimate or
    bound."""
    parts = [
        f"{f'{along.by} = {PLAIN.value(one.y)}: ' if along.by else ''}{words}"
        for one in slices
        if (words := _crossed(one, along.x))
    ]
    return greek(f"{along.percent}{' at ' if along.by else ': '}{'; '.join(parts)}") if parts else ""


def _crossed(one: Crossing, x: str) -> str:
    low, high = one.interval.low, one.interval.high
    if np.isfinite(one.interval.estimate):
        return f"{x} = {one.interval.estimate:.4g} ({one.interval.words('g')})"
    return f"{x} above {low:g}" if np.isfinite(low) else f"{x} below {high:g}" if np.isfinite(high) else ""


def caption(pooled: Threshold) -> str:
    """Return `50 %: n/d = 1.99, 1.96 to 2.03 (95 %)` for a panel's corner; empty if unknown, or if the change is
    large."""
    interval, what = pooled.interval, pooled.along.percent if pooled.jump is None else "jump"
    if not interval.known or (pooled.drift is not None and not pooled.constant and pooled.drift.large):
        return ""
    changes = "" if pooled.constant else f", changes with {pooled.along.by}"
    return f"{what}: {greek(pooled.along.what)} = {interval.estimate:.2f}, {interval.entry('.2f')}{changes}"


def p_value(p: float) -> str:
    """Format a p-value with its relation: `= 0.002`, or `< 1e-15`."""
    return f"= {p:.1g}" if p >= 1e-15 else "< 1e-15"
