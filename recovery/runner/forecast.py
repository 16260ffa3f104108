"""Forecast of a run's time, from stored timings or from a small random sample of trials that are timed now.

Trials are grouped by the coordinates that are not numbers, such as the method and the architecture. Random trials of
each group are timed in a worker process. In each group, a power of the guessed cost is fitted to the timed trials.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from recovery.config import Sweep, Trial, Trials, trials_of
from recovery.runner.plan import Plan, places
from recovery.runner.pool import POOL, Limits
from recovery.runner.run import Options, trials_to_run
from recovery.runner.trial import PROCESSOR
from recovery.text import duration
from recovery.types import Array

SECONDS, MOST_SECONDS = 6.0, 30.0
"""Seconds spent on timing: the default, and the maximum for a run that takes long."""
SHARE = 0.05
"""Share of a long run's time that may be spent on timing."""
FIRST_LIMIT = 2.0
"""Limit of the first trial of a group, in multiples of SECONDS: it also imports the modules that the others need."""
MOST_GROUPS = 12
MOST_SAMPLES = 400
FEW, OPTIMISM = 3, 3.0
"""With fewer than FEW timed trials in a group, assume that a trial may be this factor faster than predicted."""
SHORTEST_LIMIT = 0.1
FEWEST_TO_FIT, SPREAD, EXPONENTS = 4, 2.0, (0.5, 2.0)
"""The exponent is fitted to at least this many trials, if their costs differ by this factor, within these bounds."""
WAITING = 0.1
"""A trial that computes for a smaller share of its time waits for something: the wall time counts, not CPU time."""


@dataclass(frozen=True)
class Forecast:
    """Forecast for `trials` trials that take `work` seconds of one core and run in `jobs` workers.

    timed: trials timed now; 0 if the forecast uses stored timings. failed: how many of them failed; error: the first
    error. covered: share of the work in trials that cost no more than some timed trial of their group.
    """

    trials: int
    work: float = 0.0
    jobs: int = 1
    timed: int = 0
    failed: int = 0
    error: str = ""
    covered: float = 1.0

    @property
    def seconds(self) -> float:
        """The predicted wall time in seconds."""
        return self.work / self.jobs

    def __str__(self) -> str:
        if 0 < self.timed == self.failed:
            return f"no forecast: all {self.timed} trials timed now failed; the first error: {self.error}"
        core = f"{duration(self.work)} of one core"
        total = core if self.jobs == 1 else f"{duration(self.seconds)} with {self.jobs} jobs ({core})"
        basis = f"{self.timed} trials timed now" if self.timed else "stored timings"
        if self.covered < 0.995:
            basis += f" (they cover {self.covered:.0%} of the work; longer trials are extrapolated)"
        if self.failed:
            basis += f"; {self.failed} of them failed, the first with {self.error}"
        return f"about {total}, from {basis}"


class Timed(NamedTuple):
    """Seconds of one trial, None if it exceeded its limit; and its error, '' without one."""

    seconds: float | None
    error: str = ""


def forecast(plan: Plan, options: Options, most: float = MOST_SECONDS) -> Forecast:
    """Forecast a run from the stored timings; without any, from trials that are timed now for about `most` seconds."""
    if options.rerun_changed:
        plan = plan.without(plan.stale)
    trials, jobs = trials_to_run(plan, options), options.engine.jobs
    if not len(trials):
        return Forecast(0)
    timings = plan.index.rows.filter(pc.equal(plan.index.rows["status"], "ok"))
    place, planned = places(plan.trials, timings["trial_id"])
    if not planned.any():
        return replace(time_some(trials, min(SECONDS, most), most), jobs=jobs)
    rate = timings["seconds"].to_numpy()[planned].sum() / plan.trials.costs[place[planned]].sum()
    return Forecast(len(trials), float(rate * trials.costs.sum()), jobs)


def time_sweep(sweep: Sweep) -> Forecast:
    """Forecast a whole sweep with one job by timing trials of its first round; later rounds count alike per trial."""
    first = time_some(sweep.trials())
    return replace(first, trials=sweep.size, work=first.work * sweep.size / first.trials)


def time_trial(trial: Trial, limit: float) -> Timed:
    """Run a trial in a worker process and return its CPU time, or its wall time if it mostly waits."""
    row = POOL.measure([trial], Limits(seconds=limit))[0]
    if row["status"] == "timeout":
        return Timed(None)
    error = "" if row["status"] == "ok" else f"{row['error_type']}: {row['error_message']}"
    wall = float(row["seconds"] or 0.0)
    processor = float(row.get(PROCESSOR, wall))
    return Timed(processor if processor > WAITING * wall else wall, error)


def time_some(
    trials: Sequence[Trial],
    seconds: float = SECONDS,
    most: float = MOST_SECONDS,
    time_one: Callable[[Trial, float], Timed] = time_trial,
) -> Forecast:
    """Forecast these trials with one job by timing some of them with `time_one(trial, limit)`.

    The sampling takes about `seconds`, up to `most` for a long run. The group with the largest predicted time per
    square root of its timed trials is sampled next.
    """
    groups = _groups(trials_of(trials))
    results = list[Timed]()
    try:
        for group in sorted(groups, key=lambda group: -group.work):
            results.append(group.time_first(time_one, FIRST_LIMIT * seconds))
        begin = time.monotonic()
        while True:
            end = begin + max(seconds, min(most, SHARE * sum(group.work for group in groups)))
            left = end - time.monotonic()
            ready = [group for group in groups if group.next_within(left) is not None]
            if not ready:
                break
            results.append(max(ready, key=lambda group: group.priority).time_next(time_one, left))
    finally:
        POOL.end_idle()
    work = sum(group.work for group in groups)
    errors = [result.error for result in results if result.error]
    covered = sum(group.covered for group in groups) / work if work else 1.0
    return Forecast(len(trials), work, 1, len(results), len(errors), errors[0] if errors else "", covered)


class _Group:
    """A group of trials with equal non-numeric coordinates, such as the method, and the times of its timed trials."""

    def __init__(self, trials: Trials, rng: np.random.Generator) -> None:
        costs = trials.costs
        # draw half in proportion to the guessed cost, half uniformly, so that trials that take much longer than their
        # guess are drawn too
        chances = (costs / costs.sum() + 1 / len(costs)) / 2
        order = rng.choice(len(costs), min(MOST_SAMPLES, len(costs)), replace=False, p=chances)
        self._waiting = trials.take(order)
        self._first = trials[int(np.argmin(costs))]
        self._costs, self._counts = np.unique(costs, return_counts=True)
        self._timed, self._rate = list[tuple[float, float]](), 1.0

    def time_first(self, time_one: Callable[[Trial, float], Timed], limit: float) -> Timed:
        """Time the trial of lowest cost, which also loads modules; it counts only until another trial is timed."""
        result, cost = time_one(self._first, limit), float(self._costs[0])
        # a trial stopped at its limit has no time: assume twice the limit, its median time if P(longer than t) falls
        # like 1 / t
        took = max(cost, 2 * limit) if result.seconds is None else result.seconds
        self._rate = took / cost
        return result

    def time_next(self, time_one: Callable[[Trial, float], Timed], left: float) -> Timed:
        """Time the next waiting trial that may end in `left` seconds; if stopped, it counts as at least that long."""
        place = self.next_within(left)
        assert place is not None
        trial, cost, limit = self._waiting[place], float(self._waiting.costs[place]), max(left, SHORTEST_LIMIT)
        self._waiting = self._waiting.take(np.arange(len(self._waiting)) != place)
        result = time_one(trial, limit)
        took = max(limit, float(self._predict(cost))) if result.seconds is None else result.seconds
        self._timed.append((cost, max(took, 1e-6)))
        return result

    def next_within(self, left: float) -> int | None:
        """Return the place of the first waiting trial that may end within `left` seconds, None without one."""
        fast = OPTIMISM if len(self._timed) < FEW else 1.0
        if left <= 0:
            return None
        fitting = np.flatnonzero(self._predict(self._waiting.costs) <= fast * left)
        return int(fitting[0]) if len(fitting) else None

    @property
    def priority(self) -> float:
        return self.work / math.sqrt(len(self._timed)) if self._timed else math.inf

    @property
    def work(self) -> float:
        """Predicted seconds of all trials, in which timed trials count as measured."""
        known, took = self._samples
        predicted = float(self._counts @ self._predict(self._costs)) - float(np.sum(self._predict(known)))
        return float(took.sum()) + max(predicted, 0.0)

    @property
    def covered(self) -> float:
        """Predicted seconds of the trials that cost no more than the most expensive timed trial of the group."""
        inside = self._costs <= max(self._samples[0], default=0.0)
        return min(float(self._counts[inside] @ self._predict(self._costs[inside])), self.work)

    @property
    def _samples(self) -> Array:
        """Costs and seconds of the timed trials, shape (2, timed)."""
        return np.array(self._timed).reshape(-1, 2).T

    def _predict(self, costs: Array | float) -> Array:
        """Return the predicted seconds of trials of these costs."""
        if not self._timed:
            return np.asarray(self._rate * costs)
        known, took = self._samples
        exponent = 1.0
        # the fit weights each trial by its time, because long trials are most of the work
        if len(took) >= FEWEST_TO_FIT and known.max() > SPREAD * known.min():
            exponent = float(np.clip(np.polyfit(np.log(known), np.log(took), 1, w=np.sqrt(took))[0], *EXPONENTS))
        return np.asarray(costs**exponent * took.sum() / (known**exponent).sum())


def _groups(trials: Trials) -> list[_Group]:
    """Group trials by their coordinates that are not numbers; by method and architecture if these are too many."""
    columns = trials.cells.coordinates
    words = [name for name, column in columns.items() if any(isinstance(value, str | bool) for value in column.values)]
    for names in (words, [name for name in ("method", "architecture") if name in columns]):
        codes = np.stack([columns[name].codes for name in names])
        unique, number = np.unique(codes, axis=1, return_inverse=True)
        if unique.shape[1] <= MOST_GROUPS:
            break
    rng, group = np.random.default_rng(0), number.ravel()[trials.cell]
    return [_Group(trials.take(group == one), rng) for one in np.unique(group)]
