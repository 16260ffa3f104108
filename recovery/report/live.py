"""A live view of a results folder: counts and map, redrawn every few seconds until no trial is missing."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from recovery.errors import ReportError, StoreError
from recovery.report.diagram import Diagram
from recovery.report.texts.terminal import maps
from recovery.runner.progress import Progress, State
from recovery.runner.sweep_status import SweepStatus, sweep_status
from recovery.store import read

EVERY = 2.0
"""Seconds between two refreshes."""
SHARE = 5.0
"""After a slow refresh, wait this many times its duration, so that watching uses little of a core."""


class View:
    """The status of a sweep as text and map, in one place of the console."""

    def __init__(self, results: Path, words: Callable[[SweepStatus], str], console: Console) -> None:
        self._results, self._words, self.console = results, words, console
        self.live = Live(console=console, auto_refresh=False, vertical_overflow="ellipsis")
        self.rest = EVERY
        """Seconds until the next refresh."""

    def refresh(self) -> SweepStatus:
        """Read the folder, draw its status and map, and return the status. Raises `StoreError`."""
        began = monotonic()
        status = sweep_status(self._results)
        self.live.update(Group(Text(self._words(status)), *self._maps()), refresh=True)
        self.rest = max(EVERY, SHARE * (monotonic() - began))
        return status

    def _maps(self) -> list[Text]:
        """Return the maps so far; none before the first trial is stored."""
        try:
            return maps(Diagram.of(read(self._results)), self.console)
        except ReportError:
            return []


def watch(
    results: Path, words: Callable[[SweepStatus], str], console: Console, rest: Callable[[float], object]
) -> None:
    """Show the status of a sweep until every trial is stored or Ctrl-C is pressed.

    rest: a function that waits for a number of seconds. Raises `StoreError`.
    """
    view = View(results, words, console)
    with view.live, suppress(KeyboardInterrupt):
        while view.refresh().missing:
            rest(view.rest)


class Watching(Progress):
    """A live view in the process that runs the sweep: refreshed when trials are stored, and at the end."""

    def __init__(self, results: Path, words: Callable[[SweepStatus], str], console: Console) -> None:
        super().__init__()
        self._view = View(results, words, console)
        self._next: float | None = None
        """Time of the next refresh; None before the first trial."""

    def show(self, state: State) -> None:
        if not state.done:
            return
        with suppress(OSError):  # the terminal may have been closed
            if self._next is None:
                self._view.live.start()
            if self._next is None or monotonic() >= self._next:
                self._refresh()

    def print(self, text: str) -> None:
        with suppress(OSError):
            self._view.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        with suppress(OSError):
            if self._next is not None:
                self._refresh()
                self._view.live.stop()

    def _refresh(self) -> None:
        """Refresh the view; an unreadable folder is reported here and handled by the sweep."""
        try:
            self._view.refresh()
        except StoreError as error:
            self._view.live.update(Text(str(error)), refresh=True)
        self._next = monotonic() + self._view.rest
