"""Figures that ship, each in a results folder of its own: what is asked of one, how long it takes, and running it.

Where time is limited, a figure gets as many whole replicates of every cell as fit: first one, then, by what that took,
more. So a figure that is not at full size is coarse everywhere; it has holes only where not even one replicate fits.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from recovery.config import Even, from_document, load
from recovery.runner.forecast import forecast
from recovery.runner.plan import Plan, plan
from recovery.runner.progress import Progress
from recovery.runner.run import Options, Summary, run
from recovery.runner.stop import Stop, StopRequested
from recovery.store.compaction import compact
from recovery.store.folder import Folder

SAFE = 0.7
"""Of the time that is left, what a forecast may fill."""


@dataclass(frozen=True)
class Figure:
    """A shipped config, its results folder, and how many replicates of a cell are wanted of it at most (None: all)."""

    name: str
    folder: Path
    most: int | None = None

    def plan(self, most: int | None = None) -> Plan:
        """What is stored, and what is missing of at most `most` replicates; never fewer than the folder planned before.

        Raises `StoreError` if the folder holds another sweep.
        """
        sweep = load(self.name)
        wanted = max(min(most or sweep.replicates, sweep.replicates), self._before())
        if wanted != sweep.replicates and isinstance(sweep.sampling, Even):
            sweep = load(self.name, [f"replicates={wanted}"])
        return plan(sweep, self.folder)

    def wanted(self) -> Plan:
        """All that is wanted of it."""
        return self.plan(self.most)

    def _before(self) -> int:
        """The replicates that the folder was planned with; 0 without one."""
        folder = Folder(self.folder)
        return from_document(folder.load()["config"]).replicates if folder.exists() else 0

    def next_step(self, options: Options, seconds: float) -> Plan | None:
        """Of what is wanted, what is likely to be done in so many seconds; None if not even one replicate more is."""
        wanted, planned = self.wanted(), self._before()
        if not wanted.missing or not isinstance(wanted.sweep.sampling, Even):
            return wanted
        if planned == 0:
            return self.plan(1)
        if (step := self.plan(planned)).missing:
            return step
        needed, more = forecast(wanted, options).seconds, wanted.sweep.replicates - planned
        fitting = int(more * min(SAFE * seconds / needed, 1.0)) if needed else more
        return self.plan(planned + fitting) if fitting else None


def run_figure(
    figure: Figure, options: Options, stop: Stop, seconds: float | None, progress: Callable[[str], Progress]
) -> Summary:
    """Run what is missing of a figure, in at most so many seconds, and put its parts together.

    `stopped` of the result says why not all that was wanted is stored. Raises `RecoverError`.
    """
    try:
        if seconds is None:
            summary = run(figure.wanted(), options, progress(figure.name), stop)
        else:
            with stop.within(seconds):
                summary = _run_steps(figure, options, stop, time.monotonic() + seconds, progress)
    except StopRequested as request:
        summary = Summary(0, stopped=str(request))
    if figure.folder.is_dir():
        compact(Folder(figure.folder))
    return summary


def _run_steps(
    figure: Figure, options: Options, stop: Stop, end: float, progress: Callable[[str], Progress]
) -> Summary:
    summary = Summary(0)
    while (step := figure.next_step(options, end - time.monotonic())) is not None:
        summary = run(step, options, progress(figure.name), stop)
        if summary.stopped or summary.gave_up or not figure.wanted().missing:
            return summary
    summary.stopped = "its time does not suffice for another replicate of every cell"
    return summary
