"""Overview of all sweeps in a folder: a table of their progress for the terminal, and one static HTML page."""

import base64
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from urllib.parse import quote

from matplotlib.figure import Figure
from tabulate import tabulate

from recovery.errors import RecoverError, ReportError
from recovery.extras.gallery import OURS, PAPERS, counted, paper_of, paper_title, verdict_counts, with_few_colours
from recovery.interval import Interval
from recovery.report.claims import Analysis, form_of, measured
from recovery.report.claims.result import VERDICTS, ClaimResult
from recovery.report.diagram import PLAIN, Diagram
from recovery.report.diagram.quantity import Quantity
from recovery.report.figures import draw_into, main_figure, named_records, render
from recovery.report.figures.sheet import sheet
from recovery.report.figures.style import Style
from recovery.report.page import document, table
from recovery.runner.sweep_status import WINDOW, SweepStatus, age, sweep_status
from recovery.store import read
from recovery.store.sweepfile import SWEEP_FILE
from recovery.text import duration, many, printable

MOST_LINES = 4
"""Number of thresholds shown per sweep; the others are folded."""
HEAD = ["picture", "sweep", "trials", "thresholds", "claims"]
WIDTH = 440
"""Width of a thumbnail in pixels: twice its size on the page, for high-resolution screens."""
OTHERS = "Other sweeps"
CONTROLS = """<div class="controls" id="controls" hidden>
<label>Filter <input type="search" id="filter" placeholder="such as haar"></label>
<label>Order <select id="order"><option value="">name</option><option value="newest">newest first</option>
<option value="trials">most trials first</option><option value="missing">most missing trials first</option>
<option value="contradicted">most contradicted claims first</option></select></label>
<output id="shown"></output></div>"""


@dataclass(frozen=True)
class Standing:
    """The progress of a sweep. place: its folder, relative to the searched one; remark: why it cannot be read."""

    place: Path
    status: SweepStatus | None
    remark: str = ""


@dataclass(frozen=True)
class Entry:
    """A sweep on the page. thresholds: lines of text; picture: a PNG, or empty; words: its text alternative; link:
    the page of its report, or its folder."""

    standing: Standing
    title: str = ""
    source: str = ""
    cells: int = 0
    thresholds: Sequence[str] = ()
    claims: Sequence[ClaimResult] = ()
    picture: bytes = b""
    words: str = ""
    link: Path = Path()


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
    return [_entry(folder, one, start, say) for one in standings(folder)]


def _entry(folder: Path, one: Standing, start: Path, say: Callable[[str], object]) -> Entry:
    say(printable(str(one.place)))
    pages = sorted((folder / one.place / "report").glob("*.html"))
    link = Path(os.path.relpath(pages[0] if pages else folder / one.place, start))
    try:
        analysis = Analysis(Diagram.of(read(folder / one.place)))
        diagram, records = analysis.diagram, named_records(analysis)
        words = (records or main_figure(analysis)[1]).words
        figure = records.draw() if records else _thumbnail(analysis)
        picture = with_few_colours(render(figure, "png", max(round(WIDTH / figure.get_figwidth()), 24)))
        lines, claims = thresholds(analysis), analysis.claims
    except RecoverError as error:
        return Entry(Standing(one.place, one.status, one.remark or printable(str(error))), link=link)
    return Entry(one, diagram.title, diagram.sweep.source, len(diagram.table), lines, claims, picture, words, link)


def _thumbnail(analysis: Analysis) -> Figure:
    """Draw the first measured panel of the main figure, as wide as a column, without title, colour bar and key."""
    with sheet(1, "", Style(replace(analysis.diagram.sweep.report.style, width="column", font_size=None))) as page:
        draw_into(page.axes[0], analysis, analysis.diagram.drawn[0], key=False)
    return page.figure


def thresholds(analysis: Analysis) -> list[str]:
    """Return `n/d = 1.993, 1.955 to 2.030 (95 %)` per panel, or per slice; a threshold that changes has no interval."""
    rows = [row for row in analysis.measured_beside_stated if row.found.interval.known]
    several = len({row.of for row in rows}) > 1
    lines = []
    for row in rows:
        found = row.found
        alike = found.drift is None or found.constant
        form, what = form_of(found.along), found.along.what
        if form != ".3f":
            found = replace(found, interval=_short(found.interval))
        after = found.interval.entry(form) if alike else f"changes with {found.along.by}"
        name = _before(Quantity.parse(row.of).label if several else "", found.panel.title)
        what = PLAIN.axis(what) if what == found.along.x else what
        lines.append(f"{name}{what} = {measured(found)}, {after}")
    return list(dict.fromkeys(lines))


def _short(interval: Interval) -> Interval:
    """Round an interval to four significant digits."""
    estimate, low, high = (float(f"{number:.4g}") for number in (interval.estimate, interval.low, interval.high))
    return Interval(estimate, low, high, interval.level)


def _before(*parts: str) -> str:
    words = ", ".join(filter(None, parts))
    return f"{words}: " if words else ""


def overview_page(name: str, entries: Sequence[Entry]) -> str:
    """Return the page of a folder with this name: a table per paper. It has no external resources."""
    title = f"Sweeps of {name}"
    claims = counted(verdict_counts(*(one.claims for one in entries)))
    groups = {paper: list[Entry]() for paper in (*PAPERS, OURS)}
    for one in entries:
        groups[paper_of(one.standing.place.name)].append(one)
    links = [f"<a href='#{paper}'>{OTHERS if paper == OURS else paper}</a>" for paper, ones in groups.items() if ones]
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(in_short([one.standing for one in entries]))}.{f' Claims: {claims}.' if claims else ''}</p>",
        "<p class='soft'>A picture links to the page of its sweep, which <code>recover report FOLDER --format html"
        "</code> makes; without a page it links to the folder. An interval follows each threshold.</p>",
        f"<p>Go to {', '.join(links)}.</p>" if len(links) > 1 else "",
        CONTROLS,
        *(
            f"<section id='{paper}'><h2>{escape(paper_title(paper, OTHERS))}</h2>{table(HEAD, [*map(_row, ones)])}"
            "</section>"
            for paper, ones in groups.items()
            if ones
        ),
    ]
    return document(title, [f'<div class="sweeps">{"".join(body)}</div>'], scripts=("overview.js",))


def _row(one: Entry) -> list[str]:
    place = printable(one.standing.place.as_posix())
    link = f'href="{escape(quote(one.link.as_posix(), errors="replace"))}"'
    about = [f"<strong><a {link}>{escape('this folder' if place == '.' else place)}</a></strong>"]
    about += [f"<br>{escape(one.title)}"] if one.title and one.title != place else []
    about += [f'<br><span class="soft">{escape(one.source)}</span>'] if one.source else []
    about += [f'<br><span class="contradicted">{escape(one.standing.remark)}</span>'] if one.standing.remark else []
    keys = " ".join(f'data-{name}="{number}"' for name, number in _order(one).items())
    # the name beside the picture has the same link, so the keyboard skips the picture's
    data = base64.b64encode(one.picture).decode()
    image = f'<img alt="{escape(one.words)}" src="data:image/png;base64,{data}">'
    picture = f'<a {link} tabindex="-1">{image}</a>' if one.picture else ""
    return [picture, f"<div {keys}>{''.join(about)}</div>", _trials(one), _lines(one.thresholds), _claims(one)]


def _order(one: Entry) -> dict[str, int]:
    """Return the numbers by which the page can be sorted, the largest first."""
    status = one.standing.status
    newest = status.last_row.timestamp() if status is not None and status.last_row else 0
    trials, missing = (status.stored, status.missing) if status is not None else (0, 0)
    contradicted = verdict_counts(one.claims)["contradicted"]
    return {"newest": int(newest), "trials": trials, "missing": missing, "contradicted": contradicted}


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
    # no line breaks between a name and its value, and between a number and its percent sign
    unbroken = (line.replace(" = ", "\u00a0=\u00a0").replace(" %", "\u00a0%") for line in lines)
    shown = [f'<div class="line">{escape(line)}</div>' for line in unbroken]
    if len(shown) <= MOST_LINES + 1:
        return f"<div>{''.join(shown)}</div>" if shown else ""
    more = f"<summary>{len(shown) - MOST_LINES} more</summary>"
    return f"<div>{''.join(shown[:MOST_LINES])}<details>{more}{''.join(shown[MOST_LINES:])}</details></div>"


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
        + (f". Measured: {escape(claim.measured)}." if claim.verdict != "not tested" else "")
        + (f' <span class="soft">{escape(claim.source)}</span>' if claim.source else "")
        + "</p>"
        for claim in one.claims
    ]
    return f"<details><summary>{', '.join(counts)}</summary>{''.join(items)}</details>"
