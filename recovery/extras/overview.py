"""All sweeps below a folder: how each stands, for a table on the terminal and for one page."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from recovery.errors import RecoverError, ReportError
from recovery.extras.gallery import with_few_colours
from recovery.report.claims import Analysis
from recovery.report.claims.result import VERDICTS, ClaimResult
from recovery.report.diagram import PLAIN, Diagram
from recovery.report.figures import main_figure, render
from recovery.runner.sweep_status import WINDOW, SweepStatus, age, sweep_status
from recovery.store import read
from recovery.store.sweepfile import SWEEP_FILE
from recovery.text import duration, many, printable

WIDTH = 440
"""Pixels of a thumbnail: twice what the page gives it, for screens with small pixels."""


@dataclass(frozen=True)
class Standing:
    """A sweep's folder, relative to the one that was looked through, and how the sweep stands; or a remark why not."""

    place: Path
    status: SweepStatus | None
    remark: str = ""


@dataclass(frozen=True)
class Entry:
    """What the page shows of a sweep. `thresholds`: lines of text; `picture`: a PNG, empty where nothing is drawn."""

    standing: Standing
    title: str = ""
    source: str = ""
    cells: int = 0
    thresholds: Sequence[str] = ()
    claims: Sequence[ClaimResult] = ()
    picture: bytes = b""
    words: str = ""
    report: Path | None = None

    @property
    def verdicts(self) -> Counter[str]:
        return Counter(claim.verdict for claim in self.claims)


def sweeps_below(folder: Path) -> list[Path]:
    """The results folders in a folder and below it, in order; links are not followed. Raises `ReportError` for none."""
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
    """How each sweep below a folder stands; one that cannot be read says why. Raises `ReportError` for none."""
    for path in sweeps_below(folder):
        place = path.relative_to(folder)
        try:
            yield Standing(place, sweep_status(path))
        except RecoverError as error:
            yield Standing(place, None, printable(str(error)))


HEADS = ("sweep", "stored", "of", "failed", "last row", "left")


def standing_table(known: Sequence[Standing]) -> str:
    """A line a sweep; below, what is wrong with those that cannot be read, and the sum of all."""
    rows = [[printable(str(one.place)), *_numbers(one.status)] for one in known if one.status is not None]
    faults = [f"{printable(str(one.place))}: {one.remark}" for one in known if one.status is None]
    return "\n".join([tabulate(rows, headers=HEADS, disable_numparse=True), *faults, in_short(known)])


def _numbers(status: SweepStatus) -> list[str]:
    failed = status.stored - status.statuses.get("ok", 0)
    idle = None if status.last_row is None else age(status.last_row)
    late = idle is not None and idle <= WINDOW.total_seconds() and status.rate is not None
    left = "" if not status.missing else duration(status.seconds_left) if late else f"{status.missing} trials"
    ago = "" if idle is None else f"{duration(idle)} ago"
    return [str(status.stored), str(status.planned), str(failed or ""), ago, left]


def in_short(known: Sequence[Standing]) -> str:
    """`3 sweeps: 2 complete, 1 of them with failed trials; 300 of 400 trials stored`."""
    readable = [one.status for one in known if one.status is not None]
    complete = sum(not status.missing for status in readable)
    failed = sum(status.stored > status.statuses.get("ok", 0) for status in readable)
    stored, planned = sum(status.stored for status in readable), sum(status.planned for status in readable)
    parts = [f"{complete} complete", f"{failed} with failed trials" if failed else ""]
    parts.append(f"{len(known) - len(readable)} cannot be read" if len(readable) < len(known) else "")
    return f"{many(len(known), 'sweep')}: {', '.join(filter(None, parts))}; {stored} of {planned} trials stored"


def entries(folder: Path, say: Callable[[str], object], start: Path) -> list[Entry]:
    """What a page in the folder `start` shows of each sweep below a folder; `say` is told which one is drawn."""
    drawn = []
    for one in standings(folder):
        say(printable(str(one.place)))
        drawn.append(_entry(folder, one, start))
    return drawn


def _entry(folder: Path, one: Standing, start: Path) -> Entry:
    pages = sorted((folder / one.place / "report").glob("*.html"))
    report = Path(os.path.relpath(pages[0], start)) if pages else None
    try:
        analysis = Analysis(Diagram.of(read(folder / one.place)))
        diagram, (_, drawing) = analysis.diagram, main_figure(analysis)
        figure = drawing.draw()
        picture = with_few_colours(render(figure, "png", max(round(WIDTH / figure.get_figwidth()), 24)))
        lines, claims = thresholds(analysis), analysis.claims
    except RecoverError as error:
        return Entry(Standing(one.place, one.status, one.remark or printable(str(error))), report=report)
    return Entry(
        one, diagram.title, diagram.sweep.source, len(diagram.table), lines, claims, picture, drawing.words, report
    )


def thresholds(analysis: Analysis) -> list[str]:
    """A line a panel: n/d at 50 % with its interval; over other axes, a line a row that crosses one half."""
    if analysis.pooled:
        rows = [row for row in analysis.measured_beside_stated if row.interval.known]
        several = len({row.of for row in rows}) > 1
        lines = [f"{_before(row.of if several else '', row.panel)}n/d = {row.interval:.3f}" for row in rows]
        return list(dict.fromkeys(lines))
    layout = analysis.diagram.layout
    return [
        f"{_before(panel.title, f'{layout.y} = {PLAIN.value(row.y)}' if layout.y else '')}{layout.x} = {row.half:.4g}"
        for panel, rows in zip(analysis.diagram.panels, analysis.rows, strict=False)
        for row in rows
        if row.half.known
    ]


def _before(*parts: str) -> str:
    words = ", ".join(filter(None, parts))
    return f"{words}: " if words else ""


def claims_in_short(counts: Counter[str]) -> str:
    """Return `3 supported, 1 contradicted`."""
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
