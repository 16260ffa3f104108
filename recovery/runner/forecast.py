"""Forecast of a run's time, from stored timings or from a few random trials that are timed now."""

import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from recovery.config import Sweep, Trials
from recovery.runner.plan import Plan, places
from recovery.runner.pool import POOL, Limits
from recovery.runner.run import Options, trials_to_run
from recovery.runner.trial import PROCESSOR, Row
from recovery.text import duration

SECONDS, MOST_SECONDS = 6.0, 30.0
"""Seconds spent on timing: the default, and those where nothing runs afterwards."""
MOST_TIMED = 30
"""Trials of each method and architecture that are timed at most."""
SHORTEST_LIMIT = 0.1
WAITING = 0.1
"""A trial that computes for a smaller share of its time waits for something: the wall time counts, not CPU time."""


@dataclass(frozen=True)
class Forecast:
    """Forecast for `trials` trials that take `work` seconds of one core and run in `jobs` workers.

    timed: trials timed now; 0 if the forecast uses stored timings. failed: how many of them failed; error: the first
    error. late: how many did not end within their limit.
    """

    trials: int
    work: float = 0.0
    jobs: int = 1
    timed: int = 0
    failed: int = 0
    error: str = ""
    late: int = 0

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
        if self.late:
            basis += f"; {self.late} of them did not end in time"
        if self.failed:
            basis += f"; {self.failed} of them failed, the first with {self.error}"
        return f"about {total}, from {basis}"


def forecast(plan: Plan, options: Options, most: float = SECONDS) -> Forecast:
    """Forecast a run from the stored timings; without any, from trials that are timed now for about `most` seconds."""
    if options.rerun_changed:
        plan = plan.without(plan.stale)
    trials, jobs = trials_to_run(plan, options), options.engine.jobs
    if not len(trials):
        return Forecast(0)
    rows = plan.index.rows
    timings = rows.filter(pc.equal(rows["status"], "ok"))
    place, planned = places(plan.trials, timings["trial_id"])
    if not planned.any():
        return replace(time_some(trials, most), jobs=jobs)
    rate = timings["seconds"].to_numpy()[planned].sum() / plan.trials.costs[place[planned]].sum()
    return Forecast(len(trials), float(rate * trials.costs.sum()), jobs)


def time_sweep(sweep: Sweep) -> Forecast:
    """Forecast a whole sweep with one job by timing trials of its first round; later rounds count alike per trial."""
    first = time_some(sweep.trials())
    return replace(first, trials=sweep.size, work=first.work * sweep.size / first.trials)


def time_some(trials: Trials, seconds: float = SECONDS) -> Forecast:
    """Forecast these trials with one job by timing random ones of each method and architecture for about `seconds`.

    The time of a trial is taken as proportional to its cost. The cheapest trial runs first, to load modules, and counts
    only if no other ends in time.
    """
    kinds = [(str(cell.coordinates["method"]), str(cell.coordinates["architecture"])) for cell in trials.cells]
    names, group = np.unique([" ".join(kind) for kind in kinds], return_inverse=True)
    work, timed, late, errors = 0.0, 0, 0, list[str]()
    try:
        for number in range(len(names)):
            mine = np.flatnonzero(group[trials.cell] == number)
            if not len(mine):
                continue
            costs, end = trials.costs[mine], time.monotonic() + seconds / len(names)
            order = np.random.default_rng(0).permutation(len(mine))[:MOST_TIMED]
            times = list[tuple[float, float, bool]]()
            for place in [int(np.argmin(costs)), *order.tolist()]:
                left = end - time.monotonic()
                if left <= 0 and times:
                    break
                limit = max(left, SHORTEST_LIMIT)
                row = POOL.measure([trials[int(mine[place])]], Limits(seconds=limit))[0]
                timed += 1
                if row["status"] in ("failed", "killed"):
                    errors.append(f"{row['error_type']}: {row['error_message']}")
                times.append((float(costs[place]), seconds_of(row, limit), row["status"] == "timeout"))
            late += sum(stopped for *_, stopped in times)
            ended = [one for one in times[1:] if not one[2]] or times[:1]
            work += float(costs.sum()) * sum(took for _, took, _ in ended) / sum(cost for cost, *_ in ended)
    finally:
        POOL.end_idle()
    return Forecast(len(trials), work, 1, timed, len(errors), errors[0] if errors else "", late)


def seconds_of(row: Row, limit: float) -> float:
    """Return a trial's CPU time, its wall time if it mostly waits, or twice the limit that it exceeded."""
    if row["status"] == "timeout":
        return 2 * limit
    wall = float(row["seconds"] or 0.0)
    processor = float(row.get(PROCESSOR, wall))
    return processor if processor > WAITING * wall else wall
