"""A results folder as it fills: the counts and the map, drawn again every few seconds until nothing is missing."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from recovery.errors import ReportError
from recovery.report.diagram import Diagram
from recovery.report.texts import maps
from recovery.runner.status import Standing, standing
from recovery.store import read

EVERY = 2.0
"""Seconds between two looks at the folder."""
SHARE = 5.0
"""A look that takes long is followed by a rest of so many times its length: watching never takes much of a core."""


def watch(results: Path, words: Callable[[Standing], str], console: Console, rest: Callable[[float], object]) -> None:
    """Show how the sweep stands, in `words` and as a map, until every trial is stored or Ctrl-C is pressed.

    rest: waits so many seconds. Raises `StoreError`.
    """
    with Live(console=console, auto_refresh=False, vertical_overflow="ellipsis") as live:
        try:
            while True:
                began = monotonic()
                found = standing(results)
                live.update(Group(Text(words(found)), *_maps(results, console)), refresh=True)
                if not found.missing:
                    return
                rest(max(EVERY, SHARE * (monotonic() - began)))
        except KeyboardInterrupt:
            return


def _maps(results: Path, console: Console) -> list[Text]:
    """The maps so far; none before the first trial is stored."""
    try:
        return maps(Diagram.of(read(results)), console)
    except ReportError:
        return []
