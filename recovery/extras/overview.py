"""Progress of all sweeps in a folder: `recover status FOLDER` prints one line for each."""

import os
from collections.abc import Mapping
from pathlib import Path

from tabulate import tabulate

from recovery.errors import RecoverError, ReportError
from recovery.runner.sweep_status import SweepStatus, sweep_status
from recovery.store.sweepfile import SWEEP_FILE
from recovery.text import duration, many, printable

HEADS = ("sweep", "stored", "of", "failed", "last row", "remaining")


def sweeps_below(folder: Path) -> list[Path]:
    """Return all results folders in a folder, sorted; links are not followed. Raises `ReportError` if there is none."""
    sweeps = list[Path]()
    for here, inside, files in os.walk(folder):
        if SWEEP_FILE in files:
            sweeps.append(Path(here))
            inside.clear()
        inside[:] = [name for name in inside if not name.startswith(".")]
    if not sweeps:
        raise ReportError(f"{folder}: no sweep is stored in it or below it; run `recover sweep` first")
    return sorted(sweeps)


def standings(folder: Path) -> dict[str, SweepStatus | str]:
    """Return the status of each sweep below a folder by its place, or why it cannot be read.

    Raises `ReportError` if there is no sweep.
    """
    known = dict[str, SweepStatus | str]()
    for path in sweeps_below(folder):
        try:
            known[str(path.relative_to(folder))] = sweep_status(path)
        except RecoverError as error:
            known[str(path.relative_to(folder))] = printable(str(error))
    return known


def standing_table(known: Mapping[str, SweepStatus | str]) -> str:
    """Return a table with a row per sweep, a line per unreadable sweep, and a summary."""
    readable = {place: status for place, status in known.items() if isinstance(status, SweepStatus)}
    rows = [[printable(place), *_numbers(status)] for place, status in readable.items()]
    faults = [f"{printable(place)}: {fault}" for place, fault in known.items() if isinstance(fault, str)]
    statuses = list(readable.values())
    failed = sum(status.failed > 0 for status in statuses)
    parts = [f"{sum(not status.missing for status in statuses)} complete"]
    parts += [f"{failed} with failed trials"] if failed else []
    parts += [f"{len(faults)} cannot be read"] if faults else []
    stored, planned = sum(status.stored for status in statuses), sum(status.planned for status in statuses)
    short = f"{many(len(known), 'sweep')}: {', '.join(parts)}; {stored} of {planned} trials stored"
    return "\n".join([tabulate(rows, headers=HEADS, disable_numparse=True), *faults, short])


def _numbers(status: SweepStatus) -> list[str]:
    """Return the entries of a row under `HEADS` after the first; the remaining time only if the sweep is running."""
    left, ago = status.seconds_left, status.idle
    remaining = f"{status.missing} trials" if left is None else duration(left)
    shown = [str(status.stored), str(status.planned), str(status.failed or "")]
    return [*shown, "" if ago is None else f"{duration(ago)} ago", remaining if status.missing else ""]
