"""One threshold in words. Terminal, page, caption, LaTeX, JSON and claims print the same record."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from recovery.interval import Interval
from recovery.report.claims.result import results_of
from recovery.report.diagram import PLAIN, ThresholdAxis, greek
from recovery.report.statistics import Threshold
from recovery.text import many

OUTSIDE, UNDETERMINED = "outside the grid", "undetermined"
"""In place of an estimate: for a threshold that the cells bound on one side, and for one that they do not bound."""

UNKNOWN = Interval(np.nan, -np.inf, np.inf)
LARGE = 1.5
"""Factor between a slice's threshold and the pooled one from which a remark says that it is not excluded."""


@dataclass(frozen=True)
class Line:
    """One threshold in words, of a panel or of a slice. Fields that do not apply are empty.

    value: the event. panel: the coordinates of the panel or slice. what: the quantity at the threshold, `n/d at 50 %`.
    estimate: `1.993`, `1.1 to 1.3` if it changes from slice to slice, or `outside the grid`. interval: `1.955 to
    2.030 (95 %)`. method: what the interval comes from, `smooth curve` or `bracket by the cells`. remark: what limits
    the estimate, or why there is none. stated, verdict, source: of a claim about it. Then the same in numbers: found:
    the estimate with its interval, or between the smallest and the largest value if it `changes`; limits: of the claim;
    trials: of the panel.
    """

    value: str
    panel: str
    what: str
    estimate: str
    interval: str
    method: str = ""
    remark: str = ""
    stated: str = ""
    verdict: str = ""
    source: str = ""
    found: Interval = field(default=UNKNOWN, repr=False)
    changes: bool = field(default=False, repr=False)
    limits: tuple[float, float] = field(default=(-np.inf, np.inf), repr=False)
    trials: int = field(default=0, repr=False)

    @classmethod
    def of(cls, found: Threshold, value: str = "", in_x: bool = False) -> "Line":
        """Return the line of a threshold. in_x: state a slice's threshold as a value of x, not of the pooled value."""
        along, interval = found.along, found.along_x if in_x else found.interval
        form, what = form_of(along), name_of(along, in_x)
        bounded = np.isfinite([interval.low, interval.high]).any()
        line = cls(
            value,
            found.panel.title,
            f"{what} at {along.percent}",
            f"{interval.estimate:{form}}" if interval.known else OUTSIDE if bounded else UNDETERMINED,
            interval.entry(form) if bounded or interval.known else "",
            found.found.method if found.found and (bounded or interval.known) else "",
            found=interval,
            trials=int(found.panel.cells["trials"].sum()),
        )
        if in_x:
            return line
        falling = f"falling with {along.x}" if found.falling else ""
        if found.changes:
            # the slices that differ most, and the factor between them
            low, high = (end(found.each, key=lambda one: one.interval.estimate) for end in (min, max))
            factor = found.factor_between(low, high)
            size = f"{factor}" if factor.bounded else f"{factor.estimate:.4g}, which the trials do not bound"
            change = f"changes with {along.by}: from {along.by} = {low.y:g} to {high.y:g} by a factor of {size}"
            ends = low.interval.estimate, high.interval.estimate
            line = replace(line, estimate=" to ".join(f"{end:{form}}" for end in ends), interval="", method="")
            remark = "; ".join(filter(None, [change, falling]))
            return replace(line, found=Interval(np.nan, *ends), changes=True, remark=remark)
        if not found.interval.known:
            estimate = UNDETERMINED if found.extremes else line.estimate
            return replace(line, method="", estimate=estimate, remark=lacking(found)[0])
        remarks = [_possible_change(found), _unmeasured(found), _unfinished(found), falling]
        return replace(line, remark="; ".join(filter(None, remarks)))

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
        """All but the panel: `n/d at 50 % = 1.993, 1.955 to 2.030 (95 %); smooth curve; falling with n`."""
        unknown = ", ".join(filter(None, [f"{self.what}: {self.estimate}", self.interval]))
        return "; ".join(filter(None, [self.caption or unknown, self.method, self.remark]))

    @property
    def sentence(self) -> str:
        """The panel, if it has a name, and what is known about it."""
        return f"{self.panel}: {self.words}" if self.panel else self.words


def columns(lines: Sequence[Line]) -> list[dict[str, str]]:
    """Return the lines as the rows of a table, without the columns that are empty in every line."""
    names = [one.name for one in fields(Line) if one.repr]
    used = [name for name in names if any(getattr(one, name) for one in lines)]
    return [{name: getattr(one, name) for name in used} for one in lines]


def name_of(along: ThresholdAxis, in_x: bool = False) -> str:
    """Return the name of the quantity at a threshold: the pooled expression, or the axis x if `in_x` or unpooled."""
    return PLAIN.axis(along.x) if in_x or along.what == along.x else greek(along.what)


def form_of(along: ThresholdAxis) -> str:
    """Return the format of estimates: three decimals for a ratio n/d, six digits for other quantities."""
    return ".3f" if along.what == "n/d" else ".6g"


def lacking(found: Threshold) -> tuple[str, str]:
    """Return why a panel has no threshold, or none with two bounds, and which trials would give it one."""
    panel, x, low, high = found.panel, found.along.x, found.interval.low, found.interval.high
    if found.extremes:
        return _unmeasured(found), results_of({"unmeasured": int(panel.cells["unmeasured"].sum())})
    if panel.undefined:
        return "not measured; --value chooses a quantity that these trials measure", "finished trials"
    if panel.unstarted and not len(panel.cells):
        return f"no trials yet (0 of {many(len(panel.unstarted), 'grid cell')})", "the remaining trials"
    if panel.unstarted:
        planned = len(panel.cells) + len(panel.unstarted)
        return f"{len(panel.cells)} of {planned} grid cells have trials", "the remaining trials"
    if not panel.answers:
        return "no finished trials", "finished trials"
    if not found.monotone:
        return f"success is not monotone in {x}{_passed(found)}", f"a range of {x} in which success is monotone"
    if np.isfinite(high):
        return "the grid begins beyond the transition", f"grid cells with smaller {x}"
    if np.isfinite(low):
        return "the grid ends before the transition", f"grid cells with larger {x}"
    return "the grid does not show where it is", f"grid cells on both sides of it along {x}"


def _passed(found: Threshold) -> str:
    """Return `: 50 % is passed at n = 12, 40 and 61 (d = 10)` for the slices that pass it more than once."""
    along, parts = found.along, list[str]()
    for one in found.slices:
        if len(one.crossings) > 1:
            where = f" ({PLAIN.pair(along.by, one.y)})" if along.by else ""
            parts.append(f"{', '.join(f'{x:.4g}' for x in one.crossings)}{where}")
    return f": {along.percent} is passed at {along.x} = {'; '.join(parts)}" if parts else ""


def _possible_change(found: Threshold) -> str:
    """Describe by which factor a slice's threshold may still differ from the pooled value; empty if it is small."""
    low, high = found.factors
    if not (low < 1 / LARGE or high > LARGE):
        return ""
    most = f"{high:.2g}" if high < 100 else "any number of"
    return f"a value of {found.along.by} may have {max(low, 0):.2g} to {most} times as much"


def _unfinished(found: Threshold) -> str:
    if not any(found.missing_shift):
        return ""
    ends = " to ".join(f"{found.interval.estimate + by:{form_of(found.along)}}" for by in found.missing_shift)
    return f"{ends} if unfinished trials are counted either way"


def _unmeasured(found: Threshold) -> str:
    if not found.extremes:
        return ""
    return f"{many(int(found.panel.cells['unmeasured'].sum()), 'trial')} did not measure it, and may be either"
