"""Overview of all sweeps in a folder: a table of their progress for the terminal, and one static HTML page."""

import base64
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from tabulate import tabulate

from recovery.errors import RecoverError, ReportError
from recovery.extras.gallery import counted, verdict_counts, with_few_colours
from recovery.report.claims import Analysis, at
from recovery.report.claims.result import VERDICTS, ClaimResult
from recovery.report.diagram import Diagram
from recovery.report.figures import main_figure, render
from recovery.report.page import document, table
from recovery.runner.sweep_status import WINDOW, SweepStatus, age, sweep_status
from recovery.store import read
from recovery.store.sweepfile import SWEEP_FILE
from recovery.text import duration, many, printable

MOST_LINES = 4
"""Number of thresholds shown per sweep; the others are folded."""
HEAD = ["picture", "sweep", "trials", "50 % at", "claims"]
WIDTH = 440
"""Width of a thumbnail in pixels: twice its size on the page, for high-resolution screens."""


@dataclass(frozen=True)
class Standing:
    """The progress of a sweep. place: its folder, relative to the searched one; remark: why it cannot be read."""

    place: Path
    status: SweepStatus | None
    remark: str = ""


@dataclass(frozen=True)
class Entry:
    """A sweep on the page. thresholds: lines of text; picture: a PNG, or empty; words: its text alternative."""

    standing: Standing
    title: str = ""
    source: str = ""
    cells: int = 0
    thresholds: Sequence[str] = ()
    claims: Sequence[ClaimResult] = ()
    picture: bytes = b""
    words: str = ""
    report: Path | None = None


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


HEADS = ("sweep", "stored", "of", "failed", "last row", "remaining")


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


def entries(folder: Path, say: Callable[[str], object], start: Path) -> list[Entry]:
    """Return the entry of each sweep below a folder, for a page in the folder `start`; `say` gets each name first."""
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
    """Return a line per panel with its pooled threshold, or a line per slice with the threshold of the slice."""
    rows = [row for row in analysis.measured_beside_stated if row.found.interval.known]
    several = len({row.of for row in rows}) > 1
    lines = [f"{_before(row.of if several else '', row.found.panel.title)}{at(row.found)}" for row in rows]
    return list(dict.fromkeys(lines))


def _before(*parts: str) -> str:
    words = ", ".join(filter(None, parts))
    return f"{words}: " if words else ""


def overview_page(name: str, entries: Sequence[Entry]) -> str:
    """Return the page of a folder with this name; it has no scripts and no external resources."""
    title = f"Sweeps of {name}"
    claims = counted(verdict_counts(*(one.claims for one in entries)))
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(in_short([one.standing for one in entries]))}.{f' Claims: {claims}.' if claims else ''}</p>",
        "<p class='soft'>A name links to the page of its sweep if there is one: "
        "<code>recover report FOLDER --format html</code> makes it.</p>",
        table(HEAD, [_row(one) for one in entries]),
    ]
    return document(title, [f'<div class="sweeps">{"".join(body)}</div>'])


def _row(one: Entry) -> list[str]:
    place = printable(one.standing.place.as_posix())
    name = escape("this folder" if place == "." else place)
    if one.report is not None:
        name = f'<a href="{escape(quote(one.report.as_posix(), errors="replace"))}">{name}</a>'
    about = [f"<strong>{name}</strong>"]
    about += [f"<br>{escape(one.title)}"] if one.title and one.title != place else []
    about += [f'<br><span class="soft">{escape(one.source)}</span>'] if one.source else []
    about += [f'<br><span class="contradicted">{escape(one.standing.remark)}</span>'] if one.standing.remark else []
    return [_picture(one), f"<div>{''.join(about)}</div>", _trials(one), _lines(one.thresholds), _claims(one)]


def _picture(one: Entry) -> str:
    if not one.picture:
        return ""
    data = base64.b64encode(one.picture).decode()
    return f'<img alt="{escape(one.words)}" src="data:image/png;base64,{data}">'


def _trials(one: Entry) -> str:
    status, parts = one.standing.status, list[str]()
    if status is not None:
        failed = status.stored - status.statuses.get("ok", 0)
        done = f'<progress max="{max(status.planned, 1)}" value="{status.stored}"></progress>' if status.missing else ""
        parts.append(f"{status.stored} of {status.planned}{f'<br>{done}' if done else ''}")
        parts += [f"{one.cells} cells"] if one.cells else []
        parts += [f'<span class="contradicted">{failed} failed</span>'] if failed else []
        parts += [f'<span class="soft">{status.last_row:%Y-%m-%d}</span>'] if status.last_row else []
    return f"<div>{'<br>'.join(parts)}</div>"


def _lines(lines: Sequence[str]) -> str:
    shown = [escape(line) for line in lines]
    if len(shown) <= MOST_LINES + 1:
        return f"<div>{'<br>'.join(shown)}</div>" if shown else ""
    rest = f"<details><summary>{len(shown) - MOST_LINES} more</summary>{'<br>'.join(shown[MOST_LINES:])}</details>"
    return f"<div>{'<br>'.join(shown[:MOST_LINES])}{rest}</div>"


def _claims(one: Entry) -> str:
    if not one.claims:
        return ""
    verdicts = verdict_counts(one.claims)
    counts = [
        f'<span class="{verdict.split()[0]}">{verdicts[verdict]} {verdict}</span>'
        for verdict in VERDICTS
        if verdicts[verdict]
    ]
    items = [
        f'<p><span class="{claim.verdict.split()[0]}">{claim.verdict_words}</span>: {escape(claim.stated)}'
        + (f" Measured: {escape(claim.measured)}" if claim.verdict != "not tested" else "")
        + (f' <span class="soft">{escape(claim.source)}</span>' if claim.source else "")
        + "</p>"
        for claim in one.claims
    ]
    return f"<details><summary>{', '.join(counts)}</summary>{''.join(items)}</details>"
