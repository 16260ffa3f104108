"""The threshold of a panel: pooled over its slices, or of one slice alone, with what the tests say about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy

from recovery.errors import ReportError
from recovery.interval import LEVEL, Interval
from recovery.report.diagram import PLAIN, Axis, Panel, ThresholdAxis
from recovery.report.statistics.counts import Counts, Draws
from recovery.report.statistics.differences import threshold_difference
from recovery.report.statistics.estimator import Estimated, Method, estimate
from recovery.report.statistics.shape import REJECTED, monotone, walk_crossings
from recovery.theory.normal import normal_reach
from recovery.types import Array

OUTER = 5.0
"""The outer interval has one fifth of the error rate: 99 % for 95 %."""
UNMEASURED, UNFINISHED = ("unmeasured",), ("failed", "undecided")
"""Columns that count the trials of a grid cell without an outcome: unfinished trials failed, or are undecided."""


@dataclass(frozen=True)
class Part:
    """The cells of one slice: places along the threshold (logarithms on a log axis), x, successes and trials."""

    panel: Panel
    y: Any
    places: Array
    x: Array
    rising: Array
    total: Array

    def at(self, place: float) -> float:
        """Return the x of a place, along straight lines between the cells and beyond them."""
        if not np.isfinite(place) or len(self.x) < 2:
            return place
        order = np.argsort(self.places)
        return float(scipy.interpolate.make_interp_spline(self.places[order], self.x[order], k=1)(place))


@dataclass(frozen=True)
class Threshold:
    """The threshold of a panel, pooled over its slices, or of a single slice, whose panel then holds its cells only.

    level: of `interval`. falling: success becomes rarer with x. found: the estimate of all cells together, along the
    pooled value or x; None if success shows no trend along x. extremes: the same, had all unmeasured trials failed, and
    had all succeeded. draws: the single trials, if some share draws; their `cell` is a label of the index of the
    panel's cells. trending: whether a trend is known to exist, which a slice of a pooled threshold need not show.
    """

    panel: Panel
    along: ThresholdAxis
    level: float
    falling: bool
    parts: tuple[Part, ...]
    log: bool = False
    draws: Draws | None = None
    trending: bool = False
    _known: dict[Any, Estimated | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def probability(self) -> float:
        """The probability of the outcome that becomes more frequent with x."""
        chance = self.along.probability
        return round(1 - chance, 12) if self.falling else chance

    @cached_property
    def found(self) -> Estimated | None:
        rising, total = (sum(float(getattr(one, name).sum()) for one in self.parts) for name in ("rising", "total"))
        clear = self.trending or rising in (0, total) or abs(trend_along(self.parts)) >= normal_reach(LEVEL)
        return self._estimate() if self.parts and clear else None

    @cached_property
    def extremes(self) -> tuple[Estimated | None, ...]:
        return self._had_all(UNMEASURED)

    def _had_all(self, more: Sequence[str]) -> tuple[Estimated | None, ...]:
        """Return the estimates, had all of these trials failed, and had all succeeded; empty without such trials."""
        some = any(one.panel.cells[name].any() for one in self.parts for name in more)
        return tuple(self._estimate(share, more) for share in (0.0, 1.0)) if self.found and some else ()

    def _estimate(self, share: float = 0.0, more: Sequence[str] = ()) -> Estimated | None:
        key = (*map(id, self.parts), self.along, share, more)  # copies of any level or slice share it
        if key not in self._known:
            counts = self._counts(share, more)
            some = len(counts.v) > 0
            self._known[key] = estimate(counts, self.probability, self.along.interval) if some else None
        return self._known[key]

    def _counts(self, share: float = 0.0, more: Sequence[str] = ()) -> Counts:
        """Return the counts of all cells. more: columns with further trials, of which this share succeeds."""
        parts = self.parts
        y = np.repeat([float(one.y) if is_number(one.y) else 0.0 for one in parts], [len(one.x) for one in parts])
        places, rising, total = (
            np.concatenate([getattr(one, name) for one in parts]) for name in ("places", "rising", "total")
        )
        count = np.concatenate([one.panel.cells[[*more]].to_numpy(float).sum(axis=1) for one in parts])
        rising, total = rising + share * count, total + count
        draws = self.draws if more != UNFINISHED else None
        if draws is not None:
            at = pd.Index(np.concatenate([one.panel.cells.index for one in parts])).get_indexer(draws.cell)
            known = (at >= 0) & (bool(more) | ~np.isnan(draws.outcome))
            outcome = 1 - draws.outcome if self.falling else draws.outcome
            outcome = np.where(np.isnan(outcome), share, outcome)
            draws = Draws(at[known], outcome[known], draws.draw[known])
        return Counts.make(y, places, rising, total, draws)

    @property
    def method(self) -> Method | None:
        return self.found.method if self.found else None

    @cached_property
    def monotone(self) -> bool:
        """Whether success that only rises, or only falls, along x is not rejected."""
        if self.found is not None or not self.parts:
            return self.found is None or self.found.monotone
        counts = self._counts()
        return max(monotone(counts), monotone(counts.mirrored)) >= REJECTED

    @property
    def constant(self) -> bool:
        """Whether the same value at every slice is not rejected."""
        return self.found is None or self.found.constant

    @cached_property
    def interval(self) -> Interval:
        """Of the pooled value, or of x; unknown if that changes over the slices or success is not monotone."""
        return self._interval(self.level)

    def _interval(self, level: float) -> Interval:
        unknown = Interval(np.nan, -np.inf, np.inf, level)
        if self.found is None or not self.monotone or self.changes:
            return unknown
        # the interval holds those of the extremes, too
        found = self.found, *self.extremes
        each = [one.interval(level) if one is not None and one.monotone else unknown for one in found]
        middle = each[0].estimate if len(each) == 1 else (each[1].estimate + each[2].estimate) / 2
        least = 0.0 if not self.log and all((part.x >= 0).all() for part in self.parts) else -np.inf
        low, high = min(one.low for one in each), max(one.high for one in each)
        ends = middle, max(low, least) if np.isfinite(low) else low, high
        middle, low, high = (float(np.exp(one)) if self.log and one != -np.inf else float(one) for one in ends)
        return Interval(middle, low, high, level)

    def lengths(self, low: Any, high: Any) -> Any:
        """Return the lengths of steps between places, in the units of the threshold."""
        return np.exp(high) - np.exp(low) if self.log else high - low

    def alone(self, level: float = LEVEL, *, trending: bool = False) -> tuple["Threshold", ...]:
        """Return the threshold of each slice from its own trials."""
        return tuple(replace(self, panel=one.panel, parts=(one,), level=level, trending=trending) for one in self.parts)

    @cached_property
    def slices(self) -> tuple["Threshold", ...]:
        """The thresholds of the slices that are pooled, at the level of the pooled one."""
        return self.alone(self.level, trending=True)

    @property
    def y(self) -> Any:
        """The value of y of a single slice; None without a y axis."""
        return self.parts[0].y

    @property
    def along_x(self) -> Interval:
        """The interval of a single slice in units of x."""
        at, part = self.interval, self.parts[0]
        if self.along.pool is None:
            return at
        return Interval(part.at(at.estimate), part.at(at.low), part.at(at.high), at.level)

    @property
    def each(self) -> tuple["Threshold", ...]:
        """The slices that show a pooled value; empty without pooling."""
        return tuple(one for one in self.slices if one.interval.known) if self.along.pool is not None else ()

    @property
    def changes(self) -> bool:
        """Whether the pooled value changes over the slices: then no pooled number stands for them."""
        return self.monotone and not self.constant and len(self.each) > 1

    @cached_property
    def tested(self) -> "list[tuple[Threshold, Interval, Interval]]":
        """What claims are judged by: the threshold with its interval and the outer one, or those of each slice where it
        changes, whose outer intervals share the error rate."""
        shared = (1 - self.level) / OUTER / (len(self.parts) if self.changes else 1)
        return [(one, one.interval, one._interval(1 - shared)) for one in (self.each if self.changes else (self,))]

    def factor_between(self, one: "Threshold", other: "Threshold") -> Interval:
        """Return the value of the other slice by that of one slice; the interval holds for all pairs at once."""
        outer = {id(slice_): interval for slice_, _, interval in self.tested}
        ends = [outer[id(at)] for at in (one, other)]
        if not all(at.low > 0 for at in ends):
            return Interval(other.interval.estimate / one.interval.estimate, 0.0, np.inf, self.level)
        found = threshold_difference(*(Interval(*np.log([at.estimate, at.low, at.high]).tolist()) for at in ends))
        estimate, low, high = np.exp([found.estimate, found.low, found.high])
        return Interval(estimate, low, high, self.level)

    @property
    def factors(self) -> tuple[float, float]:
        """The least and the greatest factor of the pooled value that some slice may have; NaN if unknown."""
        return self.found.factors if self.found else (np.nan, np.nan)

    @property
    def gap(self) -> tuple[float, float]:
        """The ends of the shortest bracket that more trials of the same cells can give; the estimate for a curve."""
        if self.found is None or self.found.curve is not None:
            return self.interval.estimate, self.interval.estimate
        low, high = np.exp(self.found.bracket.gap) if self.log else self.found.bracket.gap
        return float(low), float(high)

    @cached_property
    def missing_shift(self) -> tuple[float, float]:
        """By how much failed and undecided trials could lower and raise the estimate, had all of them ended one way."""
        at = self.found.estimate if self.found else np.nan
        moved = [float(self.lengths(at, one.estimate)) for one in self._had_all(UNFINISHED) if one is not None]
        known = [0.0, *filter(np.isfinite, moved)]
        return min(known), max(known)

    @cached_property
    def crossings(self) -> tuple[tuple[Any, tuple[float, ...]], ...]:
        """For each slice, every x at which success passes the probability, also where it is not monotone."""
        walks = [walk_crossings(one._counts(), one.probability) for one in self.slices]
        return tuple((part.y, tuple(map(part.at, walk))) for part, walk in zip(self.parts, walks, strict=True))

    @property
    def along_trend(self) -> tuple[float, ...]:
        """The crossings of a single slice at which success changes as the trend says; between them it changes back."""
        part, ((_, places),) = self.parts[0], self.crossings
        before = part.x < min(places, default=-np.inf)
        first = bool(part.rising[before].sum() > self.probability * part.total[before].sum())
        return places[first::2]

    @property
    def crosses_once(self) -> bool:
        """Whether a single slice has one crossing, with an estimate and an interval that ends on at least one side."""
        at, ((_, places),) = self.along_x, self.crossings
        return len(places) < 2 and at.known and bool(np.isfinite([at.low, at.high]).any())


def threshold_of(panel: Panel, along: ThresholdAxis, level: float = LEVEL, draws: Draws | None = None) -> Threshold:
    """Return the threshold of a panel, pooled over its slices if `along` pools them. draws: see `Threshold`."""
    parts = slices_of(panel, along)
    strange = [part.where[str(along.by)] for part in parts if along.by and not is_number(part.where[along.by])]
    if along.pool is not None and len(parts) > 1 and strange:
        raise ReportError(f"report.pool: slices are pooled along numbers, found {strange[0]}; leave out report.pool")
    log = along.pool is None and Axis(panel.y if along.transposed else panel.x).kind == "log"
    made = tuple(_part(part, along, log) for part in parts)
    falling = trend_along(made) < 0
    if falling:
        made = tuple(replace(one, rising=one.total - one.rising) for one in made)
    return Threshold(panel, along, level, falling, made, log, draws)


def _part(part: Panel, along: ThresholdAxis, log: bool) -> Part:
    cells = part.cells
    x, yes, no = (cells[name].to_numpy(float) for name in (along.x, "yes", "no"))
    places = along.values(cells)
    if along.pool is not None and (np.diff(places[np.argsort(x, kind="stable")]) <= 0).any():
        where = f" where {part.title}" if part.title else ""
        raise ReportError(f"report.pool: {along.pool} does not increase with {along.x}{where}; choose one that does")
    y = part.where[str(along.by)] if along.by else None
    return Part(part, y, np.log(places) if log else places, x, yes, yes + no)


def slices_of(panel: Panel, along: ThresholdAxis) -> list[Panel]:
    """Return a panel for each slice that has cells, in the order of the axis."""
    if along.by is None:
        return [panel] if len(panel.cells) else []
    groups = {None if y != y else y: cells for y, cells in panel.cells.groupby(along.by, dropna=False)}
    found = []
    for y in (y for y in (panel.x if along.transposed else panel.y) if y in groups):
        where, title = {**panel.where, along.by: y}, ", ".join(filter(None, [panel.title, PLAIN.pair(along.by, y)]))
        unstarted = [at for at in panel.unstarted if at[along.transposed] == y]
        found.append(replace(panel, title=title, where=where, cells=groups[y], unstarted=unstarted))
    return found


def trend_along(parts: Sequence[Part]) -> float:
    """Return the Cochran-Armitage statistic of success along x, summed over the slices, as a z-score."""
    score = variance = 0.0
    for one in parts:
        if not one.total.sum():
            continue
        share = float(one.rising.sum() / one.total.sum())
        # x is centred in each slice, so that a difference between slices does not count as a trend along x
        centred = one.places - one.total @ one.places / one.total.sum()
        score += float(centred @ one.rising)
        variance += share * (1 - share) * float(one.total @ centred**2)
    return score / float(np.sqrt(variance)) if variance > 0 else 0.0


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float | np.number) and type(value) is not bool and bool(np.isfinite(float(value)))
