"""All sweeps below a folder as one static HTML page: no script, no address outside."""

import base64
from collections import Counter
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from recovery.extras.overview import Entry, claims_in_short, in_short
from recovery.report.claims.result import VERDICTS
from recovery.report.page import document, table
from recovery.text import printable

MOST_LINES = 4
"""Thresholds that are shown; the others unfold."""
HEAD = ["picture", "sweep", "trials", "50 % at", "claims"]


def overview_page(name: str, entries: Sequence[Entry]) -> str:
    """The whole page of a folder of this name."""
    title = f"Sweeps of {name}"
    claims = claims_in_short(sum((one.verdicts for one in entries), Counter[str]()))
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(in_short([one.standing for one in entries]))}.{f' Claims: {claims}.' if claims else ''}</p>",
        "<p class='soft'>A name is a link where the sweep has a page of its own: "
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
        parts.append(f"{status.stored:,} of {status.planned:,}{f'<br>{done}' if done else ''}")
        parts += [f"{one.cells:,} cells"] if one.cells else []
        parts += [f'<span class="contradicted">{failed:,} failed</span>'] if failed else []
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
    counts = [
        f'<span class="{verdict.split()[0]}">{count} {verdict}</span>'
        for verdict in VERDICTS
        if (count := one.verdicts[verdict])
    ]
    items = [
        f'<p><span class="{claim.verdict.split()[0]}">{claim.verdict}</span>: {escape(claim.stated)}'
        + (f" Measured: {escape(claim.measured)}" if claim.verdict != "not tested" else "")
        + (f' <span class="soft">{escape(claim.source)}</span>' if claim.source else "")
        + "</p>"
        for claim in one.claims
    ]
    return f"<details><summary>{', '.join(counts)}</summary>{''.join(items)}</details>"
