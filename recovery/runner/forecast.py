"""Forecast of a run's time, from stored timings or from a few random trials that are timed now."""

import time
from dataclasses import dataclass, replace

import numpy as np

from recovery.config import Trials
from recovery.runner.plan import Plan, places
from recovery.runner.pool import POOL
from recovery.runner.run import Options, trials_to_run
from recovery.store.row_schema import finished
from recovery.text import duration, many

SECONDS, SHORTEST_LIMIT = 6.0, 0.1
"""Seconds spent on timing, and the least time limit of a timed trial in seconds."""
MOST_TIMED = 30
"""Most trials of each method and architecture that are timed beside the cheapest one."""


@dataclass(frozen=True)
class Forecast:
    """Forecast for `trials` trials that take `work` seconds of one core and run in `jobs` workers.

    timed: trials timed now; 0 if the forecast uses stored timings. failed: how many of them failed; error: the first
    error.
    """

    trials: int
    work: float = 0.0
    jobs: int = 1
    timed: int = 0
    failed: int = 0
    error: str = ""

    @property
    def seconds(self) -> float:
        """The predicted wall time in seconds."""
        return self.work / self.jobs

    def __str__(self) -> str:
        if 0 < self.timed == self.failed:
            return f"no forecast: all {self.timed} trials timed now failed; the first error: {self.error}"
        core = f"{duration(self.work)} of one core"
        total = core if self.jobs == 1 else f"{duration(self.seconds)} with {self.jobs} jobs ({core})"
        basis = f"{many(self.timed, 'trial')} timed now" if self.timed else "stored timings"
        failed = f"; {self.failed} of them failed, the first with {self.error}" if self.failed else ""
        return f"about {total}, from {basis}{failed}"


def forecast(plan: Plan, options: Options) -> Forecast:
    """Forecast a run from the stored timings; without any, from trials that are timed now."""
    if "changed" in options.rerun:
        plan = plan.without(plan.stale)
    plan = plan.without(plan.lacking)
    trials, rows = trials_to_run(plan, options), plan.index.rows
    timings = rows.filter(finished(rows))
    place, planned = places(plan.trials, timings["trial_id"])
    if not (len(trials) and planned.any()):
        return replace(time_some(trials), jobs=options.engine.jobs)
    rate = timings["seconds"].to_numpy()[planned].sum() / plan.trials.costs[place[planned]].sum()
    return Forecast(len(trials), float(rate * trials.costs.sum()), options.engine.jobs)


def time_some(trials: Trials, seconds: float = SECONDS) -> Forecast:
    """Forecast these trials with one job by timing random ones of each method and architecture for about `seconds`.

    The time of a trial is taken as proportional to its cost. The cheapest trial runs first, to load modules, and counts
    only if no other ends in time; if the cheapest does not either, it is taken to need twice its time limit.
    """
    kinds = [f"{cell.coordinates['method']} {cell.coordinates.get('architecture')}" for cell in trials.cells]
    kind = np.array(kinds)[trials.cell]
    work, timed, errors = 0.0, 0, list[str]()
    for name in np.unique(kind):
        mine = np.flatnonzero(kind == name)
        costs, end = trials.costs[mine], time.monotonic() + seconds / len(np.unique(kind))
        order = np.random.default_rng(0).permutation(len(mine))[:MOST_TIMED]
        times = list[tuple[float, float, bool]]()
        for place in [int(np.argmin(costs)), *order.tolist()]:
            limit = max(end - time.monotonic(), SHORTEST_LIMIT)
            if times and limit == SHORTEST_LIMIT:
                break
            (row,) = POOL.measure([trials[int(mine[place])]], limit)
            if row["status"] in ("failed", "killed"):
                errors.append(f"{row['error_type']}: {row['error_message']}")
            late = row["status"] == "timeout"
            times.append((costs[place], 2 * limit if late else row["seconds"], late))
        ended = [one for one in times[1:] if not one[2]] or times[:1]
        work += float(costs.sum() * sum(took for _, took, _ in ended) / sum(cost for cost, *_ in ended))
        timed += len(times)
    POOL.end_idle()
    return Forecast(len(trials), work, 1, timed, len(errors), errors[0] if errors else "")
