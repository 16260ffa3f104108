"""Progress of a run: a bar with the time left on a terminal or in a notebook, and lines of text elsewhere."""

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from typing import Any

from recovery.config import Trial, Trials
from recovery.runner.batches import cost
from recovery.runner.trial import Row
from recovery.store.row_schema import FAILURES
from recovery.text import duration

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 300.0
LINE_SHARE = 0.1
"""Lines are printed after these seconds, the pause doubling each time, or after this share of the work."""
COMPILES = "compiling code for this machine, once: up to half a minute, which counts for no trial"
NOTEBOOK_SECONDS = 0.5
"""Seconds between updates of a bar in a notebook."""


class State:
    """The state of a run: numbers of trials done and failed, and the done share of the guessed work.

    work: guessed cost of all trials.
    """

    def __init__(self, trials: int = 0, work: float = 0.0) -> None:
        self.trials = trials
        self.done = self.failed = 0
        self._work = work
        self._worked = 0.0
        self._began = time.monotonic()
        self._first: tuple[float, float] | None = None
        """Time and share at the first results, which come after the workers have started."""

    def advance(self, done: Iterable[tuple[Trial, Row]]) -> None:
        for trial, row in done:
            self.done += 1
            self.failed += row["status"] in FAILURES
            self._worked += cost(trial)
        if self.done and self._first is None:
            self._first = (time.monotonic(), self.share)

    @property
    def share(self) -> float:
        """Share of the guessed work that is done."""
        return self._worked / self._work if self._work else 1.0

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Seconds left if the remaining trials take as long per cost as those after the first results; None before."""
        if self._first is None or self.share <= self._first[1]:
            return None
        return (time.monotonic() - self._first[0]) * (1 - self.share) / (self.share - self._first[1])

    def __str__(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        seconds = self.seconds_left
        left = f", {duration(seconds)} left" if seconds is not None and self.done < self.trials else ""
        return f"{self.done} of {self.trials} trials{failed}{left}"


class Progress:
    """The progress of a run, which subclasses display: this class shows nothing.

    `show` gets the state whenever it changes, `print` a message; `close` restores the terminal.
    """

    def __init__(self) -> None:
        self._state = State()
        self._compiles = False

    def begin(self, trials: Trials) -> None:
        self._state = State(len(trials), float(trials.costs.sum()))
        self.show(self._state)

    def advance(self, done: Iterable[tuple[Trial, Row]]) -> None:
        self._state.advance(done)
        self.show(self._state)

    def compiles(self) -> None:
        """Print once that code is being compiled, which delays the first rows."""
        if not self._compiles:
            self._compiles = True
            self.print(COMPILES)

    def show(self, state: State) -> None: ...

    def print(self, text: str) -> None: ...

    def close(self) -> None: ...


class Lines(Progress):
    """Progress that prints the state of a run as lines of text to stderr."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self._share = 0.0
        self._time = time.monotonic()
        self._pause = FIRST_PAUSE

    def show(self, state: State) -> None:
        now = time.monotonic()
        due = now - self._time >= self._pause
        tenth = state.share - self._share >= LINE_SHARE and now - self._time >= 1.0
        if not (due or tenth or 0 < state.done == state.trials):
            return
        if due:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._share, self._time = state.share, now
        self.print(f"{self._name}: {state}")

    def print(self, text: str) -> None:
        with suppress(OSError):  # stderr may be closed: then print nothing
            print(text, file=sys.stderr, flush=True)


class Bar(Progress):
    """Progress as a bar of rich, weighted by cost."""

    def __init__(self, name: str) -> None:
        super().__init__()
        # imported here, because rich is slow to import and only a progress bar needs it
        from rich.console import Console
        from rich.progress import BarColumn, Progress as RichProgress, TextColumn

        self._progress = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[text]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(name, total=1.0, text="starting workers")
        self._progress.start()

    def show(self, state: State) -> None:
        if not state.done:
            return
        failed = f"  [red]{state.failed} failed[/red]" if state.failed else ""
        rate = state.done / max(state.elapsed, 1e-9)
        left = "" if state.seconds_left is None else f"  {duration(state.seconds_left)} left"
        text = f"{state.done}/{state.trials}{failed}  {rate:.0f} trials/s{left}"
        self._progress.update(self._task, completed=state.share, text=text)

    def print(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        self._progress.stop()


class NotebookBar(Progress):
    """Progress as a bar below the notebook cell."""

    def __init__(self, name: str) -> None:
        super().__init__()
        from IPython import display

        html: Any = display.HTML
        self._name, self._html, self._next = name, html, 0.0
        shown: Any = display.display
        self._place = shown(html(escape(f"{name}: starting workers")), display_id=True)

    def show(self, state: State) -> None:
        now = time.monotonic()
        if not state.done or (now < self._next and state.done < state.trials):
            return
        self._next = now + NOTEBOOK_SECONDS
        words = escape(f"{self._name}: {state}")
        bar = f'<progress max="1" value="{state.share:.4f}"></progress>'
        self._place.update(self._html(f"{bar} {words}"))

    def print(self, text: str) -> None:
        print(text)


def notebook_shell() -> Any:
    """Return the shell of the notebook kernel, or None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell if getattr(shell, "kernel", None) is not None else None


def display(name: str, *, quiet: bool) -> Progress:
    """Return the progress of a run, shown in a notebook, on a terminal or in a file; not shown if quiet."""
    if quiet:
        return Progress()
    if notebook_shell() is not None:
        return NotebookBar(name)
    return Bar(name) if sys.stderr.isatty() else Lines(name)
