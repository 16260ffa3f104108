"""Reproduction of the shipped figures, each in a separate results folder, in full or within a time limit.

Within a time limit, every grid cell gets as many replicates as fit: first one, then more, by the time that the first
one took. An incomplete figure therefore has fewer replicates everywhere, and empty cells only if one does not fit.
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
"""Share of the remaining time that a forecast may fill."""


@dataclass(frozen=True)
class Figure:
    """A shipped config, its results folder, and the largest number of replicates per grid cell to run (None: all)."""

    name: str
    folder: Path
    most: int | None = None

    def plan(self, most: int | None = None) -> Plan:
        """Plan at most `most` replicates (None: of the figure), but not fewer than the folder was planned with before.

        Raises `StoreError` if the folder belongs to another sweep.
        """
        sweep = load(self.name)
        wanted = max(min(most or self.most or sweep.replicates, sweep.replicates), self._before())
        if wanted != sweep.replicates and isinstance(sweep.sampling, Even):
            sweep = load(self.name, [f"replicates={wanted}"])
        return plan(sweep, self.folder)

    def _before(self) -> int:
        """Return the number of replicates that the folder was planned with; 0 without a folder."""
        folder = Folder(self.folder)
        return from_document(folder.load()["config"]).replicates if folder.exists() else 0

    def next_step(self, options: Options, seconds: float) -> Plan | None:
        """Plan one replicate, then missing trials, then as many more as fit into `seconds`; None if none fit."""
        wanted, planned = self.plan(), self._before()
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
    """Run the missing trials of a figure, in at most `seconds` seconds, and compact its results folder.

    `stopped` of the summary is the reason why trials are still missing. Raises `RecoverError`.
    """
    try:
        if seconds is None:
            summary = run(figure.plan(), options, progress(figure.name), stop)
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
        if summary.stopped or summary.gave_up or not figure.plan().missing:
            return summary
    summary.stopped = "not enough time for another replicate of every grid cell"
    return summary
