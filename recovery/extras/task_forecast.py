"""Forecast of the tasks of a submission: the time and the memory of one, and reasons to choose other options."""

import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recovery.config.checks import in_bytes
from recovery.errors import ParameterError
from recovery.extras.slurm_script import GRACE_SECONDS, MOST_REQUEUES, seconds_of
from recovery.runner.engine import Engine
from recovery.runner.forecast import Forecast, forecast, time_trial
from recovery.runner.plan import Plan
from recovery.runner.pool import end_processes
from recovery.runner.run import Options
from recovery.text import duration, many

START_SECONDS = 5
"""Seconds in which a task starts Python and makes the plan of the sweep; benchmarks/engines.md has measurements."""
FEW_TASKS = 100
"""Up to this many tasks may work for less time than they take to start."""
GOOD_SECONDS = 60
"""Seconds of work of a task, next to which its start does not matter."""
TIMING_SECONDS, LARGEST_SECONDS = 5.0, 5.0
"""Seconds spent on timing trials, and on a trial of the largest grid cell, whose memory is measured."""
UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes per unit of `ru_maxrss`."""


@dataclass(frozen=True)
class TaskForecast:
    """The forecast of `tasks` tasks that share the missing trials of a plan. memory: bytes of one task."""

    tasks: int
    whole: Forecast
    memory: int

    @property
    def seconds(self) -> float:
        """Seconds that a task works, or 0 if they are unknown because all timed trials failed."""
        return 0.0 if 0 < self.whole.timed == self.whole.failed else self.whole.work / self.tasks

    def __str__(self) -> str:
        each = f"each about {duration(self.seconds + START_SECONDS)}, {START_SECONDS} s of it to start, and "
        memory = f"about {in_bytes(self.memory)} of memory"
        return f"{many(self.tasks, 'task')} for {self.whole.trials} trials: {each}{memory}\n{self.whole}"

    def refuse_short_tasks(self) -> None:
        """Raise `ParameterError` if many tasks would work for less time than they take to start."""
        if self.tasks > FEW_TASKS and 0 < self.seconds < START_SECONDS:
            good = max(1, min(self.tasks, round(self.whole.work / GOOD_SECONDS)))
            raise ParameterError(
                f"{self.tasks} tasks of {self.seconds:.2g} s each: a task takes about {START_SECONDS} s to start; "
                f"--array {good} gives each about {duration(self.whole.work / good)} of work"
            )

    def warnings(self, time: str | None, memory: str | None) -> Iterator[str]:
        """Yield warnings about a time limit and a memory size, both in SLURM's format."""
        if time is not None:
            limit = seconds_of(time)
            if time.count(":") == 1 and "-" not in time:
                yield (
                    f"--time {time} is {duration(limit)}, because SLURM reads minutes:seconds; "
                    f"write {time}:00 for hours:minutes"
                )
            left = limit - GRACE_SECONDS - START_SECONDS
            if left <= 0 or self.seconds / left > MOST_REQUEUES:
                yield (
                    f"a time limit of {duration(limit)} is too short: a task stops {GRACE_SECONDS} s before it, and is "
                    f"requeued at most {MOST_REQUEUES} times"
                )
        if memory is not None:
            units = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
            size = int(memory.rstrip("KMGT")) * units.get(memory[-1], 2**20)
            if 0 < size < self.memory:
                yield f"--mem {memory} is less than the {in_bytes(self.memory)} that a task is forecast to need"


def forecast_tasks(plan: Plan, tasks: int) -> TaskForecast:
    """Time some of the missing trials, and run one of the largest grid cell for a few seconds to measure its memory."""
    whole = forecast(plan, Options(Engine(1)), TIMING_SECONDS)
    trials = plan.missing
    if len(trials):
        n, d = (np.array(trials.coordinates(name).values, np.float64) for name in ("n", "d"))
        sizes = n[trials.coordinates("n").codes] * d[trials.coordinates("d").codes]
        time_trial(trials[int(np.argmax(sizes))], LARGEST_SECONDS)
    end_processes()  # end the worker processes, because the memory of a process is known only after it has ended
    peaks = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return TaskForecast(tasks, whole, UNIT * sum(peaks))
