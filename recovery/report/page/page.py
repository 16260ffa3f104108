"""The report as one HTML page without external resources: charts, claims, thresholds, failures, provenance."""

import json
import shlex
from collections import Counter
from html import escape
from typing import Any

import numpy as np

from recovery.config.sweep import plain_document
from recovery.interval import Interval, interval_words
from recovery.report.claims import Analysis, form_of, in_words, measured
from recovery.report.diagram import PLAIN, greek
from recovery.report.figures import figures_beside, main_figure, main_kind, render
from recovery.report.page.cell_values import FINE
from recovery.report.page.encodings import Json
from recovery.report.page.fits import fits
from recovery.report.page.html import document, pictures, table
from recovery.report.page.payload import payload
from recovery.report.statistics import slices_in_words
from recovery.report.texts.tables import shown, threshold_rows
from recovery.text import many

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
    if answer := _answer(analysis):
        parts.append(f'<p class="answer">{escape(answer)}</p>')
    parts.append(f"<p>{escape(diagram.summary())}.")
    if source:
        parts.append(f' <span class="soft">{escape(str(source))}</span>')
    return "".join(parts) + "</p>"


def _answer(analysis: Analysis) -> str:
    """Return the estimates and the verdicts of a grid in one line: `n/d at 50 % = 1.993; 2 of 3 claims supported`."""
    parts, along = [], analysis.diagram.along
    known = [one for one in analysis.pooled if one.interval.known]
    if len(known) == 1 and known[0].constant:
        parts.append(f"{greek(along.what)} at {along.percent} = {known[0].interval:{form_of(along)}}")
    elif known:
        low, high = (end(one.interval.estimate for one in known) for end in (min, max))
        span = f"{low:{form_of(along)}} to {high:{form_of(along)}}"
        parts.append(f"{greek(along.what)} at {along.percent}: {span} in {many(len(known), 'panel')}")
    if verdicts := Counter(claim.verdict for claim in analysis.claims):
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        parts.append(f"{many(len(analysis.claims), 'claim')}: {counts}")
    return "; ".join(parts)


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
    pooled = [
        (_name(analyses, analysis, threshold.panel.title), threshold)
        for analysis in analyses
        for threshold in analysis.pooled
    ]
    source = {"slices": "mean", "jump": "mean, one jump", "curve": "one curve", "bounds": "common bounds"}
    rows = [
        [name, escape(measured(one)), escape(one.interval.ends(form_of(one.along))), source[one.assumption]]
        if one.interval.known
        else [name, escape(measured(one)), "", ""]
        for name, one in pooled
    ]
    single = "".join(_of_slices(analysis) for analysis in analyses if not analysis.pooled)
    if not rows:
        return single or "<p>None: thresholds need a success fraction along a numeric coordinate.</p>"
    along = next(analysis.diagram.along for analysis in analyses if analysis.pooled)
    what, x, by = map(escape, (along.what, along.x, along.by or "slice"))
    note = (
        f"<p class='soft'>The {what} at which the isotonic regression of the fraction on {x} crosses {along.percent}: "
        f"estimates at each {by}, pooled as one number. An interval of the mean is from the bootstrap and the scatter "
        f"over {by}. If a shared threshold is not rejected, one curve or the bounds of all {by} give a shorter one.</p>"
    )
    levels = interval_words({one.interval.level for _, one in pooled})
    lines = table(["panel", f"{greek(along.what)} at {along.percent}", levels, "interval from"], rows, numbers=(1, 2))
    words = [[name, f'<td class="long">{escape(in_words(one))}</td>'] for name, one in pooled]
    in_full = f"<details><summary>In words</summary>{table(['panel', 'threshold'], words)}</details>"
    parts = [note, *map(_left_out, analyses), lines, in_full, _sizes(analyses)]
    return "".join([*parts, single])


def _of_slices(analysis: Analysis) -> str:
    """Return an HTML table of the threshold of each slice, for slices that are not pooled; empty without thresholds."""
    lines, along = threshold_rows(analysis), analysis.diagram.along
    x = escape(analysis.diagram.script.axis(along.x))
    if not lines:
        return ""
    note = (
        f"<p class='soft'>The {x} at which the isotonic regression of the fraction crosses "
        f"{along.percent}, slice by slice. No parametric curve is fitted; intervals end at grid cells.</p>"
    )
    return note + table([escape(name) for name in lines[0]], [[escape(text) for text in row.values()] for row in lines])


def _name(analyses: list[Analysis], analysis: Analysis, panel: str) -> str:
    """Return the escaped name of a panel, after the name of its grid if there are several grids; `all` without both."""
    grid = analysis.diagram.name if len(analyses) > 1 else ""
    return escape(" · ".join(filter(None, [grid, panel])) or "all")


def _sizes(analyses: list[Analysis]) -> str:
    """Return an HTML table of the crossings of slices that are pooled."""
    shown = [analysis for analysis in analyses if analysis.pooled]
    rows = [
        [_name(analyses, analysis, panel.title), PLAIN.value(one.y), _span(one.interval)]
        for analysis in shown
        for panel, slices in zip(analysis.diagram.panels, analysis.slices, strict=False)
        for one in slices
    ]
    along, script = shown[0].diagram.along, shown[0].diagram.script
    what, by = escape(f"{script.axis(along.x)} at {along.percent}"), escape(script.axis(along.by or "slice"))
    head = ["panel", by, f"{what} (interval)"]
    return f"<details><summary>{what} for each {by}</summary>{table(head, rows)}</details>"


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


def _span(interval: Interval) -> str:
    """Return an estimate with its interval, or the part of both that is known."""
    if np.isfinite([interval.low, interval.high]).any():
        return f"{interval:.3g}"
    return f"{interval.estimate:.3g}" if interval.known else ""


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
