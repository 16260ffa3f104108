"""Progress of a run: a bar of rich on a terminal or in a notebook, and lines of text elsewhere."""

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from recovery.config import Trial, Trials
from recovery.runner.trial import Row
from recovery.store.row_schema import FAILURES
from recovery.text import duration

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 300.0
LINE_SHARE = 0.1
"""A line is printed after `FIRST_PAUSE` seconds, a pause that doubles each time, or after this share of the work."""
STARTING = "starting workers; code is compiled once for each machine, for up to half a minute"


class Progress:
    """The progress of a run: numbers of trials done and failed, and the done share of the guessed work.

    This class shows nothing: a subclass has `show`, which is called whenever the state changes, `print`, which shows a
    message, and `close`, which restores the terminal.
    """

    def __init__(self) -> None:
        self.trials = self.done = self.failed = 0
        self._work, self._worked = 0.0, 0.0
        self._first: tuple[float, float] | None = None
        """Time and share at the first results, which come after the workers have started."""

    def begin(self, trials: Trials) -> None:
        self.trials, self.done, self.failed = len(trials), 0, 0
        self._work, self._worked, self._first = float(trials.costs.sum()), 0.0, None
        self.show()

    def advance(self, done: Iterable[tuple[Trial, Row]]) -> None:
        for trial, row in done:
            self.done += 1
            self.failed += row["status"] in FAILURES
            self._worked += trial.cell.cost
        if self.done and self._first is None:
            self._first = (time.monotonic(), self.share)
        self.show()

    @property
    def share(self) -> float:
        """Share of the guessed work that is done."""
        return self._worked / self._work if self._work else 1.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds left if further trials take as long per cost as those since the first results; None until then."""
        if self._first is None or self.share <= self._first[1]:
            return None
        return (time.monotonic() - self._first[0]) * (1 - self.share) / (self.share - self._first[1])

    def __str__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        seconds = self.seconds_left
        left = f", {duration(seconds)} left" if seconds is not None and self.done < self.trials else ""
        return f"{self.done} of {self.trials} trials{failed}{left}"

    def show(self) -> None: ...

    def print(self, text: str) -> None: ...

    def close(self) -> None: ...


class Lines(Progress):
    """Progress as lines of text in stderr."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._shown, self._time, self._pause = name, 0.0, time.monotonic(), FIRST_PAUSE

    def show(self) -> None:
        now = time.monotonic()
        due = now - self._time >= self._pause
        tenth = self.share - self._shown >= LINE_SHARE and now - self._time >= 1.0
        if due or tenth or 0 < self.done == self.trials:
            self._pause = min(2 * self._pause, LONGEST_PAUSE) if due else self._pause
            self._shown, self._time = self.share, now
            self.print(f"{self._name}: {self}")

    def print(self, text: str) -> None:
        with suppress(OSError):  # stderr may be closed: then print nothing
            print(text, file=sys.stderr, flush=True)


class Bar(Progress):
    """Progress as a bar, weighted by cost, on a terminal or below a notebook's cell."""

    def __init__(self, name: str) -> None:
        super().__init__()
        # imported here, because rich is slow to import and only a progress bar needs it
        from rich.console import Console
        from rich.progress import BarColumn, Progress as RichProgress, TextColumn

        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}")
        self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(name, total=1.0, text=STARTING)
        self._bar.start()

    def show(self) -> None:
        if self.done:
            self._bar.update(self._task, completed=self.share, text=str(self))

    def print(self, text: str) -> None:
        self._bar.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        self._bar.stop()


def notebook_shell() -> Any:
    """Return the shell of the notebook kernel, or None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None


def display(name: str, *, quiet: bool) -> Progress:
    """Return the progress of a run, shown as a bar where there is a terminal or a notebook; not shown if quiet."""
    if quiet:
        return Progress()
    return Bar(name) if notebook_shell() is not None or sys.stderr.isatty() else Lines(name)
