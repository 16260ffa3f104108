"""One threshold in words. Terminal, page, caption, LaTeX, JSON and claims print the same record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recovery.interval import Interval
from recovery.report.diagram import PLAIN, ThresholdAxis, greek
from recovery.report.statistics import Crossing, Threshold
from recovery.text import many

OUTSIDE, UNDETERMINED = "outside the grid", "undetermined"
"""Estimates of a threshold of which the cells give a bound at most, and nothing."""


@dataclass(frozen=True)
class Line:
    """One threshold in words, of a panel or of a slice. Fields that do not apply are empty.

    value: the event. panel: the coordinates of the panel or slice. what: the quantity at the threshold, `n/d at 50 %`.
    estimate: `1.993`, `1.3 to 1.1` if it changes from slice to slice, or `outside the grid`. interval: `1.955 to
    2.030 (95 %)`. remark: what limits the estimate, or why there is none. stated, verdict, source: of a claim about it.
    """

    value: str
    panel: str
    what: str
    estimate: str
    interval: str
    remark: str = ""
    stated: str = ""
    verdict: str = ""
    source: str = ""

    @classmethod
    def of(cls, found: Threshold, value: str = "") -> "Line":
        """Return the line of a pooled threshold, or of the threshold of a slice."""
        along, title = found.along, found.panel.title
        if not found.interval.known:
            return _line(value, title, along, along.what, found.interval, _reason(found))
        remarks = [_change(found), _unfinished(found), _left_out(found)]
        remarks.append(f"falling with {along.x}" if found.falling else "")
        line = _line(value, title, along, along.what, found.interval, "; ".join(filter(None, remarks)))
        return line if found.constant else replace(line, estimate=_span(found), interval="")

    @classmethod
    def of_slice(cls, one: Crossing, panel: str, along: ThresholdAxis, value: str = "") -> "Line":
        """Return the line of one of the slices that a pooled threshold combines."""
        return _line(value, _slice(panel, along, one.y), along, along.x, one.interval, "")

    @classmethod
    def of_each(cls, found: Threshold) -> list["Line"]:
        """Return a line per pooled slice, with the value of the slice alone."""
        return [
            _line("", _slice(found.panel.title, found.along, one.y), found.along, found.along.what, one.interval, "")
            for one in found.each
        ]

    @property
    def known(self) -> bool:
        """Whether there is an estimate."""
        return self.estimate not in (OUTSIDE, UNDETERMINED)

    @property
    def caption(self) -> str:
        """The text of a panel's corner, `n/d at 50 % = 1.993, 1.955 to 2.030 (95 %)`; empty without an estimate."""
        return ", ".join(filter(None, [f"{self.what} = {self.estimate}", self.interval])) if self.known else ""

    @property
    def words(self) -> str:
        """What is known, without the panel: `n/d at 50 % = 1.993, 1.955 to 2.030 (95 %); falling with n`."""
        unknown = ", ".join(filter(None, [f"{self.what}: {self.estimate}", self.interval]))
        return "; ".join(filter(None, [self.caption or unknown, self.remark]))

    @property
    def sentence(self) -> str:
        """The panel, if it has a name, and what is known about it."""
        return f"{self.panel}: {self.words}" if self.panel else self.words


def columns(lines: Sequence[Line]) -> list[dict[str, str]]:
    """Return the lines as the rows of a table, without the columns that are empty in every line."""
    used = [name for name in Line.__annotations__ if any(getattr(one, name) for one in lines)]
    return [{name: getattr(one, name) for name in used} for one in lines]


def _slice(panel: str, along: ThresholdAxis, y: Any) -> str:
    """Return the coordinates of a slice: of its panel, and the value that its cells share."""
    return ", ".join(filter(None, [panel, PLAIN.pair(along.by, y) if along.by else ""]))


def _line(value: str, panel: str, along: ThresholdAxis, what: str, interval: Interval, remark: str) -> Line:
    form = form_of(along)
    bounded = np.isfinite([interval.low, interval.high]).any()
    estimate = f"{interval.estimate:{form}}" if interval.known else OUTSIDE if bounded else UNDETERMINED
    ends = interval.entry(form) if bounded or interval.known else ""
    name = PLAIN.axis(what) if what == along.x else greek(what)
    return Line(value, panel, f"{name} at {along.percent}", estimate, ends, remark)


def form_of(along: ThresholdAxis) -> str:
    """Return the format of estimates: three decimals for a ratio n/d, six digits for other quantities."""
    return ".3f" if along.what == "n/d" else ".6g"


def _reason(found: Threshold) -> str:
    """Return the reason why there is no threshold."""
    panel, low, high = found.panel, found.interval.low, found.interval.high
    if panel.undefined:
        return "not measured; --value chooses a quantity that these trials measure"
    if panel.unstarted and not len(panel.cells):
        return f"no trials yet (0 of {many(len(panel.unstarted), 'grid cell')})"
    if panel.unstarted:
        return f"{len(panel.cells)} of {len(panel.cells) + len(panel.unstarted)} grid cells have trials"
    if not panel.answers:
        return "no finished trials"
    if np.isfinite(high):
        return "the grid begins beyond the transition"
    return "the grid ends before the transition" if np.isfinite(low) else "the grid does not show where it is"


def _change(found: Threshold) -> str:
    """Describe how the value changes over the slices, or a large change that is not excluded; empty otherwise."""
    drift = found.drift
    if drift is None or (found.constant and not drift.large):
        return ""
    (first, _), (last, _) = drift.ends
    # a relative change as a factor, which is not negative
    low, high = (max(1 + end, 0.0) for end in (drift.change.low, drift.change.high))
    factor = f"{low:.2g} to {high:.2g} times as large at {drift.by} = {last:g} as at {drift.by} = {first:g}"
    if found.constant:
        return f"may be {factor}"
    return factor if drift.shown else f"changes between {drift.by} = {first:g} and {drift.by} = {last:g}"


def _unfinished(found: Threshold) -> str:
    if not any(found.missing_shift):
        return ""
    ends = " to ".join(f"{found.interval.estimate + by:{form_of(found.along)}}" for by in found.missing_shift)
    return f"{ends} if unfinished trials are counted either way"


def _left_out(found: Threshold) -> str:
    """Return `without d = 5, whose grid cells do not span the transition` for slices that are not pooled."""
    by, inside = found.along.by, {one.y for one in found.each}
    others: list[Any] = [one.y for one in found.slices if one.y not in inside]
    if by is None or not inside or not others:
        return ""
    names = ", ".join([PLAIN.pair(by, others[0]), *map(PLAIN.value, others[1:])])
    return f"without {names}, whose grid cells do not span the transition"


def _span(found: Threshold) -> str:
    """Return `1.3 to 1.1`, the values of the first and of the last slice."""
    return " to ".join(f"{one.interval.estimate:{form_of(found.along)}}" for one in (found.each[0], found.each[-1]))
