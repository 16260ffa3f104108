"""The report as one HTML page without external resources: charts, thresholds, claims, failures, provenance.

Text from configs and errors enters as escaped text or as compressed data, never as markup. The content security policy
allows only the scripts, the style and the pictures inside the file. Vega interprets its expressions, so no text is
executed.
"""

import base64
import gzip
import hashlib
import json
import shlex
from collections.abc import Iterator
from functools import partial
from importlib.resources import files

from jinja2 import Environment, PackageLoader

from recovery.config.sweep import plain_document
from recovery.report.claims import Analysis
from recovery.report.claims.lines import columns
from recovery.report.diagram import summary
from recovery.report.figures import figures_beside, main_figure, main_kind, render
from recovery.report.figures.style import ordered
from recovery.report.page.encodings import CONFIG, Json, dark_colours
from recovery.report.page.spec import MOST_NUMBERS, SCHEMA, Chart
from recovery.report.texts.tables import shown

LARGE = 20_000
"""Diagrams with more grid cells than this become pictures, because charts of them would be large and slow."""
MOST_FAILURES = 200
MOST_PICTURES = 700_000
"""Bytes of pictures that a page embeds, so that it stays below 1.5 MB."""
SCREEN = 130
"""Dots per inch of pictures on the page."""


def report_page(analyses: list[Analysis]) -> str:
    """Return the HTML report of one or several grids, as one page."""
    charts = [None if len(one.diagram.table) > LARGE else Chart(one, main_kind(one, panels=True)) for one in analyses]
    assets = {name: files("recovery.report.page").joinpath(name).read_bytes() for name in ("page.css", "page.js")}
    library = files("recovery.report.page").joinpath("vega.js.gz").read_bytes()
    scripts = [_digest(assets["page.js"]), _digest(gzip.decompress(library))]
    data = json.dumps([_data(chart) for chart in charts if chart], separators=(",", ":"), allow_nan=False)
    page = Environment(loader=PackageLoader("recovery.report.page", ""), autoescape=True, trim_blocks=True)
    as_json = partial(json.dumps, indent=2, ensure_ascii=False, default=str)
    page.filters |= {"quoted": shlex.quote, "shown": shown, "json": as_json}
    return page.get_template("page.html").render(
        grids=list(_grids(analyses, charts)),
        policy=f"script-src {' '.join(scripts)}; style-src {_digest(assets['page.css'])}",
        style=assets["page.css"].decode(),
        script=assets["page.js"].decode(),
        library=_packed(library),
        data=_packed(gzip.compress(data.encode(), 6, mtime=0)),
        most=MOST_FAILURES,
        numbers=f"{MOST_NUMBERS:,}".replace(",", " "),
    )


def _digest(data: bytes) -> str:
    return f"'sha256-{_packed(hashlib.sha256(data).digest())}'"


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _data(chart: Chart) -> Json:
    """Return what the page's script draws: the views of a chart, their tables, and the colours of the dark theme."""
    lines = chart.axes[3]
    return {
        "name": chart.diagram.name,
        "title": chart.diagram.heading,
        "columns": chart.columns,
        "datasets": chart.datasets,
        "views": chart.views(),
        "common": {"$schema": SCHEMA, "config": CONFIG},
        "dark": dark_colours(len(lines) if ordered(lines) or len(lines) > 6 else 0),
    }


def _grids(analyses: list[Analysis], charts: list[Chart | None]) -> Iterator[Json]:
    """Yield what the template states about each grid."""
    room = MOST_PICTURES
    for analysis, chart in zip(analyses, charts, strict=True):
        diagram, (kind, main) = analysis.diagram, main_figure(analysis)
        beside = figures_beside(analysis).values()
        pictures = list[tuple[str, str]]()
        for figure in [main, *beside] if chart is None or kind != chart.form else beside:
            picture = render(figure.draw(), "png", SCREEN)
            room -= len(picture)
            pictures.append((figure.words, _packed(picture) if room >= 0 else ""))
        # of unfinished trials with the same message the first is listed, with their count
        failed, same = diagram.frame[~diagram.cells.finished], ["status", "error_type", "error_message"]
        count = failed.groupby(same, dropna=False)["status"].transform("size")
        yield {
            "diagram": diagram,
            "analysis": analysis,
            "summary": summary(diagram),
            "chart": chart and _chart_words(chart),
            "left_out": ", ".join(chart.left_out) if chart else "",
            "pictures": pictures,
            "thresholds": columns([*analysis.lines, *analysis.widths, *analysis.limits]),
            "slices": columns(analysis.slice_lines),
            "failures": failed.assign(count=count).drop_duplicates(same).to_dict("records"),
            "config": plain_document(diagram.sweep.document),
        }


def _chart_words(chart: Chart) -> str:
    """Return the text alternative of a chart."""
    script, (x, _, by, _) = chart.diagram.script, chart.axes
    up = f", {script.axis(by)} {'on the y axis' if chart.form == 'map' else 'as lines'}" if by else ""
    titles = "; ".join(panel.title for panel in chart.diagram.panels if panel.title)
    words = f"{chart.diagram.measured_label}{titles and f': {titles}'}. {script.axis(x)} on the x axis{up}."
    return f"{words} The table below has the numbers."
