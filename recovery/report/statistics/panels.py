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
from recovery.report.statistics.estimator import Estimated, estimate
from recovery.report.statistics.shape import REJECTED, monotone, walk_crossings
from recovery.theory.normal import normal_reach
from recovery.types import Array

OUTER = 5.0
"""Error rate of an interval divided by that of its outer interval: the level 99 % for 95 %."""
UNMEASURED, UNFINISHED = ("unmeasured",), ("failed", "undecided")
"""Columns that count the trials of a grid cell without an outcome: unfinished trials failed, or are undecided."""


@dataclass(frozen=True)
class Threshold:
    """The threshold of a panel, pooled over its slices, or of a single slice, whose panel then holds its cells only.

    level: of `interval`. falling: success becomes rarer with x. parts: the panel of each slice. draws: the single
    trials, if some share draws; their `cell` is a label of the index of the panel's cells. trending: whether a trend is
    known to exist, which a slice of a pooled threshold need not show.
    """

    panel: Panel
    along: ThresholdAxis
    level: float
    falling: bool
    parts: tuple[Panel, ...]
    log: bool = False
    draws: Draws | None = None
    trending: bool = False
    _known: dict[Any, Estimated | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def probability(self) -> float:
        """The probability of the outcome that becomes more frequent with x."""
        return round(1 - self.along.probability, 12) if self.falling else self.along.probability

    @cached_property
    def found(self) -> Estimated | None:
        """The estimate of all cells together, along the pooled value or x; None if success shows no trend along x."""
        counts = self._counts()
        clear = self.trending or counts.k.sum() in (0, counts.n.sum()) or abs(trend(counts)) >= normal_reach(LEVEL)
        return self._estimate() if clear else None

    @cached_property
    def extremes(self) -> tuple[Estimated | None, ...]:
        """The estimates, had all unmeasured trials failed, and had all succeeded; empty without such trials."""
        return self._had_all(UNMEASURED)

    def _had_all(self, more: Sequence[str]) -> tuple[Estimated | None, ...]:
        some = self.found and self.panel.cells[[*more]].any(axis=None)
        return tuple(self._estimate(share, more) for share in (0.0, 1.0)) if some else ()

    def _estimate(self, share: float = 0.0, more: Sequence[str] = ()) -> Estimated | None:
        key = (*map(id, self.parts), self.along, share, more)  # no level: copies at other levels share it
        if key not in self._known:
            counts = self._counts(share, more)
            self._known[key] = estimate(counts, self.probability, self.along.interval) if len(counts.v) else None
        return self._known[key]

    def _counts(self, share: float = 0.0, more: Sequence[str] = ()) -> Counts:
        """Return the counts of all cells. more: columns that count further trials, of which `share` succeed."""
        cells, draws = self.panel.cells, self.draws if more != UNFINISHED else None
        y = cells[self.along.by] if self.along.by else pd.Series(0.0, cells.index)
        if not all(map(is_number, y)):
            y = pd.Series(y.factorize()[0])
        count = cells[[*more]].sum(axis=1)
        rising, total = cells["no" if self.falling else "yes"] + share * count, cells["yes"] + cells["no"] + count
        if draws is not None:
            at = cells.index.get_indexer(pd.Index(draws.cell))
            known = (at >= 0) & (bool(more) | ~np.isnan(draws.outcome))
            outcome = np.nan_to_num(np.abs(draws.outcome - self.falling), nan=share)
            draws = Draws(at[known], outcome[known], draws.draw[known])
        return Counts.make(np.asarray(y, float), self.places, rising.to_numpy(float), total.to_numpy(float), draws)

    @cached_property
    def places(self) -> Array:
        """The place of each cell along the threshold: the pooled value or x, and its logarithm on a log axis."""
        values = self.along.values(self.panel.cells)
        return np.log(values) if self.log else values

    @cached_property
    def monotone(self) -> bool:
        """Whether no test rejects that success only rises, or only falls, along x."""
        if self.found is not None:
            return self.found.monotone
        counts = self._counts()
        return max(monotone(counts), monotone(counts.mirrored)) >= REJECTED

    @property
    def constant(self) -> bool:
        """Whether no test rejects the same threshold in every slice."""
        return self.found is None or self.found.constant

    @cached_property
    def interval(self) -> Interval:
        """The interval of the threshold; unknown if it changes over the slices or success is not monotone."""
        return self._interval(self.level)

    def _interval(self, level: float) -> Interval:
        unknown = Interval(np.nan, -np.inf, np.inf, level)
        if self.found is None or not self.monotone or self.changes:
            return unknown
        # the interval holds those of the extremes, too
        each = [one.interval(level) if one and one.monotone else unknown for one in (self.found, *self.extremes)]
        middle = each[0].estimate if len(each) == 1 else (each[1].estimate + each[2].estimate) / 2
        least = 0.0 if not self.log and (self.panel.cells[self.along.x] >= 0).all() else -np.inf
        low, high = min(one.low for one in each), max(one.high for one in each)
        ends = middle, max(low, least) if np.isfinite(low) else low, high
        middle, low, high = (float(np.exp(one)) if self.log and one != -np.inf else float(one) for one in ends)
        return Interval(middle, low, high, level)

    def lengths(self, low: Any, high: Any) -> Any:
        """Return the lengths of steps from `low` to `high`, both as in `places`, in the units of the threshold."""
        return np.exp(high) - np.exp(low) if self.log else high - low

    def alone(self, level: float = LEVEL, *, trending: bool = False) -> tuple["Threshold", ...]:
        """Return the threshold of each slice from its own trials."""
        return tuple(replace(self, panel=one, parts=(one,), level=level, trending=trending) for one in self.parts)

    @cached_property
    def slices(self) -> tuple["Threshold", ...]:
        """The thresholds of the slices that are pooled, at the level of the pooled one."""
        return self.alone(self.level, trending=True)

    @property
    def y(self) -> Any:
        """The value of y of a single slice; None without a y axis."""
        return self.panel.where.get(str(self.along.by))

    @property
    def along_x(self) -> Interval:
        """The interval of a single slice in units of x."""
        at = self.interval
        if self.along.pool is None:
            return at
        return Interval(self._x(at.estimate), self._x(at.low), self._x(at.high), at.level)

    def _x(self, place: float) -> float:
        """Return the x of a place in a single slice, along straight lines between the cells and beyond them."""
        if not np.isfinite(place) or len(self.places) < 2:
            return place
        order = np.argsort(self.places)
        x = self.panel.cells[self.along.x].to_numpy(float)
        return float(scipy.interpolate.make_interp_spline(self.places[order], x[order], k=1)(place))

    @property
    def each(self) -> tuple["Threshold", ...]:
        """The slices with an estimate of the pooled value; empty without pooling."""
        return tuple(one for one in self.slices if one.interval.known) if self.along.pool is not None else ()

    @property
    def changes(self) -> bool:
        """Whether the value that is pooled changes over the slices, so that one number cannot stand for all."""
        return self.monotone and not self.constant and len(self.each) > 1

    @cached_property
    def tested(self) -> "list[tuple[Threshold, Interval, Interval]]":
        """(threshold, interval, outer interval), by which claims are judged: one for the pooled value, or, if this
        changes, one for each slice; then the outer intervals share the error rate."""
        shared = (1 - self.level) / OUTER / (len(self.parts) if self.changes else 1)
        return [(one, one.interval, one._interval(1 - shared)) for one in (self.each if self.changes else (self,))]

    def factor_between(self, one: "Threshold", other: "Threshold") -> Interval:
        """Return the threshold of slice `other` over that of `one`; the intervals of all pairs hold at once."""
        ends = [outer for at in (one, other) for tested, _, outer in self.tested if tested is at]
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
        """The ends of the shortest bracket that more trials of the same cells can give; for a curve, its estimate."""
        if self.found is None or self.found.curve is not None:
            return self.interval.estimate, self.interval.estimate
        low, high = np.exp(self.found.bracket.gap) if self.log else self.found.bracket.gap
        return float(low), float(high)

    @cached_property
    def missing_shift(self) -> tuple[float, float]:
        """How far the estimate falls and rises if all failed and undecided trials count as success, or as failure."""
        at = self.found.estimate if self.found else np.nan
        moved = [float(self.lengths(at, one.estimate)) for one in self._had_all(UNFINISHED) if one is not None]
        known = [0.0, *filter(np.isfinite, moved)]
        return min(known), max(known)

    @cached_property
    def crossings(self) -> tuple[float, ...]:
        """Every x at which success of a single slice passes the probability, also where it is not monotone."""
        return tuple(map(self._x, walk_crossings(self._counts(), self.probability)))

    @property
    def along_trend(self) -> tuple[float, ...]:
        """The crossings of a single slice in the direction of the trend, without those in the opposite direction."""
        cells = self.panel.cells
        before = cells.loc[cells[self.along.x] < min(self.crossings, default=-np.inf), ["yes", "no"]].sum()
        first = bool(before["no" if self.falling else "yes"] > self.probability * before.sum())
        return self.crossings[first::2]

    @property
    def crosses_once(self) -> bool:
        """Whether a single slice has one crossing, with an estimate and an interval that ends on at least one side."""
        at = self.along_x
        return len(self.crossings) < 2 and at.known and bool(np.isfinite([at.low, at.high]).any())


def threshold_of(panel: Panel, along: ThresholdAxis, level: float = LEVEL, draws: Draws | None = None) -> Threshold:
    """Return the threshold of a panel, pooled over its slices if `along` pools them. draws: see `Threshold`."""
    log = along.pool is None and Axis(panel.y if along.transposed else panel.x).kind == "log"
    found = Threshold(panel, along, level, False, tuple(slices_of(panel, along)), log, draws)
    if along.pool is not None:
        strange = [one.y for one in found.slices if not is_number(one.y)]
        if strange and len(found.parts) > 1:
            fault = f"slices are pooled along numbers, found {strange[0]}"
            raise ReportError(f"report.pool: {fault}; leave out report.pool")
        for one in found.parts:
            if (np.diff(along.values(one.cells.sort_values(along.x))) <= 0).any():
                fault = f"does not increase with {along.x}{f' where {one.title}' if one.title else ''}"
                raise ReportError(f"report.pool: {along.pool} {fault}; choose one that does")
    return replace(found, falling=trend(found._counts()) < 0)


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


def trend(counts: Counts) -> float:
    """Return the Cochran-Armitage statistic of success along v, summed over the slices, as a z-score."""
    score = variance = 0.0
    for one in counts.each:
        share = one.k.sum() / one.n.sum()
        # v is centred in each slice, so that a difference between slices does not count as a trend along v
        v = one.v - one.v[0]  # exactly 0 in a slice of one place, which shows no trend
        centred = v - one.n @ v / one.n.sum()
        score += float(centred @ one.k)
        variance += share * (1 - share) * float(one.n @ centred**2)
    return score / float(np.sqrt(variance)) if variance > 0 else 0.0


def is_number(value: object) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, int | float | np.number) and type(value) is not bool and bool(np.isfinite(float(value)))
