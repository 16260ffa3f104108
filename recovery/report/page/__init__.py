"""Diagrams as Vega-Lite charts: on an HTML page without external resources, and in notebooks."""

from recovery.report.page.cell_values import rounded as rounded
from recovery.report.page.encodings import (
    Json as Json,
    colour as colour,
    coordinate as coordinate,
    ordinal as ordinal,
    strokes as strokes,
)
from recovery.report.page.html import document as document, table as table
from recovery.report.page.page import GRIDS as GRIDS, MAPS as MAPS, report_page as report_page
from recovery.report.page.payload import payload as payload
