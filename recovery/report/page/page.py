"""The report as one HTML page without external resources: charts, claims, thresholds, failures, provenance."""

import json
import shlex
from dataclasses import replace
from html import escape
from typing import Any

from recovery.config.sweep import plain_document
from recovery.report.claims import Analysis, Line
from recovery.report.claims.lines import columns
from recovery.report.figures import figures_beside, main_figure, main_kind, render
from recovery.report.page.cell_values import FINE
from recovery.report.page.encodings import Json
from recovery.report.page.fits import fits
from recovery.report.page.html import document, pictures, table
from recovery.report.page.payload import payload
from recovery.report.statistics import slices_in_words
from recovery.report.texts.tables import shown

MOST_FAILURES = 200


def report_page(analyses: list[Analysis]) -> str:
    """Return the HTML report of one or several grids, as one page."""
    places, charts = _fits(analyses)
    body = [
        '<a class="skip" href="#thresholds">Skip the maps</a>',
        *[_heading(analysis) for analysis in analyses],
        CONTROLS,
        MAPS,
        TABLE,
        _pictures(analyses),
        '<h2 id="thresholds">Thresholds</h2>',
        _thresholds(analyses),
        places,
        "<h2>Claims</h2>",
        _claims(analyses),
        "<h2>Unfinished trials</h2>",
        _failures(analyses),
        "<h2>How to reproduce this page</h2>",
        *[_provenance(analysis) for analysis in analyses],
    ]
    title = " · ".join(analysis.diagram.title for analysis in analyses)
    grids = [payload(analysis, main_kind(analysis)) for analysis in analyses]
    return document(title, body, {"grids": grids, "charts": charts})


def _pictures(analyses: list[Analysis]) -> str:
    """Return as HTML the figures without an interactive chart: several values side by side, and additional figures."""
    drawn = []
    for analysis in analyses:
        name = f"{analysis.diagram.name}: " if len(analyses) > 1 else ""
        several = [main_figure(analysis)[1]] if analysis.diagram.beside else []
        for figure in [*several, *figures_beside(analysis).values()]:
            drawn.append((name + figure.words, render(figure.draw(), "png", SCREEN)))
    return f"<h2>Figures</h2>{pictures(drawn)}" if drawn else ""


SCREEN = 160
"""Dots per inch of pictures on the page."""

GRIDS = '<label>Sweep <select id="grid"></select></label>'

CONTROLS = f"""<div class="controls">
{GRIDS}
<label>Value <select id="value"></select></label>
<label>Tolerance <select id="at"></select></label>
<label>Statistic <select id="look"></select></label>
<label>Plot <select id="form"></select></label>
<label>x axis <select id="x"></select></label>
<label><span id="y-name">y axis</span> <select id="y"></select></label>
<label>x scale <select id="sx"></select></label>
<label>y scale <select id="sy"></select></label>
<label>Value scale <select id="sc"></select></label>
<label>Panel <select id="panel"></select></label>
</div>"""

MAPS = """<h2 id="shown"></h2>
<noscript><p>The figures need JavaScript; the tables below do not.</p></noscript>
<p id="keys" class="soft"><span class="touch">Tap a cell to see its numbers.</span>
<span class="mouse">Point at a cell, or focus the figure and use the arrow keys; Page Up and Page Down change the panel.
Click a cell, or press Enter, to pin it.</span></p>
<div class="stage">
<div>
<div class="maps" id="maps" tabindex="0" role="application" aria-describedby="keys"></div>
<p id="about" class="soft"></p>
<div class="files" role="group" aria-label="Download this view">Download
<button id="save-svg">SVG</button> <button id="save-png">PNG</button> <button id="save-csv">CSV</button>
<button id="save-json">JSON</button></div>
</div>
<div class="detail" id="detail" role="status" aria-live="polite"></div>
</div>"""

TABLE = """<details id="cell-table"><summary>Table of the grid cells</summary>
<p id="cells-note" class="soft"></p>
<div class="scroll"><table><thead><tr id="cells-head"></tr></thead><tbody id="cells"></tbody></table></div></details>"""


def _heading(analysis: Analysis) -> str:
    diagram = analysis.diagram
    source = diagram.sweep.source
    parts = [f"<h1>{escape(diagram.heading)}</h1>"]
    if answer := analysis.answer:
        parts.append(f'<p class="answer">{escape(answer)}</p>')
    parts.append(f"<p>{escape(diagram.summary())}.")
    if source:
        parts.append(f' <span class="soft">{escape(str(source))}</span>')
    return "".join(parts) + "</p>"


def _claims(analyses: list[Analysis]) -> str:
    rows = [
        [
            f'<td class="verdict {claim.verdict.split()[0]}">{claim.verdict_words}</td>',
            escape(claim.stated),
            escape(claim.measured),
            escape(claim.source),
        ]
        for analysis in analyses
        for claim in analysis.claims
    ]
    return table(["verdict", "stated", "measured", "source"], rows) if rows else "<p>The configs claim nothing.</p>"


def _thresholds(analyses: list[Analysis]) -> str:
    """Return the lines of the thresholds, and folded the lines of the slices that pooled thresholds combine."""
    lines = [_named(analyses, analysis, line) for analysis in analyses for line in analysis.lines]
    slices = [_named(analyses, analysis, line) for analysis in analyses for line in analysis.slice_lines]
    if not lines:
        return "<p>None: thresholds need a success fraction along a numeric coordinate.</p>"
    folded = f"<details><summary>Thresholds of the slices</summary>{_lines(slices)}</details>" if slices else ""
    return "".join([*map(_left_out, analyses), _lines(lines), folded])


def _named(analyses: list[Analysis], analysis: Analysis, line: Line) -> Line:
    """Return the line with the name of its grid before the panel if there are several grids."""
    grid = analysis.diagram.name if len(analyses) > 1 else ""
    return replace(line, panel=" · ".join(filter(None, [grid, line.panel])))


def _lines(lines: list[Line]) -> str:
    rows = columns(lines)
    return table(list(rows[0]), [[escape(text) for text in row.values()] for row in rows])


def _left_out(analysis: Analysis) -> str:
    """State which estimates and choices the page of a fine grid leaves out."""
    panels, parts = analysis.diagram.panels, []
    along = analysis.diagram.along
    words = [slices_in_words(panel, along.by) for panel in panels if along.pool and along.by]
    if shortened := [text for text in words if text != f"each {along.by}"]:
        parts.append(f"thresholds of single slices are fitted at {shortened[0]}, evenly spaced")
    if len(analysis.diagram.table) > FINE:
        parts.append("the maps offer the medians of four values and no tolerances; CSV and JSON contain all values")
    if not parts:
        return ""
    return f"<p>{escape(analysis.diagram.name)} has {len(analysis.diagram.table)} cells: {'; '.join(parts)}.</p>"


def _fits(analyses: list[Analysis]) -> tuple[str, list[Json]]:
    """Return the markup that holds the charts of fits, and the charts in the same order."""
    charts = [fit for one in analyses for fit in fits(one, f": {one.diagram.name}" if len(analyses) > 1 else "")]
    places = [
        f"<figure><h3>{escape(fit.title)}</h3>"
        f'<div data-chart="{i}" role="img" aria-label="{escape(fit.words)}"></div></figure>'
        for i, fit in enumerate(charts)
    ]
    return f'<div class="charts">{"".join(places)}</div>' if places else "", [fit.spec for fit in charts]


def _failures(analyses: list[Analysis]) -> str:
    rows: list[list[str]] = []
    total = 0
    for analysis in analyses:
        diagram = analysis.diagram
        failed = diagram.frame[~diagram.cells.finished]
        total += len(failed)
        keys = [*diagram.layout.keys, "replicate"]
        for record in failed.head(max(MOST_FAILURES - len(rows), 0)).to_dict("records"):
            where = ", ".join(f"{key} = {record[key]}" for key in keys if key in record)
            line = f"recover replay {shlex.quote(diagram.grid.path.as_posix())} {record['trial_id']}"
            kind = shown(record.get("error_type"))
            message = f"{kind}: {shown(record.get('error_message'))}" if kind else ""
            rows.append([escape(str(record["status"])), escape(where), escape(message), f"<code>{escape(line)}</code>"])
    if not rows:
        return "<p>None: every stored trial finished.</p>"
    note = f"<p>{total} in total; the first {len(rows)} are listed.</p>"
    note = note if total > len(rows) else f"<p>{total} in total.</p>"
    return note + table(["status", "trial", "message", "command that repeats it"], rows)


def _provenance(analysis: Analysis) -> str:
    diagram = analysis.diagram
    sweep = {key: value for key, value in diagram.grid.sweep.items() if key != "config"}
    rows = [[escape(key), escape(value)] for key, value in _flat(sweep)]
    config = json.dumps(plain_document(diagram.sweep.document), indent=2, ensure_ascii=False, default=str)
    code = "".join(
        f"<details><summary>Save as {escape(module)}.py in the same folder</summary>"
        f"<pre>{escape(str(text))}</pre></details>\n"
        for module, text in diagram.sweep.document.get("code", {}).items()
    )
    folder = shlex.quote(diagram.grid.path.as_posix())
    commands = (
        f"recover sweep {shlex.quote(diagram.name + '.json')} --out {folder}\nrecover report {folder} --format html"
    )
    return (
        f"<h3>{escape(diagram.name)}</h3>\n"
        f"<p>Save the config below as <code>{escape(diagram.name)}.json</code>, then:</p>"
        f"<pre>{escape(commands)}</pre>\n<details><summary>Config</summary><pre>{escape(config)}</pre></details>\n{code}"
        f"<details><summary>Provenance</summary>{table(['field', 'value'], rows)}</details>"
    )


def _flat(value: Any, path: str = "") -> list[tuple[str, str]]:
    """Return the leaves of nested dictionaries, and of lists of them, as (dotted path, text)."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in _flat(inner, f"{path}.{key}" if path else str(key))]
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [pair for i, inner in enumerate(value) for pair in _flat(inner, f"{path}[{i}]")]
    return [(path, ", ".join(map(str, value)) if isinstance(value, list) else str(value))]
