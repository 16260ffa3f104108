"""Sentences about thresholds."""

from collections.abc import Sequence

import numpy as np

from recovery.interval import Interval
from recovery.report.diagram import PLAIN
from recovery.report.statistics import Pooled
from recovery.report.statistics.curve_free import CrossedRow


def in_words(pooled: Pooled) -> str:
    """Return `50 % at n/d = 1.993 (95 % interval 1.955 to 2.030)`, or why there is no threshold.

    Where the panel shows a number, the sentence begins with the values before and after its jump.
    """
    if pooled.jump is None:
        return _threshold(pooled, "50 %")
    if not pooled.interval.known:
        return jump_words(pooled)
    return f"{jump_words(pooled)}; {_threshold(pooled, 'the midpoint')}"


def jump_words(pooled: Pooled) -> str:
    """Return `falls from 1 to 0.47 with n, a quarter and three quarters of the way at n/d = 2.61 and 3.10`."""
    jump = pooled.jump
    if jump is None or np.isnan(jump.before):
        return "does not jump along n"
    verb = "rises" if jump.after > jump.before else "falls"
    words = f"{verb} from {jump.before:.3g} to {jump.after:.3g} with n"
    ends = [part.interval.estimate for part in jump.quarters]
    if not ends or np.isnan(ends).any():
        return words
    return f"{words}, a quarter and three quarters of the way at n/d = {ends[0]:.3f} and {ends[1]:.3f}"


def _threshold(pooled: Pooled, what: str) -> str:
    if not pooled.interval.known:
        return unknown_words(pooled, what)
    words = f"{what} at n/d = {pooled.interval:.3f}" + (", falling with n" if pooled.falling else "")
    return f"{words}; {drift_words(pooled)}" if drift_words(pooled) else words


def unknown_words(pooled: Pooled, what: str) -> str:
    """Return the reason why there is no threshold."""
    low, high = pooled.interval.low, pooled.interval.high
    if np.isfinite(high):
        return f"the grid begins beyond the transition: {what} lies below n/d = {high:.3g}"
    if np.isfinite(low):
        return f"the grid ends before the transition: {what} lies above n/d = {low:.3g}"
    if pooled.panel.undefined:
        return "not measured"
    answered = (pooled.panel.cells["yes"] + pooled.panel.cells["no"] > 0).any()
    return f"the grid does not show where {what} lies" if answered else "no finished trials"


def drift_words(pooled: Pooled) -> str:
    """Describe how n/d changes with d, if its interval excludes 0: one number then stands for several."""
    drift = pooled.drift
    if drift is None or not drift.shown or not pooled.interval.known:
        return ""
    (first, _), (last, _) = drift.ends
    change = drift.change
    low, high = sorted((abs(change.low), abs(change.high)))
    size = Interval(abs(change.estimate), low, high, change.level)
    return f"n/d {'rises' if change.estimate > 0 else 'falls'} by {size:.0%} from d = {first:g} to d = {last:g}"


def measured(pooled: Pooled) -> str:
    """Return the estimate, `1.993`, or why there is none."""
    interval = pooled.interval
    if interval.known:
        return f"{interval.estimate:.3f}"
    return "outside the grid" if np.isfinite([interval.low, interval.high]).any() else "undetermined"


def rows_in_words(rows: Sequence[CrossedRow], x: str, y: str | None) -> str:
    """Return `50 % at tau = 0.5: n = 2000 (95 % interval 1000 to 3000); ...` for each row with a bound."""
    parts = [f"{f'{y} = {PLAIN.value(row.y)}: ' if y else ''}{words}" for row in rows if (words := _crossed(row, x))]
    return f"50 %{' at ' if y else ': '}{'; '.join(parts)}" if parts else ""


def _crossed(row: CrossedRow, x: str) -> str:
    low, high = row.half.low, row.half.high
    if np.isfinite(row.half.estimate):
        return f"{x} = {row.half.estimate:.4g} ({row.half.words('g')})"
    return f"{x} above {low:g}" if np.isfinite(low) else f"{x} below {high:g}" if np.isfinite(high) else ""


def caption(pooled: Pooled) -> str:
    """Return `50 %: n/d = 1.99, 1.96 to 2.03 (95 %)` for a panel's corner; empty without an estimate."""
    interval, what = pooled.interval, "50 %" if pooled.jump is None else "jump"
    if not interval.known:
        return ""
    return f"{what}: n/d = {interval.estimate:.2f}, {interval.entry('.2f')}" + (
        ", changes with d" if drift_words(pooled) else ""
    )


def p_value(p: float) -> str:
    """Return `= 0.002`, or `< 1e-15`."""
    return f"= {p:.1g}" if p >= 1e-15 else "< 1e-15"
