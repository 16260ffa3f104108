"""Progress of all sweeps in a folder: `recover status FOLDER` prints one line for each."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from recovery.errors import RecoverError, ReportError
from recovery.runner.sweep_status import WINDOW, SweepStatus, age, sweep_status
from recovery.store.sweepfile import SWEEP_FILE
from recovery.text import duration, many, printable

HEADS = ("sweep", "stored", "of", "failed", "last row", "remaining")


@dataclass(frozen=True)
class Standing:
    """The progress of a sweep. place: its folder, relative to the searched one; remark: why it cannot be read."""

    place: Path
    status: SweepStatus | None
    remark: str = ""


def sweeps_below(folder: Path) -> list[Path]:
    """Return all results folders in a folder, sorted; links are not followed. Raises `ReportError` if there is none."""
    if not folder.is_dir():
        raise ReportError(f"{folder}: {'is a file' if folder.exists() else 'no such folder'}; give a folder of sweeps")
    sweeps = list[Path]()
    for here, inside, files in os.walk(folder):
        if SWEEP_FILE in files:
            sweeps.append(Path(here))
            inside.clear()
        inside[:] = [name for name in inside if not name.startswith(".")]
    if not sweeps:
        raise ReportError(f"{folder}: no sweep is stored in it or below it; run `recover sweep` first")
    return sorted(sweeps)


def standings(folder: Path) -> Iterator[Standing]:
    """Yield the progress of each sweep below a folder. Raises `ReportError` if there is none."""
    for path in sweeps_below(folder):
        place = path.relative_to(folder)
        try:
            yield Standing(place, sweep_status(path))
        except RecoverError as error:
            yield Standing(place, None, printable(str(error)))


def standing_table(known: Sequence[Standing]) -> str:
    """Return a table with a row per sweep, a line per unreadable sweep, and a summary."""
    rows = [[printable(str(one.place)), *_numbers(one.status)] for one in known if one.status is not None]
    faults = [f"{printable(str(one.place))}: {one.remark}" for one in known if one.status is None]
    return "\n".join([tabulate(rows, headers=HEADS, disable_numparse=True), *faults, in_short(known)])


def _numbers(status: SweepStatus) -> list[str]:
    """Return the entries of a row under `HEADS` after the first; the remaining time only if the sweep is running."""
    failed = status.stored - status.statuses.get("ok", 0)
    idle = None if status.last_row is None else age(status.last_row)
    running = idle is not None and idle <= WINDOW.total_seconds() and status.rate is not None
    left = "" if not status.missing else duration(status.seconds_left) if running else f"{status.missing} trials"
    ago = "" if idle is None else f"{duration(idle)} ago"
    return [str(status.stored), str(status.planned), str(failed or ""), ago, left]


def in_short(known: Sequence[Standing]) -> str:
    """Summarise sweeps as `3 sweeps: 2 complete, 1 with failed trials; 300 of 400 trials stored`."""
    readable = [one.status for one in known if one.status is not None]
    complete = sum(not status.missing for status in readable)
    failed = sum(status.stored > status.statuses.get("ok", 0) for status in readable)
    stored, planned = sum(status.stored for status in readable), sum(status.planned for status in readable)
    parts = [f"{complete} complete", f"{failed} with failed trials" if failed else ""]
    parts.append(f"{len(known) - len(readable)} cannot be read" if len(readable) < len(known) else "")
    return f"{many(len(known), 'sweep')}: {', '.join(filter(None, parts))}; {stored} of {planned} trials stored"
